"""Attention with linear biases: the further a key, the lower its score; no positions are learned or added."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Real

from attnlab_theory import refuse
from attnlab_theory.attention.masks import refuse_blind
from attnlab_theory.attention.softmax import masked_scores, refuse_values, softmax, weighted_mean
from attnlab_theory.axes import Scalar


def alibi_slopes(h: int) -> Float[np.ndarray, " h"]:
    """One slope per head, in score per token of distance: a geometric progression from 2**(-8/h) to 2**-8.

    A number of heads that is no power of two gets the slopes of the next lower power first. The rest is every
    other slope of the next higher power. The authors' program does the same.

    Args:
        h: number of heads.

    Raises:
        ValueError: if there is no head.

    Example:
        Two heads get 2**-4 and 2**-8.

        >>> print(alibi_slopes(2))
        [0.0625     0.00390625]

    Source: Press et al. 2022, "Train short, test long", section 3 and its published code.
    """
    refuse.not_whole(heads=h)
    if not h > 0:
        raise ValueError(f"slopes need at least one head, not {h}")
    lower = 2 ** (int(h).bit_length() - 1)
    slopes = _geometric(lower)
    return np.concatenate([slopes, _geometric(2 * lower)[0::2][: h - lower]])


def alibi_bias(queries: Real[Array, " t"], keys: Real[Array, " s"], *, slope: Scalar) -> Float[Array, "t s"]:
    """The numbers that are added to the scores: minus the slope times the distance, in either direction.

    Args:
        queries: positions of the queries, in tokens.
        keys: positions of the keys, in tokens.
        slope: what one head takes from the score for each token of distance (`alibi_slopes`).

    Raises:
        ValueError: if the slope is not positive and finite, or the positions are not real and finite vectors. Or if
            some positions are signed, some unsigned, and no type of whole numbers holds both.

    Example:
        A token's own score stays as it is. Its neighbour's is lowered by one slope, the next one's by two.

        >>> at = jnp.arange(3)
        >>> print(alibi_bias(at, at, slope=0.5))
        [[-0.  -0.5 -1. ]
         [-0.5 -0.  -0.5]
         [-1.  -0.5 -0. ]]

    Source: Press et al. 2022, section 3; before a causal mask, where keys lie in the past.
    """
    refuse.wrong_rank(1, queries=queries, keys=keys)
    refuse.not_real(queries=queries, keys=keys)
    refuse.not_positive(slope=slope)
    refuse.non_finite(queries=queries, keys=keys, slope=slope)
    ends = queries[:, None], keys[None, :]
    further, nearer = jnp.maximum(*ends), jnp.minimum(*ends)
    if jnp.issubdtype(further.dtype, jnp.integer):
        for end in ends:
            if jnp.iinfo(end.dtype).max > jnp.iinfo(further.dtype).max:
                raise ValueError(
                    f"{further.dtype} cannot hold all positions of queries in {queries.dtype} and of keys in "
                    f"{keys.dtype}: give both as one type"
                )
        # A distance between signed numbers may be out of their range; unsigned ones of the same width hold it.
        further, nearer = (end.astype(f"uint{8 * end.dtype.itemsize}") for end in (further, nearer))
    distance = (further - nearer).astype(jax.dtypes.canonicalize_dtype(float))
    return -jnp.asarray(refuse.nan_unless_positive(slope), distance.dtype) * distance


def alibi_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
    slope: Scalar,
) -> Float[Array, "t v"]:
    """Softmax attention with `alibi_bias` added to the scaled scores; row t and row s stand at positions t and s.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        v: values, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        scale: inverse temperature, dimensionless.
        slope: what the head takes from the score for each token of distance (`alibi_slopes`).

    Raises:
        ValueError: if `attention` refuses the arguments, or the slope is not positive and finite.

    Example:
        The queries are 0, so distance alone decides. At slope log 2 a step further halves the weight. The first
        query gives the keys 4, 2, 1 parts of 7, and the only value that is not 0 stands first.

        >>> x = jnp.zeros((3, 2))
        >>> v = jnp.array([[7.0, 0], [0, 0], [0, 0]])
        >>> print(np.asarray(alibi_attention(x, x, v, scale=1.0, slope=np.log(2))).round(2))
        [[4.   0.  ]
         [1.75 0.  ]
         [1.   0.  ]]

    Source: Press et al. 2022, "Train short, test long", section 3.
    """
    scores = _scores(q, k, mask, scale, slope)
    refuse_values(k, v, mask)
    return weighted_mean(scores, v, mask)


def alibi_weights(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
    slope: Scalar,
) -> Float[Array, "t s"]:
    """The weights of `alibi_attention`: probability vectors over source positions.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        scale: inverse temperature, dimensionless.
        slope: what the head takes from the score for each token of distance (`alibi_slopes`).

    Raises:
        ValueError: if `attention_weights` refuses the arguments, or the slope is not positive and finite.

    Example:
        The queries are 0, so distance alone decides. At slope log 2 a step further halves the weight.

        >>> x = jnp.zeros((3, 2))
        >>> print(np.asarray(7 * alibi_weights(x, x, jnp.tri(3, dtype=bool), scale=1.0, slope=np.log(2))).round(2))
        [[7.   0.   0.  ]
         [2.33 4.67 0.  ]
         [1.   2.   4.  ]]
    """
    return softmax(_scores(q, k, mask, scale, slope))


def _scores(q: Array, k: Array, mask: Array | None, scale: Scalar, slope: Scalar) -> Array:
    refuse.wrong_rank(2, q=q, k=k)
    refuse_blind(mask, q.shape[0], k.shape[0])
    bias = alibi_bias(jnp.arange(q.shape[0]), jnp.arange(k.shape[0]), slope=slope)
    return masked_scores(q, k, mask, scale, bias=bias)


def _geometric(h: int) -> Float[np.ndarray, " h"]:
    return 2.0 ** (-8 * np.arange(1, h + 1) / h)
