"""What may be subtracted from log features before they are exponentiated. Most choices change the weights.

See docs/mathematics/features.md.
"""

import dataclasses
import enum
import functools
from typing import assert_never

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import (
    causal_mask,
    feature_attention,
    key_shift,
    linear_attention,
    log_positive_features,
    query_shift,
    seen_key_shift,
)
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, Verdict, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.identities.leaks import leaks, random_tokens
from attnlab_theory.sampling import gaussian_projection
from attnlab_theory.stats import Interval, bounded

EPS = float(np.finfo(np.float32).eps)


class Subtracted(enum.StrEnum):
    """What is subtracted from log features before they are exponentiated."""

    EACH_QUERY = "largest of each query"
    ALL_KEYS = "largest of all keys"
    EACH_QUERY_AND_ALL_KEYS = "largest of each query and of all keys"
    EACH_KEY = "largest of each key"


class Maximum(enum.StrEnum):
    """Over which keys a causal mixer takes the maximum that it subtracts from them."""

    SO_FAR = "positions so far"
    ALL = "all positions"


class StabilisedRow(Setting):
    """What is subtracted from log features of t tokens of width d and norm `norm`, and the eps that is added
    afterwards."""

    subtracted: Subtracted
    t: int
    d: int
    m: int
    norm: float
    eps: float


def _features(subtracted: Subtracted, log_q: Float[Array, "t m"], log_k: Float[Array, "s m"], eps: Scalar):
    """Features of queries and keys under a stabiliser."""
    nothing, of_query = jnp.zeros(()), query_shift(log_q)[:, None]
    match subtracted:
        case Subtracted.EACH_QUERY:
            shift_q, shift_k = of_query, nothing
        case Subtracted.ALL_KEYS:
            shift_q, shift_k = nothing, key_shift(log_k)
        case Subtracted.EACH_QUERY_AND_ALL_KEYS:
            shift_q, shift_k = of_query, key_shift(log_k)
        case Subtracted.EACH_KEY:
            shift_q, shift_k = nothing, query_shift(log_k)[:, None]
        case _:
            assert_never(subtracted)
    return jnp.exp(log_q - shift_q) + eps, jnp.exp(log_k - shift_k) + eps


def _change(key: PRNGKeyArray, setting: StabilisedRow) -> Float[Array, ""]:
    """The largest change of a weight by the stabiliser. The projection stays the same."""
    log_q, log_k = _log_features(key, setting.norm, t=setting.t, d=setting.d, m=setting.m)
    return _largest_change(log_q, log_k, setting.eps, subtracted=setting.subtracted)


@functools.partial(jax.jit, static_argnames=("t", "d", "m"))
def _log_features(key: PRNGKeyArray, norm: Scalar, *, t: int, d: int, m: int):
    """Log features of t queries and t keys of one norm."""
    points, rows = jax.random.split(key)
    x = jax.random.normal(points, (2 * t, d))
    x = norm * x / jnp.linalg.norm(x, axis=1, keepdims=True)
    projection = gaussian_projection(rows, m, d)
    return log_positive_features(x[:t], projection), log_positive_features(x[t:], projection)


@functools.partial(jax.jit, static_argnames="subtracted")
def _largest_change(
    log_q: Float[Array, "t m"], log_k: Float[Array, "s m"], eps: Scalar, *, subtracted: Subtracted
) -> Float[Array, ""]:
    values = jnp.eye(log_k.shape[0])
    raw = linear_attention(jnp.exp(log_q), jnp.exp(log_k), values)
    return jnp.max(jnp.abs(linear_attention(*_features(subtracted, log_q, log_k, eps), values) - raw))


def _rounding(setting: StabilisedRow) -> float:
    """The rounding of weights below one.

    Exponents of size |x|^2 / 2 + 6 |x| err by a relative eps, for q and for k, with the stabiliser and without.
    """
    return 8 * EPS * (setting.norm**2 / 2 + 6 * setting.norm + setting.m + setting.t)


def _moves(statement: str, least: float) -> Rival:
    return Rival(
        statement=statement,
        source="the smallest change that would matter, as an eps of 0.001 makes it",
        predict=Interval.at_least(least),
    )


