"""The grids of heads: one head far above all others keeps its number, and does not take the scale."""

import types

import pytest
from matplotlib.figure import Figure

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.heads.figures import from_to
from attnlab_theory.labs.heads.grids import BEYOND, UNKNOWN, VERDICTS, grid, tallied
from attnlab_theory.stats import Interval


def of_heads(values):
    """A number of each head of one layer."""
    return Estimates(
        Estimate(
            quantity="slope",
            setting={"layer": 1, "head": head},
            value=value,
            interval=Interval.point(value),
            draws=1,
            bound="",
            error_rate=0.05,
        )
        for head, value in enumerate(values, start=1)
    )


def drawn(values, verdicts, **how):
    """The end of the scale and the texts in the cells of a layer of three heads."""
    ax = Figure().subplots()
    grid(ax, of_heads(values), (1, 3), verdicts, **how)
    return ax.images[0].get_clim()[1], {text.get_text() for text in ax.texts}


@pytest.mark.parametrize(
    ("values", "how", "end", "texts"),
    [
        ((0.1, 0.2, 0.3), {}, 0.3, {"+"}),
        ((0.1, 0.2, 0.9), {}, 0.2, {"0.9\n+"}),
        ((0.9, 0.1, 0.2), {}, 0.2, {"0.9", "+"}),
        ((0.1, 0.2, 0.9), {"top": 1.0}, 1.0, {"+"}),
        ((-0.3, -0.2, 0.1), {}, 0.1, {"+"}),
        ((0.9,), {}, 0.9, set()),
    ],
)
def test_a_lone_head_far_above_all_others_keeps_its_number(values, how, end, texts):
    verdicts = {(1, 3): Verdict.SUPPORTED} if len(values) == 3 else {}
    assert drawn(values, verdicts, **how) == (pytest.approx(end), texts)


@pytest.mark.parametrize(
    ("values", "verdicts", "told"),
    [
        ((0.1, 0.2, 0.3), {}, set()),
        ((0.1, 0.2, 0.9), {}, {BEYOND}),
        ((0.1, 0.2), {}, {UNKNOWN}),
        ((0.1, 0.2, 0.3), {(1, 1): Verdict.REFUTED}, {VERDICTS}),
    ],
)
def test_only_what_stands_in_the_cells_is_explained(values, verdicts, told):
    assert grid(Figure().subplots(), of_heads(values), (1, 3), verdicts) == told


def test_a_tally_counts_each_verdict_once():
    supported, refuted, undecided = Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE
    found = [types.SimpleNamespace(verdict=verdict) for verdict in (supported, refuted, refuted, undecided)]
    assert tallied(found, "head") == "shown true in 1 head, false in 2, undecided in 1"
    assert tallied([], "pair") == "shown true in 0 pairs, false in 0, undecided in 0"


def test_a_range_ends_before_the_next_start():
    assert [from_to(start, (2, 16, 32)) for start in (2, 16, 32)] == ["2 to 15", "16 to 31", "32 or more"]
