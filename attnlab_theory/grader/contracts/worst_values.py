"""The error of attention weights at the values that make it largest."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.grader.contract import Measurement
from attnlab_theory.grader.contracts.frames import numbers


@functools.partial(jax.jit, static_argnames="average_heads")
def _off(
    queries: Float[Array, "h d"],
    keys: Float[Array, "s d"],
    wanted: Float[Array, "t s"],
    mask: Bool[Array, "h s"],
    *,
    average_heads: bool,
) -> tuple[Float[Array, "t s"], Float[Array, " t"]]:
    """The weights, and the error of each output at its worst values. Two calls of the operator, in one program."""
    weights = attention_weights(queries, keys, mask, scale=1.0)
    weights = jnp.mean(weights, axis=0, keepdims=True) if average_heads else weights
    values = jnp.where(weights >= wanted, 1.0, -1.0)
    # One column of values for each output; without averaging each query has its own.
    c = attention(queries, keys, values.T, mask, scale=1.0)
    c = jnp.mean(c, axis=0) if average_heads else jnp.diagonal(c)
    return weights, jnp.abs(c - jnp.sum(wanted * values, axis=1))


def worst_error(
    queries: np.ndarray, keys: np.ndarray, wanted: np.ndarray, *, present: int, average_heads: bool = False
) -> Measurement:
    """The largest distance from the wanted output over all values of norm at most 1, scale 1.

    The output is off by sum_i (alpha_i - wanted_i) v_i, of norm at most sum_i |alpha_i - wanted_i|. In one
    dimension, the values v_i = sign(alpha_i - wanted_i) attain it. So they are the worst, and the real operator
    gets them.

    Args:
        queries: one row for each output, or for each head of a single output. Use float64: at |q| = 1e5 a score in
            float32 is off by 1e-2.
        keys: one row for each source; rows from `present` on are padding.
        wanted: the weights that would be right, one row per output.
        present: how many keys there are.
        average_heads: whether the queries are heads, whose outputs are averaged.
    """
    mask = np.broadcast_to(np.arange(len(keys)) < present, (len(queries), len(keys)))
    weights, errors = map(np.asarray, _off(queries, keys, wanted, mask, average_heads=average_heads))
    # A NaN means that the scores overflowed; argmax finds it, and it is no small error.
    worst = int(np.argmax(errors))
    error = float(errors[worst]) if np.isfinite(errors[worst]) else np.inf
    row, target = weights[worst, :present], wanted[worst, :present]
    which = f" of query {worst}" if len(wanted) > 1 else ""
    return Measurement(
        error=error,
        seen={
            f"weights{which}": numbers(row),
            "wanted": numbers(target),
            "worst values": numbers(np.where(row >= target, 1.0, -1.0)),
        },
    )