A_MAP = at_least(d=1, m=1)
SHORT = at_least(norm=0) | at_most(norm=4)
"""Features of longer points leave the range of float32, if nothing is subtracted from their logarithms."""
A_ROW = A_MAP | SHORT | at_least(t=1, eps=0)
WITHOUT_AN_EPS = {"nothing is added": lambda s: s.eps == 0}

CANCELS = exact_claim(
    name="maxima-that-cancel",
    statement="Subtracting each query's largest log feature, or one number from all keys, moves no weight.",
    source="mathematics/features.md#what-may-be-subtracted; Choromanski et al. 2021, appendix",
    hypotheses=A_ROW
    | WITHOUT_AN_EPS
    | {"no key has a maximum of its own": lambda s: s.subtracted is not Subtracted.EACH_KEY},
    predict=Interval.point(0.0),
    draw=_change,
    rounding=_rounding,
    rival=_moves("Some weight moves by a thousandth.", 0.001),
    settings=tuple(
        StabilisedRow(subtracted=subtracted, t=16, d=16, m=64, norm=norm, eps=0.0)
        for subtracted in (Subtracted.EACH_QUERY, Subtracted.ALL_KEYS, Subtracted.EACH_QUERY_AND_ALL_KEYS)
        for norm in (1.0, 2.0)
    ),
    stream="stabilisers",
)

PER_KEY = foil(
    CANCELS,
    name="a-maximum-of-each-key-cancels",
    statement="Subtracting each key's own largest log feature leaves every weight alone.",
    source="mathematics/features.md#what-may-be-subtracted, it divides each key's weight by a factor of its own",
    hypotheses=A_ROW | WITHOUT_AN_EPS | {"each key's own": lambda s: s.subtracted is Subtracted.EACH_KEY},
    settings=tuple(
        StabilisedRow(subtracted=Subtracted.EACH_KEY, t=16, d=16, m=64, norm=norm, eps=0.0) for norm in (1.0, 2.0)
    ),
)

WITH_EPS = foil(
    CANCELS,
    name="an-eps-is-harmless",
    statement=r"An eps of $10^{-4}$ or $10^{-3}$, added to features whose largest is one, moves no weight by more "
    r"than $10^{-5}$.",
    source="mathematics/features.md#what-may-be-subtracted, the eps of published implementations",
    hypotheses=A_ROW,
    predict=Interval(0.0, 1e-5),
    settings=tuple(
        StabilisedRow(subtracted=Subtracted.EACH_QUERY_AND_ALL_KEYS, t=16, d=16, m=64, norm=norm, eps=eps)
        for eps in (1e-4, 1e-3)
        for norm in (1.0, 2.0)
    ),
)


class EqualPair(Setting):
    """Two equal points of width d and this norm, and m projections."""

    d: int
    m: int
    norm: Traced[float]


def _subtracted_estimate(key: PRNGKeyArray, setting: EqualPair) -> Float[Array, ""]:
    x = setting.norm * jnp.eye(setting.d)[:1]
    features = log_positive_features(x, gaussian_projection(key, setting.m, setting.d))
    return jnp.sum(jnp.exp(features - query_shift(features)[:, None]) ** 2) / setting.m


KERNEL = Claim(
    name="a-subtracted-maximum-leaves-kernel-estimates-alone",
    statement=r"The mean of $\phi(x) \cdot \phi(y)$ is $e^{x \cdot y}$, also where each point's largest log "
    "feature was subtracted.",
    source="mathematics/features.md#what-may-be-subtracted, such an estimate never exceeds one",
    hypotheses=A_MAP | SHORT,
    predict=lambda s: Interval.point(np.exp(s.norm**2)),
    draw=_subtracted_estimate,
    bound=bounded(0.0, 1.0001),
    resolution=0.05,
    settings=tuple(EqualPair(d=16, m=64, norm=norm) for norm in (0.5, 1.0)),
    expect=Verdict.REFUTED,
    chunk=256,
)


class CausalRow(Setting):
    """Which maximum a causal mixer of t tokens of width d subtracts from its keys, and its eps."""

    maximum: Maximum
    t: int
    d: int
    m: int
    eps: float


