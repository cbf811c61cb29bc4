"""All that the lab measures of every head and layer, and the verdicts on the homeworks' premises."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab_theory.claims import Finding, Findings
from attnlab_theory.labs.estimates import Estimate, Estimates, judged
from attnlab_theory.labs.heads import calibration, gambling
from attnlab_theory.labs.heads.habits import LENGTHS, QUANTITIES
from attnlab_theory.labs.heads.measuring import Measured
from attnlab_theory.stats import Interval
from attnlab_theory.stats.groups import Bands, bands

ERROR_RATE = 0.05
"""The error rate of each family: of one number for all heads, or for all layers."""

EXPLAINED = 0.1
"""A stretch that explains less of the variance of scores does not matter. Stated before any run."""

NORMAL = 0.1
"""Scores whose distribution function is nearer than this to a normal one count as normal. Stated before any run."""

FINE = 1e-9
"""The resolution of a claim that a number lies on one side: support must show it."""

ANY = Interval(-math.inf, math.inf)
POSITIVE = Interval(0.0, math.inf)
SHARE = Interval(0.0, 1.0)
CORRELATION = Interval(-1.0, 1.0)

OVER_GROUPS = "max-t: groups of whole sentences, drawn anew, for the whole family at once"
OVER_SENTENCES = "McDiarmid: sentences are independent; Bonferroni over heads"

Replicates = Float[np.ndarray, "r *family"]


def measure(found: Measured) -> Estimates:
    """Every number with its interval. A number that the text says nothing about is left out."""
    estimates: list[Estimate] = []
    for part in (_habits, _keys, _splits, _predictions):
        estimates.extend(part(found))
    return Estimates(estimates)


def verdicts(estimates: Estimates) -> Findings:
    """What the homeworks take for granted, judged head by head and layer by layer."""
    return Findings(finding for finding in map(_verdict, estimates) if finding)


def _habits(found: Measured) -> Iterator[Estimate]:
    means = found.habits.replicates()
    draws = int(np.sum(found.habits.counts[:, 0]))
    for at, quantity in enumerate(QUANTITIES):
        within = Interval(1.0, math.inf) if quantity == "effective keys" else SHARE
        yield from _family(quantity, means[:, at], draws, within)
    top, bound = found.habits.bluntness()
    with np.errstate(invalid="ignore"):
        near = np.nansum(top, axis=1) / np.nansum(bound, axis=1)
    yield from _family("largest weight over its bound", near, draws, SHARE)
    for quantity, values in (("largest weight", top), ("bound on the largest weight", bound)):
        by_length = np.moveaxis(np.mean(values, axis=3), 1, 2)
        yield from _family(quantity, by_length, draws, SHARE, names=_layer_and_length)


def _keys(found: Measured) -> Iterator[Estimate]:
    numbers = found.stretch.replicates()
    draws = int(np.sum(found.stretch.counts))
    for quantity, values, within in (
        ("slope of the variance", numbers.slope, ANY),
        ("variance explained by the stretch", numbers.share, ANY),
        ("squared distance of means", numbers.distance, ANY),
        ("trace of the covariance", numbers.trace, POSITIVE),
        ("variance along own mean", numbers.along, POSITIVE),
        ("variance along other means", numbers.others, POSITIVE),
    ):
        yield from _family(quantity, values, draws, within)
    normal = found.normality.bands(ERROR_RATE)
    yield from _estimates("distance from normal", normal, draws, OVER_SENTENCES, _layer_and_head)


def _splits(found: Measured) -> Iterator[Estimate]:
    layers, h = found.splits.shape
    groups = found.plan.groups
    of_heads = [[found.splits.of_head(layer, head) for head in range(h)] for layer in range(layers)]
    index = np.array([[gambling.of_head(rows, groups) for rows in each] for each in of_heads])
    pairs = sum(len(rows.split) for each in of_heads for rows in each)
    yield from _family("gamble index", np.moveaxis(index, 2, 0), pairs, SHARE)
    together = [gambling.of_layer(found.splits.of_layer(layer), groups) for layer in range(layers)]
    pairs = sum(each.rows for each in together)
    mean, alike, correlation = (np.stack(part, axis=1) for part in list(zip(*together, strict=True))[:3])
    for quantity, values, within in (
        ("gamble index of the mean", mean, SHARE),
        ("gamble index of one head's copies", alike, SHARE),
        ("correlation of heads", correlation, CORRELATION),
        ("index of the mean less half of the copies'", mean - alike / 2, ANY),
    ):
        for estimate in _family(quantity, values, pairs, within, names=_layer):
            estimate.setting["heads"] = round(together[estimate.setting["layer"] - 1].taking_part, 2)
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
        ("squared error over predicted variance", numbers.variance_ratio, POSITIVE),
    ):
        yield from _family(quantity, values, len(predicted.group), within)


def _family(
    quantity: str,
    replicates: Replicates,
    draws: int,
    within: Interval,
    *,
    names: Callable[[tuple[int, ...]], dict[str, Any]] | None = None,
) -> Iterator[Estimate]:
    """One number of every head or layer, with simultaneous intervals."""
    found = bands(replicates, ERROR_RATE, within=within)
    return _estimates(quantity, found, draws, OVER_GROUPS, names or _layer_and_head)


def _estimates(
    quantity: str, found: Bands, draws: int, bound: str, names: Callable[[tuple[int, ...]], dict[str, Any]]
) -> Iterator[Estimate]:
    for index in np.ndindex(found.values.shape):
        value, interval = found.at(*index)
        if math.isfinite(value):
            yield Estimate(
                quantity=quantity,
                setting=names(index),
                value=value,
                interval=Interval(min(interval.low, value), max(interval.high, value)),
                draws=draws,
                bound=bound,
                error_rate=ERROR_RATE,
            )


def _layer(index: tuple[int, ...]) -> dict[str, Any]:
    return {"layer": index[0] + 1}


def _layer_and_head(index: tuple[int, ...]) -> dict[str, Any]:
    return {"layer": index[0] + 1, "head": index[1] + 1}


def _layer_and_length(index: tuple[int, ...]) -> dict[str, Any]:
    return {"layer": index[0] + 1, "keys_from": LENGTHS[index[1]]}


def _verdict(estimate: Estimate) -> Finding | None:
    match estimate.quantity:
        case "slope of the variance":
            statement = (
                "Within a type the variance of a foreign query's scores rises with what its mean key scores."
            )
            return _judged(estimate, "keys-have-a-noisy-length", statement, Interval.at_least(0.0))
        case "variance explained by the stretch":
            statement = f"The noisy length explains at least {EXPLAINED:g} of the variance within a type."
            return _judged(estimate, "the-noisy-length-matters", statement, Interval.at_least(EXPLAINED))
        case "distance from normal":
            statement = f"Within a type a foreign query's scores are normal, to {NORMAL:g} in distribution."
            return _judged(estimate, "scores-are-normal", statement, Interval.at_most(NORMAL))
        case "index of the mean less half of the copies'":
            statement = "The layer hedges: its mean gambles at most half as much as copies of one of its heads."
            return _judged(estimate, "the-layer-hedges", statement, Interval.at_most(0.0), section="hedging")
        case "explained by theory less by the type":
            statement = "Theory predicts the weights of frequent words better than their mean weight does."
            return _judged(
                estimate,
                "theory-beats-the-mean-weight",
                statement,
                Interval.at_least(0.0),
                section="predicted-weights",
            )
        case _:
            return None


def _judged(
    estimate: Estimate, claim: str, statement: str, predicted: Interval, *, section: str = "noisy-lengths"
) -> Finding:
    return judged(
        estimate,
        experiment="heads",
        claim=claim,
        statement=statement,
        source=f"mathematics/heads.md#{section}",
        predicted=predicted,
        resolution=FINE,
        conjecture=True,
    )
