"""Controls: models that know nothing of the language, measured like the model that a statement is about.

A statement about a trained model says something of training only if an untrained model does not pass it. Two
kinds of controls read the same sentences, in the same groups. In a model with *random weights* the entries of every
tensor are in random order: sizes and layers stay. With *shuffled tokens* the model reads the words of each sentence
in random order: words and lengths stay.

A number counts by how far it lies on the side of the statement. The difference of the model from each control is
judged on the same groups of sentences. Models with random weights are draws from a law, and the next draw is asked
for: as one more of them, a model would be the best of six in one statement of six. So the difference from them is
that from a new draw, with a prediction interval (Student). All differences of a statement hold together, so the
control that decides may be picked afterwards.

Source: Adebayo et al. 2018, for tensors whose entries are shuffled.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy  # special is loaded when first used: it takes a quarter of a second
from jaxtyping import Float

from attnlab_theory.claims.statement import Statement, has_fields
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.heads.claims import STATEMENTS, beyond, on_the_side_of
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


def controls_of(reading: AnyReading, *, models: int, seed: int = 0) -> dict[str, tuple[AnyReading, ...]]:
    """The controls of a reading, by name: each is one reading, or several draws from one law.

    Args:
        reading: a model with its text.
        models: how many have random weights, at least two. 0: no controls at all.
        seed: of all random orders.

    Raises:
        ValueError: if there is one model, which does not show how such models differ.
    """
    if models == 1:
        raise ValueError(
            "--controls must be 0 or at least 2, not 1: one model with random weights does not tell how they differ"
        )
    if not models:
        return {}
    rng = np.random.default_rng([seed, 1])
    drawn = tuple(_with_random_weights(reading, rng) for _ in range(models))
    tokens = tuple(_shuffled(each, rng) for each in reading.tokens)
    return {RANDOM: drawn, SHUFFLED: (dataclasses.replace(reading, tokens=tokens),)}


def _with_random_weights(reading: AnyReading, rng: np.random.Generator) -> AnyReading:
    if isinstance(reading, EncoderReading) and reading.classifier is not None:
        classifier = random_weights(reading.classifier, rng)
        return dataclasses.replace(reading, model=classifier.encoder, classifier=classifier)
    return dataclasses.replace(reading, model=random_weights(reading.model, rng))


def random_weights(model: Model, rng: np.random.Generator) -> Model:
    """The model with the entries of every tensor in random order."""

    def shuffled(tensor: jax.Array) -> jax.Array:
        entries = np.asarray(tensor).reshape(-1)[rng.permutation(tensor.size)]
        return jnp.asarray(entries.reshape(tensor.shape))

    return jax.tree.map(lambda leaf: shuffled(leaf) if eqx.is_inexact_array(leaf) else leaf, model)


def _shuffled(tokens: Tokens, rng: np.random.Generator) -> Tokens:
    """A sentence with its words in random order. Marks stay where they are."""
    ids, words = tokens.ids.copy(), np.flatnonzero(~tokens.special)
    ids[words] = ids[rng.permutation(words)]
    return dataclasses.replace(tokens, ids=ids)


Measure = Callable[[Any, Tell], Sequence[Told]]
"""A function of a reading and of `tell` to its numbers."""


def beside_controls(
    own: Sequence[Told], controls: Mapping[str, Sequence[Any]], numbers: Measure, tell: Tell = lambda _: None
) -> Estimates:
    """The numbers of a model with their intervals, and how far they lie beyond those of its controls.

    Args:
        own: the numbers of the model.
        controls: readings of the same text, by name, as `controls_of` gives them.
        numbers: what is measured of each.
        tell: called with a line about what is being done.
    """
    theirs: dict[str, list[Sequence[Told]]] = {}
    for name, readings in controls.items():
        theirs[name] = []
        for number, reading in enumerate(readings, 1):
            of = f"{name}, {number} of {len(readings)}" if len(readings) > 1 else name
            theirs[name].append(numbers(reading, lambda line, of=of: tell(f"{of}: {line}")))
    tell("intervals")
    return Estimates([*estimated(own), *compared(own, theirs)])


def compared(own: Sequence[Told], controls: Mapping[str, Sequence[Sequence[Told]]]) -> Iterator[Estimate]:
    """How far every number that is judged lies beyond that of the control that decides, on its statement's side.

    A number that no control has is not compared, and then its statement is not supported.

    Args:
        own: the numbers of the model.
        controls: those of each control by its name: of one model, or of several draws from one law.
    """
    for stated in STATEMENTS:
        for each in _comparable(own):
            if each.quantity == stated.quantity:
                found = ((name, [_same(each, told) for told in drawn]) for name, drawn in controls.items())
                others = {name: [o for o in there if o is not None] for name, there in found}
                others = {name: there for name, there in others.items() if there}
                if others:
                    yield from _beyond(stated, each, others)


def _comparable(told: Sequence[Told]) -> list[Family | Banded]:
    """Numbers that can be compared. Those that are compared by groups of sentences are not compared otherwise."""
    return [each.family if isinstance(each, Unshown) else each for each in told if not isinstance(each, Estimate)]


def _same(own: Family | Banded, told: Sequence[Told]) -> Family | Banded | None:
    """The same number of a control, if it has one."""
    for other in _comparable(told):
        if own.quantity == other.quantity and dict(own.setting) == dict(other.setting):
            return other
    return None


def _beyond(stated: Statement, own: Family | Banded, others: Mapping[str, Sequence[Any]]) -> Iterator[Estimate]:
    """The control that decides on each number, and the difference from it."""
    assert isinstance(stated.predicted, Interval), "statements about heads have fixed ends"
    drawn = list(others.values())
    if isinstance(own, Family):
        found = _of_groups(stated.predicted, own, drawn)
    else:
        found = _of_bands(stated.predicted, own, drawn)
    # If one is shown to do better, it refutes. Else that one decides which comes nearest.
    order = np.where(np.any(found.high < 0, axis=0), found.high, found.low)
    names, first = list(others), np.argmin(np.where(np.isnan(found.values), math.inf, order), axis=0)
    chosen = Bands(*(np.take_along_axis(part, first[None], axis=0)[0] for part in found))
    bound = OVER_GROUPS if isinstance(own, Family) else own.bound
    for index in np.ndindex(chosen.values.shape):
        if has_fields(own.told(index), stated.where):
            one = Bands(*(np.asarray(part[index]) for part in chosen))
            name = names[int(first[index])]
            told = {**own.told(index), "control": name}
            law = f"{bound}; Student: a new draw of {name}" if len(others[name]) > 1 else bound
            yield from estimates_of(beyond(stated.name), one, own.draws, law, lambda _, told=told: told)


def _of_groups(predicted: Interval, own: Family, others: Sequence[Sequence[Family]]) -> Bands:
    """Differences with simultaneous intervals, controls along the first axis."""
    if own.logarithms:
        with np.errstate(divide="ignore"):
            predicted = Interval(float(np.log(max(predicted.low, 0.0))), float(np.log(predicted.high)))
    ours, differences = on_the_side_of(predicted, own.replicates), []
    for drawn in others:
        middle, reach = _new_draw(np.stack([on_the_side_of(predicted, each.replicates) for each in drawn]))
        differences.append([ours - middle - reach, ours - middle, ours - middle + reach])
    found = bands(np.moveaxis(np.array(differences), 2, 0), ERROR_RATE / 2)
    return Bands(values=found.values[:, 1], low=found.low[:, 0], high=found.high[:, 2])


def _of_bands(predicted: Interval, own: Banded, others: Sequence[Sequence[Banded]]) -> Bands:
    """Differences of intervals. A quarter of the error rate is the model's, a quarter the controls'."""
    assert predicted.low == -math.inf, "such numbers are at most something"
    ours, count = own.at(ERROR_RATE / 4), sum(map(len, others))
    values, low, high = [], [], []
    for drawn in others:
        found = [each.at(ERROR_RATE / 4 / count) for each in drawn]
        # A number that is unknown of a draw has an interval that is everything.
        lows, highs = (
            np.stack([np.where(np.isnan(each.values), np.nan, getattr(each, end)) for each in found])
            for end in ("low", "high")
        )
        middle, reach = _new_draw(np.stack([each.values for each in found])[:, None])
        values.append(middle[0] - ours.values)
        low.append(_mean(lows) - reach[0] - ours.high)
        high.append(_mean(highs) + reach[0] - ours.low)
    return Bands(np.array(values), np.nan_to_num(low, nan=-math.inf), np.nan_to_num(high, nan=math.inf))


def _new_draw(
    drawn: Float[np.ndarray, "models r *m"],
) -> tuple[Float[np.ndarray, " r *m"], Float[np.ndarray, " r *m"]]:
    """The mean of draws from a law, and how far from it a new one lies at most, all of a family together.

    Half of the error rate is the law's. One model alone is no law, and its reach is 0. Of several draws those count
    of which a number is known; if it is one, nobody knows the reach.
    """
    if len(drawn) == 1:
        return drawn[0], np.zeros_like(drawn[0])
    known = np.asarray(np.all(np.isfinite(drawn), axis=1))
    counts = np.sum(known, axis=0)
    drawn = np.where(known[:, None], drawn, np.nan)
    middle = _mean(drawn)
    freedom = np.maximum(counts - 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.nansum((drawn - middle) ** 2, axis=0) / freedom * (1 + 1 / counts)
    quantile = scipy.special.stdtrit(freedom, 1 - ERROR_RATE / 4 / max(counts.size, 1))
    return middle, quantile * np.sqrt(variance)


def _mean(drawn: Float[np.ndarray, " models *m"]) -> Float[np.ndarray, " *m"]:
    """The mean of what is known; NaN if nothing is."""
    known = np.isfinite(drawn)
    with np.errstate(invalid="ignore"):
        return np.where(known, drawn, 0.0).sum(axis=0) / np.sum(known, axis=0)
