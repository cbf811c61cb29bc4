"""Which approximation keeps the error of a model's own heads small? Errors by budget, of every head."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from attnlab_theory.labs.heads import losses
from attnlab_theory.labs.heads.families import (
    ANY,
    POSITIVE,
    SHARE,
    Family,
)
from attnlab_theory.labs.heads.losses import FEATURES, LENGTHS
from attnlab_theory.labs.heads.results import Tell
from attnlab_theory.labs.heads.traces import Reading
from attnlab_theory.language.models.approximations import (
    Approximation,
    Coupling,
    FeatureMap,
    Gauge,
    RandomFeatures,
)
from attnlab_theory.plurals import several
from attnlab_theory.seeds import key_for
from attnlab_theory.stats.groups import with_each_left_out

FITTED = 50
"""The most sentences that fix how queries and keys are rescaled. Other sentences are measured."""

PREDICTED = 4
"""The most rows of a sentence whose errors theory predicts."""

GROUPS = 50
"""The most groups into which measured sentences are dealt."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """Sums by group of sentences, and the predictions of some rows of each."""

    tried: tuple[Approximation, ...]
    gauge: Gauge
    errors: Float[np.ndarray, "groups tried layers h"]
    counts: Float[np.ndarray, " groups"]
    predicted: Float[np.ndarray, "n kinds layers h"]
    group: np.ndarray
    """The group of each prediction."""
    ranks: Float[np.ndarray, "groups both lengths layers h"]
    """The least rank, and the rank of a random sketch."""
    by_length: Float[np.ndarray, "groups lengths"]
    """How many sentences there are of each length."""


def measured(
    reading: Reading,
    *,
    sentences: int,
    tried: Sequence[Approximation] | None = None,
    most_features: int = FEATURES[-1],
    seed: int = 0,
    tell: Tell = lambda _: None,
) -> Measured:
    """Approximate every head on some sentences.

    Args:
        reading: the model with its text.
        sentences: the most that are measured, up to two thirds of the text.
        tried: the approximations. None: all, or for a causal model all that can be causal.
        most_features: the largest number of random features if `tried` is None.
        seed: of the choice of sentences and rows, and of random projections.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if there are too few sentences of two tokens or more.
    """
    rng = np.random.default_rng(seed)
    long = [n for n, each in enumerate(reading.tokens) if len(each.ids) >= 2]
    numbers = rng.permutation(long).astype(int).tolist()
    count = min(sentences, len(numbers) * 2 // 3)
    chosen, fitting = numbers[:count], numbers[count : count + FITTED]
    if count < 10:
        raise ValueError(f"{len(long)} sentences have two tokens or more, and 15 are needed: take more sentences")
    tell(f"queries and keys of {several(len(fitting), 'sentence')}")
    gauge = losses.gauge_of(list(reading.traces(fitting)))
    tell(f"approximations of every head in {several(count, 'other sentence')}")
    key = key_for(seed, "approximations")
    used, groups, sums = tuple(tried or ()), min(GROUPS, count), None
    counts, by_length = np.zeros(groups), np.zeros((groups, len(LENGTHS)))
    rank_sums = np.zeros((groups, 2, len(LENGTHS), reading.layers, reading.heads))
    predicted, group_of = [], []
    for place, trace in enumerate(reading.traces(chosen)):
        if sums is None:
            used = used or losses.approximations(causal=trace.causal, most_features=most_features)
            sums = np.zeros((groups, len(used), reading.layers, reading.heads))
        if place and place % 10 == 0:
            tell(f"{place} of {several(count, 'sentence')}")
        group, t = place % groups, len(trace.tokens.ids)
        sums[group] += losses.squared_errors(trace, used, gauge, jax.random.fold_in(key, place))
        counts[group] += 1
        # The first row of a causal model sees one key, of which nothing is lost.
        asks = 1 + rng.permutation(t - 1)[:PREDICTED]
        predicted.extend(losses.predicted(trace, int(row), gauge) for row in asks)
        group_of.extend([group] * len(asks))
        found, length = losses.ranks(trace), np.searchsorted(LENGTHS, t, side="right") - 1
        rank_sums[group, :, length] += np.stack([found.least, found.drawn])
        by_length[group, length] += 1
    assert sums is not None, "there are sentences"
    return Measured(
        tried=used,
        gauge=gauge,
        errors=sums,
        counts=counts,
        predicted=np.stack(predicted),
        group=np.array(group_of),
        ranks=rank_sums,
        by_length=by_length,
    )


def numbers_of(found: Measured) -> Iterator[Family]:
    """Errors by budget, and the features and ranks for an error of a tenth, measured and predicted."""
    yield from _errors(found)
    yield from _features(found)
    yield from _ranks(found)


def setting_of(each: Approximation) -> dict[str, Any]:
    """The fields of the setting of an approximation."""
    return {"approximation": each.name, "budget": each.budget}


def _squares(found: Measured) -> Float[np.ndarray, "r tried layers h"]:
    return with_each_left_out(found.errors) / with_each_left_out(found.counts)[:, None, None, None]


def _errors(found: Measured) -> Iterator[Family]:
    errors, draws = np.sqrt(_squares(found)), int(np.sum(found.counts))
    for at, each in enumerate(found.tried):
        yield Family("relative error", errors[:, at], draws, SHARE, setting=setting_of(each))
    mean = np.mean(errors, axis=(2, 3))
    yield Family(
        "relative error, mean over heads", mean, draws, SHARE, names=lambda index: setting_of(found.tried[index[0]])
    )


def _features(found: Measured) -> Iterator[Family]:
    """The features for an error of a tenth. Intervals are those of their logarithms."""
    squares, draws = _squares(found), int(np.sum(found.counts))
    groups = len(found.counts)
    parts = [found.predicted[found.group != without] for without in (-1, *range(groups))]
    needed = np.stack([losses.features_needed(each) for each in parts])
    for number, kind in enumerate(FeatureMap):
        yield _powers("features for a tenth, predicted", needed[:, number], draws, kind=str(kind))
        for coupling in losses.COUPLINGS:
            series = {each.budget: at for at, each in enumerate(found.tried) if _is(each, kind, coupling)}
            if not set(FEATURES) <= set(series):
                continue
            reached = losses.features_reached(squares[:, list(series.values())], list(series))
            told = {"kind": str(kind), "coupling": str(coupling)}
            yield _powers("features for a tenth", reached, draws, **told)
            if coupling is Coupling.INDEPENDENT:
                # Where the least budget is enough nobody knows how few features would have been.
                within = np.where(reached > np.log10(FEATURES[0]), reached, np.nan)
                yield _powers("features measured over predicted", within - needed[:, number], draws, **told)


def _is(each: Approximation, kind: FeatureMap, coupling: Coupling) -> bool:
    return isinstance(each, RandomFeatures) and (each.kind, each.coupling) == (kind, coupling)


def _powers(quantity: str, logs: Float[np.ndarray, "r layers h"], draws: int, **setting: Any) -> Family:
    """Ten to the power of a family of logarithms."""
    known = np.where(np.isfinite(logs).all(axis=0), logs, np.nan)
    return Family(quantity, math.log(10.0) * known, draws, ANY, setting=setting, logarithms=True)


def _ranks(found: Measured) -> Iterator[Family]:
    sums, counts = with_each_left_out(found.ranks), with_each_left_out(found.by_length)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_length = np.mean(sums, axis=4) / counts[:, None, :, None]
    by_head = np.sum(sums, axis=2) / np.sum(counts, axis=1)[:, None, None, None]
    draws = int(np.sum(found.counts))
    for at, quantity in enumerate(("least rank for a tenth", "rank of a drawn sketch for a tenth")):
        yield Family(quantity, by_head[:, at], draws, POSITIVE)
        yield Family(
            f"{quantity}, by length",
            by_length[:, at],
            draws,
            POSITIVE,
            names=lambda index: {"tokens_from": LENGTHS[index[0]], "layer": index[1] + 1},
        )
