"""Attention by a feature map in float64 numpy: what is right.

Axes: b batch, h heads, t queries, s keys, d width, f features, e width of values.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np


class Mapped(NamedTuple):
    """Features, and how far a program may be from them."""

    features: np.ndarray
    """[b h t f]."""
    error: np.ndarray
    """The largest error of each, in units u of its type."""


class FeatureMap(NamedTuple):
    """One way to make features of queries and keys."""

    formula: str
    source: str
    of_queries: Callable[[np.ndarray, np.ndarray], Mapped]
    """From [b h t d], and True [b 1 t 1] where there is something to see."""
    of_keys: Callable[[np.ndarray, np.ndarray], Mapped]
    level: Callable[[float], float] | None = None
    """The number whose feature is a given one; None where features cannot be made small."""
    scaled_after: bool = False
    """Whether the scale multiplies the features of queries, and not the queries."""


def _elu(x: np.ndarray, seen: np.ndarray) -> Mapped:
    # expm1 errs by 2 u of at most 1, the sum with 1 by another; the rounding of x itself by |x| exp(x) u <= u.
    return Mapped(np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))), 6 + 3 * np.maximum(x, 0))


def _relu(x: np.ndarray, seen: np.ndarray) -> Mapped:
    return Mapped(np.maximum(x, 0.0), 3 * np.maximum(x, 0.0))


def _identity(x: np.ndarray, seen: np.ndarray) -> Mapped:
    return Mapped(x, 3 * np.abs(x))


def _exp(x: np.ndarray, seen: np.ndarray) -> Mapped:
    with np.errstate(over="ignore"):
        features = np.exp(x)
        return Mapped(features, features * (6 + 2 * np.abs(x)))


def _softmax(axis: int) -> Callable[[np.ndarray, np.ndarray], Mapped]:
    def mapped(x: np.ndarray, seen: np.ndarray) -> Mapped:
        x = np.where(seen, x, -np.inf) if axis == -2 else x
        top = x.max(axis, keepdims=True, initial=-1e300)
        raised = np.exp(x - top)
        features = raised / raised.sum(axis, keepdims=True)
        size = np.where(np.isfinite(x), np.abs(x), 0.0)
        return Mapped(features, features * (2 * (size + np.abs(top)) + x.shape[axis] + 12))

    return mapped


FEATURES: Mapping[str, FeatureMap] = {
    "elu": FeatureMap("elu(x) + 1", "Katharopoulos et al. 2020, eq. (7)", _elu, _elu, np.log),
    "relu": FeatureMap("max(x, 0)", "Choromanski et al. 2021, generalised attention", _relu, _relu, float),
    "exp": FeatureMap("exp(x)", "Choromanski et al. 2021, generalised attention", _exp, _exp, np.log),
    "identity": FeatureMap("x", "Schlag et al. 2021; ONNX LinearAttention", _identity, _identity, float),
    "softmax": FeatureMap(
        "softmax over the channels", "after Shen et al. 2018", _softmax(-1), _softmax(-1), scaled_after=True
    ),
    "efficient": FeatureMap(
        "softmax over the channels of q, over the tokens of k",
        "Shen et al. 2018",
        _softmax(-1),
        _softmax(-2),
        scaled_after=True,
    ),
}
"""The feature maps that a target may state."""


class Problem(NamedTuple):
    """What is asked."""

    q: np.ndarray
    """[b h t d]."""
    k: np.ndarray
    """[b h s d]."""
    v: np.ndarray
    """[b h s e]."""
    keep: np.ndarray
    """[b s], False where a key is hidden."""
    causal: bool
    features: str
    normaliser: bool
    scale: float = 1.0
    eps: float = 0.0
    clamped: bool = False
    """Whether eps is the least that the normaliser may be, and is not added."""
    floor: float = 0.0
    """Added to every feature."""


class Attended(NamedTuple):
    """What is right, and the sums that its tolerance is made of."""

    output: np.ndarray
    """[b h t e]; NaN where the normaliser is 0."""
    normaliser: np.ndarray
    """[b h t 1], with its eps."""
    seen: np.ndarray
    """[b 1 t s] or what spreads to it."""
    size: np.ndarray
    """[b h t s], sum over f of |features of q| |features of k|; 0 where hidden."""
    error: np.ndarray
    """[b h t s], by how much a program may miss a weight, in units u."""
    state: float
    """The largest number that a state of sums over keys may hold."""


def attend(given: Problem) -> Attended:
    """Sum over s of (phi(q) . phi(k_s)) v_s, over the sum of the same without v.

    Source: Katharopoulos et al. 2020, "Transformers are RNNs", eqs. (4) to (9).
    """
    q, k, v = (np.asarray(x, np.float64) for x in (given.q, given.k, given.v))
    how = FEATURES[given.features]
    seen = np.broadcast_to(given.keep[:, None, None, :], (q.shape[0], 1, q.shape[2], k.shape[2]))
    if given.causal:
        seen = seen & np.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2], dtype=bool)
    everything = np.ones((1, 1, 1, 1), bool)
    of_q = how.of_queries(q if how.scaled_after else q * given.scale, everything)
    if how.scaled_after:
        of_q = Mapped(of_q.features * given.scale, (of_q.error + of_q.features) * given.scale)
    of_k = how.of_keys(k, given.keep[:, None, :, None])
    if given.floor:
        of_q, of_k = (Mapped(x.features + given.floor, x.error + x.features + given.floor) for x in (of_q, of_k))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        weights = np.where(seen, np.einsum("bhtf,bhsf->bhts", of_q.features, of_k.features), 0.0)
        sizes = [(np.abs(x.features), x.error) for x in (of_q, of_k)]
        (a, da), (c, dc) = sizes
        size = np.where(seen, np.einsum("bhtf,bhsf->bhts", a, c), 0.0)
        error = np.einsum("bhtf,bhsf->bhts", da, c + dc * 1e-2) + np.einsum("bhtf,bhsf->bhts", a, dc)
        total = weights.sum(-1, keepdims=True)
        if given.normaliser:
            total = np.maximum(total, given.eps) if given.clamped else total + given.eps
        else:
            total = np.ones_like(total)
        output = np.einsum("bhts,bhse->bhte", weights, v) / total
        state = np.einsum("bhsf,bhse->bhfe", c, np.maximum(np.abs(v), 1.0)).max(initial=0.0)
    return Attended(
        np.where(total == 0, np.nan, output), total, seen, size, np.where(seen, error, 0.0), float(state)
    )
