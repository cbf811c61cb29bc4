"""Additive attention: a small network scores every pair. Its t x s x width hidden numbers are never held at once.

The network's hidden units are summed one after the other, each over all pairs of a block of queries. So all scores
of a block stay in the cache. In the backward pass the hidden units are computed again.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.masks import refuse_blind
from attnlab_theory.attention.precision import of_one_type
from attnlab_theory.attention.softmax import refuse_values, softmax, weighted_mean

BLOCK = 128
"""The number of queries whose scores are computed together."""


def additive_weights(
    q: Float[Array, "t d"],
    k: Float[Array, "s c"],
    w_q: Float[Array, "d m"],
    w_k: Float[Array, "c m"],
    w_out: Float[Array, " m"],
    mask: Bool[Array, "t s"] | None = None,
) -> Float[Array, "t s"]:
    """Softmax over s of w_out . tanh(q_t w_q + k_s w_k); derivatives in reverse mode only.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position; their width may differ from the queries'.
        w_q: projection of queries into the hidden layer of width m.
        w_k: projection of keys.
        w_out: weights from the hidden layer to one score.
        mask: True where a query may look.

    Returns:
        Rows are probability vectors over source positions. A traced row that sees nothing, or anything
        that is not finite, gives NaN.

    Raises:
        ValueError: if widths do not fit, or there is no hidden unit or no key. Or if an array is not finite or not
            of a floating type. Or if the mask has the wrong shape or hides a whole row.

    Example:
        One hidden unit: tanh of the sum of the first coordinates. It is 1 for the large key and 0 for the others.
        With w_out = log 2 the large key gets twice the weight of another.

        >>> import numpy as np
        >>> q = jnp.array([[0.0, 0.0]])
        >>> k = jnp.array([[50.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
        >>> w = jnp.array([[1.0], [0.0]])
        >>> print(np.asarray(additive_weights(q, k, w, w, jnp.log(jnp.array([2.0])))).round(2))
        [[0.5  0.25 0.25]]

    Source: Bahdanau et al. 2015, "Neural machine translation by jointly learning to align and translate", A.1.2.
    """
    _refuse_inputs(q, k, w_q, w_k, w_out)
    refuse_blind(mask, q.shape[0], k.shape[0])

    a, b, w_out = _ready(q @ w_q, k @ w_k, w_out)

    def weights(a: Array, seen: Array | None) -> Array:
        return softmax(_seen(_scores(a, b, w_out), seen))

    return _over_blocks(weights, a, mask)


def additive_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "s c"],
    v: Float[Array, "s v"],
    w_q: Float[Array, "d m"],
    w_k: Float[Array, "c m"],
    w_out: Float[Array, " m"],
    mask: Bool[Array, "t s"] | None = None,
) -> Float[Array, "t v"]:
    """The means of the values under `additive_weights`; the t x s weights are never held at once either.

    Derivatives in reverse mode only.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position; their width may differ from the queries'.
        v: values, one row per source position.
        w_q: projection of queries into the hidden layer of width m.
        w_k: projection of keys.
        w_out: weights from the hidden layer to one score.
        mask: True where a query may look.

    Raises:
        ValueError: if `additive_weights` refuses the arguments, k and v differ in length, or v is not finite.

    Example:
        The weights are 1/2, 1/4, 1/4, as in `additive_weights`; only the first value is not 0.

        >>> import numpy as np
        >>> q = jnp.array([[0.0, 0.0]])
        >>> k = jnp.array([[50.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
        >>> v = jnp.array([[8.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
        >>> w = jnp.array([[1.0], [0.0]])
        >>> print(np.asarray(additive_attention(q, k, v, w, w, jnp.log(jnp.array([2.0])))).round(2))
        [[4. 0.]]

    Source: Bahdanau et al. 2015, A.1.2.
    """
    _refuse_inputs(q, k, w_q, w_k, w_out)
    refuse_blind(mask, q.shape[0], k.shape[0])
    refuse_values(k, v, mask)

    a, b, w_out = _ready(q @ w_q, k @ w_k, w_out)

    def outputs(a: Array, seen: Array | None) -> Array:
        return weighted_mean(_seen(_scores(a, b, w_out), seen), v, seen)

    return _over_blocks(outputs, a, mask)


def additive_scores(
    a: Float[Array, "t m"], b: Float[Array, "s m"], w_out: Float[Array, " m"]
) -> Float[Array, "t s"]:
    """w_out . tanh(a_t + b_s) of queries and keys that are projected already: for a cache, or a bias on top.

    Derivatives in reverse mode only.

    Args:
        a: projected queries.
        b: projected keys.
        w_out: weights from the hidden layer to one score.

    Raises:
        ValueError: if widths do not fit, or an array is not finite or not of a floating type.

    Example:
        A sum of 0 scores tanh(0) = 0; a large sum scores w_out.

        >>> a = jnp.array([[0.0]])
        >>> b = jnp.array([[0.0], [50.0], [-50.0]])
        >>> print(additive_scores(a, b, jnp.array([3.0])))
        [[ 0.  3. -3.]]
    """
    refuse.wrong_rank(2, a=a, b=b)
    refuse.wrong_rank(1, w_out=w_out)
    refuse.not_floating(a=a, b=b, w_out=w_out)
    refuse.different_axes("hidden width", a=a.shape[1], b=b.shape[1], w_out=w_out.shape[0])
    refuse.non_finite(a=a, b=b, w_out=w_out)
    return _scores(*_ready(a, b, w_out))


def _ready(a: Array, b: Array, w_out: Array) -> tuple[Any, ...]:
    """The arrays in one type. Infinite numbers become NaN, for tanh would turn them into 1."""
    return of_one_type(refuse.nan_unless_finite(a), refuse.nan_unless_finite(b), w_out)


@jax.custom_vjp
def _scores(a: Float[Array, "t m"], b: Float[Array, "s m"], w: Float[Array, " m"]) -> Float[Array, "t s"]:
    """sum_m w_m tanh(a_tm + b_sm), one hidden unit after the other."""

    def one_unit(scores: Array, unit: tuple[Array, Array, Array]) -> tuple[Array, None]:
        a, b, w = unit
        return scores + w * jnp.tanh(a[:, None] + b[None, :]), None

    return lax.scan(one_unit, jnp.zeros((a.shape[0], b.shape[0]), a.dtype), (a.T, b.T, w))[0]


def _scores_and_keep(a: Array, b: Array, w: Array):
    return _scores(a, b, w), (a, b, w)


def _pull_back(kept: tuple[Array, Array, Array], d_scores: Array):
    def one_unit(_: None, unit: tuple[Array, Array, Array]) -> tuple[None, tuple[Array, Array, Array]]:
        a, b, w = unit
        hidden = jnp.tanh(a[:, None] + b[None, :])
        slope = w * d_scores * (1 - hidden * hidden)
        return None, (jnp.sum(slope, axis=1), jnp.sum(slope, axis=0), jnp.sum(d_scores * hidden))

    a, b, w = kept
    d_a, d_b, d_w = lax.scan(one_unit, None, (a.T, b.T, w))[1]
    return d_a.T, d_b.T, d_w


_scores.defvjp(_scores_and_keep, _pull_back)


def _seen(scores: Array, seen: Array | None) -> Array:
    return scores if seen is None else jnp.where(seen, scores, -jnp.inf)


def _over_blocks(rows: Callable[[Array, Array | None], Array], a: Array, mask: Array | None) -> Array:
    """`rows(a, mask)` for one block of queries after another. Each is computed again in the backward pass."""
    t = a.shape[0]
    size = max(min(BLOCK, t), 1)
    fill = -t % size
    blocks = jnp.pad(a, ((0, fill), (0, 0))).reshape(-1, size, a.shape[1])
    # Rows that only fill up the last block see every key. A row that sees nothing would have a gradient of NaN.
    seen = None
    if mask is not None:
        filled = jnp.pad(mask, ((0, fill), (0, 0)), constant_values=True)
        seen = filled.reshape(-1, size, mask.shape[1])
    out = lax.map(jax.checkpoint(lambda part: rows(*part)), (blocks, seen))
    return out.reshape(t + fill, out.shape[2])[:t]


def _refuse_inputs(q: Array, k: Array, w_q: Array, w_k: Array, w_out: Array) -> None:
    refuse.wrong_rank(2, q=q, k=k, w_q=w_q, w_k=w_k)
    refuse.wrong_rank(1, w_out=w_out)
    refuse.not_floating(q=q, k=k, w_q=w_q, w_k=w_k, w_out=w_out)
    refuse.different_axes("query width", q=q.shape[1], w_q=w_q.shape[0])
    refuse.different_axes("key width", k=k.shape[1], w_k=w_k.shape[0])
    refuse.different_axes("hidden width", w_q=w_q.shape[1], w_k=w_k.shape[1], w_out=w_out.shape[0])
    if not w_out.shape[0]:
        raise ValueError(f"the hidden layer needs at least one unit, but w_out has shape {w_out.shape}")
    if not k.shape[0]:
        raise ValueError(f"attention needs at least one key, but k has shape {k.shape}")
    refuse.non_finite(q=q, k=k, w_q=w_q, w_k=w_k, w_out=w_out)
