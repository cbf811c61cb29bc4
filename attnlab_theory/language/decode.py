"""How the next token is chosen: the likeliest, or one drawn from a law with a temperature and cuts.

The law is made in four steps. Logits are divided by the temperature. The k likeliest tokens are kept (top-k), then
the smallest set of likeliest tokens with mass p (top-p). Last, tokens are kept that have at least a share of the
likeliest token's probability (min-p). Each cut works on what the one before left, renormalised. Of equally likely
tokens the lowest number comes first.
"""

import dataclasses
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from attnlab_theory.language.models.layers import at_least_single

PREFIX = 256
"""Up to this many likeliest tokens are found by sorting. More are found by their probabilities."""

ROWS = 8
"""How many rows a processor cuts at once. More would not fit into its cache."""

BLOCK = 256
"""How many tokens' probabilities are added up before one of them is looked for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sampling:
    """A law from which the next token is drawn. By default the model's own.

    Raises:
        ValueError: one line, if a number is out of range.
    """

    temperature: float = 1.0
    """The divisor of the logits, above 0. Below 1 likely tokens become likelier."""
    top_k: int | None = None
    """How many of the likeliest tokens are kept, at least 1. None: all."""
    top_p: float | None = None
    """A token is kept if the likelier ones have less mass than this, above 0 and at most 1. None or 1: all."""
    min_p: float | None = None
    """A token is kept if its probability is at least this share of the largest, from 0 to 1. None or 0: all."""

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            wanted = "above 0 and finite (greedy decoding has none)"
            raise ValueError(f"the temperature must be {wanted}, not {self.temperature}")
        if self.top_k is not None and (
            isinstance(self.top_k, bool) or self.top_k != int(self.top_k) or self.top_k < 1
        ):
            raise ValueError(f"top-k must be a whole number of at least 1, not {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top-p must be above 0 and at most 1, not {self.top_p}")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise ValueError(f"min-p must lie between 0 and 1, not {self.min_p}")

    def law(self) -> "Law":
        """The numbers as arrays, so that one program serves all numbers."""
        cuts = 1.0 if self.top_p is None else self.top_p
        return Law(
            temperature=jnp.asarray(self.temperature, float),
            top_k=None if self.top_k is None else jnp.int32(min(self.top_k, np.iinfo(np.int32).max)),
            top_p=None if cuts == 1.0 else jnp.asarray(cuts, float),
            min_p=jnp.asarray(math.log(self.min_p), float) if self.min_p else None,
        )


class Law(NamedTuple):
    """The numbers of a law, inside a program. None where nothing is cut."""

    temperature: Float[Array, ""]
    top_k: Int[Array, ""] | None
    top_p: Float[Array, ""] | None
    min_p: Float[Array, ""] | None
    """The logarithm of the share."""


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Greedy:
    """The likeliest token. Of equally likely ones the lowest number."""


Choosing = Sampling | Greedy
"""How the caller wants tokens to be chosen."""


def log_law(logits: Float[Array, "*rows c"], sampling: Sampling | Law) -> Float[Array, "*rows c"]:
    """The logarithm of the law from which the next token is drawn: -inf for a token that is cut.

    Args:
        logits: of a model, in any floating type; computed in float32 at least.
        sampling: temperature and cuts.

    Returns:
        Log-probabilities that add up to one. NaN in a row makes all of it NaN.

    Source: Fan et al. 2018 for top-k; Holtzman et al. 2020 for top-p; Nguyen et al. 2024 for min-p.
    """
    told = sampling.law() if isinstance(sampling, Sampling) else sampling
    law = _tempered(logits, told)
    if told.top_k is not None:
        law = _cut(law, _likeliest(law, jnp.ones_like(law), told.top_k.astype(law.dtype)))
    if told.top_p is not None:
        law = _cut(law, _likeliest(law, jnp.exp(law), told.top_p.astype(law.dtype)))
    return _cut_by_share(law, told)


def drawn(chances: Float[Array, " n"], logits: Float[Array, "n c"], sampling: Sampling | Law) -> Int[Array, " n"]:
    """A token of each row by the law of `log_law`: the first at which the summed probabilities pass a chance.

    Args:
        chances: independent and uniform, at least 0 and less than 1.
        logits: of a model.
        sampling: temperature and cuts.

    Returns:
        Tokens, never one that is cut. If a row has a NaN, its token is c, which is no token.
    """
    told = sampling.law() if isinstance(sampling, Sampling) else sampling
    if told.top_k is None and told.top_p is None:
        return _by_chance(chances, _cut_by_share(_tempered(logits, told), told))
    if logits.shape[1] <= PREFIX:
        return _among_the_likeliest(chances, logits, told)

    def of_rows(some: tuple[Array, Array]) -> Array:
        def by_the_whole_law() -> Array:
            return _by_chance(some[0], log_law(some[1], told))

        if told.top_k is None:
            return by_the_whole_law()
        return lax.cond(
            told.top_k <= PREFIX, lambda: _among_the_likeliest(some[0], some[1], told), by_the_whole_law
        )

    if jax.default_backend() != "cpu":
        return of_rows((chances, logits))
    n = logits.shape[0]
    padded = (jnp.pad(x, ((0, -n % ROWS), *[(0, 0)] * (x.ndim - 1)), mode="edge") for x in (chances, logits))
    return lax.map(of_rows, tuple(x.reshape(-1, ROWS, *x.shape[1:]) for x in padded)).reshape(-1)[:n]


def _among_the_likeliest(chances: Float[Array, " n"], logits: Float[Array, "n c"], told: Law) -> Int[Array, " n"]:
    """The tokens of `drawn`, if no cut keeps more than the `PREFIX` likeliest."""
    law = _tempered(logits, told)
    few, tokens = lax.top_k(law, min(PREFIX, law.shape[1]))
    count = few.shape[1]
    if told.top_k is not None:
        few = _cut(few, jnp.arange(count, dtype=jnp.int32)[None, :] < told.top_k)
    if told.top_p is not None:
        mass = jnp.exp(few)
        few = _cut(few, jnp.cumsum(mass, axis=1) - mass < told.top_p.astype(law.dtype))
    few = _cut_by_share(few, told)
    # In the order of their numbers, as where all tokens are looked at.
    in_order = jnp.argsort(tokens, axis=1)
    chosen = _by_chance(chances, jnp.take_along_axis(few, in_order, axis=1))
    place = jnp.minimum(chosen, count - 1)[:, None]
    found = jnp.take_along_axis(jnp.take_along_axis(tokens, in_order, axis=1), place, axis=1)[:, 0]
    return jnp.where(chosen < count, found, logits.shape[1]).astype(jnp.int32)


def _tempered(logits: Float[Array, "*rows c"], told: Law) -> Float[Array, "*rows c"]:
    wide = at_least_single(logits)
    # Less the largest first: at a low temperature the quotients would overflow.
    less = wide - jnp.max(wide, axis=-1, keepdims=True)
    return jax.nn.log_softmax(less / told.temperature.astype(wide.dtype), axis=-1)


def _cut_by_share(law: Float[Array, "*rows c"], told: Law) -> Float[Array, "*rows c"]:
    if told.min_p is None:
        return law
    return _cut(law, law >= jnp.max(law, axis=-1, keepdims=True) + told.min_p.astype(law.dtype))


def _cut(law: Float[Array, "*rows c"], kept: Bool[Array, "*some c"]) -> Float[Array, "*rows c"]:
    """The law, given that the token is one of those kept. A row of NaN stays NaN."""
    return jax.nn.log_softmax(jnp.where(kept | jnp.isnan(law), law, -jnp.inf), axis=-1)


def _likeliest(
    law: Float[Array, "*rows c"], weights: Float[Array, "*rows c"], limit: Float[Array, ""]
) -> Bool[Array, "*rows c"]:
    """Which tokens are kept: those before which the weights add up to less than the limit.

    Tokens come in falling order, equal ones in the order of their numbers. Nothing is sorted. The place of the cut
    is found by halving the range of all floating numbers, one bit at a time.
    """
    whole = jnp.int64 if law.dtype.itemsize == 8 else jnp.int32
    # Costs are not negative, and the bits of such numbers are ordered as they are.
    costs = lax.bitcast_convert_type(jnp.abs(law), whole)
    ends = jnp.zeros(law.shape[:-1], whole), jnp.full(law.shape[:-1], _bits_of_infinity(law.dtype), whole)

    def before(cost: Array) -> Array:
        return jnp.sum(jnp.where(costs < cost[..., None], weights, 0), axis=-1)

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = low + (high - low + 1) // 2
        fits = before(middle) < limit
        return jnp.where(fits, middle, low), jnp.where(fits, high, middle - 1)

    last, _ = lax.fori_loop(0, 8 * law.dtype.itemsize - 1, halve, ends)
    equal = costs == last[..., None]

    def by_rank() -> Array:
        rank = jnp.cumsum(jnp.where(equal, weights, 0), axis=-1) - weights
        return (costs < last[..., None]) | (equal & (before(last)[..., None] + rank < limit))

    # The last token that fits is rarely one of several equal ones.
    return lax.cond(jnp.all(jnp.sum(equal, axis=-1) <= 1), lambda: costs <= last[..., None], by_rank)


def _bits_of_infinity(dtype: np.dtype) -> int:
    return int(np.array(np.inf, dtype).view(np.int64 if dtype.itemsize == 8 else np.int32))


def _by_chance(chances: Float[Array, " n"], law: Float[Array, "n c"]) -> Int[Array, " n"]:
    """The first token at which the summed probabilities pass each chance. If there is a NaN, c: no token."""
    n, c = law.shape
    size = min(BLOCK, c)
    power = jnp.pad(jnp.exp(law), ((0, 0), (0, -c % size))).reshape(n, -1, size)
    blocks = jnp.cumsum(jnp.sum(power, axis=2), axis=1)
    whole = blocks[:, -1]
    # The largest chance, times the whole, may be rounded to the whole, which no sum passes.
    wanted = jnp.minimum(chances.astype(law.dtype) * whole, jnp.nextafter(whole, jnp.zeros_like(whole)))
    block = _first(blocks > wanted[:, None])
    inside = jnp.take_along_axis(power, block[:, None, None], axis=1)[:, 0]
    passed = jnp.where(block > 0, jnp.take_along_axis(blocks, jnp.maximum(block - 1, 0)[:, None], axis=1)[:, 0], 0)
    sums = passed[:, None] + jnp.cumsum(inside, axis=1)
    likely = inside > 0
    # Sums in another order may fall short of the block's by rounding: then it is the last token that is not cut.
    last = size - 1 - jnp.argmax(likely[:, ::-1], axis=1)
    place = jnp.minimum(_first((sums > wanted[:, None]) & likely, otherwise=size), last)
    return jnp.where(jnp.isnan(wanted), c, block * size + place).astype(jnp.int32)


def _first(holds: Bool[Array, "n m"], otherwise: int | None = None) -> Int[Array, " n"]:
    """The first place where something holds. If nothing does, the last place, or `otherwise`."""
    missing = holds.shape[1] - 1 if otherwise is None else otherwise
    return jnp.where(jnp.any(holds, axis=1), jnp.argmax(holds, axis=1), missing).astype(jnp.int32)
