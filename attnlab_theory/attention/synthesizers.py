"""Synthesizers: attention whose weights come from no query and no key.

Logits come from a learned table (random), from a product of two thin ones (factorised), or from each token
by itself (dense). None of them compares tokens, so none can select by what another token holds.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.hidden import refuse_visible
from attnlab_theory.attention.masks import refuse_blind
from attnlab_theory.attention.softmax import softmax, weighted_mean


def random_logits(table: Float[Array, "n n"], length: int) -> Float[Array, "t t"]:
    """The random synthesizer: the top left corner of a table that no input changes.

    Args:
        table: learned for n positions, or drawn once and kept.
        length: positions of the sequence.

    Raises:
        ValueError: if the sequence is longer than the table.

    Example:
        A table learned for 3 positions, and a sequence of 2.

        >>> table = jnp.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
        >>> print(random_logits(table, 2))
        [[1. 2.]
         [4. 5.]]

    Source: Tay et al. 2021, "Synthesizer", section 3.1.2.
    """
    refuse.wrong_rank(2, table=table)
    _refuse_longer(length, table.shape[0], "the table")
    _refuse_longer(length, table.shape[1], "the table")
    return table[:length, :length]


def factorised_logits(left: Float[Array, "n m"], right: Float[Array, "n m"], length: int) -> Float[Array, "t t"]:
    """The factorised random synthesizer: a table of rank m, 2 n m numbers instead of n n.

    Args:
        left: the factor of the output positions, one row each.
        right: the factor of the source positions, one row each.
        length: positions of the sequence.

    Raises:
        ValueError: if the sequence is longer than the factors, or they differ in shape, are not finite or not of a
            floating type.

    Example:
        A table of rank 1: row t is left[t] times the right factor.

        >>> left = jnp.array([[1.0], [2.0], [3.0]])
        >>> print(factorised_logits(left, jnp.ones((3, 1)), 3))
        [[1. 1. 1.]
         [2. 2. 2.]
         [3. 3. 3.]]

    Source: Tay et al. 2021, section 3.1.4.
    """
    refuse.wrong_rank(2, left=left, right=right)
    refuse.different_axes("rank", left=left.shape[1], right=right.shape[1])
    refuse.different_axes("positions", left=left.shape[0], right=right.shape[0])
    refuse.not_floating(left=left, right=right)
    refuse.non_finite(left=left, right=right)
    _refuse_longer(length, left.shape[0], "the factors")
    return jnp.einsum("tm,sm->ts", left[:length], right[:length])


def dense_logits(
    x: Float[Array, "t d"],
    w_1: Float[Array, "d m"],
    b_1: Float[Array, " m"],
    w_2: Float[Array, "m n"],
    b_2: Float[Array, " n"],
) -> Float[Array, "t t"]:
    """The dense synthesizer: token t alone says how much it looks at each position, relu(x w_1 + b_1) w_2 + b_2.

    Args:
        x: tokens.
        w_1: into the hidden layer of width m.
        b_1: bias of the hidden layer.
        w_2: to one logit for each of n positions.
        b_2: bias of the positions.

    Raises:
        ValueError: if the sequence is longer than n, the widths do not fit, or an array is not finite or not of a
            floating type.

    Example:
        The hidden layer passes the token on unless it is negative, and the last layer adds a logit of 5 for
        position 2.

        >>> x = jnp.array([[1.0, 0], [0, 1], [-1, -1]])
        >>> print(dense_logits(x, jnp.eye(2), jnp.zeros(2), jnp.eye(2, 3), jnp.array([0.0, 0, 5])))
        [[1. 0. 5.]
         [0. 1. 5.]
         [0. 0. 5.]]

    Source: Tay et al. 2021, section 3.1.1.
    """
    refuse.wrong_rank(2, x=x, w_1=w_1, w_2=w_2)
    refuse.wrong_rank(1, b_1=b_1, b_2=b_2)
    refuse.different_axes("token width", x=x.shape[1], w_1=w_1.shape[0])
    refuse.different_axes("hidden width", w_1=w_1.shape[1], b_1=b_1.shape[0], w_2=w_2.shape[0])
    refuse.different_axes("positions", w_2=w_2.shape[1], b_2=b_2.shape[0])
    refuse.not_floating(x=x, w_1=w_1, b_1=b_1, w_2=w_2, b_2=b_2)
    refuse.non_finite(x=x, w_1=w_1, b_1=b_1, w_2=w_2, b_2=b_2)
    t = x.shape[0]
    _refuse_longer(t, w_2.shape[1], "the last layer")
    # The rectifier would turn minus infinity into zero, so numbers that are not finite become NaN before it.
    return jax.nn.relu(refuse.nan_unless_finite(x @ w_1 + b_1[None, :])) @ w_2[:, :t] + b_2[None, :t]


def synthesizer_weights(logits: Float[Array, "t s"], mask: Bool[Array, "t s"] | None = None) -> Float[Array, "t s"]:
    """Softmax of the logits where the mask lets a query look.

    Args:
        logits: one for each output and source position, from any of the functions above.
        mask: True where a query may look.

    Raises:
        ValueError: if the logits are not finite or not of a floating type, or the mask has the wrong shape or
            hides a whole row.

    Example:
        A logit of log 2 against 0 and 0 gives 2, 1, 1 parts of 4.

        >>> import numpy as np
        >>> print(np.asarray(synthesizer_weights(np.log(2) * jnp.eye(3))).round(2))
        [[0.5  0.25 0.25]
         [0.25 0.5  0.25]
         [0.25 0.25 0.5 ]]
    """
    return softmax(_seen(logits, mask))


def synthesizer_attention(
    logits: Float[Array, "t s"], v: Float[Array, "s v"], mask: Bool[Array, "t s"] | None = None
) -> Float[Array, "t v"]:
    """The means of the values under `synthesizer_weights`.

    Args:
        logits: from any of the functions above, or a mixture of them.
        v: values, one row per source position.
        mask: True where a query may look.

    Raises:
        ValueError: if `synthesizer_weights` refuses the arguments; also if logits and v differ in length or v is
            not finite.

    Example:
        The first row has the weights 1/2, 1/4, 1/4, and only the first value is not 0.

        >>> import numpy as np
        >>> v = jnp.array([[8.0, 0], [0, 0], [0, 0]])
        >>> print(np.asarray(synthesizer_attention(np.log(2) * jnp.eye(3), v)).round(2))
        [[4. 0.]
         [2. 0.]
         [2. 0.]]

    Source: Tay et al. 2021, "Synthesizer: rethinking self-attention for transformer models".
    """
    refuse.wrong_rank(2, logits=logits, v=v)
    refuse.not_floating(v=v)
    refuse.different_axes("source positions", logits=logits.shape[1], v=v.shape[0])
    seen = _seen(logits, mask)
    refuse_visible(mask, v=v)
    return weighted_mean(seen, v, mask)


def _seen(logits: Array, mask: Array | None) -> Array:
    refuse.wrong_rank(2, logits=logits)
    refuse.not_floating(logits=logits)
    refuse.non_finite(logits=logits)
    refuse_blind(mask, *logits.shape)
    logits = refuse.nan_unless_finite(logits)
    return logits if mask is None else jnp.where(mask, logits, -jnp.inf)


def _refuse_longer(length: int, positions: int, name: str) -> None:
    refuse.not_whole(length=length)
    if not 0 < length <= positions:
        raise ValueError(f"the sequence has {length} positions, but {name} has {positions}: cut it, or learn more")
