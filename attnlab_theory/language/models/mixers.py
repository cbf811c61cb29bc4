"""The choices of mixing layers, which a configuration names, and the layers that they build."""

import abc
import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from attnlab_theory import refuse
from attnlab_theory.attention import feature_attention, random_logits
from attnlab_theory.attention.additive import additive_scores
from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.models.layers import Linear, columns_of, first_weights, kept
from attnlab_theory.language.models.mixing import MixingLayer, Pairs, Parts, ScoredLayer, Shape
from attnlab_theory.language.models.weighing import Place
from attnlab_theory.sampling import orthogonal_projection


@dataclasses.dataclass(frozen=True)
class LayerChoice(abc.ABC):
    """A choice of mixing layer, and what it can be combined with."""

    name: ClassVar[str]
    compares: ClassVar[bool] = False
    """Whether its scores are inner products of queries and keys, so that rotary positions can turn them."""
    scored: ClassVar[bool] = True
    """Whether it has scores, so that biases, dropout, masks between documents and a cache are possible."""
    bounded: ClassVar[bool] = False
    """Whether it has no position beyond the block."""

    @abc.abstractmethod
    def layer(self, key: PRNGKeyArray, shape: Shape) -> MixingLayer:
        """A layer with its first weights."""


@dataclasses.dataclass(frozen=True)
class Softmax(LayerChoice):
    """Softmax attention. `shared` uses one projection for queries and keys, so that scores are symmetric."""

    shared: bool = False
    name: ClassVar[str] = "softmax attention"
    compares: ClassVar[bool] = True

    def layer(self, key: PRNGKeyArray, shape: Shape) -> MixingLayer:
        """A layer that projects to queries, keys and values in one product. If shared, keys are left out."""
        return SoftmaxLayer(key, shape, stacks=2 if self.shared else 3)


class SoftmaxLayer(ScoredLayer):
    """Scores are inner products over the root of their length."""

    inputs: Linear
    out: Linear
    shape: Shape = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, shape: Shape, *, stacks: int):
        self.inputs, self.out, self.shape = *_projections(key, shape, stacks), shape

    def parts(self, x: Float[Array, "b t c"], at: Int[Array, "rows t"]) -> Parts:
        """Queries and keys turned by their positions, and values."""
        *compared, v = self.cut(self.inputs(x))
        turned = [self.shape.positions.turned(heads, at) for heads in compared]
        return Parts(turned[0], turned[-1], v)

    def scores(
        self, q: Float[Array, "b h t m"], k: Float[Array, "b h s n"], pairs: Pairs
    ) -> Float[Array, "b h t s"]:
        """The scores of `attention_scores`. Its order of products suits random keys; here the other is faster."""
        return jnp.matmul(self.shape.head_width**-0.5 * q, jnp.swapaxes(k, 2, 3))


@dataclasses.dataclass(frozen=True)
class DroppedHeads(LayerChoice):
    """Softmax attention that drops whole heads in training, each with probability `rate`.

    Raises:
        ValueError: if the rate does not lie between 0 and 1.
    """

    rate: float = 0.1
    name: ClassVar[str] = "softmax attention with dropped heads"
    compares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise ValueError(f"the rate of dropped heads must lie between 0 and 1, not {self.rate}")

    def layer(self, key: PRNGKeyArray, shape: Shape) -> MixingLayer:
        """The projections of softmax attention."""
        return DroppedHeadsLayer(key, shape, self.rate)


class DroppedHeadsLayer(SoftmaxLayer):
    """The remaining heads are scaled, so that the expected output is that of all heads."""

    rate: float = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, shape: Shape, rate: float):
        super().__init__(key, shape, stacks=3)
        self.rate = rate

    def mixed(self, parts: Parts, place: Place, key: PRNGKeyArray | None) -> Float[Array, "b h t d"]:
        """The means of the values, head by head. With a key, 0 in heads that are dropped."""
        if key is None:
            return super().mixed(parts, place, None)
        inner, heads = jax.random.split(key)
        means = super().mixed(parts, place, inner)
        left = kept(heads, (*means.shape[:2], 1, 1), self.rate)
        return jnp.where(left, means / (1 - self.rate), 0).astype(means.dtype)


