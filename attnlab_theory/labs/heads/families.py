"""Families of numbers, one for each head or layer: as estimates whose intervals hold together, and as verdicts."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.heads.claims import STATEMENTS
from attnlab_theory.labs.verdicts import Verdicts, verdicts_on
from attnlab_theory.stats import Interval
from attnlab_theory.stats.groups import Bands, bands

ERROR_RATE = 0.05
"""The error rate of each family: of one number for all heads, or for all layers."""

ANY = Interval(-math.inf, math.inf)
POSITIVE = Interval(0.0, math.inf)
SHARE = Interval(0.0, 1.0)
CORRELATION = Interval(-1.0, 1.0)

OVER_GROUPS = "max-t: groups of whole sentences, drawn anew, for the whole family at once"

Names = Callable[[tuple[int, ...]], dict[str, Any]]
"""From the place of a number in its family to the setting that tells it from the others."""


def layer(index: tuple[int, ...]) -> dict[str, Any]:
    """The number of a layer, from 1."""
    return {"layer": index[0] + 1}


def layer_and_head(index: tuple[int, ...]) -> dict[str, Any]:
    """The numbers of a layer and of a head in it, from 1."""
    return {"layer": index[0] + 1, "head": index[1] + 1}


def family(
    quantity: str,
    replicates: Float[np.ndarray, "r *family"],
    draws: int,
    within: Interval,
    *,
    names: Names = layer_and_head,
) -> Iterator[Estimate]:
    """One number of every head or layer, with simultaneous intervals."""
    return estimates_of(quantity, bands(replicates, ERROR_RATE, within=within), draws, OVER_GROUPS, names)


def estimates_of(quantity: str, found: Bands, draws: int, bound: str, names: Names) -> Iterator[Estimate]:
    """The numbers of a family that are known."""
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


def verdicts(estimates: Estimates) -> Verdicts:
    """The verdicts of the claims about heads on the numbers of one part of the lab."""
    return verdicts_on(STATEMENTS, estimates, experiment="heads")
