"""A recurrent network and a classifier are trained, stopped and written as a GPT is."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.language.checkpoint import load_model, save_model
from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.models.model import Config, Examples, Kind, Model
from attnlab_theory.language.optimizers import AdamW
from attnlab_theory.language.runs import Run, complete, standing
from attnlab_theory.language.schedules import Cosine
from attnlab_theory.language.text.vocabulary import VOCABULARIES
from attnlab_theory.language.train import Training

WORDS = ("", "a", "cat", "sat")


@dataclasses.dataclass(frozen=True)
class Words:
    words: tuple[str, ...]

    def __len__(self):
        return len(self.words)

    def as_json(self):
        return {"kind": "words", "words": list(self.words)}


@dataclasses.dataclass(frozen=True)
class Sizes:
    vocabulary: int
    width: int

    def as_json(self):
        return dataclasses.asdict(self)


class Recurrent(eqx.Module):
    """h = tanh(W h + E x), logits = E h."""

    embedding: jax.Array
    weight: jax.Array
    bias: jax.Array
    config: Sizes = eqx.field(static=True)

    def __init__(self, config, *, key):
        of_words, of_states = jax.random.split(key)
        self.embedding = jax.random.normal(of_words, (config.vocabulary, config.width))
        self.weight = jax.random.normal(of_states, (config.width, config.width)) / 4
        self.bias = jnp.zeros(config.width)
        self.config = config

    def states(self, x):
        def step(state, token):
            state = jnp.tanh(state @ self.weight + self.embedding[token] + self.bias[None])
            return state, state

        start = jnp.zeros((x.shape[0], self.config.width), self.bias.dtype)
        return jnp.swapaxes(jax.lax.scan(step, start, x.T)[1], 0, 1)

    def summed_loss(self, batch, key=None):
        logs = jax.nn.log_softmax(self.states(batch.x) @ self.embedding.T)
        given = jnp.take_along_axis(logs, batch.y[:, :, None], axis=2)[:, :, 0]
        return -jnp.sum(jnp.where(batch.y == 0, 0.0, given))

    def decayed(self):
        return jax.tree.map_with_path(lambda path, _: path[-1].name != "bias", self)


class Labelled(NamedTuple):
    """Sequences with one label each, counted from 1; 0 is a row that only fills up."""

    x: np.ndarray
    label: np.ndarray

    @property
    def targets(self):
        return int(np.count_nonzero(self.label))

    documents = weight = targets

    @property
    def places(self):
        return int(np.size(self.x))


class Classifier(Recurrent):
    """Two classes, read off the last state."""

    def summed_loss(self, batch, key=None):
        logs = jax.nn.log_softmax(self.states(batch.x)[:, -1] @ self.embedding.T)
        given = jnp.take_along_axis(logs, batch.label[:, None], axis=1)[:, 0]
        return -jnp.sum(jnp.where(batch.label == 0, 0.0, given))


def words_from_json(record):
    return Words(tuple(record["words"]))


def sizes_from_json(record):
    return Sizes(**record)


KINDS = {
    kind.__name__: Kind(kind, sizes_from_json, {**VOCABULARIES, "words": words_from_json})
    for kind in (Recurrent, Classifier)
}
SIZES = Sizes(vocabulary=len(WORDS), width=6)


def sequences(epoch: int) -> list[Any]:
    x = np.random.default_rng(epoch).integers(1, len(WORDS), (3, 4, 5), dtype=np.int32)
    return [Batch(rows, rows[:, ::-1].copy()) for rows in x]


def labelled(epoch: int) -> list[Any]:
    x = np.random.default_rng(epoch).integers(1, len(WORDS), (3, 4, 5), dtype=np.int32)
    return [Labelled(rows, (1 + (rows[:, -1] == 1)).astype(np.int32)) for rows in x]


def run_of(kind: type, epochs) -> Run:
    training = Training(schedule=Cosine(peak=0.02, steps=30, warmup=1), epochs=10, optimizer=AdamW(decay=0.01))
    return Run(
        first=lambda: kind(SIZES, key=jax.random.key(0)),
        config=SIZES,
        text=Words(WORDS),
        epochs=epochs,
        training=training,
        steps=30,
        origin={"seed": 0},
        kinds=KINDS,
    )


BOTH = pytest.mark.parametrize(("kind", "epochs"), [(Recurrent, sequences), (Classifier, labelled)])


@BOTH
def test_other_models_and_batches_meet_the_protocols(kind, epochs):
    assert isinstance(kind(SIZES, key=jax.random.key(0)), Model)
    assert isinstance(SIZES, Config)
    assert all(isinstance(batch, Examples) for batch in epochs(0))


@BOTH
def test_they_are_trained_by_the_same_loop(tmp_path, kind, epochs):
    run, path = run_of(kind, epochs), tmp_path / "model"
    begin = standing(run, path, resume=False)
    losses = []
    complete(run, path, begin, after=lambda metrics: losses.append(metrics.loss))
    assert len(losses) == 30
    assert np.mean(losses[-6:]) < 0.8 * np.mean(losses[:6])
    saved = load_model(path, kinds=KINDS)
    assert (type(saved.model), saved.text) == (kind, Words(WORDS))


@pytest.mark.slow("one of two members stays inside", but=1)
@BOTH
def test_a_stopped_run_of_theirs_goes_on_to_the_same_bits(tmp_path, kind, epochs):
    run = run_of(kind, epochs)
    complete(run, tmp_path / "whole", standing(run, tmp_path / "whole", resume=False))
    stopped = tmp_path / "stopped"
    assert (
        complete(run, stopped, standing(run, stopped, resume=False), after=lambda metrics: metrics.step == 7) == 7
    )
    assert not stopped.exists()
    assert complete(run, stopped, standing(run, stopped, resume=True)) is None
    assert stopped.read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_checkpoint_of_another_kind_is_refused_in_one_line(tmp_path):
    model = Recurrent(SIZES, key=jax.random.key(0))
    save_model(tmp_path / "model", model, Words(WORDS), {}, kinds=KINDS)
    with pytest.raises(ValueError, match=r"model holds a 'Recurrent', which is none of GPT, Classifier$"):
        load_model(tmp_path / "model")
    with pytest.raises(ValueError, match="Recurrent is not a known kind of model; known are GPT, Classifier"):
        save_model(tmp_path / "other", model, Words(WORDS), {})
    assert not (tmp_path / "other").exists()


@BOTH
def test_biases_are_not_decayed(kind, epochs):
    flags = kind(SIZES, key=jax.random.key(0)).decayed()
    assert (flags.embedding, flags.weight, flags.bias) == (True, True, False)
