import dataclasses

import numpy as np
import pytest

from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.knowledge import figures
from attnlab_theory.labs.knowledge.measure import measure
from attnlab_theory.language.text.characters import MASK
from tests.labs.knowledge.models import PLACES, models


@pytest.fixture(scope="module")
def measured() -> Estimates:
    return measure(models({"none": 0.0, "rope": 0.8}, seeds=2), PLACES, shuffles=9)


def title(figure) -> str:
    return figure.get_suptitle()


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figures_need_estimates_only_and_name_their_axes(name, measured):
    figure = figures.FIGURES[name](measured)
    assert title(figure)
    assert all(ax.get_xlabel() for ax in figure.axes)
    assert figure.axes[0].get_ylabel()


@pytest.mark.parametrize("name", figures.FIGURES)
def test_a_figure_without_its_estimates_is_missed_loudly(name):
    with pytest.raises(KeyError, match="no estimate"):
        figures.FIGURES[name](Estimates())


def test_titles_state_what_was_found(measured):
    said = title(figures.accuracy_by_arm(measured))
    assert said == (
        "On average over 2 seeds, models name the birthplaces of\n"
        "0.0% (not pretrained), 80.0% (rope) of held-out persons"
    )
    (auroc,) = measured.of("auroc", variant="rope")
    assert f"{auroc.value:.2f} (rope)" in title(figures.confidences(measured))
    for drawn in (figures.confidences, figures.abstention):
        assert f" {auroc.setting['groups']} persons" in title(drawn(measured))


def test_whether_a_model_is_too_confident_is_told_of_each_group(measured):
    figure = figures.reliability(measured)
    assert [ax.get_title() for ax in figure.axes] == ["held-out persons", "never-seen persons"]
    for group in ("held-out", "never-seen"):
        (off,) = measured.of("confidence minus accuracy", variant="rope", group=group)
        word = "too confident" if off.value > 0 else "not confident enough"
        assert f"{word} by {100 * abs(off.value):.0f} points ({group})" in title(figure)


def test_a_file_of_an_older_version_has_one_panel_for_all_groups(measured):
    bins = measured.of("accuracy at confidence", variant="rope", group="held-out")
    told = {"variant": "rope", "groups": "held-out and never-seen"}
    old = (dataclasses.replace(b, setting={**told, "confidence": b.setting["confidence"]}) for b in bins)
    assert "percentage points on average" in title(figures.reliability(Estimates(old)))


@pytest.mark.parametrize("accuracy", [0.1, 0.95])
def test_the_legend_does_not_lie_on_an_abstention_curve(accuracy, measured):
    flat = (dataclasses.replace(e, value=accuracy) for e in measured.of("accuracy of the surest", variant="rope"))
    figure = figures.abstention(Estimates(flat))
    figure.draw_without_rendering()
    (ax,) = figure.axes
    legend = ax.get_legend().get_window_extent()
    for line in ax.lines:
        xs = np.linspace(*line.get_xdata()[[0, -1]], 200)
        curve = ax.transData.transform(np.column_stack([xs, np.interp(xs, *line.get_data())]))
        assert legend.count_contains(curve) == 0


ROWS = [
    {"variant": variant, "seed": seed, "step": step, "loss": 3 / step, "accuracy": step / 400}
    for variant in ("none", "rope")
    for seed in range(2)
    for step in range(1, 301)
]


TITLE = (
    "Loss at the end of pretraining: not pretrained 0.01, rope 0.01 nats per character.\n"
    "Birthplaces of held-out persons named right: not pretrained 75%, rope 75% (means of 2 seeds)"
)


def test_learning_curves_have_a_line_for_each_seed():
    figure = figures.learning_curves(ROWS)
    assert [len(ax.lines) for ax in figure.axes] == [4, 4]
    assert title(figure) == TITLE
    assert len(figure.axes[0].lines[0].get_xdata()) == 300


def test_an_accuracy_at_the_end_alone_is_told_and_not_drawn():
    only = [row if row["step"] == 300 else {**row, "accuracy": None} for row in ROWS]
    figure = figures.learning_curves(only)
    assert [len(ax.lines) for ax in figure.axes] == [4]
    assert title(figure) == TITLE


def test_a_variant_without_a_curve_is_told_by_what_is_known_of_it():
    other = {"variant": "nope", "seed": 0, "step": 300, "accuracy": 0.5}
    losses, accuracies = title(figures.learning_curves([*ROWS, other])).splitlines()
    assert losses.endswith("rope 0.01 nats per character.")
    assert accuracies.endswith("rope 75%, nope 50% (means of 2 seeds)")


@pytest.mark.parametrize("field", ["loss", "accuracy"])
def test_learning_curves_without_a_curve_are_refused(field):
    with pytest.raises(ValueError, match=f"rows with '{field}'"):
        figures.learning_curves([{**row, field: None} for row in ROWS])


QUESTION = f"Where was Bada born?{MASK}Bern{MASK}"


def test_an_attention_map_counts_the_weight_on_the_name_while_answering():
    n, mark = len(QUESTION), QUESTION.index(MASK)
    weights = np.eye(n)
    # The mark and B look at the name alone, e, r and n at themselves; of the closing mark nobody asks.
    weights[[mark, mark + 1, n - 1]] = np.arange(n) == QUESTION.index("Bada")
    figure = figures.attention_map(weights, QUESTION, name="Bada", head="layer 1, head 2")
    assert title(figure) == (
        "layer 1, head 2: 40% of the attention weight\nin the rows from the answer mark ⁇ on lies on the name Bada"
    )
    assert f"{MASK}: mark" in figure.axes[0].get_xlabel()


@pytest.mark.parametrize(
    ("characters", "name", "said"),
    [
        (QUESTION[:-1], "Bada", "need as many rows"),
        (QUESTION, "Bado", "does not hold the name 'Bado'"),
        (QUESTION.replace(MASK, "-"), "Bada", "no mark"),
    ],
    ids=["length", "name", "mark"],
)
def test_an_attention_map_of_something_else_is_refused(characters, name, said):
    with pytest.raises(ValueError, match=said):
        figures.attention_map(np.eye(len(QUESTION)), characters, name=name, head="any")


@pytest.mark.slow("the weight on the name in an attention map stays inside")
def test_an_attention_map_finds_a_short_name_and_shows_it_as_written():
    question = f"Where was W born?{MASK}Pisa"
    weights = np.tile(np.eye(len(question))[10], (len(question), 1))
    figure = figures.attention_map(weights, question, name="W", head="any")
    assert "100%" in figure.get_suptitle()
    name = "K$_$ Li"
    question = f"Where was {name} born?{MASK}Pisa"
    figure = figures.attention_map(np.eye(len(question)), question, name=name, head="any")
    figure.draw_without_rendering()
    assert r"K\$_\$ Li" in figure.axes[0].get_xlabel()
