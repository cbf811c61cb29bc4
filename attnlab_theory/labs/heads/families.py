"""Families of numbers, one for each head or layer: as estimates whose intervals hold together, and as verdicts."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, assert_never

import numpy as np
from jaxtyping import Float

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.heads.claims import STATEMENTS
from attnlab_theory.labs.verdicts import Verdicts, verdicts_on
from attnlab_theory.stats import Interval
from attnlab_theory.stats.groups import Bands, bands, with_each_left_out

ERROR_RATE = 0.05
"""The error rate of each family: of one number for all heads, or for all layers."""

GROUPS = 50
"""The most groups into which sentences are dealt."""

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


def alone(index: tuple[int, ...]) -> dict[str, Any]:
    """The setting of a number that is a family by itself."""
    return {}


def by_group(values: Float[np.ndarray, " *m n"], seed: int) -> Float[np.ndarray, " r *m"]:
    """Means over sentences: from all groups, then without each; sentences are dealt at random."""
    count = values.shape[-1]
    groups = min(GROUPS, count)
    group = np.random.default_rng(seed).permutation(count) % groups
    sums = np.stack([np.sum(values[..., group == number], axis=-1) for number in range(groups)])
    counts = np.bincount(group, minlength=groups).reshape(-1, *(1,) * (values.ndim - 1))
    return with_each_left_out(sums) / with_each_left_out(counts)


class Family(NamedTuple):
    """One number of every head or layer: from all groups of sentences, and without each."""

    quantity: str
    replicates: Float[np.ndarray, " r *family"]
    draws: int
    within: Interval = ANY
    names: Names = layer_and_head
    """Fields of the setting that differ within the family."""
    setting: Mapping[str, Any] = {}
    """Fields of the setting that do not."""
    logarithms: bool = False
    """Whether the replicates are natural logarithms of the number. So are its intervals made."""

    def told(self, index: tuple[int, ...]) -> dict[str, Any]:
        """The setting of a number."""
        return {**self.names(index), **self.setting}

    def estimates(self) -> Iterator[Estimate]:
        """The numbers that are known, with intervals that hold together."""
        found = bands(self.replicates, ERROR_RATE, within=self.within)
        if self.logarithms:
            with np.errstate(over="ignore"):
                found = Bands(*map(np.exp, found))
        bound = f"{OVER_GROUPS}; made for logarithms" if self.logarithms else OVER_GROUPS
        return estimates_of(self.quantity, found, self.draws, bound, self.told)


class Banded(NamedTuple):
    """One number of every head whose intervals are not those of groups of sentences."""

    quantity: str
    at: Callable[[float], Bands]
    """From an error rate to intervals that hold together."""
    draws: int
    bound: str
    names: Names = layer_and_head
    setting: Mapping[str, Any] = {}

    def told(self, index: tuple[int, ...]) -> dict[str, Any]:
        """The setting of a number."""
        return {**self.names(index), **self.setting}

    def estimates(self) -> Iterator[Estimate]:
        """The numbers that are known, with intervals that hold together."""
        return estimates_of(self.quantity, self.at(ERROR_RATE), self.draws, self.bound, self.told)


class Unshown(NamedTuple):
    """A family that is only compared with controls: its numbers have other intervals where they are shown."""

    family: Family


Told = Family | Banded | Unshown | Estimate


def estimated(told: Iterable[Told]) -> Estimates:
    """All numbers as estimates, in their order."""
    found: list[Estimate] = []
    for each in told:
        match each:
            case Estimate():
                found.append(each)
            case Family() | Banded():
                found.extend(each.estimates())
            case Unshown():
                pass
            case unknown:
                assert_never(unknown)
    return Estimates(found)


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
