"""Mixing layers of this lab only: one shared projection, and masks with zeros, which let the future through.

They do not stand among the mixers of `language.models`, so that nobody takes a leaking layer for a causal one.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.models.config import GPTConfig, config_from_json
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.layers import Linear
from attnlab_theory.language.models.mixers import MIXERS, LayerChoice, SoftmaxLayer
from attnlab_theory.language.models.mixing import Kept, MixingLayer, Parts, Shape
from attnlab_theory.language.models.model import Kind
from attnlab_theory.language.models.weighing import Place

When = Literal["after", "before"]
"""Where the zeros go: after the softmax, into the weights, as in the homework; or before it, into the scores."""


@dataclasses.dataclass(frozen=True)
class OneProjection(LayerChoice):
    """Softmax attention whose queries, keys and values are the same vectors."""

    name: ClassVar[str] = "softmax attention with one projection"
    compares: ClassVar[bool] = True

    def layer(self, key: PRNGKeyArray, shape: Shape) -> MixingLayer:
        """A layer with one projection instead of three."""
        return OneProjectionLayer(key, shape)


class OneProjectionLayer(SoftmaxLayer):
    """Q = K = V."""

    def __init__(self, key: PRNGKeyArray, shape: Shape):
        super().__init__(key, shape, stacks=1)

    def parts(self, x: Float[Array, "b t c"], at: Int[Array, "rows t"]) -> Parts:
        """The same heads three times. Queries and keys are turned by their positions."""
        (heads,) = self.cut(self.inputs(x))
        turned = self.shape.positions.turned(heads, at)
        return Parts(turned, turned, heads)


@dataclasses.dataclass(frozen=True)
class ZeroMask(LayerChoice):
    """Softmax attention that masks with zeros instead of minus infinity. So later tokens have an effect.

    Raises:
        ValueError: if there is no such mask.
    """

    when: When = "after"
    name: ClassVar[str] = "softmax attention masked with zeros"
    compares: ClassVar[bool] = True
    scored: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.when not in get_args(When):
            raise ValueError(f"zeros come {' or '.join(get_args(When))} the softmax, not {self.when!r}")

    def layer(self, key: PRNGKeyArray, shape: Shape) -> MixingLayer:
        """The projections of softmax attention."""
        return ZeroMaskLayer(key, shape, self.when)


class ZeroMaskLayer(MixingLayer):
    """The weights of later tokens become zero, after a softmax over the whole row, or else their scores before."""

    inputs: Linear
    out: Linear
    shape: Shape = eqx.field(static=True)
    when: When = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, shape: Shape, when: When):
        causal = SoftmaxLayer(key, shape, stacks=3)
        self.inputs, self.out = causal.inputs, causal.out
        self.shape, self.when = shape, when

    def whole(
        self, x: Float[Array, "b t c"], place: Place, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "b t c"], Kept | None]:
        """The mixed tokens. Nothing can be kept in a cache, because outputs change with later tokens."""
        q, k, v = self.cut(self.inputs(x))
        scores = jnp.matmul(self.shape.head_width**-0.5 * q, jnp.swapaxes(k, 2, 3))
        mask = place.mask[:, None]
        if self.when == "before":
            weights = jax.nn.softmax(jnp.where(mask, scores, 0.0), axis=3)
        else:
            weights = jnp.where(mask, jax.nn.softmax(scores, axis=3), 0.0)
        return self.merged(jnp.matmul(weights, v)), None


def _config(record: Mapping[str, Any]) -> GPTConfig:
    return config_from_json(record, mixers=(*MIXERS, OneProjection, ZeroMask))


KINDS = {"GPT": Kind(GPT, _config)}
"""The models of this lab's files."""
