"""Figures draw the control of what they show as a line with its name."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from attnlab_theory.cli import library
from tests.test_figures import drawn, figures_in

LABS = {**library.labs(), "heads": library.heads()}

FIGURES = Path(__file__).parents[2] / "figures"

DRAWN = {
    "captions": {
        "openings": ("openings-lose-diversity",),
        "perplexities": ("pretraining-helps", "number-of-heads-stays-within-the-margin"),
        "quality_and_diversity": ("sharper-is-better-formed", "sharper-covers-less"),
    },
    "heads": {
        "collapse": ("the-model-does-not-collapse", "attention-alone-collapses"),
        "premises": ("the-noisy-length-matters", "theory-predicts-beyond-length-and-word"),
    },
    "knowledge": {"knowledge": ("pretraining-is-recalled", "untrained-is-ignorant")},
    "mixers": {
        "equivalence": ("additive-is-better-by-the-margin", "sharing-stays-within-the-margin"),
        "routing": ("separate-queries-route",),
    },
    "recurrent": {
        "garbled": ("lower-rates-garble-more",),
        "growth": ("w-rnn-gains-as-it-grows",),
        "losses": ("gpt-beats-the-rnn",),
    },
    "reviews": {
        "confidence": ("confidence-stays-near-accuracy",),
        "explanations": (
            "explanations-agree",
            "top-tokens-decide-by-the-margin",
            "top-tokens-suffice-by-the-margin",
        ),
        "optimizers": (
            "one-rate-favours-adamw",
            "a-rate-of-its-own-helps",
            "best-rates-stay-within-the-margin",
        ),
        "search": ("winners-are-lucky",),
    },
}
"""Statements about numbers that a figure shows, by lab and figure. Others have no number for the control."""


@functools.cache
def figures(lab: str) -> Mapping[str, Callable[[], Figure]]:
    return figures_in(FIGURES, lab)


@pytest.mark.slow("the lines of one figure stay inside", but=("mixers-routing",))
@pytest.mark.parametrize(
    ("lab", "name"), [pytest.param(lab, name, id=f"{lab}-{name}") for lab, every in DRAWN.items() for name in every]
)
def test_a_figure_has_a_line_with_the_name_of_each_control(lab, name):
    figure = drawn(figures(lab)[name])
    labels = [str(line.get_label()) for ax in figure.axes for line in ax.lines]
    told = {each.name: each.control for each in LABS[lab].statements}
    for claim in DRAWN[lab][name]:
        assert [label for label in labels if label.startswith(told[claim].what)], claim


@pytest.mark.slow("that the figure of routing has the lines of its controls stays inside")
@pytest.mark.parametrize("name", ["premises", "ablations", "habits"])
def test_no_title_of_a_panel_is_cut_or_covers_the_next_one(name):
    """Lays out a figure of many panels, which takes seconds."""
    figure = drawn(figures("heads")[name])
    figure.draw_without_rendering()
    titles = [text for ax in figure.axes for text in ax.get_children() if text in (ax.title, ax._left_title)]
    boxes = [text.get_window_extent() for text in titles if text.get_text()]
    assert boxes
    for box in boxes:
        assert box.x1 <= figure.bbox.x1
        assert not [other for other in boxes if other is not box and other.overlaps(box)]