def _causal_mixer(
    setting: CausalRow, projection: Float[Array, "m d"], x: Float[Array, "t d"]
) -> Float[Array, "t d"]:
    """Self-attention from positive features under a causal mask, weights formed one by one."""
    if setting.maximum is Maximum.SO_FAR and not setting.eps:
        return feature_attention(x, x, x, projection, scale=0.1, causal=True)
    features = log_positive_features(x * 0.1**0.5, projection)
    phi_q = jnp.exp(features - query_shift(features)[:, None]) + setting.eps
    match setting.maximum:
        case Maximum.ALL:
            estimates = phi_q @ (jnp.exp(features - key_shift(features)) + setting.eps).T
        case Maximum.SO_FAR:
            seen = features[None] - seen_key_shift(features)[:, None, None]
            estimates = jnp.einsum("tm,tsm->ts", phi_q, jnp.exp(jnp.minimum(seen, 0)) + setting.eps)
        case _:
            assert_never(setting.maximum)
    estimates = jnp.where(causal_mask(setting.t), estimates, 0)
    return estimates @ x / jnp.sum(estimates, axis=1, keepdims=True)


def _movement(key: PRNGKeyArray, setting: CausalRow) -> float:
    """How far an output moves at most when later inputs are replaced."""
    projection = gaussian_projection(key, setting.m, setting.d)
    found = leaks(functools.partial(_causal_mixer, setting, projection), random_tokens(setting.t, setting.d))
    return found.worst[1]


CAUSAL_ROUNDING = 100 * EPS
"""Outputs are means of values below 4. A factor that cancels leaves an error of a few roundings."""


IN_ORDER = A_MAP | at_least(t=2, eps=0) | at_most(eps=1)
OVER_ALL = {"the maximum over all positions": lambda s: s.maximum is Maximum.ALL}

SEEN_SO_FAR = exact_claim(
    name="a-maximum-over-the-past-is-causal",
    statement="With or without an eps, no output depends on a later input if the maximum over the keys seen so "
    "far is subtracted from the log features.",
    source="mathematics/features.md#a-maximum-over-the-past",
    hypotheses=IN_ORDER | {"the maximum so far": lambda s: s.maximum is Maximum.SO_FAR},
    predict=Interval.point(0.0),
    draw=_movement,
    rounding=CAUSAL_ROUNDING,
    rival=_moves("Some output moves by a thousandth.", 0.001),
    settings=(
        CausalRow(maximum=Maximum.SO_FAR, t=6, d=4, m=8, eps=0.0),
        CausalRow(maximum=Maximum.SO_FAR, t=6, d=4, m=8, eps=1e-3),
    ),
    stream="causal-stabilisers",
)

WITHOUT_EPS = dataclasses.replace(
    SEEN_SO_FAR,
    name="a-maximum-over-all-positions-cancels-without-an-eps",
    statement="Without an eps, earlier outputs move by rounding only if the maximum over all positions is "
    "subtracted from the log features.",
    source="mathematics/features.md#a-maximum-over-the-past",
    hypotheses=IN_ORDER | OVER_ALL | WITHOUT_AN_EPS,
    settings=tuple(CausalRow(maximum=Maximum.ALL, t=t, d=4, m=8, eps=0.0) for t in (6, 12)),
)

ALL_POSITIONS = foil(
    SEEN_SO_FAR,
    name="a-maximum-over-all-positions-is-causal",
    statement="Even with an eps, no output depends on the future if the maximum over all positions is subtracted "
    "from the log features.",
    source="mathematics/features.md#a-maximum-over-the-past, performer-pytorch's issue tracker",
    hypotheses=IN_ORDER | OVER_ALL,
    settings=(
        CausalRow(maximum=Maximum.ALL, t=6, d=4, m=8, eps=1e-3),
        CausalRow(maximum=Maximum.ALL, t=6, d=4, m=8, eps=1e-2),
    ),
)

CLAIMS = (CANCELS, PER_KEY, WITH_EPS, KERNEL, SEEN_SO_FAR, WITHOUT_EPS, ALL_POSITIONS)
