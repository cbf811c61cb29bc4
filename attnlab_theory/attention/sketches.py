"""Linformer: keys and values are sketched along the sequence before softmax attention."""

from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.attention.softmax import attention, refuse_values
from attnlab_theory.axes import Scalar


def linformer_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    e: Float[Array, "m n"],
    f: Float[Array, "m n"],
    *,
    scale: Scalar,
) -> Float[Array, "t v"]:
    """Softmax attention over m mixtures of the keys and values instead of over the s positions: O((t + s) m).

    Outputs lie in the hull of the mixtures, not of the values. Every mixture holds every position, so no mask is
    possible: a key hidden from the softmax is still in the sketch. Used causally it leaks the future.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        v: values, one row per source position.
        e: projection of the keys along the sequence, learned for n positions or drawn
            (`attnlab_theory.sampling.gaussian_sketch`).
        f: projection of the values; may be `e`.
        scale: inverse temperature, dimensionless.

    Returns:
        One row per query. A sequence shorter than the projections uses their first s columns: what padding the
        sequence with zeros would give.

    Raises:
        ValueError: if `attention` refuses the arguments; also if the sequence is longer than a projection, or e and
            f differ in rows.

    Example:
        Three values are sketched to two: the first by itself, and the sum of the others. A query of 0 gives both
        mixtures the weight 1/2.

        >>> import jax.numpy as jnp
        >>> q = k = jnp.zeros((3, 2))
        >>> v = jnp.array([[2.0, 0], [0, 4], [0, 6]])
        >>> e = jnp.array([[1.0, 0, 0], [0, 1, 1]])
        >>> print(linformer_attention(q, k, v, e, e, scale=1.0))
        [[1. 5.]
         [1. 5.]
         [1. 5.]]

    Source: Wang et al. 2020, "Linformer", equation 7.
    """
    refuse.wrong_rank(2, e=e, f=f)
    refuse.not_floating(k=k, e=e, f=f)
    refuse_values(k, v)
    refuse.different_axes("sketched positions", e=e.shape[0], f=f.shape[0])
    if not e.shape[0]:
        raise ValueError("e and f need at least one row: there is nothing to attend to in a sketch of 0 positions")
    # The sketch of no keys at all would be zeros, which `attention` could not tell from keys.
    if not k.shape[0]:
        raise ValueError(f"attention needs at least one key, but k has shape {k.shape}")
    refuse.non_finite(k=k, e=e, f=f)
    s = k.shape[0]
    for name, projection in (("e", e), ("f", f)):
        if s > projection.shape[1]:
            raise ValueError(
                f"the sequence has {s} positions, but {name} projects {projection.shape[1]}: "
                "cut the sequence or make a longer projection"
            )
    return attention(q, e[:, :s] @ k, f[:, :s] @ v, scale=scale)
