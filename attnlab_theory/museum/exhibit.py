"""What a bug's picture shows: the same numbers, computed rightly and wrongly."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab_theory.attention import causal_mask
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.leaks import leaks


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Exhibit:
    """Two matrices, or two curves over the same numbers."""

    title: str
    """What is shown, as a sentence without the verdict."""
    rows: str
    """What a row of a matrix is; the height of a curve."""
    columns: str
    """What a column is; what a curve runs over."""
    right: Array | np.ndarray
    wrong: Array | np.ndarray
    over: Float[np.ndarray, " x"] | None = None
    """The numbers that curves run over; None for matrices."""


LENGTH = 6
WIDTH = 4


def normal(seed: int, *shape: int) -> Array:
    """Standard normal numbers, always the same."""
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), jnp.float32)


def weights(right: Callable[..., Array], wrong: Callable[..., Array], *, masked: bool = True) -> Exhibit:
    """The weights that two operators (q, k, v, mask, scale=) give to six keys: their outputs for unit vectors.

    Args:
        right: operator.
        wrong: operator.
        masked: whether under a causal mask.
    """
    q, k = 1.5 * normal(1, LENGTH, WIDTH), normal(2, LENGTH, WIDTH)
    mask = causal_mask(LENGTH) if masked else None
    pair = (np.asarray(mix(q, k, jnp.eye(LENGTH), mask, scale=1.0)) for mix in (right, wrong))
    return Exhibit(
        title="Weights of six queries over six keys" + (", under a causal mask" if masked else ""),
        rows="query",
        columns="key",
        right=next(pair),
        wrong=next(pair),
    )


def tokens() -> Tokens:
    """Six tokens and the projections of one head."""
    w_q, w_k, w_v = (normal(seed, WIDTH, WIDTH) / 2 for seed in (4, 5, 6))
    return Tokens(
        x=normal(3, LENGTH, WIDTH),
        w_q=w_q,
        w_k=w_k,
        w_v=w_v,
        scale=1.0,
        order=jnp.arange(LENGTH)[::-1],
        table=normal(7, LENGTH, WIDTH),
    )


def moved(right: Callable[[Tokens], Array], wrong: Callable[[Tokens], Array]) -> Exhibit:
    """How far each output of two mixers moves when one input is replaced. Right of the diagonal is the future."""
    case = tokens()

    def reach(mix: Callable[[Tokens], Array]) -> np.ndarray:
        compiled = jax.jit(mix)
        found = leaks(lambda x: compiled(dataclasses.replace(case, x=x)), np.asarray(case.x))
        # Replacements are up to 1e4 in size: the logarithm tells a leak of rounding from a leak of content.
        return np.log10(np.maximum(np.where(np.isfinite(found.largest), found.largest, 1e4), 1e-9))

    return Exhibit(
        title="How far an output moves when an input is replaced (log10; future: right of the diagonal)",
        rows="output",
        columns="replaced input",
        right=reach(right),
        wrong=reach(wrong),
    )


def outputs(right: Callable[[Tokens], Array], wrong: Callable[[Tokens], Array]) -> Exhibit:
    """What two mixers return for the same tokens."""
    case = tokens()
    return Exhibit(
        title="Outputs for the same six tokens",
        rows="token",
        columns="coordinate",
        right=np.asarray(right(case)),
        wrong=np.asarray(wrong(case)),
    )
