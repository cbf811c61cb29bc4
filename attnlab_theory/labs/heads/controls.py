"""Controls: models that know nothing of the language, measured like the model that a statement is about.

A statement about a trained model says something of training only if an untrained model does not pass it. Two
kinds of controls read the same sentences, in the same groups. In a model with *random weights* the entries of every
tensor are in random order: sizes and layers stay. With *shuffled tokens* the model reads the words of each sentence
in random order: words and lengths stay.

A number counts by how far it lies on the side of the statement. The difference of the model from each control is
judged on the same groups of sentences. All differences of a statement, from all controls, hold together, so the
control that comes nearest may be picked afterwards.

Source: Adebayo et al. 2018, for tensors whose entries are shuffled.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from attnlab_theory.claims.statement import Statement, has_fields
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.heads.claims import STATEMENTS, beyond
from attnlab_theory.labs.heads.encoder import EncoderReading
from attnlab_theory.labs.heads.families import (
    ERROR_RATE,
    OVER_GROUPS,
    Banded,
    Family,
    Told,
    Unshown,
    estimated,
    estimates_of,
)
from attnlab_theory.labs.heads.opening import AnyReading
from attnlab_theory.labs.heads.results import Tell
from attnlab_theory.labs.heads.traces import Tokens
from attnlab_theory.stats import Interval
from attnlab_theory.stats.groups import Bands, bands

Model = TypeVar("Model")

RANDOM, SHUFFLED = "random weights", "shuffled tokens"


def controls_of(reading: AnyReading, *, models: int, seed: int = 0) -> dict[str, AnyReading]:
    """The controls of a reading, by name.

    Args:
        reading: a model with its text.
        models: how many have random weights. 0: no controls at all.
        seed: of all random orders.
    """
    if not models:
        return {}
    rng = np.random.default_rng([seed, 1])
    found = {f"{RANDOM} {number + 1}": _with_random_weights(reading, rng) for number in range(models)}
    tokens = tuple(_shuffled(each, rng) for each in reading.tokens)
    return {**found, SHUFFLED: dataclasses.replace(reading, tokens=tokens)}


def _with_random_weights(reading: AnyReading, rng: np.random.Generator) -> AnyReading:
    if isinstance(reading, EncoderReading) and reading.classifier is not None:
        classifier = random_weights(reading.classifier, rng)
        return dataclasses.replace(reading, model=classifier.encoder, classifier=classifier)
    return dataclasses.replace(reading, model=random_weights(reading.model, rng))


def random_weights(model: Model, rng: np.random.Generator) -> Model:
    """The model with the entries of every tensor in random order."""

    def shuffled(tensor: jax.Array) -> jax.Array:
        order = rng.permutation(tensor.size)
        return tensor.reshape(-1)[order].reshape(tensor.shape)

    return jax.tree.map(lambda leaf: shuffled(leaf) if eqx.is_inexact_array(leaf) else leaf, model)


def _shuffled(tokens: Tokens, rng: np.random.Generator) -> Tokens:
    """A sentence with its words in random order. Marks stay where they are."""
    ids, words = tokens.ids.copy(), np.flatnonzero(~tokens.special)
    ids[words] = ids[rng.permutation(words)]
    return dataclasses.replace(tokens, ids=ids)


Measure = Callable[[Any, Tell], Sequence[Told]]
"""A function of a reading and of `tell` to its numbers."""


def beside_controls(
    own: Sequence[Told], controls: Mapping[str, Any], numbers: Measure, tell: Tell = lambda _: None
) -> Estimates:
    """The numbers of a model with their intervals, and how far they lie beyond those of its controls.

    Args:
        own: the numbers of the model.
        controls: readings of the same text, by name.
        numbers: what is measured of each.
        tell: called with a line about what is being done.
    """
    theirs = {}
    for name, reading in controls.items():
        theirs[name] = numbers(reading, lambda line, name=name: tell(f"{name}: {line}"))
    tell("intervals")
    return Estimates([*estimated(own), *compared(own, theirs)])


def compared(own: Sequence[Told], controls: Mapping[str, Sequence[Told]]) -> Iterator[Estimate]:
    """How far every number that is judged lies beyond that of the strongest control, on the side of its statement.

    A number that no control has is not compared, and then its statement is not supported.

    Args:
        own: the numbers of the model.
        controls: those of each control, by its name.
    """
    theirs = {name: _comparable(told) for name, told in controls.items()}
    for stated in STATEMENTS:
        for each in _comparable(own):
            if each.quantity == stated.quantity:
                others = {name: other for name, told in theirs.items() for other in told if _is_same(each, other)}
                if others:
                    yield from _beyond(stated, each, others)


def _comparable(told: Sequence[Told]) -> list[Family | Banded]:
    """Numbers that can be compared. Those that are compared by groups of sentences are not compared otherwise."""
    return [each.family if isinstance(each, Unshown) else each for each in told if not isinstance(each, Estimate)]


def _is_same(own: Family | Banded, other: Family | Banded) -> bool:
    return own.quantity == other.quantity and dict(own.setting) == dict(other.setting)


def _beyond(stated: Statement, own: Family | Banded, others: Mapping[str, Family | Banded]) -> Iterator[Estimate]:
    """The strongest control of each number, and the difference from it."""
    assert isinstance(stated.predicted, Interval), "statements about heads have fixed ends"
    if isinstance(own, Family):
        found = _of_groups(stated.predicted, own, [each for each in others.values() if isinstance(each, Family)])
    else:
        found = _of_bands(stated.predicted, own, [each for each in others.values() if isinstance(each, Banded)])
    names, strongest = list(others), np.argmin(np.where(np.isnan(found.values), np.inf, found.values), axis=0)
    chosen = Bands(*(np.take_along_axis(part, strongest[None], axis=0)[0] for part in found))
    bound = OVER_GROUPS if isinstance(own, Family) else own.bound
    for index in np.ndindex(chosen.values.shape):
        if has_fields(own.told(index), stated.where):
            one = Bands(*(np.asarray(part[index]) for part in chosen))
            told = {**own.told(index), "control": names[int(strongest[index])]}
            yield from estimates_of(beyond(stated.name), one, own.draws, bound, lambda _, told=told: told)


def _of_groups(predicted: Interval, own: Family, others: Sequence[Family]) -> Bands:
    """Differences with simultaneous intervals, controls along the first axis."""
    if own.logarithms:
        with np.errstate(divide="ignore"):
            predicted = Interval(float(np.log(max(predicted.low, 0.0))), float(np.log(predicted.high)))
    ours = _on_the_side_of(predicted, own.replicates)
    differences = [ours - _on_the_side_of(predicted, other.replicates) for other in others]
    return bands(np.stack(differences, axis=1), ERROR_RATE)


def _of_bands(predicted: Interval, own: Banded, others: Sequence[Banded]) -> Bands:
    """Differences of intervals. Half of the error rate is the model's, half the controls'."""
    assert predicted.low == -math.inf, "such numbers are at most something"
    ours, found = own.at(ERROR_RATE / 2), [other.at(ERROR_RATE / 2 / len(others)) for other in others]
    return Bands(
        values=np.stack([each.values - ours.values for each in found]),
        low=np.stack([each.low - ours.high for each in found]),
        high=np.stack([each.high - ours.low for each in found]),
    )


def _on_the_side_of(predicted: Interval, values: Float[np.ndarray, "*m"]) -> Float[np.ndarray, "*m"]:
    """Numbers that are larger the further a value lies on the side of a prediction."""
    if predicted.high == math.inf:
        return values
    if predicted.low == -math.inf:
        return -values
    return -np.abs(values - (predicted.low + predicted.high) / 2)
