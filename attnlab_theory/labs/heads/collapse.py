r"""Do tokens become alike with depth, and what keeps them apart? The distance of a sentence's tokens to rank one.

The tokens X of a sentence are rows. The nearest matrix of equal rows has their mean x in each. The relative
distance is |X - 1 x^T| / |X|, in the norm of Frobenius: 0 where all tokens are one, 1 where their mean is 0.

Pure attention cubes small differences, so that it collapses faster with every layer; skip connections stop that
(docs/mathematics/limits.md). Real layers have several heads, biases and LayerNorm: what is left of the law is
measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.table import Table

from attnlab_theory.labs.engine.record import Results, drawing
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads.claims import COLLAPSED
from attnlab_theory.labs.heads.controls import beside_controls
from attnlab_theory.labs.heads.families import Family, verdicts
from attnlab_theory.labs.heads.results import Tell, of_controls, told
from attnlab_theory.labs.heads.traces import Kept, Layered
from attnlab_theory.labs.tables import table
from attnlab_theory.plurals import several
from attnlab_theory.stats.groups import refuse_too_few, with_each_left_out

FLOOR = 1e-14
"""Float64 tells no smaller relative distances apart."""

GROUPS = 50
"""The most groups into which sentences are dealt."""


class Collapse:
    """Logarithms of distances, summed by group of sentences."""

    def __init__(self, depths: int, groups: int) -> None:
        self.sums = np.zeros((groups, len(Kept), depths))
        self.counts = np.zeros(groups)

    def add(self, states: Sequence[Float[np.ndarray, "depths t c"]], group: int) -> None:
        """Take in one sentence, as it is by depth under every `Kept`, in their order."""
        self.counts[group] += 1
        for at, each in enumerate(states):
            self.sums[group, at] += np.log(np.maximum(distances(each), FLOOR))

    def replicates(self) -> Float[np.ndarray, "r kept depths"]:
        """Mean logarithms: from all groups, then without each."""
        return with_each_left_out(self.sums) / with_each_left_out(self.counts)[:, None, None]


def distances(states: Float[np.ndarray, "depths t c"]) -> Float[np.ndarray, " depths"]:
    """The relative distance to rank one at every depth."""
    away = states - np.mean(states, axis=1, keepdims=True)
    return np.linalg.norm(away, axis=(1, 2)) / np.maximum(np.linalg.norm(states, axis=(1, 2)), 1e-300)


def measured(reading: Layered, *, sentences: int, tell: Tell = lambda _: None) -> Collapse:
    """Follow the first sentences of two tokens or more through the layers.

    Raises:
        ValueError: if there is none, there are too few for an interval, or a state is not finite.
    """
    numbers = [n for n, each in enumerate(reading.tokens) if len(each.ids) >= 2][:sentences]
    if not numbers:
        raise ValueError("no sentence has two tokens whose distance could be told: take another text")
    groups = min(GROUPS, len(numbers))
    refuse_too_few(groups)
    tell(f"states of {several(len(numbers), 'sentence')} through layers without some of their parts")
    found = None
    for place, states in enumerate(zip(*(reading.states(numbers, kept) for kept in Kept), strict=True)):
        if not all(np.all(np.isfinite(each)) for each in states):
            raise ValueError(
                f"a state of a sentence of {several(len(states[0][0]), 'token')} is not finite: the model is broken"
            )
        found = Collapse(len(states[0]), groups) if found is None else found
        found.add(states, place % groups)
    assert found is not None, "there is a sentence"
    return found


def numbers_of(found: Collapse) -> Iterator[Family]:
    """Distances by depth, and what is left of the first one, each family with simultaneous intervals."""
    logs, draws = found.replicates(), int(np.sum(found.counts))
    for quantity, numbers in (
        ("distance to rank one", logs),
        ("share of the distance left", logs[..., -1] - logs[..., 0]),
    ):
        yield Family(quantity, numbers, draws, names=_kept_and_depth, logarithms=True)
    yield from _steps(logs[:, list(Kept).index(Kept.ATTENTION)], draws)


def _steps(logs: Float[np.ndarray, "r depths"], draws: int) -> Iterator[Family]:
    """Two numbers about the last layer's step of the logarithm: its difference from the mean of the earlier steps,
    and its ratio to the step before.
    """
    steps = np.diff(logs, axis=1)
    if steps.shape[1] < 2:
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = steps[:, -1] / steps[:, -2]
    for quantity, values in (
        ("last step less the earlier ones", steps[:, -1] - np.mean(steps[:, :-1], axis=1)),
        ("last step over the one before", growth),
    ):
        yield Family(quantity, values[:, None], draws, names=lambda _: {"kept": str(Kept.ATTENTION)})


def _kept_and_depth(index: tuple[int, ...]) -> dict[str, Any]:
    told: dict[str, Any] = {"kept": str(list(Kept)[index[0]])}
    return told | ({"depth": index[1]} if len(index) > 1 else {})


def results(
    reading: Layered, controls: Mapping[str, Sequence[Layered]] = {}, *, sentences: int, tell: Tell = lambda _: None
) -> Results:
    """Measure and judge.

    Args:
        reading: the model with its text.
        controls: the same text, read by each control, or by several draws of one.
        sentences: how many sentences are read.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if `measured` refuses the reading.
    """
    from attnlab_theory.labs.heads import figures

    def numbers(read: Layered, tell: Tell) -> list[Family]:
        return list(numbers_of(measured(read, sentences=sentences, tell=tell)))

    estimates = beside_controls(numbers(reading, tell), controls, numbers, tell)
    judged = verdicts(estimates)
    return Results(
        estimates=estimates,
        verdicts=judged,
        about={"margins": {"collapsed": COLLAPSED}},
        shown=(_table(estimates), "", *told(judged.findings), *of_controls(controls)),
        figures=drawing(figures, ("collapse",), estimates),
    )


def _table(estimates: Estimates) -> Table:
    """A line for each depth, a column for what is kept."""
    shown = table([], ["distance after layer", *Kept])
    found = {(e.setting["kept"], e.setting["depth"]): e.value for e in estimates.of("distance to rank one")}
    for depth in sorted({depth for _, depth in found}):
        shown.add_row(str(depth), *(f"{found[kept, depth]:.3g}" for kept in Kept))
    return shown
