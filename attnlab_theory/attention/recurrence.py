"""A recurrent layer: what attention is compared with."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


def recurrent_layer(
    x: Float[Array, "t d"],
    w_in: Float[Array, "h d"],
    w: Float[Array, "h h"],
    activation: Callable[[Array], Array] = jnp.tanh,
) -> Float[Array, "t h"]:
    """The states h_t = f(w h_{t-1} + w_in x_t), from a state of zeros.

    Args:
        x: tokens.
        w_in: the matrix from a token to its state.
        w: the matrix from a state to the next one.
        activation: f, entry by entry.

    Example:
        With w = 1/2 and no nonlinearity a state keeps half of the one before: the first token fades as 1, 1/2, 1/4.

        >>> x = jnp.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
        >>> print(recurrent_layer(x, jnp.eye(2), jnp.eye(2) / 2, lambda h: h))
        [[1.   0.  ]
         [0.5  0.  ]
         [0.25 0.  ]]

    Source: Elman 1990.
    """

    def step(h: Array, row: Array) -> tuple[Array, Array]:
        h = activation(w @ h + w_in @ row)
        return h, h

    return lax.scan(step, jnp.zeros(w.shape[0], x.dtype), x)[1]
