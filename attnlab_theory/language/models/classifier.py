"""A classifier of texts: an encoder, a way to make one vector of a row, and a linear layer to the classes."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, assert_never

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from attnlab_theory import refuse
from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.models.encoder_config import EncoderConfig
from attnlab_theory.language.models.layers import Linear, at_least_single, dropout, keys_of


class Pooling(enum.StrEnum):
    """How all tokens of a row become one vector."""

    BERT = "bert"
    """The first token through a dense layer and tanh. The layer may come from the encoder's pretraining."""
    ROBERTA = "roberta"
    """The same after dropout of the first token, with a new layer."""
    MEAN = "mean"
    """The mean of the tokens, without padding."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassifierConfig:
    """An encoder, and the head on top of it.

    Raises:
        ValueError: naming the field and its value, if there are fewer than two classes, no such pooling, or the
            rate is not in [0, 1).
    """

    encoder: EncoderConfig
    classes: int = 2
    pooling: Pooling = Pooling.MEAN
    dropout: float = 0.1
    """The dropout rate of the inputs of the head's linear layers."""

    def __post_init__(self) -> None:
        refuse.not_a_size(classes=self.classes)
        if self.classes < 2:
            raise ValueError(f"classes must be at least 2, not {self.classes}")
        if not isinstance(self.pooling, Pooling):
            raise ValueError(f"pooling must be one of {', '.join(Pooling)}, not {self.pooling!r}")
        refuse.not_one_real(dropout=self.dropout)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and less than 1, not {self.dropout}")

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return self.encoder.vocabulary

    @property
    def hidden_width(self) -> int:
        """The hidden width of the encoder's feed-forward networks."""
        return self.encoder.hidden_width

    def as_json(self) -> dict[str, Any]:
        """The configuration as plain numbers, strings and dictionaries. `from_json` undoes it."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"encoder": self.encoder.as_json(), "pooling": str(self.pooling)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "ClassifierConfig":
        """What `as_json` wrote.

        Raises:
            ValueError: naming a field that is unknown, missing or out of range.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        for name in sorted(known ^ set(record)):
            raise ValueError(f"the configuration {'lacks' if name in known else 'has an unknown field'} {name!r}")
        if not isinstance(record["encoder"], Mapping):
            raise ValueError(f"encoder must be a configuration of its own, not {record['encoder']!r}")
        if record["pooling"] not in list(Pooling):
            raise ValueError(f"pooling must be one of {', '.join(Pooling)}, not {record['pooling']!r}")
        encoder = EncoderConfig.from_json(record["encoder"])
        return cls(**{**record, "encoder": encoder, "pooling": Pooling(record["pooling"])})


