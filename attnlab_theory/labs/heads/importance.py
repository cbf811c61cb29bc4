"""The part of the lab about ablations: which heads a classifier needs, and which stand in for each other."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from rich.table import Table

from attnlab_theory.labs.comparisons import mcnemar_p, right
from attnlab_theory.labs.engine.record import Results, drawing
from attnlab_theory.labs.estimates import Estimate, Estimates, share
from attnlab_theory.labs.heads.ablating import Ablated, Head, ablated
from attnlab_theory.labs.heads.claims import SPARED
from attnlab_theory.labs.heads.encoder import EncoderReading
from attnlab_theory.labs.heads.families import (
    ANY,
    CORRELATION,
    ERROR_RATE,
    OVER_GROUPS,
    POSITIVE,
    Names,
    estimates_of,
    family,
    layer_and_head,
    verdicts,
)
from attnlab_theory.labs.heads.results import Tell, counted
from attnlab_theory.labs.tables import table
from attnlab_theory.stats import paired
from attnlab_theory.stats.groups import Bands, bands, with_each_left_out

FEW = 20
"""If fewer answers change, the spread over groups says too little. Then intervals are exact instead."""

GROUPS = 50
"""The most groups into which sentences are dealt."""

EXACTLY = "paired: differences are -1, 0 or 1; Bonferroni over the family"

TOLD = (
    ("the-head-is-needed", "heads: the accuracy is lower without it"),
    ("the-model-does-without-the-head", f"heads: the accuracy loses at most {SPARED:.0%} without it"),
    ("redundant-heads-stand-in-for-each-other", "pairs of heads: leaving out both costs more than each does alone"),
)
"""What the verdicts say."""


def results(
    reading: EncoderReading, labels: Int[np.ndarray, " sentences"], *, seed: int, tell: Tell = lambda _: None
) -> Results:
    """Measure and judge.

    Args:
        reading: of a classifier.
        labels: of every sentence.
        seed: of which half of the sentences chooses the pairs, and of groups.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if there are too few sentences for an interval.
    """
    from attnlab_theory.labs.heads import figures

    found = ablated(reading, seed=seed, tell=tell)
    tell("intervals")
    estimates = estimated(found, labels, seed=seed)
    judged = verdicts(estimates)
    return Results(
        estimates=estimates,
        verdicts=judged,
        about={"margins": {"spared": SPARED}},
        shown=(_table(estimates), "", *counted(judged.findings, TOLD)),
        figures=drawing(figures, ("ablations", "pairs"), estimates, judged.findings),
    )


def estimated(found: Ablated, labels: Int[np.ndarray, " n"], *, seed: int = 0) -> Estimates:
    """What is lost without each head and each pair.

    Raises:
        ValueError: if there are too few sentences for an interval.
    """
    layers, h, _ = found.single.shape
    whole, single = (right(odds, labels, even=0.0) for odds in (found.whole, found.single))
    estimates = [share("accuracy", whole.astype(float), ERROR_RATE)]
    estimates += _lost("accuracy lost", whole, single, layer_and_head, seed)
    for layer, head in np.ndindex(layers, h):
        names, setting = ("only_with", "only_without"), layer_and_head((layer, head))
        estimates.append(mcnemar_p(whole, single[layer, head], names=names, **setting))
    moved = _by_group(np.abs(found.single - found.whole), seed)
    estimates += family("log-odds moved", moved, len(labels), POSITIVE)
    return Estimates([*estimates, *_pairs(found, labels, seed)])


def _pairs(found: Ablated, labels: Int[np.ndarray, " n"], seed: int) -> Iterator[Estimate]:
    """The losses without both heads of each pair, on the sentences that did not choose the pairs."""
    judge = ~found.chosen_by
    sides = np.where(labels[judge] > 0, 1.0, -1.0)
    pairs = list(found.pairs)

    def named(index: tuple[int, ...]) -> dict[str, Any]:
        return {"first": _name(pairs[index[0]][0]), "second": _name(pairs[index[0]][1])}

    both = np.stack([found.pairs[pair][judge] for pair in pairs])
    whole = found.whole[judge]
    hits, without = (right(odds, labels[judge], even=0.0) for odds in (whole, both))
    yield from _lost("accuracy lost without both", hits, without, named, seed)
    alone = [sum(whole - found.single[head][judge] for head in pair) for pair in pairs]
    beyond = sides * (whole - both - np.stack(alone))
    yield from family("log-odds lost beyond the sum", _by_group(beyond, seed), int(judge.sum()), ANY, names=named)


def _name(head: Head) -> str:
    return f"{head[0] + 1}.{head[1] + 1}"


def _lost(
    quantity: str, whole: Bool[np.ndarray, " n"], without: Bool[np.ndarray, "*m n"], names: Names, seed: int
) -> Iterator[Estimate]:
    """The losses of accuracy of a whole family. All of its intervals hold together.

    Half of the error rate goes to the losses for which many answers change: their intervals are max-t. The other
    half goes to those for which few answers change.
    """
    lost = whole.astype(float) - without
    moving = np.count_nonzero(lost, axis=-1)
    many, values = moving >= FEW, np.mean(lost, axis=-1)
    low, high = np.empty_like(values), np.empty_like(values)
    if np.any(many):
        some = bands(_by_group(lost[many], seed), ERROR_RATE / 2, within=CORRELATION)
        low[many], high[many] = some.low, some.high
    for index in np.argwhere(~many):
        interval = paired().interval(lost[tuple(index)], ERROR_RATE / 2 / values.size)
        low[tuple(index)], high[tuple(index)] = interval.low, interval.high
    for bound, chosen in ((OVER_GROUPS, many), (EXACTLY, ~many)):
        yield from estimates_of(
            quantity, Bands(np.where(chosen, values, np.nan), low, high), lost.shape[-1], bound, names
        )


def _by_group(values: Float[np.ndarray, "*m n"], seed: int) -> Float[np.ndarray, "r *m"]:
    """Means over sentences: from all groups, then without each; sentences are dealt at random."""
    count = values.shape[-1]
    groups = min(GROUPS, count)
    group = np.random.default_rng(seed).permutation(count) % groups
    sums = np.stack([np.sum(values[..., group == number], axis=-1) for number in range(groups)])
    counts = np.bincount(group, minlength=groups).reshape(-1, *(1,) * (values.ndim - 1))
    return with_each_left_out(sums) / with_each_left_out(counts)


def _table(estimates: Estimates) -> Table:
    """The heads whose absence costs most, and those that cost least."""
    shown = table([], ["head", "accuracy lost", "from", "to", "McNemar p", "log-odds moved"])
    lost = sorted(estimates.of("accuracy lost"), key=lambda e: -e.value)
    chosen = lost if len(lost) <= 12 else [*lost[:6], *lost[-6:]]
    for e in chosen:
        at = {"layer": e.setting["layer"], "head": e.setting["head"]}
        (p,), (moved,) = estimates.of("mcnemar p", **at), estimates.of("log-odds moved", **at)
        numbers = (f"{x:+.4f}" for x in (e.value, e.interval.low, e.interval.high))
        shown.add_row(f"{at['layer']}.{at['head']}", *numbers, f"{p.value:.2g}", f"{moved.value:.3f}")
    return shown
