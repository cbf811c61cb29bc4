"""Approximations of attention within a budget: random features, pooled keys, sparse masks.

Each is a matrix that replaces the softmax. Rows are short here, so every pair is computed, and no time is saved.
The aim is the error of the approximation for any head of any model. The operators of `attention` give the same
outputs in linear time.
"""

import abc
import dataclasses
import enum
from typing import ClassVar, TypeVar, assert_never

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, PyTree, Shaped

from attnlab_theory import refuse
from attnlab_theory.attention import (
    log_generalized_exponential_features,
    log_hyperbolic_features,
    log_positive_features,
)
from attnlab_theory.axes import PRNGKeyArray, Scalar
from attnlab_theory.language.models.encoder import BidirectionalLayer, Encoder
from attnlab_theory.language.models.mixing import Parts
from attnlab_theory.language.models.weighing import Place
from attnlab_theory.sampling import Coupling, coupled_projection

Numbers = np.ndarray | Array
Of = TypeVar("Of", np.ndarray, Array)


class Gauge(eqx.Module):
    """A rescaling of a head's queries and keys before they are approximated. Exact weights do not depend on it.

    If a vector is subtracted from all keys, the scores of a query change by one number. If queries are multiplied
    by what keys are divided by, no score changes. The errors of random features grow with the lengths that are
    left.
    """

    centre: Float[Numbers, "*heads d"]
    """Subtracted from every key."""
    balance: Float[Numbers, "*heads"]
    """Queries are multiplied by it, keys divided."""
    a: Float[Numbers, "*heads"]
    """The parameter of generalised exponential features, less than 1/4."""

    def of(self, q: Float[Of, "*heads t d"], k: Float[Of, "*heads t d"]) -> tuple[Of, Of]:
        """The rescaled queries and keys, for the approximation."""
        balance = self.balance[..., None, None]
        return q * balance, (k - self.centre[..., None, :]) / balance


