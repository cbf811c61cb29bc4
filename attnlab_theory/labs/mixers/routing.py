"""The cyclic-routing task: each of three tokens should read the next, by one head without a mask.

If queries are keys, scores are symmetric. So a12 a23 a31 = a13 a32 a21, and one wanted weight is at most a half.
Two such heads can do it, because their weights may be subtracted.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from attnlab_theory.seeds import key_for

NEXT = np.array([1, 2, 0])
"""The token that each token should read."""

WIDTH = 8
"""The width of tokens, queries and keys."""

STEPS = 3000
RATE = 0.02
STARTS = 64
"""How many first weights are tried. The best result counts."""


class Routed(NamedTuple):
    """The weights that a head, or two of them, have learned."""

    weights: Float[np.ndarray, "3 3"]
    """The weights of one head, or the combination of two."""

    @property
    def least(self) -> float:
        """The smallest of the three wanted weights."""
        return float(np.min(self.weights[np.arange(3), NEXT]))


def routed(seed: int, *, shared: bool, heads: int = 1) -> Routed:
    """Train one head or several on the task.

    Args:
        seed: of tokens and first weights.
        shared: whether queries are keys.
        heads: how many. A combination of several may have negative weights.
    """
    tokens, key = _tokens(seed)
    learned, losses = jax.vmap(lambda own: _trained(tokens, _first(own, heads), shared=shared))(
        jax.random.split(key, STARTS)
    )
    best = jax.tree.map(lambda x: x[int(np.argmin(losses))], learned)
    return Routed(np.asarray(_combined(tokens, best, shared=shared), np.float64))


def _tokens(seed: int) -> tuple[Float[Array, "3 d"], Array]:
    tokens, rest = jax.random.split(key_for(seed, "routing"))
    return jax.random.normal(tokens, (3, WIDTH)), rest


def _first(key: Array, heads: int) -> dict[str, Array]:
    q, k, mix = jax.random.split(key, 3)
    shape = (heads, WIDTH, WIDTH)
    first = {"q": 0.2 * jax.random.normal(q, shape), "k": 0.2 * jax.random.normal(k, shape)}
    return first | {"mix": 1 + jax.random.normal(mix, (heads,))}


def _combined(tokens: Array, model: dict[str, Array], *, shared: bool) -> Float[Array, "3 3"]:
    q = jnp.einsum("td,hde->hte", tokens, model["q"])
    k = q if shared else jnp.einsum("td,hde->hte", tokens, model["k"])
    weights = jax.nn.softmax(jnp.einsum("hte,hse->hts", q, k), axis=2)
    # One head gives a mean of values: its weights are what they are.
    return weights[0] if weights.shape[0] == 1 else jnp.einsum("h,hts->ts", model["mix"], weights)


@functools.partial(jax.jit, static_argnames="shared")
def _trained(tokens: Array, first: dict[str, Array], *, shared: bool) -> tuple[dict[str, Array], Float[Array, ""]]:
    wanted = jnp.eye(3)[NEXT]
    adam = optax.adam(RATE)

    def loss(model: dict[str, Array]) -> Array:
        return jnp.sum((_combined(tokens, model, shared=shared) - wanted) ** 2)

    def step(_: Array, state: tuple) -> tuple:
        model, moments = state
        with jax.numpy_dtype_promotion("standard"):
            change, moments = adam.update(jax.grad(loss)(model), moments)
        return jax.tree.map(jnp.add, model, change), moments

    learned, _ = jax.lax.fori_loop(0, STEPS, step, (first, adam.init(first)))
    return learned, loss(learned)
