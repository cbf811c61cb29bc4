"""All numbers of every head and layer that the lab measures."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.heads import assumptions, calibration, gambling, own_means
from attnlab_theory.labs.heads.families import (
    ANY,
    CORRELATION,
    ERROR_RATE,
    OVER_GROUPS,
    POSITIVE,
    SHARE,
    estimates_of,
    family,
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


def measure(found: Measured) -> Estimates:
    """Every number with its interval. A number that the text does not determine is left out."""
    estimates: list[Estimate] = []
    for part in (_habits, _keys, _splits, _predictions):
        estimates.extend(part(found))
    return Estimates(estimates)


def _habits(found: Measured) -> Iterator[Estimate]:
    means = found.habits.replicates()
    draws = int(np.sum(found.habits.counts[:, 0]))
    for at, quantity in enumerate(QUANTITIES):
        within = Interval(1.0, math.inf) if quantity == "effective keys" else SHARE
        yield from family(quantity, means[:, at], draws, within)
    top, bound = found.habits.bluntness()
    with np.errstate(invalid="ignore"):
        near = np.nansum(top, axis=1) / np.nansum(bound, axis=1)
    yield from family("largest weight over its bound", near, draws, SHARE)
    for quantity, values in (("largest weight", top), ("bound on the largest weight", bound)):
        by_length = np.moveaxis(np.mean(values, axis=3), 1, 2)
        yield from family(quantity, by_length, draws, SHARE, names=_layer_and_length)


def _keys(found: Measured) -> Iterator[Estimate]:
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
        yield from family(quantity, values, draws, within)
    p = own_means.chances(found.own_means.relative())
    dealt = Bands(p, np.nan_to_num(p, nan=0.0), np.nan_to_num(p, nan=1.0))
    yield from estimates_of("p of means dealt anew", dealt, draws, DEALT_ANEW, layer_and_head)
    normal = found.normality.bands(ERROR_RATE)
    yield from estimates_of("distance from normal", normal, draws, OVER_SENTENCES, layer_and_head)


def _splits(found: Measured) -> Iterator[Estimate]:
    layers, h = found.splits.shape
    groups = found.plan.groups
    of_heads = [[found.splits.of_head(layer, head) for head in range(h)] for layer in range(layers)]
    index = np.array([[gambling.of_head(rows, groups) for rows in each] for each in of_heads])
    pairs = sum(len(rows.split) for each in of_heads for rows in each)
    yield from family("gamble index", np.moveaxis(index, 2, 0), pairs, SHARE)
    yield from _given_neighbours(found)
    together = [gambling.of_layer(found.splits.of_layer(layer), groups) for layer in range(layers)]
    pairs = sum(each.rows for each in together)
    mean, alike, correlation = (np.stack(part, axis=1) for part in list(zip(*together, strict=True))[:3])
    for quantity, values, within in (
        ("gamble index of the mean", mean, SHARE),
        ("gamble index of one head's copies", alike, SHARE),
        ("correlation of heads", correlation, CORRELATION),
        ("index of the mean less half of the copies'", mean - alike / 2, ANY),
    ):
        for estimate in family(quantity, values, pairs, within, names=layer):
            estimate.setting["heads"] = round(together[estimate.setting["layer"] - 1].taking_part, 2)
            yield estimate


def _given_neighbours(found: Measured) -> Iterator[Estimate]:
    """The gamble of heads whose near-tied pairs occur again between the same neighbours."""
    layers, h = found.splits.shape
    rows = [[found.splits.of_head(at, head) for head in range(h)] for at in range(layers)]
    each = [[gambling.given_neighbours(one, found.plan.groups) for one in line] for line in rows]
    pairs = sum(len(one.split) for line in rows for one in line)
    for quantity, values in (
        ("gamble index given neighbours", [[one.given for one in line] for line in each]),
        ("gamble explained by neighbours", [[one.explained for one in line] for line in each]),
    ):
        within = SHARE if quantity.startswith("gamble index") else ANY
        for estimate in family(quantity, np.moveaxis(np.array(values), 2, 0), pairs, within):
            held = each[estimate.setting["layer"] - 1][estimate.setting["head"] - 1].held
            estimate.setting["share of pairs"] = round(held, 3)
            yield estimate


def _predictions(found: Measured) -> Iterator[Estimate]:
    if not found.calibration.made:
        return
    predicted = found.calibration.predictions()
    numbers = calibration.of_heads(predicted, found.plan.groups)
    for quantity, values, within in (
        ("weights explained by theory", numbers.explained, ANY),
        ("weights explained by the type", numbers.by_baseline, ANY),
        ("explained by theory less by the type", numbers.explained - numbers.by_baseline, ANY),
        ("weights explained without noise", numbers.without_noise, ANY),
        ("explained by theory less without noise", numbers.explained - numbers.without_noise, ANY),
    ):
        yield from family(quantity, values, len(predicted.group), within)
    broken = assumptions.of_heads(predicted, found.plan.groups)
    for quantity, values in (
        ("shift of scores", broken.shift),
        ("variance of scores over the fitted", broken.spread),
        ("scores that move together", broken.together),
        ("explained for commoner types less for rarer ones", broken.for_common),
    ):
        yield from family(quantity, values, len(predicted.group), ANY)
    yield from _curve(calibration.curve(predicted, found.plan.groups), predicted.mean.size)
    ratio = ratio_bands(numbers.variance_ratio, ERROR_RATE)
    quantity = "squared error over predicted variance"
    yield from estimates_of(quantity, ratio, len(predicted.group), OVER_LOGARITHMS, layer_and_head)


def _curve(found: calibration.Curve, draws: int) -> Iterator[Estimate]:
    """Mean weights, tenth by tenth of the predictions."""

    def names(index: tuple[int, ...]) -> dict[str, Any]:
        layer, tenth = index
        return {"layer": layer + 1, "tenth": tenth + 1, "predicted": float(found.predicted[index])}

    yield from family("mean weight by prediction", found.weight, draws, SHARE, names=names)


def _layer_and_length(index: tuple[int, ...]) -> dict[str, Any]:
    return {"layer": index[0] + 1, "keys_from": LENGTHS[index[1]]}
