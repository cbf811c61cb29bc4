"""All numbers of every head and layer that the lab measures."""

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from attnlab_theory.labs.heads import assumptions, calibration, fitting, gambling, own_means
from attnlab_theory.labs.heads.claims import BEYOND_LENGTH
from attnlab_theory.labs.heads.families import (
    ANY,
    CORRELATION,
    OVER_GROUPS,
    POSITIVE,
    SHARE,
    Banded,
    Family,
    Told,
    layer,
    layer_and_head,
)
from attnlab_theory.labs.heads.habits import LENGTHS, QUANTITIES
from attnlab_theory.labs.heads.measuring import Measured
from attnlab_theory.stats import Interval
from attnlab_theory.stats.groups import Bands, ratio_bands

OVER_SENTENCES = "McDiarmid: sentences are independent; Bonferroni over heads"
DEALT_ANEW = f"permutations: {own_means.DEALT} of means among types of similar count, the largest of all heads"
OVER_LOGARITHMS = f"{OVER_GROUPS}; made for logarithms"


def measure(found: Measured) -> Iterator[Told]:
    """Every number. What the text does not determine is NaN, or left out."""
    for part in (_habits, _keys, _splits, _predictions):
        yield from part(found)


def _habits(found: Measured) -> Iterator[Told]:
    means = found.habits.replicates()
    draws = int(np.sum(found.habits.counts[:, 0]))
    for at, quantity in enumerate(QUANTITIES):
        within = Interval(1.0, math.inf) if quantity == "effective keys" else SHARE
        yield Family(quantity, means[:, at], draws, within)
    top, bound = found.habits.bluntness()
    with np.errstate(invalid="ignore"):
        near = np.nansum(top, axis=1) / np.nansum(bound, axis=1)
    yield Family("largest weight over its bound", near, draws, SHARE)
    for quantity, values in (("largest weight", top), ("bound on the largest weight", bound)):
        by_length = np.moveaxis(np.mean(values, axis=3), 1, 2)
        yield Family(quantity, by_length, draws, SHARE, _layer_and_length)


def _keys(found: Measured) -> Iterator[Told]:
    numbers, own = found.stretch.replicates(), found.own_means.replicates()
    draws = int(np.sum(found.stretch.counts))
    for quantity, values, within in (
        ("slope of the variance", numbers.slope, ANY),
        ("variance explained by the stretch", numbers.share, ANY),
        ("squared distance of means", numbers.distance, ANY),
        ("trace of the covariance", numbers.trace, POSITIVE),
        ("variance along own mean beyond that along others'", own.excess, ANY),
        ("variance explained along own mean", own.plain, ANY),
    ):
        yield Family(quantity, values, draws, within)

    def dealt(_: float) -> Bands:
        p = own_means.chances(found.own_means.relative())
        return Bands(p, np.nan_to_num(p, nan=0.0), np.nan_to_num(p, nan=1.0))

    yield Banded("p of means dealt anew", dealt, draws, DEALT_ANEW)
    yield Banded("distance from normal", found.normality.bands, draws, OVER_SENTENCES)


def _splits(found: Measured) -> Iterator[Told]:
    layers, h = found.splits.shape
    groups = found.plan.groups
    of_heads = [[found.splits.of_head(layer, head) for head in range(h)] for layer in range(layers)]
    index = np.array([[gambling.of_head(rows, groups) for rows in each] for each in of_heads])
    pairs = sum(len(rows.split) for each in of_heads for rows in each)
    yield Family("gamble index", np.moveaxis(index, 2, 0), pairs, SHARE)
    yield from _given_neighbours(found)

    def of_layer(index: tuple[int, ...]) -> dict[str, Any]:
        return {**layer(index), "heads": round(together[index[0]].taking_part, 2)}

    together = [gambling.of_layer(found.splits.of_layer(layer), groups) for layer in range(layers)]
    pairs = sum(each.rows for each in together)
    mean, alike, correlation = (np.stack(part, axis=1) for part in list(zip(*together, strict=True))[:3])
    for quantity, values, within in (
        ("gamble index of the mean", mean, SHARE),
        ("gamble index of one head's copies", alike, SHARE),
        ("correlation of heads", correlation, CORRELATION),
        ("index of the mean less half of the copies'", mean - alike / 2, ANY),
    ):
        yield Family(quantity, values, pairs, within, of_layer)


def _given_neighbours(found: Measured) -> Iterator[Told]:
    """The gamble of heads whose near-tied pairs occur again between the same neighbours."""
    layers, h = found.splits.shape
    rows = [[found.splits.of_head(at, head) for head in range(h)] for at in range(layers)]
    each = [[gambling.given_neighbours(one, found.plan.groups) for one in line] for line in rows]
    pairs = sum(len(one.split) for line in rows for one in line)

    def of_head(index: tuple[int, ...]) -> dict[str, Any]:
        return {**layer_and_head(index), "share of pairs": round(each[index[0]][index[1]].held, 3)}

    for quantity, values in (
        ("gamble index given neighbours", [[one.given for one in line] for line in each]),
        ("gamble explained by neighbours", [[one.explained for one in line] for line in each]),
    ):
        within = SHARE if quantity.startswith("gamble index") else ANY
        yield Family(quantity, np.moveaxis(np.array(values), 2, 0), pairs, within, of_head)


def _predictions(found: Measured) -> Iterator[Told]:
    if not found.calibration.made:
        return
    predicted = found.calibration.predictions()
    numbers = calibration.of_heads(predicted, found.plan.groups)
    for quantity, values, within in (
        ("weights explained by theory", numbers.explained, ANY),
        *(
            (f"weights explained by {name}", numbers.by_baseline[:, at], ANY)
            for at, name in enumerate(fitting.BASELINES)
        ),
        (BEYOND_LENGTH, numbers.explained - numbers.of_best_baseline, ANY),
        ("weights explained without noise", numbers.without_noise, ANY),
        ("explained by theory less without noise", numbers.explained - numbers.without_noise, ANY),
    ):
        yield Family(quantity, values, len(predicted.group), within)
    broken = assumptions.of_heads(predicted, found.plan.groups)
    for quantity, values in (
        ("shift of scores", broken.shift),
        ("variance of scores over the fitted", broken.spread),
        ("scores that move together", broken.together),
        ("explained for commoner types less for rarer ones", broken.for_common),
    ):
        yield Family(quantity, values, len(predicted.group), ANY)
    yield from _curve(calibration.curve(predicted, found.plan.groups), predicted.mean.size)
    ratio = functools.partial(ratio_bands, numbers.variance_ratio)
    yield Banded("squared error over predicted variance", ratio, len(predicted.group), OVER_LOGARITHMS)


def _curve(found: calibration.Curve, draws: int) -> Iterator[Told]:
    """Mean weights, tenth by tenth of the predictions."""

    def names(index: tuple[int, ...]) -> dict[str, Any]:
        layer, tenth = index
        return {"layer": layer + 1, "tenth": tenth + 1, "predicted": float(found.predicted[index])}

    yield Family("mean weight by prediction", found.weight, draws, SHARE, names)


def _layer_and_length(index: tuple[int, ...]) -> dict[str, Any]:
    return {"layer": index[0] + 1, "keys_from": LENGTHS[index[1]]}