@dataclasses.dataclass(frozen=True)
class Additive(LayerChoice):
    """Bahdanau's attention: a network with `hidden` units per head scores every pair."""

    hidden: int = 16
    name: ClassVar[str] = "additive attention"

    def layer(self, key: PRNGKeyArray, shape: Shape) -> MixingLayer:
        """Projections of queries and keys into the hidden layer."""
        refuse.not_a_size(hidden=self.hidden)
        return AdditiveLayer(key, shape, self.hidden)


class AdditiveLayer(ScoredLayer):
    """Scores are w_out . tanh(x_t w_q + x_s w_k), in every head."""

    inputs: Linear
    hidden: Linear
    w_out: Float[Array, "h m"]
    out: Linear
    shape: Shape = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, shape: Shape, hidden: int):
        ends, inner, last = jax.random.split(key, 3)
        self.inputs, self.out, self.shape = *_projections(ends, shape, 1), shape
        self.hidden = Linear(inner, shape.width, 2 * shape.heads * hidden)
        self.w_out = first_weights(last, shape.heads, hidden)

    def parts(self, x: Float[Array, "b t c"], at: Int[Array, "rows t"]) -> Parts:
        """The inputs of the hidden layer from queries and from keys, and the values."""
        h, m = self.w_out.shape
        sides = self.hidden(x).reshape(*x.shape[:2], 2, h, m)
        q, k = jnp.transpose(sides, (2, 0, 3, 1, 4))
        (v,) = self.cut(self.inputs(x))
        return Parts(q, k, v)

    def scores(
        self, q: Float[Array, "b h t m"], k: Float[Array, "b h s n"], pairs: Pairs
    ) -> Float[Array, "b h t s"]:
        """The scores of `additive_scores`."""
        return jax.vmap(jax.vmap(additive_scores), (0, 0, None))(q, k, self.w_out)


@dataclasses.dataclass(frozen=True)
class RandomSynthesizer(LayerChoice):
    """Scores from a learned table per head, whatever the tokens are."""

    name: ClassVar[str] = "the random synthesizer"
    bounded: ClassVar[bool] = True

    def layer(self, key: PRNGKeyArray, shape: Shape) -> MixingLayer:
        """A table of the size of a block for every head."""
        return RandomLayer(key, shape)


class RandomLayer(ScoredLayer):
    """Scores are a corner of a table, or its entries at given positions."""

    inputs: Linear
    table: Float[Array, "h n n"]
    out: Linear
    shape: Shape = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, shape: Shape):
        ends, inner = jax.random.split(key)
        self.inputs, self.out, self.shape = *_projections(ends, shape, 1), shape
        self.table = first_weights(inner, shape.heads, shape.block, shape.block)

    def parts(self, x: Float[Array, "b t c"], at: Int[Array, "rows t"]) -> Parts:
        """Values only."""
        (v,) = self.cut(self.inputs(x))
        return Parts(v[..., :0], v[..., :0], v)

    def scores(
        self, q: Float[Array, "b h t m"], k: Float[Array, "b h s n"], pairs: Pairs
    ) -> Float[Array, "rows h t s"]:
        """The scores of `random_logits`, for all rows at once if positions are 0, 1, 2, …."""
        if pairs.first is not None:
            t = pairs.keys.shape[1]
            return jax.vmap(lambda table: random_logits(table, t)[pairs.first :])(self.table)[None]

        def of_row(queries: Array, keys: Array) -> Array:
            rows = columns_of(jnp.swapaxes(self.table, 1, 2), queries)
            return columns_of(jnp.swapaxes(rows, 1, 2), keys)

        return jax.vmap(of_row)(pairs.queries, pairs.keys)


