"""The part of the lab about ablations: which heads a classifier needs, and which stand in for each other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Int
from rich.table import Table

from attnlab_theory.labs.comparisons import mcnemar_p, right
from attnlab_theory.labs.engine.record import Results, drawing
from attnlab_theory.labs.estimates import Estimates, share
from attnlab_theory.labs.heads.ablating import Ablated, Head, ablated
from attnlab_theory.labs.heads.claims import SPARED
from attnlab_theory.labs.heads.controls import beside_controls
from attnlab_theory.labs.heads.encoder import EncoderReading
from attnlab_theory.labs.heads.families import (
    ANY,
    CORRELATION,
    ERROR_RATE,
    OVER_GROUPS,
    POSITIVE,
    Family,
    Names,
    Told,
    Unshown,
    by_group,
    estimates_of,
    layer_and_head,
    verdicts,
)
from attnlab_theory.labs.heads.results import Tell, counted, of_controls
from attnlab_theory.labs.tables import table
from attnlab_theory.stats import paired
from attnlab_theory.stats.groups import Bands, bands

FEW = 20
"""If fewer answers change, the spread over groups says too little. Then intervals are exact instead."""

EXACTLY = "paired: differences are -1, 0 or 1; Bonferroni over the family"

TOLD = (
    ("the-head-is-needed", "heads: the accuracy is lower without it"),
    ("the-model-does-without-the-head", f"heads: the accuracy loses at most {SPARED:.0%} without it"),
    ("redundant-heads-stand-in-for-each-other", "pairs of heads: leaving out both costs more than each does alone"),
)
"""What the verdicts say."""


def results(
    reading: EncoderReading,
    labels: Int[np.ndarray, " sentences"],
    controls: Mapping[str, Sequence[EncoderReading]] = {},
    *,
    seed: int,
    tell: Tell = lambda _: None,
) -> Results:
    """Measure and judge.

    Args:
        reading: of a classifier.
        labels: of every sentence.
        controls: the same sentences, read by each control, or by several draws of one.
        seed: of which half of the sentences chooses the pairs, and of groups.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if there are too few sentences for an interval.
    """
    from attnlab_theory.labs.heads import figures

    found = ablated(reading, seed=seed, tell=tell)

    def numbers(read: EncoderReading, tell: Tell) -> list[Told]:
        return list(numbers_of(ablated(read, list(found.pairs), seed=seed, tell=tell), labels, seed=seed))

    estimates = beside_controls(list(numbers_of(found, labels, seed=seed)), controls, numbers, tell)
    judged = verdicts(estimates)
    return Results(
        estimates=estimates,
        verdicts=judged,
        about={"margins": {"spared": SPARED}},
        shown=(_table(estimates), "", *counted(judged.findings, TOLD), *of_controls(controls)),
        figures=drawing(figures, ("ablations", "pairs"), estimates, judged.findings),
    )


def numbers_of(found: Ablated, labels: Int[np.ndarray, " n"], *, seed: int = 0) -> Iterator[Told]:
    """What is lost without each head and each pair.

    Raises:
        ValueError: if there are too few sentences for an interval.
    """
    layers, h, _ = found.single.shape
    whole, single = (right(odds, labels, even=0.0) for odds in (found.whole, found.single))
    yield share("accuracy", whole.astype(float), ERROR_RATE)
    yield from _lost("accuracy lost", whole, single, layer_and_head, seed)
    for layer, head in np.ndindex(layers, h):
        names, setting = ("only_with", "only_without"), layer_and_head((layer, head))
        yield mcnemar_p(whole, single[layer, head], names=names, **setting)
    moved = by_group(np.abs(found.single - found.whole), seed)
    yield Family("log-odds moved", moved, len(labels), POSITIVE)
    yield from _pairs(found, labels, seed)


def _pairs(found: Ablated, labels: Int[np.ndarray, " n"], seed: int) -> Iterator[Told]:
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
    yield Family("log-odds lost beyond the sum", by_group(beyond, seed), int(judge.sum()), ANY, named)


def _name(head: Head) -> str:
    return f"{head[0] + 1}.{head[1] + 1}"


def _lost(
    quantity: str, whole: Bool[np.ndarray, " n"], without: Bool[np.ndarray, "*m n"], names: Names, seed: int
) -> Iterator[Told]:
    """The losses of accuracy of a whole family. All of its intervals hold together.

    Half of the error rate goes to the losses for which many answers change: their intervals are max-t. The other
    half goes to those for which few answers change. The losses come once more to be compared with controls.
    """
    lost = whole.astype(float) - without
    moving = np.count_nonzero(lost, axis=-1)
    many, values = moving >= FEW, np.mean(lost, axis=-1)
    low, high = np.empty_like(values), np.empty_like(values)
    if np.any(many):
        some = bands(by_group(lost[many], seed), ERROR_RATE / 2, within=CORRELATION)
        low[many], high[many] = some.low, some.high
    for index in np.argwhere(~many):
        interval = paired().interval(lost[tuple(index)], ERROR_RATE / 2 / values.size)
        low[tuple(index)], high[tuple(index)] = interval.low, interval.high
    for bound, chosen in ((OVER_GROUPS, many), (EXACTLY, ~many)):
        yield from estimates_of(
            quantity, Bands(np.where(chosen, values, np.nan), low, high), lost.shape[-1], bound, names
        )
    yield Unshown(Family(quantity, by_group(lost, seed), lost.shape[-1], CORRELATION, names))


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
