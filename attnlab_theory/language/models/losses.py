"""Cross-entropy over many classes, a few tokens at a time, with a gradient of its own.

Logits of 500 tokens over 50,257 classes take 100 MB, and automatic differentiation keeps them twice. Here the
logits of only `CHUNK` tokens exist at once, and their gradient is computed at once. Tokens without weight cost
nothing.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

CHUNK = 240
"""How many tokens have their logits at once. Each chunk reads the head twice and writes its gradient once."""

MANY = 4096
"""From this many classes on, chunks are worth their loop."""


class _Sums(NamedTuple):
    loss: Float[Array, ""]
    d_x: Float[Array, "n c"]
    d_head: Float[Array, "c v"]


@jax.custom_vjp
def summed_cross_entropy(
    x: Float[Array, "n c"], head: Float[Array, "c v"], y: Int[Array, " n"], weights: Float[Array, " n"]
) -> Float[Array, ""]:
    """The weighted sum of minus the log-probabilities of classes y under softmax(x head), in nats.

    Args:
        x: the input of the head, for each token.
        head: the output layer, without bias.
        y: the class of each token, from 0. If there is no such class, the loss is infinite.
        weights: of each token's loss, at least 0. No gradient flows to them.
    """
    return jnp.sum(jnp.where(weights > 0, weights * cross_entropies(x, head, y), 0))


def cross_entropies(x: Float[Array, "n c"], head: Float[Array, "c v"], y: Int[Array, " n"]) -> Float[Array, " n"]:
    """Minus the log-probability of each token's class, in nats.

    Args:
        x: the input of the head, for each token.
        head: the output layer, without bias.
        y: the class of each token, from 0. If there is no such class, the loss is infinite.
    """
    n, chunk = x.shape[0], min(CHUNK, x.shape[0])
    padded = jnp.pad(x, ((0, -n % chunk), (0, 0))), jnp.pad(y, (0, -n % chunk))
    parts = tuple(part.reshape(-1, chunk, *part.shape[1:]) for part in padded)
    return lax.map(lambda part: _lost(part[0] @ head, part[1])[0], parts).reshape(-1)[:n]


def _lost(logits: Float[Array, "n v"], y: Int[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Minus the log-probabilities, and the logarithms of the normalisers."""
    normaliser = jax.nn.logsumexp(logits, axis=1)
    given = logits.at[jnp.arange(y.shape[0]), y].get(mode="fill", fill_value=-jnp.inf)
    return normaliser - given, normaliser


def _loss_and_gradient(
    x: Float[Array, "n c"], head: Float[Array, "c v"], y: Int[Array, " n"], weights: Float[Array, " n"]
) -> tuple[Float[Array, ""], tuple[Float[Array, "n c"], Float[Array, "c v"]]]:
    n, chunk = x.shape[0], min(CHUNK, x.shape[0])
    # Tokens that count first: then the loop ends with the last of them.
    order = jnp.argsort(weights <= 0, stable=True)
    counted = jnp.sum(weights > 0)
    missing = -n % chunk
    laid = jnp.pad(order, (0, missing))
    weighed = jnp.pad(weights[order], (0, missing))

    def add(number: Array, sums: _Sums) -> _Sums:
        at = lax.dynamic_slice_in_dim(laid, number * chunk, chunk)
        weight = lax.dynamic_slice_in_dim(weighed, number * chunk, chunk)
        tokens, classes = x[at], y[at]
        logits = tokens @ head
        lost, normaliser = _lost(logits, classes)
        chosen = classes[:, None] == jnp.arange(head.shape[1], dtype=classes.dtype)[None, :]
        power = jnp.exp(logits - normaliser[:, None])
        d_logits = weight[:, None] * (power - chosen.astype(power.dtype))
        d_tokens = jnp.where(weight[:, None] > 0, d_logits @ head.T, 0)
        d_head = sums.d_head + lax.dot_general(tokens, d_logits, (((0,), (0,)), ((), ())))
        loss = sums.loss + jnp.sum(jnp.where(weight > 0, weight * lost, 0))
        return _Sums(loss, lax.dynamic_update_slice_in_dim(sums.d_x, d_tokens, number * chunk, 0), d_head)

    nothing = _Sums(jnp.zeros((), x.dtype), jnp.zeros((n + missing, x.shape[1]), x.dtype), jnp.zeros_like(head))
    sums = lax.fori_loop(0, (counted + chunk - 1) // chunk, add, nothing)
    back = jnp.zeros_like(x).at[order].set(sums.d_x[:n], unique_indices=True)
    return sums.loss, (back, sums.d_head)


def _pull_back(
    gradient: tuple[Float[Array, "n c"], Float[Array, "c v"]], slope: Float[Array, ""]
) -> tuple[Float[Array, "n c"], Float[Array, "c v"], None, None]:
    d_x, d_head = gradient
    return slope * d_x, slope * d_head, None, None


summed_cross_entropy.defvjp(_loss_and_gradient, _pull_back)