@dataclasses.dataclass(frozen=True, kw_only=True)
class Approximation(abc.ABC):
    """An approximation of the softmax of scores.

    Raises:
        ValueError: if the budget is not a positive whole number.
    """

    budget: int
    causal: ClassVar[bool] = True
    """Whether it can be causal."""

    def __post_init__(self) -> None:
        refuse.not_a_size(budget=self.budget)

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Its name, without the budget."""

    def drawn(self, key: PRNGKeyArray, d: int) -> Array:
        """Its random part, for keys of this width. By default the PRNG key, which `weights` uses up."""
        return key

    @abc.abstractmethod
    def weights(
        self, drawn: Array, q: Float[Array, "t d"], k: Float[Array, "t d"], seen: Bool[Array, "t t"], a: Scalar
    ) -> Float[Array, "t t"]:
        """The matrix that replaces the weights of attention: the outputs are its product with the values.

        Args:
            drawn: the result of the method `drawn`.
            q, k: queries and keys. Scores are q . k.
            seen: which keys a query sees. No query sees padding.
            a: the parameter of generalised exponential features.
        """


class FeatureMap(enum.StrEnum):
    """The random features that are tried, by their names in the theory."""

    TRIGONOMETRIC = "trigonometric"
    POSITIVE = "positive"
    HYPERBOLIC = "hyperbolic"
    GENERALIZED = "generalized exponential"

    @property
    def per_projection(self) -> int:
        """How many features one projection gives."""
        return 2 if self in (FeatureMap.TRIGONOMETRIC, FeatureMap.HYPERBOLIC) else 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class RandomFeatures(Approximation):
    """An estimate of the kernel exp(q . k) from `budget` features of queries and of keys, normalised."""

    kind: FeatureMap
    coupling: Coupling = Coupling.INDEPENDENT

    @property
    def name(self) -> str:
        """The features, and whether their projections are orthogonal."""
        return f"{self.kind} features, {self.coupling}"

    def drawn(self, key: PRNGKeyArray, d: int) -> Array:
        """The projection."""
        return coupled_projection(key, max(1, self.budget // self.kind.per_projection), d, self.coupling)

    def weights(self, drawn: Array, q: Array, k: Array, seen: Array, a: Scalar) -> Float[Array, "t t"]:
        """Rows sum to one. A row whose normaliser is zero or no number is zero."""
        estimates = jnp.where(seen, self._kernel(q, k, drawn.astype(q.dtype), a), 0)
        normaliser = jnp.sum(estimates, axis=1, keepdims=True)
        there = jnp.isfinite(normaliser) & (normaliser != 0)
        return jnp.where(there, estimates / jnp.where(there, normaliser, 1), 0)

    def _kernel(self, q: Array, k: Array, projection: Array, a: Scalar) -> Float[Array, "t t"]:
        """The kernel, up to a factor for each query, and a factor that all keys share."""
        match self.kind:
            case FeatureMap.TRIGONOMETRIC:
                growth = jnp.sum(k**2, axis=1) / 2
                waves = [(f(q @ projection.T), f(k @ projection.T)) for f in (jnp.cos, jnp.sin)]
                return sum(x @ y.T for x, y in waves) * jnp.exp(growth - jnp.max(growth))[None]
            case FeatureMap.POSITIVE:
                logs = [log_positive_features(x, projection) for x in (q, k)]
            case FeatureMap.HYPERBOLIC:
                logs = [log_hyperbolic_features(x, projection) for x in (q, k)]
            case FeatureMap.GENERALIZED:
                logs = [log_generalized_exponential_features(x, projection, a=a) for x in (q, k)]
            case _:
                assert_never(self.kind)
        of_q, of_k = logs
        return jnp.exp(of_q - jnp.max(of_q, axis=1, keepdims=True)) @ jnp.exp(of_k - jnp.max(of_k)).T


@dataclasses.dataclass(frozen=True, kw_only=True)
class Window(Approximation):
    """Softmax over the `budget` nearest keys, the query's own in the middle."""

    @property
    def name(self) -> str:
        """The mask."""
        return "sliding window"

    def weights(self, drawn: Array, q: Array, k: Array, seen: Array, a: Scalar) -> Float[Array, "t t"]:
        """Rows sum to one."""
        return _softmax(q, k, seen & _near(len(q), self.budget // 2))


@dataclasses.dataclass(frozen=True, kw_only=True)
class BigBird(Approximation):
    """Softmax over `budget` keys: three nearest, the first, and random ones. The first token sees all.

    Its blocks are single tokens, because sentences are short. Random keys are drawn from those that a query sees.
    """

    WINDOW: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget <= self.WINDOW:
            raise ValueError(f"BigBird's budget must be more than its window of {self.WINDOW}, not {self.budget}")

    @property
    def name(self) -> str:
        """The mask."""
        return "BigBird"

    def weights(self, drawn: Array, q: Array, k: Array, seen: Array, a: Scalar) -> Float[Array, "t t"]:
        """Rows sum to one."""
        return _softmax(q, k, seen & self.mask(drawn, seen))

    def mask(self, key: PRNGKeyArray, seen: Bool[Array, "t t"]) -> Bool[Array, "t t"]:
        """`bigbird_mask` for blocks of one token, with links only to keys that are seen."""
        t = len(seen)
        place = np.arange(t)
        always = _near(t, self.WINDOW // 2) | (place[:, None] == 0) | (place[None, :] == 0)
        chances = jnp.where(~always & seen, jax.random.uniform(key, (t, t)), -1)
        links, chosen = lax.top_k(chances, min(self.budget - self.WINDOW - 1, t))
        linked = jnp.any((chosen[:, :, None] == place[None, None]) & (links >= 0)[:, :, None], axis=1)
        return always | linked


@dataclasses.dataclass(frozen=True, kw_only=True)
class Linformer(Approximation):
    """Softmax over `budget` means of neighbouring keys, of means of their values: Linformer with pooling.

    Source: Wang et al. 2020, "Linformer", section 4 (general projections).
    """

    causal: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The sketch."""
        return "Linformer, pooled"

    def weights(self, drawn: Array, q: Array, k: Array, seen: Array, a: Scalar) -> Float[Array, "t t"]:
        """Rows sum to one."""
        e = self.projection(jnp.any(seen, axis=0)).astype(q.dtype)
        mixtures = jnp.broadcast_to(jnp.any(e > 0, axis=1)[None], (len(q), self.budget))
        return _softmax(q, e @ k, mixtures) @ e

    def projection(self, there: Bool[Array, " t"]) -> Float[Array, "m t"]:
        """Row i is the mean of the i-th part of the keys, without padding. Zero if that part is empty."""
        place = jnp.cumsum(there, dtype=jnp.int32) - 1
        part = place * self.budget // jnp.maximum(jnp.sum(there, dtype=jnp.int32), 1)
        member = (there[None] & (part[None] == jnp.arange(self.budget)[:, None])).astype(jnp.float32)
        return member / jnp.maximum(jnp.sum(member, axis=1, keepdims=True), 1)


class ApproximatedLayer(BidirectionalLayer):
    """A layer whose heads are all approximated."""

    approximation: Approximation = eqx.field(static=True)
    gauge: Gauge
    drawn: Shaped[Array, " b *of_row"]
    """The random part of the approximation, for each row of a batch."""

    def __init__(self, layer: BidirectionalLayer, approximation: Approximation, gauge: Gauge, drawn: Array):
        self.inputs, self.out, self.shape = layer.inputs, layer.out, layer.shape
        self.approximation, self.gauge, self.drawn = approximation, gauge, drawn

    def mixed(self, parts: Parts, place: Place, key: PRNGKeyArray | None) -> Float[Array, "b h t d"]:
        """The outputs of the approximation, head by head."""
        q = self.shape.head_width**-0.5 * parts.q

        def of_row(drawn: Array, q: Array, k: Array, seen: Array) -> Array:
            q, k = self.gauge.of(q, k)
            return jax.vmap(lambda q, k, a: self.approximation.weights(drawn, q, k, seen, a))(q, k, self.gauge.a)

        seen = jnp.broadcast_to(place.mask, (len(q), *place.mask.shape[1:]))
        return jnp.matmul(jax.vmap(of_row)(self.drawn, q, parts.k, seen), parts.v)


def approximated(
    encoder: Encoder, approximation: Approximation, gauge: Gauge, key: PRNGKeyArray, *, rows: int
) -> Encoder:
    """An encoder all of whose heads are approximated, for batches of `rows` rows.

    Args:
        encoder: any.
        approximation: of every head.
        gauge: of each head, [layers h ...].
        key: a PRNG key for the random parts, one for each row in each layer. They are drawn one layer after the
            other. If one program has the orthogonal factors of all layers, jaxlib 0.10 waits for itself on two
            cores.
        rows: of a batch.
    """
    layers = []
    for number, block in enumerate(encoder.blocks):
        keys = jax.random.split(jax.random.fold_in(key, number), rows)
        drawn = jax.block_until_ready(_of_rows(approximation, keys, encoder.config.shape.head_width))
        layers.append(ApproximatedLayer(block.mixing, approximation, _at(gauge, number), drawn))
    return with_layers(encoder, layers)


@eqx.filter_jit
def _of_rows(approximation: Approximation, keys: Array, d: int) -> Shaped[Array, " b *of_row"]:
    return jax.vmap(lambda key: approximation.drawn(key, d))(keys)


def with_layers(encoder: Encoder, layers: list) -> Encoder:
    """The encoder with other mixing layers, one for each block."""
    return eqx.tree_at(lambda model: [block.mixing for block in model.blocks], encoder, layers)


def _at(gauge: PyTree, number: int) -> Gauge:
    return jax.tree.map(lambda x: x[number], gauge)


def _near(t: int, reach: int) -> Bool[np.ndarray, "t t"]:
    place = np.arange(t)
    return np.abs(place[:, None] - place[None, :]) <= reach


def _softmax(q: Array, k: Array, seen: Array) -> Float[Array, "t s"]:
    """Weights of the keys that are seen. A row that sees none, as in padding, is zero."""
    scores = jnp.where(seen, q @ k.T, -jnp.inf)
    top = jnp.max(scores, axis=1, keepdims=True)
    powers = jnp.where(seen, jnp.exp(scores - jnp.where(jnp.isfinite(top), top, 0)), 0)
    return powers / jnp.maximum(jnp.sum(powers, axis=1, keepdims=True), jnp.finfo(powers.dtype).tiny)
