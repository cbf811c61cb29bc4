"""The gamble index of splits, for one head and for a layer's mean, from all groups and without each group.

The index Var(m) / (E m (1 - E m)) is 1 for a coin and 0 for a steady average. Mean and variance are taken within a
pair of types. Products of two means use pairs of different sentences, because splits within a sentence depend on
each other.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab_theory.labs.heads.splits import NearTies
from attnlab_theory.stats.groups import with_each_left_out

STEADY = 1e-9
"""If E m (1 - E m) is smaller, a head always chooses the same key, and its index is 0."""


class LayerReplicates(NamedTuple):
    """Numbers of one layer: from all groups first, then without each of them."""

    mean: Float[np.ndarray, " r"]
    """The index of the mean over the heads that take part."""
    alike: Float[np.ndarray, " r"]
    """The index of the layer if all heads had one head's query, averaged over these heads."""
    correlation: Float[np.ndarray, " r"]
    """The mean correlation of the splits of two heads, over pairs of heads. NaN if no two take part together."""
    taking_part: float
    """The mean number of heads that take part."""
    rows: int


def gamble(
    split: Float[np.ndarray, " n"],
    group: Int[np.ndarray, " n"],
    sentence: Int[np.ndarray, " n"],
    pair: Int[np.ndarray, " n"],
    groups: int,
) -> Float[np.ndarray, " r"]:
    """The gamble index: from all groups, then without each. NaN if no pair of types lies in three groups.

    Args:
        split: m of every row.
        group, sentence, pair: of every row.
        groups: how many there are.
    """
    variance, largest, counts = _spreads(split, group, sentence, pair, groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        index = np.where(largest > STEADY * counts, variance / largest, 0.0)
    return np.where(np.isnan(largest), np.nan, index)


class Spreads(NamedTuple):
    """Sums over the rows of pairs that lie in three groups: from all groups, then without each. NaN if none do."""

    variance: Float[np.ndarray, " r"]
    largest: Float[np.ndarray, " r"]
    """The largest variance of splits with these means: E m (1 - E m)."""
    counts: Float[np.ndarray, " r"]


def _spreads(
    split: Float[np.ndarray, " n"],
    group: Int[np.ndarray, " n"],
    sentence: Int[np.ndarray, " n"],
    pair: Int[np.ndarray, " n"],
    groups: int,
) -> Spreads:
    none = np.full(groups + 1, np.nan)
    if not len(split):
        return Spreads(none, none, none)
    cell, first, counts = _cells(sentence, pair)
    sums = np.bincount(cell, split)
    squares = np.bincount(cell, split**2)
    kinds, kind = np.unique(pair[first], return_inverse=True)
    at = group[first] * len(kinds) + kind
    parts = (counts, sums, squares, counts**2, sums**2)
    by_group = [np.bincount(at, part, minlength=groups * len(kinds)).reshape(groups, len(kinds)) for part in parts]
    held = np.count_nonzero(by_group[0], axis=0) >= 3
    if not np.any(held):
        return Spreads(none, none, none)
    n, s, ss, n2, s2 = (with_each_left_out(part[:, held]) for part in by_group)
    with np.errstate(divide="ignore", invalid="ignore"):
        squared_mean = (s**2 - s2) / (n**2 - n2)
        counted = n**2 - n2 > 0.5
        variance = np.sum(np.where(counted, ss - n * squared_mean, 0), axis=1)
        largest = np.sum(np.where(counted, s - n * squared_mean, 0), axis=1)
    return Spreads(variance, largest, np.sum(n, axis=1))


def of_head(rows: NearTies, groups: int) -> Float[np.ndarray, " r"]:
    """The index of one head, on its own near-tied pairs."""
    return gamble(rows.split[:, 0], rows.group, rows.sentence, rows.pair, groups)


class Conditioned(NamedTuple):
    """Splits given the neighbours of a pair: from all groups first, then without each of them."""

    given: Float[np.ndarray, " r"]
    """The index within pairs of types with equal neighbours. NaN if none recur in three groups."""
    explained: Float[np.ndarray, " r"]
    """The share of the variance of these splits that the neighbours explain. That share is choice, not chance."""
    held: float
    """The share of the head's splits whose neighbours recur."""


def given_neighbours(rows: NearTies, groups: int) -> Conditioned:
    """The gamble of a head on pairs that occur again between the same neighbours.

    Neighbours of frequent types are compared by type. All others count as equal.
    """
    none = np.full(groups + 1, np.nan)
    if not len(rows.split):
        return Conditioned(none, none, 0.0)
    _, place = np.unique(np.stack([rows.pair, rows.neighbours]), axis=1, return_inverse=True)
    place = place.reshape(-1)
    lie = np.zeros((int(place.max()) + 1, groups), bool)
    lie[place, rows.group] = True
    held = lie.sum(axis=1)[place] >= 3
    if not np.any(held):
        return Conditioned(none, none, 0.0)
    told = rows.split[held, 0], rows.group[held], rows.sentence[held]
    given, without = (_spreads(*told, cells[held], groups) for cells in (place, rows.pair))
    varies = without.variance > STEADY * without.counts
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(varies, 1 - given.variance / without.variance, np.nan)
    return Conditioned(gamble(*told, place[held], groups), explained, float(np.mean(held)))


def of_layer(rows: NearTies, groups: int) -> LayerReplicates:
    """The numbers of a layer's heads together."""
    split, takes_part = np.nan_to_num(rows.split), np.isfinite(rows.split)
    taking = takes_part.sum(axis=1)
    none = np.full(groups + 1, np.nan)
    if not len(split):
        return LayerReplicates(none, none, none, 0.0, 0)
    mean = gamble(split.sum(axis=1) / taking, rows.group, rows.sentence, rows.pair, groups)
    single, weight = [], []
    for head in range(split.shape[1]):
        own = takes_part[:, head]
        index = gamble(split[own, head], rows.group[own], rows.sentence[own], rows.pair[own], groups)
        if np.all(np.isfinite(index)):
            single.append(index)
            weight.append(np.sum(own))
    alike = np.average(single, axis=0, weights=weight) if single else none
    return LayerReplicates(
        mean, alike, _correlation(split, takes_part, rows, groups), float(np.mean(taking)), len(split)
    )


def _correlation(
    split: Float[np.ndarray, "n heads"], takes_part: np.ndarray, rows: NearTies, groups: int
) -> Float[np.ndarray, " r"]:
    """The mean correlation of two heads' splits around their means within each pair of types."""
    kinds, kind = np.unique(rows.pair, return_inverse=True)
    centred = np.zeros_like(split)
    for head in range(split.shape[1]):
        counts = np.maximum(np.bincount(kind, takes_part[:, head], len(kinds)), 1)
        centre = np.bincount(kind, split[:, head], len(kinds)) / counts
        centred[:, head] = np.where(takes_part[:, head], split[:, head] - centre[kind], 0)
    products, squares = (np.zeros((groups, split.shape[1], split.shape[1])) for _ in range(2))
    for group in range(groups):
        own = rows.group == group
        products[group] = centred[own].T @ centred[own]
        squares[group] = (centred[own] ** 2).T @ takes_part[own]
    covariance, variance = with_each_left_out(products), with_each_left_out(squares)
    both = np.sqrt(variance * np.swapaxes(variance, 1, 2))
    upper = np.triu(np.ones(both.shape[1:], bool), 1) & np.all(both > STEADY, axis=0)
    if not np.any(upper):
        return np.full(groups + 1, np.nan)
    return np.mean((covariance[:, upper] / both[:, upper]), axis=1)


def _cells(sentence: np.ndarray, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each row's cell; a row and the size of each cell. A cell is all rows of one sentence and pair of types."""
    key = sentence.astype(np.int64) * (int(pair.max()) + 1) + pair
    _, first, cell, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return cell, first, counts.astype(np.float64)
