"""Random cases for identities: small shapes, sizes that vary, ties and zeros often."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from attnlab_theory.axes import Scalar

WIDTH = 4
LENGTH = 4


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Attending:
    """Queries, keys and values; a mask; and what a symmetry does to them."""

    q: Float[Array, "t d"]
    k: Float[Array, "s d"]
    v: Float[Array, "s v"]
    mask: Bool[Array, "t s"]
    """Every query sees at least one key."""
    scale: Scalar
    order: Int[Array, " s"]
    """A permutation of the source positions."""
    shift: Float[Array, " d"]
    """Added to every key."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Tokens:
    """Tokens and the projections of one head of self-attention."""

    x: Float[Array, "t d"]
    w_q: Float[Array, "d d"]
    w_k: Float[Array, "d d"]
    w_v: Float[Array, "d v"]
    scale: Scalar
    order: Int[Array, " t"]
    """A permutation of the tokens."""
    table: Float[Array, "m d"]
    """Learned positions, one row for each; or whatever else a mixer has learned, of any number of rows."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """The scores of one query, and its strength."""

    z: Float[Array, " s"]
    beta: float


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Rotating:
    """A query and a key at two positions, and how far both are moved."""

    q: Float[Array, " d"]
    k: Float[Array, " d"]
    t: int
    s: int
    move: int
    base: float


def attending(key: PRNGKeyArray) -> Attending:
    """Random queries, keys and values."""
    keys = iter(jax.random.split(key, 7))
    shape = (LENGTH, WIDTH)
    seen = jax.random.bernoulli(next(keys), 0.5, shape)
    return Attending(
        q=values(next(keys), shape),
        k=values(next(keys), shape),
        v=values(next(keys), (LENGTH, 3)),
        mask=seen | jnp.eye(LENGTH, dtype=bool),
        scale=_between(next(keys), 0.125, 2.0),
        order=_order(next(keys), LENGTH),
        shift=values(next(keys), (WIDTH,)),
    )


def tokens(key: PRNGKeyArray) -> Tokens:
    """Random tokens and projections."""
    keys = iter(jax.random.split(key, 7))
    shape = (LENGTH, WIDTH)
    return Tokens(
        x=values(next(keys), shape),
        w_q=jax.random.normal(next(keys), (WIDTH, WIDTH)) / 2,
        w_k=jax.random.normal(next(keys), (WIDTH, WIDTH)) / 2,
        w_v=jax.random.normal(next(keys), (WIDTH, WIDTH)) / 2,
        scale=_between(next(keys), 0.125, 1.0),
        order=_order(next(keys), LENGTH),
        table=jax.random.normal(next(keys), shape),
    )


def scores(key: PRNGKeyArray) -> Scores:
    """Random scores."""
    first, second = jax.random.split(key)
    return Scores(z=values(first, (LENGTH,)), beta=_between(second, 0.0625, 4.0))


def rotating(key: PRNGKeyArray) -> Rotating:
    """A random query and key, at random positions up to 4096 either way."""
    keys = iter(jax.random.split(key, 5))
    t, s, move = np.asarray(jax.random.randint(next(keys), (3,), -4096, 4097)).tolist()
    return Rotating(
        q=values(next(keys), (6,)),
        k=values(next(keys), (6,)),
        t=t,
        s=s,
        move=move,
        base=float(jax.random.choice(next(keys), jnp.array([10.0, 500.0, 10000.0]))),
    )


def values(key: PRNGKeyArray, shape: tuple[int, ...]) -> Array:
    """Numbers of at most 4 in size: normal, sometimes small, and one row in four a copy of another or zero."""
    draw, size, copied, which = jax.random.split(key, 4)
    x = jnp.clip(jax.random.normal(draw, shape) * 10 ** jax.random.uniform(size, minval=-2.0, maxval=0.5), -4, 4)
    if len(shape) == 1:
        return x
    source = jnp.where(jax.random.bernoulli(copied, 0.25, (shape[0],)), 0, jnp.arange(shape[0]))
    return jnp.where(jax.random.bernoulli(which, 0.1, (shape[0], 1)), 0, x[source])


def _between(key: PRNGKeyArray, low: float, high: float) -> float:
    return float(jax.random.uniform(key, minval=low, maxval=high))


def _order(key: PRNGKeyArray, n: int) -> Array:
    return jax.random.permutation(key, n)
