"""How the next token is chosen, as a value: the likeliest, or one drawn from a tempered and cut law.

The law is made in this order: logits over the temperature, then the k likeliest tokens, then the smallest set of
likeliest tokens with mass p, then the tokens with at least a share of the likeliest one's probability. Each cut
looks at what the one before it has left, renormalised. Of equally likely tokens the lowest number comes first.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab_theory.language.models.layers import at_least_single


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sampling:
    """A law from which the next token is drawn. By default the model's own.

    Raises:
        ValueError: one line, if a number is out of range.
    """

    temperature: float = 1.0
    """What the logits are divided by, above 0: below 1 likely tokens become likelier."""
    top_k: int | None = None
    """So many tokens are left, at least 1; None: all."""
    top_p: float | None = None
    """A token is left if the mass of those before it is below this, above 0 and at most 1; None or 1: all."""
    min_p: float | None = None
    """A token is left if its probability is at least this share of the largest, from 0 to 1; None or 0: all."""

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise ValueError(f"the temperature must be above 0 and finite, not {self.temperature}; 0 is Greedy()")
        if self.top_k is not None and (
            isinstance(self.top_k, bool) or self.top_k != int(self.top_k) or self.top_k < 1
        ):
            raise ValueError(f"top_k must be a whole number of at least 1, not {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p must lie between 0 and 1, not {self.min_p}")


@dataclasses.dataclass(frozen=True)
class Greedy:
    """The likeliest token; of equally likely ones that of the lowest number."""


Choosing = Sampling | Greedy
"""What a caller says."""


def log_law(logits: Float[Array, "*rows c"], sampling: Sampling) -> Float[Array, "*rows c"]:
    """The logarithm of the law from which the next token is drawn: -inf for a token that is cut.

    Args:
        logits: of a model, in any floating type; computed in float32 at least.
        sampling: temperature and cuts.

    Returns:
        Log-probabilities that add up to one. NaN in a row makes all of it NaN.

    Source: Fan et al. 2018 for top-k; Holtzman et al. 2020 for top-p; Nguyen et al. 2024 for min-p.
    """
    wide = at_least_single(logits)
    # Less the largest first: at a low temperature the quotients would overflow.
    law = jax.nn.log_softmax((wide - jnp.max(wide, axis=-1, keepdims=True)) / sampling.temperature, axis=-1)
    if sampling.top_k is not None or (sampling.top_p or 1.0) < 1.0:
        order = jnp.argsort(-law, axis=-1, stable=True)
        place = jnp.argsort(order, axis=-1, stable=True)
        if sampling.top_k is not None:
            law = _cut(law, place < sampling.top_k)
        if sampling.top_p is not None and sampling.top_p < 1.0:
            falling = jnp.take_along_axis(jnp.exp(law), order, axis=-1)
            before = jnp.cumsum(falling, axis=-1) - falling
            law = _cut(law, jnp.take_along_axis(before, place, axis=-1) < sampling.top_p)
    if sampling.min_p:
        law = _cut(law, law >= jnp.max(law, axis=-1, keepdims=True) + math.log(sampling.min_p))
    return law


def _cut(law: Float[Array, "*rows c"], kept: Array) -> Float[Array, "*rows c"]:
    """The law given that the token is one of those kept; a row of NaN stays one."""
    return jax.nn.log_softmax(jnp.where(kept | jnp.isnan(law), law, -jnp.inf), axis=-1)