@dataclasses.dataclass(frozen=True)
class DenseSynthesizer(LayerChoice):
    """Scores from each token by itself: relu(x A + b_1) B + b_2, with one B and b_2 for all heads.

    This is the homework's of 2021. There B and b_2 have one column less than the block; here they have all.
    """

    name: ClassVar[str] = "the dense synthesizer"
    bounded: ClassVar[bool] = True

    def layer(self, key: PRNGKeyArray, shape: Shape) -> MixingLayer:
        """B starts uniform in (-0.001, 0.001), b_2 at zero."""
        return DenseLayer(key, shape)


class DenseLayer(ScoredLayer):
    """Scores are columns of a two-layer network's outputs, one per position of the block."""

    inputs: Linear
    w_2: Float[Array, "m n"]
    b_2: Float[Array, " n"]
    out: Linear
    shape: Shape = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, shape: Shape):
        ends, inner = jax.random.split(key)
        self.inputs, self.out, self.shape = *_projections(ends, shape, 2), shape
        self.w_2 = jax.random.uniform(inner, (shape.head_width, shape.block), minval=-0.001, maxval=0.001)
        self.b_2 = jnp.zeros(shape.block)

    def parts(self, x: Float[Array, "b t c"], at: Int[Array, "rows t"]) -> Parts:
        """The hidden layer as queries, no keys, and values."""
        before, v = self.cut(self.inputs(x))
        return Parts(jax.nn.relu(before), v[..., :0], v)

    def scores(
        self, q: Float[Array, "b h t m"], k: Float[Array, "b h s n"], pairs: Pairs
    ) -> Float[Array, "b h t s"]:
        """The scores of `dense_logits`, head by head."""
        s = pairs.keys.shape[1]
        if pairs.first is not None:
            return q @ self.w_2[:, :s] + self.b_2[None, None, None, :s]
        logits = q @ self.w_2 + self.b_2[None, None, None, :]
        keys = jnp.broadcast_to(pairs.keys, (q.shape[0], s))
        return jax.vmap(columns_of)(logits, keys)


@dataclasses.dataclass(frozen=True)
class Features(LayerChoice):
    """Causal attention in linear time, by `features` random features for each head, drawn once and kept."""

    features: int = 64
    name: ClassVar[str] = "causal feature attention"
    compares: ClassVar[bool] = True
    scored: ClassVar[bool] = False

    def layer(self, key: PRNGKeyArray, shape: Shape) -> MixingLayer:
        """Orthogonal projections, the same for all heads of the layer."""
        refuse.not_a_size(features=self.features)
        return FeatureLayer(key, shape, self.features)


class FeatureLayer(MixingLayer):
    """Weights are products of positive features; the projection is no parameter."""

    inputs: Linear
    projection: Float[Array, "f d"]
    out: Linear
    shape: Shape = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, shape: Shape, features: int):
        ends, inner = jax.random.split(key)
        self.inputs, self.out, self.shape = *_projections(ends, shape, 3), shape
        self.projection = orthogonal_projection(inner, features, shape.head_width, norms="chi")

    def whole(
        self, x: Float[Array, "b t c"], place: Place, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "b t c"], None]:
        """`feature_attention` in every head."""
        if place.packed:
            raise ValueError(
                "causal feature attention sums over all the past and cannot keep packed documents apart: "
                "put one document in a row"
            )
        q, k, v = self.cut(self.inputs(x))
        q, k = (self.shape.positions.turned(heads, place.at) for heads in (q, k))
        projection = lax.stop_gradient(self.projection)

        def of_head(q: Array, k: Array, v: Array) -> Array:
            return feature_attention(q, k, v, projection, scale=self.shape.head_width**-0.5, causal=True)

        return self.merged(jax.vmap(jax.vmap(of_head))(q, k, v)), None


MIXERS: tuple[type[LayerChoice], ...] = (
    Softmax,
    DroppedHeads,
    Additive,
    RandomSynthesizer,
    DenseSynthesizer,
    Features,
)


def _projections(key: PRNGKeyArray, shape: Shape, stacks: int) -> tuple[Linear, Linear]:
    """The projections into `stacks` stacks of heads, and out of one."""
    into, out = jax.random.split(key)
    return Linear(into, shape.width, stacks * shape.width), Linear(out, shape.width, shape.width)
