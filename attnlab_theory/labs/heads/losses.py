"""The relative errors of a head's output under approximations, and the features or rows for a given error.

The error of a row is |o' - o| / |o|, cut at 1, where all is lost. The error of a head is the root of the mean
square over rows. Queries and keys are first rescaled, which changes no exact weight: the mean of keys over other
sentences is subtracted, and queries and keys get equal mean lengths.
"""

import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.labs.heads.claims import TOLERATED
from attnlab_theory.labs.heads.traces import Trace, softmax
from attnlab_theory.language.models.approximations import (
    Approximation,
    BigBird,
    Coupling,
    FeatureMap,
    Gauge,
    Linformer,
    RandomFeatures,
    Window,
)
from attnlab_theory.theory.features import pair, rows
from attnlab_theory.theory.features.estimator import Estimator
from attnlab_theory.theory.sparse import linformer

FEATURES = (16, 64, 256, 1024)
"""The budgets of random features by default."""

KEYS = (5, 9, 17)
"""The budgets of masks and sketches: how many keys, or mixtures of keys, a query sees."""

COUPLINGS = (Coupling.INDEPENDENT, Coupling.ORTHOGONAL)

TOGETHER = 1 << 17
"""The most features of queries, or of keys, in memory at once over all heads. With more, heads take turns."""

PLACES = 32
"""Sentences are filled up to a multiple of this, so that few shapes are compiled."""

LENGTHS = (2, 16, 32, 64)
"""The beginnings of the ranges of lengths of sentences. Each ends before the next; the last has no end."""


def approximations(*, causal: bool, most_features: int = FEATURES[-1]) -> tuple[Approximation, ...]:
    """All approximations that are tried, at all budgets.

    Args:
        causal: whether to leave out those that see the future.
        most_features: the largest budget of features. Budgets beyond `FEATURES` grow by a factor of four, with
            independent projections, for which theory predicts the number that is needed.

    Raises:
        ValueError: if it is less than the largest of `FEATURES`.
    """
    if most_features < FEATURES[-1]:
        raise ValueError(f"at least {FEATURES[-1]} features are tried, not at most {most_features}")
    more = [4**power for power in range(6, most_features.bit_length()) if 4**power <= most_features]
    features = [
        RandomFeatures(budget=budget, kind=kind, coupling=coupling)
        for kind in FeatureMap
        for coupling in COUPLINGS
        for budget in (*FEATURES, *(more if coupling is Coupling.INDEPENDENT else ()))
    ]
    others = [kind(budget=budget) for kind in (Window, BigBird, Linformer) for budget in KEYS]
    return tuple(each for each in (*features, *others) if each.causal or not causal)


def gauge_of(traces: Sequence[Trace]) -> Gauge:
    """The mean key, the ratio of lengths, and the best parameter of generalised exponential features, by head."""
    tokens = sum(len(each.tokens.ids) for each in traces)
    centre = np.sum([np.sum(each.k, axis=2) for each in traces], axis=0) / tokens
    keys = np.sum([np.sum((each.k - centre[:, :, None]) ** 2, axis=(2, 3)) for each in traces], axis=0)
    queries = np.sum([np.sum(each.q**2, axis=(2, 3)) for each in traces], axis=0)
    balance = np.maximum(keys, 1e-12) ** 0.25 / np.maximum(queries, 1e-12) ** 0.25
    found = Gauge(centre, balance, np.zeros_like(balance))
    squares = [_typical_square(each, found) for each in traces]
    width = centre.shape[2]
    a = np.vectorize(lambda square: pair.best_parameter(square, width))(np.mean(squares, axis=0))
    return Gauge(centre, balance, a)


def _typical_square(trace: Trace, gauge: Gauge) -> Float[np.ndarray, "layers h"]:
    """|q + k|^2 of the pairs with large weights: the mean over rows and, by squared weights, over keys."""
    q, k = gauge.of(trace.q, trace.k)
    shares = softmax(trace.scores()) ** 2
    shares = shares / np.sum(shares, axis=3, keepdims=True)
    squares = np.sum(q**2, axis=3)[..., None] + np.sum(k**2, axis=3)[:, :, None]
    squares = squares + 2 * np.matmul(q, np.swapaxes(k, 2, 3))
    return np.mean(np.sum(shares * squares, axis=3), axis=2)


