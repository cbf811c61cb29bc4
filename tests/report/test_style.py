"""The legend that all figures share, and what a refuted prediction looks like."""

import dataclasses

import pytest

pytest.importorskip("matplotlib")

from attnlab_theory.claims import Finding, Findings, Verdict
from attnlab_theory.report import forest, style
from attnlab_theory.stats import Interval


def findings(predicted: Interval) -> Findings:
    return Findings(
        Finding(
            experiment="toy",
            claim="toy",
            statement="",
            source="",
            setting={"n": n},
            predicted=predicted,
            measured=Interval(0.0, 1.0),
            draws=1,
            error_rate=0.0,
            resolution=1.0,
            bound="exact",
            verdict=Verdict.REFUTED,
            expect=Verdict.REFUTED,
        )
        for n in (1, 2)
    )


def test_the_legend_says_what_a_line_and_an_interval_are():
    figure, _ = style.panels("a title")
    style.legend(figure)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["line: predicted", "interval: measured"]
    figure.draw_without_rendering()


def test_a_long_title_keeps_its_lines_in_every_file(tmp_path):
    figure, _ = style.panels("a title of so many words that " * 6)
    style.save(lambda: figure, [tmp_path / "long.svg"])
    (title,) = figure.texts
    lines = title.get_text().splitlines()
    assert len(lines) > 1
    assert not title.get_wrap()
    assert all(f"<!-- {line} -->" in (tmp_path / "long.svg").read_text("utf-8") for line in lines)


@pytest.mark.parametrize(("high", "told"), [(2.0, ""), (2.01, ""), (3.0, " (two lines and a shade: a range)")])
def test_the_legend_says_what_two_lines_of_a_kind_are(high, told):
    figure, (ax,) = style.panels("a title")
    style.draw_predicted(ax, findings(Interval(2.0, high)), "n", label="a law")
    style.legend(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "line: predicted" + told,
        "interval: measured",
    ]
    assert [text.get_text() for text in ax.legend().get_texts()] == ["a law"]


@pytest.mark.parametrize(
    ("predicted", "lines"),
    [(Interval.point(2.0), 1), (Interval(2.0, 3.0), 2), (Interval.at_most(2.0), 1), (Interval.at_least(2.0), 1)],
)
def test_a_refuted_prediction_is_grey_dashed_and_labelled_once(predicted, lines):
    _, (ax,) = style.panels("a title")
    style.draw_refuted(ax, findings(predicted), "n", label="it is 2")
    assert len(ax.lines) == lines
    assert all(line.get_color() == style.REFUTED and line.is_dashed() for line in ax.lines)
    assert ax.get_legend_handles_labels()[1] == ["refuted: it is 2"]


def test_a_foil_is_called_one_in_the_figure_of_claims_without_their_own():
    wrong, *_ = findings(Interval(0.0, 1.0))
    right = dataclasses.replace(wrong, expect=Verdict.SUPPORTED)
    wrong = dataclasses.replace(wrong, claim="wrong")
    titles = [ax.get_title(loc="left") or ax.get_title() for ax in forest.draw(Findings([right, wrong])).axes]
    assert titles == ["toy", "wrong (a foil: wrong on purpose)"]
