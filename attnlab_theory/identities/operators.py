"""The subjects of the identities: operators of queries, keys and values, and self-attention as a whole."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention import (
    Rule,
    attention,
    attention_weights,
    averaged_heads,
    blocked_attention,
    causal_mask,
    differential_attention,
    differential_weights,
    fast_weight_attention,
    grouped_query_attention,
    merge_heads,
    multi_head_attention,
    rotary,
    sigmoid_attention,
    sigmoid_weights,
    sinusoidal,
    split_heads,
    stick_breaking_attention,
    stick_breaking_weights,
)
from attnlab_theory.attention.caching import Cache, cached_attention, decode_step, empty_cache
from attnlab_theory.attention.variants import zero_after_softmax, zero_after_softmax_weights
from attnlab_theory.identities.cases import Attending, Tokens
from attnlab_theory.identities.rounding import (
    angle_rounding,
    attention_rounding,
    epsilon,
    host,
    memory_rounding,
    peak,
    score_bound,
    score_rounding,
    weight_rounding,
)


def _plain_rounding(case: Attending) -> float:
    return attention_rounding(case.q, case.k, case.v, case.scale)


def _rotary_rounding(case: Attending) -> float:
    """The rounding of attention after rotations. At positions below eight they are good to 74 eps; see below."""
    eps, (n, width) = epsilon(case.q), case.k.shape
    bound = 2 * float(case.scale) * width * peak(case.q) * peak(case.k)
    weights = weight_rounding(eps * (width / 2 + 3 + 2 * 74) * bound, n, eps)
    return peak(case.v) * (weights + eps * (n / 2 + 1))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Operator:
    """A function of (q, k, v, mask, scale=) to outputs; the mask may be None."""

    name: str
    mix: Callable[..., Array]
    weights: Callable[..., Array] | None = None
    """A function of (q, k, mask, scale=) to weights, where there are any to be seen."""
    masked: bool = True
    """Whether it takes a mask at all."""
    rounding: Callable[[Attending], float] = _plain_rounding
    """Absolute error of a coordinate of its output."""


def _zero_after(q, k, v, mask=None, *, scale):
    mask = jnp.ones((q.shape[0], k.shape[0]), bool) if mask is None else mask
    return zero_after_softmax(q, k, v, mask, scale=scale)


def _zero_after_weights(q, k, mask=None, *, scale):
    mask = jnp.ones((q.shape[0], k.shape[0]), bool) if mask is None else mask
    return zero_after_softmax_weights(q, k, mask, scale=scale)


def _turned(q, k):
    return rotary(q, jnp.arange(q.shape[0])), rotary(k, jnp.arange(k.shape[0]))


def _rotary_attention(q, k, v, mask=None, *, scale):
    return attention(*_turned(q, k), v, mask, scale=scale)


def _rotary_weights(q, k, mask=None, *, scale):
    return attention_weights(*_turned(q, k), mask, scale=scale)


SOFTMAX = Operator(name="softmax", mix=attention, weights=attention_weights)
ROTARY = Operator(name="rotary", mix=_rotary_attention, weights=_rotary_weights, rounding=_rotary_rounding)
ZERO_AFTER_SOFTMAX = Operator(name="zero-after-softmax", mix=_zero_after, weights=_zero_after_weights)


FACTORS = (1.0, 0.5, -1.0, 0.25, -0.5)


def longer(x: Array, rows: int = 20) -> Array:
    """More rows made of a few: copies times factors of at most one in size, no two alike.

    At twenty rows, blocks of one row work tile by tile.
    """
    copies = -(-rows // x.shape[0])
    factors = (*FACTORS, *np.cos(2.0 * np.arange(len(FACTORS), copies)))[:copies]
    return jnp.concatenate([x * float(factor) for factor in factors])[:rows]


LENGTHS = (4, 17, 129)
"""Lengths at which two ways are compared: one more than a block of 16 or 128. Blocks of three are full or not."""

DECODED = 17
"""How many positions are decoded one by one: one more than a block of 16."""


def of_length(case: Attending, n: int) -> Attending:
    """The case with this many queries, keys and values, a causal mask, and the order as it is."""
    arrays = {name: longer(getattr(case, name), n) for name in ("q", "k", "v")}
    return dataclasses.replace(case, **arrays, mask=causal_mask(n), order=jnp.arange(n))


def with_tokens(case: Tokens, n: int) -> Tokens:
    """The case with this many tokens, in the order as it is. Its table stays; few mixers read it by position."""
    return dataclasses.replace(case, x=longer(case.x, n), order=jnp.arange(n))


def decoded_case(case: Tokens, n: int = DECODED) -> Tokens:
    """The case with this many tokens, and a learned position for each."""
    return dataclasses.replace(with_tokens(case, n), table=longer(case.table, n))


def _blocked(q, k, v, mask=None, *, scale):
    return blocked_attention(q, k, v, scale=scale, block=3)


def _tiled(q, k, v, mask=None, *, scale):
    return blocked_attention(longer(q), longer(k), longer(v), scale=scale, block=1, causal=True)


def _tiled_rounding(case: Attending) -> float:
    """The rounding of a running maximum, which rises n times at most. A rise costs an exp and two products.

    A difference of scores errs by eps of their bound, exp by 2 eps, the products by eps.
    """
    q, k, v = longer(case.q), longer(case.k), longer(case.v)
    eps, n = epsilon(q), k.shape[0]
    rescaled = 2 * n * eps * (score_bound(q, k, case.scale) + 3)
    return attention_rounding(q, k, v, case.scale) + peak(v) * float(np.expm1(rescaled))


BLOCKED = Operator(name="blocked", mix=_blocked, masked=False)
TILED = Operator(name="blocked, tile by tile", mix=_tiled, masked=False, rounding=_tiled_rounding)
"""Causal operators on longer sequences, where the running maximum is at work."""


def _cached(q, k, v, mask=None, *, scale):
    return cached_attention(q, k, v, scale=scale)


def _heads(q, k, v, mask=None, *, scale):
    """Two heads on half the columns of queries and keys each, both over all the values."""
    return merge_heads(
        multi_head_attention(split_heads(q, 2), split_heads(k, 2), jnp.stack((v, v)), mask, scale=scale)
    )


def _averaged(q, k, v, mask=None, *, scale):
    return averaged_heads(q, k, v, scale=scale)


def _averaged_rounding(case: Attending) -> float:
    """The mean of as many outputs as there are queries: a sum of them and a quotient."""
    return _plain_rounding(case) + peak(case.v) * epsilon(case.v) * (case.q.shape[0] / 2 + 1)


CAP = 2.0
"""Least scores of the cases are far below it, largest ones far above."""


def _capped(q, k, v, mask=None, *, scale):
    """Under a soft cap, and a bias by distance on top."""
    bias = -jnp.abs(jnp.arange(q.shape[0])[:, None] - jnp.arange(k.shape[0])[None, :]).astype(q.dtype) / 4
    return attention(q, k, v, mask, scale=scale, softcap=CAP, bias=bias)


def _capped_rounding(case: Attending) -> float:
    """The cap shrinks the error of a score. Then a quotient, tanh, a product and a sum are rounded."""
    eps, n = epsilon(case.q), case.k.shape[0]
    error = score_rounding(case.q, case.k, case.scale) + eps * (6 * CAP + n)
    return peak(case.v) * (weight_rounding(error, n, eps) + eps * (n / 2 + 1))


def _grouped(q, k, v, mask=None, *, scale):
    """Two heads of queries on half the columns each, over the first half of the keys' columns."""
    shared = k[None, :, : k.shape[1] // 2]
    return merge_heads(grouped_query_attention(split_heads(q, 2), shared, v[None], mask, scale=scale))


SHORT = 0.125
"""Keys of four coordinates of at most 4 are no longer than 1 after this factor."""


def _fast_weights(q, k, v, mask=None, *, scale):
    """The delta rule with a decay, two positions at a time."""
    return fast_weight_attention(scale * q, SHORT * k, v, rule=Rule.DELTA, decay=0.75, beta=0.5, chunk=2)


def _fast_weight_rounding(case: Attending) -> float:
    """Scale and factor are rounded, and so are the products with them."""
    eps, (n, width) = epsilon(case.q), case.k.shape
    query = float(case.scale) * width**0.5 * peak(case.q)
    return memory_rounding(n, width, eps, query=query, value=peak(case.v), key_error=eps)


FAST_WEIGHTS = Operator(name="fast weights", mix=_fast_weights, masked=False, rounding=_fast_weight_rounding)
CAPPED = Operator(name="softcap and bias", mix=_capped, rounding=_capped_rounding)
GROUPED = Operator(name="grouped queries", mix=_grouped)
CACHED = Operator(name="cached", mix=_cached, masked=False)
HEADS = Operator(name="heads", mix=_heads)
AVERAGED = Operator(name="averaged heads", mix=_averaged, masked=False, rounding=_averaged_rounding)

SINK_SCORE, SHIFT, LAMBDA = 0.5, -1.0, 0.5
"""The score of a sink, the shift of sigmoids, and the share of a second map."""


def _sunk(q, k, v, mask=None, *, scale):
    return attention(q, k, v, mask, scale=scale, sink=SINK_SCORE)


def _sigmoid(q, k, v, mask=None, *, scale):
    return sigmoid_attention(q, k, v, mask, scale=scale, shift=SHIFT)


def _sigmoid_weights(q, k, mask=None, *, scale):
    return sigmoid_weights(q, k, mask, scale=scale, shift=SHIFT)


def _sigmoid_rounding(case: Attending) -> float:
    """The slope of a sigmoid is below itself: a weight errs by as much as the score, relatively, and by 8 eps.

    A weight is at most one, and a sum has n of them, of which none is divided by the others.
    """
    eps, n = epsilon(case.q), case.k.shape[0]
    relative = float(np.expm1(score_rounding(case.q, case.k, case.scale) + 2 * eps)) + eps * (n / 2 + 9)
    return n * peak(case.v) * relative


def _stick(q, k, v, mask=None, *, scale):
    return stick_breaking_attention(q, k, v, scale=scale)


def _stick_weights(q, k, mask=None, *, scale):
    return stick_breaking_weights(q, k, scale=scale)


def stick_rounding(case: Attending) -> float:
    """A weight is a product of n shares at most, each of which errs by as much as its score, relatively.

    A logarithm of a share is at most the score's bound and one, and n sums of it are rounded. Weights sum to one.
    """
    eps, n = epsilon(case.q), case.k.shape[0]
    bound = score_bound(case.q, case.k, case.scale)
    logarithm = n * (score_rounding(case.q, case.k, case.scale) + eps * (n + 4) * (bound + 1))
    return peak(case.v) * (float(np.expm1(logarithm)) + eps * (n / 2 + 5))


def _differential(q, k, v, mask=None, *, scale):
    """The second map asks with the first queries turned round."""
    return differential_attention(q, -q, k, v, mask, lam=LAMBDA, scale=scale)


def _differential_weights(q, k, mask=None, *, scale):
    return differential_weights(q, -q, k, mask, lam=LAMBDA, scale=scale)


def _differential_rounding(case: Attending) -> float:
    """Two maps, the second of them times lambda; a difference and a product are rounded."""
    return (1 + LAMBDA) * (_plain_rounding(case) + 2 * epsilon(case.v) * peak(case.v))


SUNK = Operator(name="sink", mix=_sunk)
SIGMOID = Operator(name="sigmoid", mix=_sigmoid, weights=_sigmoid_weights, rounding=_sigmoid_rounding)
STICK = Operator(name="stick-breaking", mix=_stick, weights=_stick_weights, masked=False, rounding=stick_rounding)
DIFFERENTIAL = Operator(
    name="differential", mix=_differential, weights=_differential_weights, rounding=_differential_rounding
)

OPERATORS = (
    *(SOFTMAX, ROTARY, ZERO_AFTER_SOFTMAX, BLOCKED, TILED, CACHED, HEADS, GROUPED, AVERAGED, CAPPED),
    *(SUNK, SIGMOID, STICK, DIFFERENTIAL, FAST_WEIGHTS),
)
"""All operators: for identities of any function that is compiled, vectorised or differentiated."""

Scheme = Literal["none", "learned", "sinusoidal", "rotary"]
SCHEMES: tuple[Scheme, ...] = ("none", "learned", "sinusoidal", "rotary")
"""How a mixer learns where a token stands."""


def queries_keys_values(
    case: Tokens, scheme: Scheme, positions: Sequence[int] | Array
) -> tuple[Array, Array, Array]:
    """Project the tokens at some positions, with one scheme of positions.

    Args:
        case: tokens and projections.
        scheme: learned and sinusoidal vectors are added to the tokens, rotations turn queries and keys.
        positions: which tokens, and where they stand.
    """
    at = jnp.asarray(positions)
    x = case.x[at]
    if scheme == "learned":
        x = x + case.table[at]
    if scheme == "sinusoidal":
        x = x + sinusoidal(at, x.shape[1]).astype(x.dtype)
    q, k, v = x @ case.w_q, x @ case.w_k, x @ case.w_v
    if scheme == "rotary":
        q, k = rotary(q, at), rotary(k, at)
    return q, k, v


def full_pass(case: Tokens, scheme: Scheme, *, causal: bool) -> Array:
    """Self-attention over all tokens at once."""
    n = case.x.shape[0]
    q, k, v = queries_keys_values(case, scheme, range(n))
    return attention(q, k, v, causal_mask(n) if causal else None, scale=case.scale)


def heads_pass(case: Tokens, *, heads: int, causal: bool) -> Array:
    """Self-attention in several heads, side by side, without positions."""
    n = case.x.shape[0]
    q, k, v = (split_heads(x, heads) for x in queries_keys_values(case, "none", range(n)))
    return merge_heads(multi_head_attention(q, k, v, causal_mask(n) if causal else None, scale=case.scale))


def decoded(case: Tokens, scheme: Scheme) -> Array:
    """Causal self-attention one token at a time: each sees its own position only, the past lies in the cache."""
    n, width = case.x.shape

    def step(cache: Cache, position: Array) -> tuple[Cache, Array]:
        q, k, v = queries_keys_values(case, scheme, position[None])
        output, cache = decode_step(cache, q[0], k[0], v[0], scale=case.scale)
        return cache, output

    start = empty_cache(n, width, case.w_v.shape[1], dtype=case.x.dtype)
    return jax.lax.scan(step, start, jnp.arange(n))[1]


def self_attention_rounding(case: Tokens, scheme: Scheme = "none") -> float:
    """Absolute error of a coordinate of self-attention, projections included.

    A projected coordinate sums d products: (d/2 + 1) eps of its bound, the absolute values multiplied out.
    Sinusoids and rotations at positions p carry p (ln(10000)/2 + 5) eps and 3 eps more (`angle_rounding`), and a
    rotation stretches a coordinate's bound by sqrt(2). Queries and keys enter a score of d products in pairs.
    """
    n, width = case.x.shape
    eps = epsilon(case.x)
    x = np.abs(host(case.x))
    if scheme == "learned":
        x = x + np.abs(host(case.table))
    if scheme == "sinusoidal":
        x = x + 1
    q, k, v = (peak(x @ np.abs(host(w))) for w in (case.w_q, case.w_k, case.w_v))
    turned = angle_rounding(n - 1, 1e4, eps) + 3 * eps if scheme in ("sinusoidal", "rotary") else 0.0
    error = eps * (width / 2 + 1) + turned
    bound = float(case.scale) * width * q * k * (2 if scheme == "rotary" else 1)
    weights = weight_rounding(bound * (2 * error + eps * (width / 2 + 3)), n, eps)
    return v * (weights + error + eps * (n / 2 + 1))