def squared_errors(
    trace: Trace, tried: Sequence[Approximation], gauge: Gauge, key: PRNGKeyArray
) -> Float[np.ndarray, "tried layers h"]:
    """The mean over rows of squared relative errors, each at most 1. Heads share random projections."""
    t = len(trace.tokens.ids)
    filled = -(-t // PLACES) * PLACES - t
    q, k, v, own_q, own_k = (
        jnp.asarray(np.pad(x, ((0, 0), (0, 0), (0, filled), (0, 0))), jnp.float32)
        for x in (trace.q, trace.k, trace.v, *gauge.of(trace.q, trace.k))
    )
    seen = jnp.asarray(np.pad(trace.visible, ((0, filled), (0, filled))))
    exact = _mixed(q, k, v, seen)
    a = jnp.asarray(gauge.a, jnp.float32)
    found = [_lost(each, key, own_q, own_k, v, seen, a, exact) for each in tried]
    return np.stack([np.mean(np.asarray(each, np.float64)[..., :t], axis=2) for each in found])


@jax.jit
def _mixed(q: Array, k: Array, v: Array, seen: Bool[Array, "t t"]) -> Float[Array, "layers h t e"]:
    # A row of padding sees nothing; it is given something, for a softmax over nothing would be NaN.
    seen = seen | ~jnp.any(seen, axis=1, keepdims=True)
    scores = jnp.where(seen[None, None], jnp.matmul(q, jnp.swapaxes(k, 2, 3)), -jnp.inf)
    return jnp.matmul(jax.nn.softmax(scores, axis=3), v)


@eqx.filter_jit
def _lost(
    approximation: Approximation,
    key: PRNGKeyArray,
    q: Array,
    k: Array,
    v: Array,
    seen: Array,
    a: Array,
    exact: Array,
) -> Float[Array, "layers h t"]:
    drawn = approximation.drawn(key, q.shape[3])

    def of_head(head: tuple[Array, Array, Array]) -> Array:
        own_q, own_k, own_a = head
        return approximation.weights(drawn, own_q, own_k, seen, own_a)

    heads = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (q, k, a))
    weights = lax.map(of_head, heads, batch_size=max(1, TOGETHER // approximation.budget))
    off = jnp.sum((jnp.matmul(weights.reshape(*a.shape, *seen.shape), v) - exact) ** 2, axis=3)
    size = jnp.maximum(jnp.sum(exact**2, axis=3), jnp.finfo(exact.dtype).tiny)
    return jnp.nan_to_num(jnp.minimum(off / size, 1), nan=1.0)


def predicted(trace: Trace, row: int, gauge: Gauge) -> Float[np.ndarray, "kinds layers h"]:
    """The squared relative error of one row times the number of features, by theory for independent projections."""
    q, k = gauge.of(trace.q, trace.k)
    seen = trace.visible[row]
    weights = softmax(trace.scores()[:, :, row])[..., seen]
    found = np.zeros((len(FeatureMap), *q.shape[:2]))
    for at in np.ndindex(q.shape[:2]):
        values = trace.v[at][seen]
        size = max(float(np.sum((weights[at] @ values) ** 2)), np.finfo(float).tiny)
        for number, kind in enumerate(FeatureMap):
            covariances = pair.covariances(Estimator(str(kind)), q[at][row], k[at][seen], a=float(gauge.a[at]))
            error = rows.output_error(covariances, weights[at], values)
            found[number, *at] = kind.per_projection * error / size
    return found


@dataclasses.dataclass(frozen=True)
class Ranks:
    """The rows of a sketch that keep the error of one sentence within `TOLERATED`."""

    least: Float[np.ndarray, "layers h"]
    """The fewest rows of any sketch, learned or random: the outputs of r mixtures have rank r."""
    drawn: Float[np.ndarray, "layers h"]
    """The rows of a Gaussian sketch of the weights and values, by theory, as in Linformer's theorem."""


def ranks(trace: Trace) -> Ranks:
    """The ranks of one sentence."""
    weights, v = softmax(trace.scores()), trace.v.astype(np.float64)
    outputs = np.matmul(weights, v)
    energies = np.linalg.svd(outputs, compute_uv=False) ** 2
    total = np.maximum(np.sum(energies, axis=2, keepdims=True), np.finfo(float).tiny)
    left = np.maximum(1 - np.cumsum(energies, axis=2) / total, 0)
    least = 1.0 + np.sum(left > TOLERATED**2, axis=2)
    squares = [np.sum(each**2, axis=(2, 3)) for each in (outputs, weights, v)]
    of_one = np.vectorize(lambda product, matrix, vector: linformer.product_error(1, product, matrix, vector))
    return Ranks(least, of_one(*squares) / np.maximum(squares[0], np.finfo(float).tiny) / TOLERATED**2)


def features_needed(squares: Float[np.ndarray, " n *heads"]) -> Float[np.ndarray, " *heads"]:
    """The logarithm (base 10) of the number of features with the error `TOLERATED`, from `predicted` of n rows.

    If a row needs F features for an error of 1, its squared error is F / features, and at most 1.
    """
    low, high = np.zeros(squares.shape[1:]), np.full(squares.shape[1:], 300.0)
    for _ in range(50):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):
            enough = np.mean(np.minimum(squares / 10.0**middle, 1), axis=0) <= TOLERATED**2
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(high > 299, np.nan, high)


def features_reached(
    errors: Float[np.ndarray, "*r budgets layers h"], budgets: Sequence[int] = FEATURES
) -> Float[np.ndarray, "*r layers h"]:
    """The same from mean squared errors at rising budgets, interpolated. NaN if the error stays too large."""
    logs = np.log(np.maximum(errors, 1e-300))
    sought, at = 2 * np.log(TOLERATED), np.log10(budgets)
    found = np.full(np.delete(np.array(errors.shape), -3), np.nan)
    for number in range(len(budgets) - 1, 0, -1):
        before, after = logs[..., number - 1, :, :], logs[..., number, :, :]
        share = (sought - before) / np.where(after == before, np.nan, after - before)
        crosses = (before > sought) & (after <= sought)
        found = np.where(crosses, at[number - 1] + share * (at[number] - at[number - 1]), found)
    return np.where(logs[..., 0, :, :] <= sought, at[0], found)
