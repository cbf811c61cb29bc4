"""Files of predictions beside what was published: the figure that a script draws of `knowledge score --json`."""

from pathlib import Path

import pytest

from attnlab_theory.cli import main
from attnlab_theory.labs.knowledge.corpora.birthplaces import parse_questions
from attnlab_theory.labs.knowledge.scores import scored
from experiments.labs.birthplaces_in_files import PUBLISHED, Draw, accuracy_of_files

PLACES = ("London", "Bonn", "Rome", "Lima")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """One right of four, three right of four (two of which the first has wrong), and nothing at all."""
    monkeypatch.chdir(tmp_path)
    rows = [f"Where was {name} born?\t{place}\n" for name, place in zip("abcd", PLACES, strict=True)]
    (tmp_path / "dev.tsv").write_text("".join(rows))
    (tmp_path / "one.predictions").write_text("London\nLondon\nLondon\n\n")
    (tmp_path / "three.predictions").write_text("London\nBonn\nRome\nlima\n")
    (tmp_path / "none.predictions").write_text("x\nBonn \nx\nx")
    return tmp_path


@pytest.mark.parametrize(
    ("published", "said"),
    [
        (None, []),
        ("vanilla", ["range of 28 published models, vanilla (learned positions)", "their median"]),
        (
            "rope",
            [
                "range of 6 published models, rope (rotary positions); "
                "the highest accuracy stands in a README, without its answers",
                "their median",
            ],
        ),
    ],
)
def test_the_figure_says_how_many_are_right(folder, published, said):
    questions = parse_questions((folder / "dev.tsv").read_text())
    paths = [folder / f"{name}.predictions" for name in ("one", "three")]
    figure = accuracy_of_files(scored(paths, ["A", "B"], questions, 0.05), published)
    assert figure.get_suptitle() == "Models answer 25.0% (A) and 75.0% (B)\nof 4 birthplace questions right"
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()][:-1] == said
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["A", "B"]


def test_labels_that_name_panels_are_drawn_apart_on_one_scale(folder):
    questions = parse_questions((folder / "dev.tsv").read_text())
    paths = [folder / f"{name}.predictions" for name in ("one", "three", "none")]
    found = scored(paths, ["seed 0: 10 epochs", "seed 0: 20 epochs", "seed 1: 10 epochs"], questions, 0.05)
    figure = accuracy_of_files(found, "rope")
    assert [ax.get_title() for ax in figure.axes] == ["seed 0", "seed 1"]
    ticks = [[t.get_text() for t in ax.get_xticklabels()] for ax in figure.axes]
    assert ticks == [["10", "20"], ["10 epochs"]]
    assert list(figure.axes[0].get_xticks()) == [10, 20]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert figure.get_suptitle().startswith(
        "Models answer 75.0% (seed 0, 20 epochs) and 0.0% (seed 1, 10 epochs)\nof 4 "
    )
    both = scored(paths[:2], ["seed 0: 20 epochs", "seed 1: 20 epochs"], questions, 0.05)
    assert accuracy_of_files(both).get_suptitle() == (
        "After 20 epochs of pretraining, models answer 25.0% (seed 0) and 75.0% (seed 1)\n"
        "of 4 birthplace questions right"
    )


def test_long_labels_are_cut_in_the_figure(folder):
    questions = parse_questions((folder / "dev.tsv").read_text())
    labels = ["x" * 200 + end for end in "ab"]
    paths = [folder / f"{name}.predictions" for name in ("one", "three")]
    figure = accuracy_of_files(scored(paths, labels, questions, 0.05))
    assert (
        figure.get_suptitle()
        == "Models answer 25.0% ({0}) and 75.0% ({0})\nof 4 birthplace questions right".format("x" * 23 + "…")
    )


@pytest.mark.slow("figures of given scores, and what cannot be drawn, stay inside")
def test_what_score_prints_is_drawn_in_the_format_of_its_name(folder, capsys):
    labels = ["--labels", "[/red] US$ 5", "US$ 10"]
    assert main(["knowledge", "score", "dev.tsv", "one.predictions", "three.predictions", *labels, "--json"]) == 0
    (folder / "scored.json").write_text(capsys.readouterr().out)
    assert Draw(scored=Path("scored.json"), figure=Path("found.svg"), published="vanilla").run() == 0
    assert "<svg" in (folder / "found.svg").read_text()


@pytest.mark.parametrize(
    ("read", "figure", "said"),
    [
        ("scored.json", "found.pdf", "not as 'found.pdf'"),
        ("scored.json", "nowhere/found.svg", "there is no folder nowhere"),
        ("scored.svg", "scored.svg", "would be read and written over"),
        ("dev.tsv", "found.svg", "dev.tsv is damaged: .*score the predictions again, with --json"),
    ],
)
def test_what_cannot_be_drawn_is_refused(folder, read, figure, said):
    for name in ("scored.json", "scored.svg"):
        (folder / name).write_text("[]")
    with pytest.raises(ValueError, match=said):
        Draw(scored=Path(read), figure=Path(figure)).run()


@pytest.mark.parametrize("variant", PUBLISHED)
def test_published_medians_lie_in_their_ranges(variant):
    published = PUBLISHED[variant]
    assert 0 <= published.lowest < published.median < published.highest < 1