class Classifier(eqx.Module):
    """Rows of tokens to logits of their classes."""

    encoder: Encoder
    dense: Linear | None
    """The dense layer for the first token, if the pooling has one."""
    out: Linear
    config: ClassifierConfig = eqx.field(static=True)

    def __init__(
        self,
        config: ClassifierConfig,
        *,
        key: PRNGKeyArray,
        encoder: Encoder | None = None,
        pooler: Linear | None = None,
    ):
        for_encoder, for_dense, for_out = jax.random.split(key, 3)
        width = config.encoder.width
        self.encoder = Encoder(config.encoder, key=for_encoder) if encoder is None else encoder
        if self.encoder.config != config.encoder:
            raise ValueError("the encoder is of another configuration than the classifier's")
        self.dense = None if config.pooling is Pooling.MEAN else Linear(for_dense, width, width)
        if pooler is not None:
            _refuse_pooler(pooler, config)
            self.dense = pooler
        self.out = Linear(for_out, width, config.classes)
        self.config = config

    @classmethod
    def on(
        cls,
        encoder: Encoder,
        *,
        key: PRNGKeyArray,
        classes: int = 2,
        pooling: Pooling = Pooling.MEAN,
        dropout: float = 0.1,
        pooler: Linear | None = None,
    ) -> "Classifier":
        """A new head on an encoder that is trained already.

        Args:
            encoder: any.
            key: for the first weights of the head.
            classes: how many there are.
            pooling: how a row becomes one vector.
            dropout: of the head.
            pooler: the dense layer of BERT's pooling, if it comes from the pretraining.

        Raises:
            ValueError: if a number is out of range, or a pooler is given to another pooling or has another width.
        """
        config = ClassifierConfig(encoder=encoder.config, classes=classes, pooling=pooling, dropout=dropout)
        return cls(config, key=key, encoder=encoder, pooler=pooler)

    def logits(self, batch: LabelledBatch, key: PRNGKeyArray | None = None) -> Float[Array, "b classes"]:
        """The logits of the classes of every row, not normalised. Labels and weights are not read.

        Args:
            batch: any.
            key: for dropout. None means no dropout, as in evaluation.

        Raises:
            ValueError: if the encoder cannot take the rows.
        """
        within, first, last = keys_of(key, 3)
        tokens, mask = jnp.asarray(batch.tokens), jnp.asarray(batch.mask)
        return self.of_hidden(self.encoder.hidden(tokens, mask, key=within), mask, (first, last))

    def of_hidden(
        self,
        hidden: Float[Array, "b t c"],
        mask: Bool[Array, "b t"],
        keys: tuple[PRNGKeyArray | None, PRNGKeyArray | None] = (None, None),
    ) -> Float[Array, "b classes"]:
        """The logits by the encoder's last tokens. The two keys are for dropout before and after pooling."""
        first, last = keys
        pooled = self._pooled(hidden, mask, first)
        return at_least_single(self.out(dropout(last, pooled, self.config.dropout)[:, None])[:, 0])

    def summed_loss(self, batch: LabelledBatch, key: PRNGKeyArray | None = None) -> Float[Array, ""]:
        """Minus the log-probability of every row's label, in nats, weighted and summed.

        A traced label that is no class gives NaN.

        Raises:
            ValueError: if the encoder cannot take the rows, or a label is no class.
        """
        labels, weights = jnp.asarray(batch.labels), jnp.asarray(batch.weights)
        _refuse_labels(labels, weights, self.config.classes)
        logits = self.logits(batch, key)
        chosen = labels[:, None] == jnp.arange(self.config.classes, dtype=labels.dtype)[None]
        given = jnp.sum(jnp.where(chosen, logits, 0), axis=1)
        lost = jax.nn.logsumexp(logits, axis=1) - jnp.where(jnp.any(chosen, axis=1), given, jnp.nan)
        return jnp.sum(jnp.where(weights > 0, weights.astype(lost.dtype) * lost, 0))

    def decayed(self) -> PyTree[bool]:
        """Which parameters weight decay shrinks: those with two axes, so no biases and no gains of LayerNorm."""
        return jax.tree.map(lambda x: x.ndim > 1, self)

    def _pooled(self, hidden: Array, mask: Array, key: PRNGKeyArray | None) -> Float[Array, "b c"]:
        match self.config.pooling:
            case Pooling.MEAN:
                return mean_of_tokens(hidden, mask)
            case Pooling.BERT:
                return self._first(hidden[:, :1])
            case Pooling.ROBERTA:
                return self._first(dropout(key, hidden[:, :1], self.config.dropout))
            case _:
                assert_never(self.config.pooling)

    def _first(self, first: Float[Array, "b 1 c"]) -> Float[Array, "b c"]:
        assert self.dense is not None, "only the mean has no dense layer"
        return jnp.tanh(self.dense(first))[:, 0]


def mean_of_tokens(hidden: Float[Array, "b t c"], mask: Bool[Array, "b t"]) -> Float[Array, "b c"]:
    """The mean over the tokens of every row, in float32 or wider. Zero for a row of padding alone."""
    wide = at_least_single(hidden)
    total = jnp.sum(jnp.where(mask[:, :, None], wide, 0), axis=1)
    count = jnp.maximum(jnp.sum(mask, axis=1, dtype=jnp.int32), 1)
    return (total / count[:, None].astype(wide.dtype)).astype(hidden.dtype)


def _refuse_pooler(pooler: Linear, config: ClassifierConfig) -> None:
    width = config.encoder.width
    if config.pooling is not Pooling.BERT:
        raise ValueError(f"a pooler belongs to the pooling bert, not to {config.pooling}: leave it out")
    if pooler.weight.shape != (width, width):
        raise ValueError(f"the pooler must have weights {(width, width)}, not {pooler.weight.shape}")


def _refuse_labels(labels: Int[Array, " b"], weights: Float[Array, " b"], classes: int) -> None:
    if refuse.is_concrete(labels) and refuse.is_concrete(weights):
        host = np.asarray(labels)
        wrong = np.flatnonzero(((host < 0) | (host >= classes)) & (np.asarray(weights) > 0))
        if wrong.size:
            raise ValueError(f"label {host[wrong[0]]} of row {wrong[0]} is no class: there are {classes}, from 0")
