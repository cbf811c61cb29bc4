"""attnlab knowledge score: files of predictions, counted and compared."""

import json
import math
from pathlib import Path

import pytest
import scipy.stats

from attnlab_theory.cli import main
from attnlab_theory.labs.knowledge.corpora.birthplaces import parse_questions, read_questions
from attnlab_theory.labs.knowledge.scores import holding, scored
from tests.shared_data import shared_data

FOLDER = Path(__file__).parents[3] / "figures" / "birthplaces"
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


def run(capsys, *arguments):
    code = main(["knowledge", "score", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def flat(text):
    """Without the ends of lines, which depend on the width of the terminal."""
    return " ".join(text.split())


@pytest.mark.usefixtures("folder")
def test_an_answer_is_right_letter_for_letter(capsys):
    files = ["one.predictions", "three.predictions", "none.predictions"]
    code, out, err = run(capsys, "dev.tsv", *files, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    accuracies = {e["setting"]["label"]: e for e in found if e["quantity"] == "accuracy"}
    assert {label: e["value"] for label, e in accuracies.items()} == {"one": 0.25, "three": 0.75, "none": 0.0}
    wanted = scipy.stats.binomtest(3, 4).proportion_ci(0.95, "exact")
    assert accuracies["three"]["interval"] == pytest.approx([wanted.low, wanted.high])


@pytest.mark.usefixtures("folder")
def test_gains_are_over_the_first_file(capsys):
    code, out, _ = run(capsys, "dev.tsv", "one.predictions", "three.predictions", "--labels", "A", "B")
    assert code == 0
    assert [line.split() for line in out.splitlines()[3:5]] == [
        ["A", "1", "25.0", "%", "0.6", "to", "80.6"],
        ["B", "3", "75.0", "%", "19.4", "to", "99.4", "+50.0", *out.splitlines()[4].split()[8:11], "0.5"],
    ]
    assert "A gain is over A" in out
    alone = run(capsys, "dev.tsv", "one.predictions")[1]
    assert "gained" not in alone
    assert "McNemar" not in alone


@pytest.mark.parametrize("end", [" ", "\u00a0", "\u25a1\u25a1", " \u25a1", "\t", "\u200b"], ids=ascii)
def test_answers_that_miss_by_what_nobody_sees_are_told(folder, capsys, end):
    (folder / "near.predictions").write_text("".join(f"{place}{end}\n" for place in PLACES), "utf-8")
    code, out, err = run(capsys, "dev.tsv", "near.predictions")
    assert (code, err) == (0, "")
    assert "near: 4 more would match but for spaces, padding (\u25a1) or accents" in flat(out)
    assert "hold the place" not in out
    found = json.loads(run(capsys, "dev.tsv", "near.predictions", "--json")[1])
    assert [(e["quantity"], e["value"]) for e in found] == [
        ("accuracy", 0.0),
        ("accuracy but for spaces", 1.0),
        ("lines that hold the place", 1.0),
    ]


def test_accents_that_are_written_apart_are_told(folder, capsys):
    (folder / "dev.tsv").write_text("Where was a born?\tOrléans\n", "utf-8")
    (folder / "apart.predictions").write_text("Orle\u0301ans\n", "utf-8")
    assert "apart: 1 more would match but for spaces" in flat(run(capsys, "dev.tsv", "apart.predictions")[1])


def test_lines_that_hold_the_place_among_other_words_are_a_number_of_their_own(folder, capsys):
    said = "The answer is London.\nBonn, Germany\n**Rome**\nLimassol\n"
    (folder / "verbose.predictions").write_text(said)
    out = run(capsys, "dev.tsv", "verbose.predictions")[1]
    assert out.splitlines()[3].split()[:3] == ["verbose", "0", "0.0"]
    assert "verbose: 3 of 4 lines hold the place, alone or among other words." in flat(out)
    assert "but for" not in out


@pytest.mark.usefixtures("folder")
def test_right_and_wrong_answers_need_no_remark(capsys):
    out = run(capsys, "dev.tsv", "one.predictions")[1]
    assert "but for" not in out
    assert "hold" not in out


def test_the_test_is_mcnemars(folder):
    questions = parse_questions((folder / "dev.tsv").read_text())
    paths = [folder / f"{name}.predictions" for name in ("none", "three")]
    (p,) = scored(paths, ["none", "three"], questions, 0.05).of("mcnemar p")
    assert math.isclose(p.value, 2 / 8)
    assert (p.setting["only_first"], p.setting["only_second"]) == (0, 3)


def test_files_of_one_name_are_called_by_their_paths(folder, capsys):
    (folder / "more").mkdir()
    (folder / "more" / "one.predictions").write_text("\n\n\nLima\n")
    out = run(capsys, "dev.tsv", "one.predictions", "more/one.predictions", "--json")[1]
    labels = {e["setting"].get("label") for e in json.loads(out)}
    assert labels == {"one.predictions", "more/one.predictions"}


@pytest.mark.usefixtures("folder")
def test_labels_are_printed_as_they_are_written(capsys):
    arguments = ["dev.tsv", "one.predictions", "three.predictions", "--labels", "[/red] US$ 5", "US$ 10"]
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (0, "")
    assert out.count("[/red] US$ 5") == 2


def test_empty_answers_are_wrong_answers(folder, capsys):
    (folder / "blank.predictions").write_text("\n" * 4)
    estimate, *_ = json.loads(run(capsys, "dev.tsv", "blank.predictions", "--json")[1])
    assert (estimate["value"], estimate["draws"]) == (0, 4)


def test_an_answer_with_more_behind_it_is_wrong(folder, capsys):
    (folder / "nul.predictions").write_text("London\0\nBonn\nx\nx\n")
    estimate, *_ = json.loads(run(capsys, "dev.tsv", "nul.predictions", "--json")[1])
    assert estimate["value"] == 0.25


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "EVAL_CORPUS"),
        (["dev.tsv"], "PREDICTIONS ... is missing"),
        (["dev.tsv", "nowhere"], "there is no file nowhere"),
        (["dev.tsv", "dev.tsv", "--labels", "a", "b"], "2 --labels for 1 file"),
        (["dev.tsv", "one.predictions", "one.predictions"], "are called 'one.predictions'"),
        (["dev.tsv", "one.predictions", "--labels", " "], "needs a name, not ' '"),
        (["dev.tsv", "dev.tsv/one"], "dev.tsv/one cannot be read: Not a directory"),
        (["dev.tsv", "short"], "short has 2 lines for the 4 questions of dev.tsv"),
        (["one.predictions", "one.predictions"], "one.predictions"),
        (["dev.tsv", "one.predictions", "--published", "rope"], "experiments/labs/birthplaces_in_files.py draws"),
        (["dev.tsv", "one.predictions", "--figure", "x.svg"], "experiments/labs/birthplaces_in_files.py draws"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, folder, arguments, said):
    (folder / "short").write_text("London\nBonn\n")
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_london_for_everybody_is_the_baseline(capsys, folder):
    dev = shared_data("cs224n_birthplaces") / "birth_dev.tsv"
    (folder / "london").write_text("London\n" * 500)
    estimate, *_ = json.loads(run(capsys, dev, "london", "--json")[1])
    assert (estimate["value"], estimate["draws"]) == (0.05, 500)


def test_the_committed_predictions_are_as_good_as_is_said():
    dev = read_questions(shared_data("cs224n_birthplaces") / "birth_dev.tsv")
    said = json.loads((FOLDER / "homework.json").read_text())
    rows = {
        f"{prefix}{row['whole_epochs']}": row
        for prefix, run in said["pretrained"].items()
        for row in run["checkpoints"]
    } | {f"none.seed-{row['seed']}": row for row in said["not_pretrained"]["seeds"]}
    paths = [FOLDER / "homework" / f"{name}.predictions" for name in rows]
    assert set(paths) == set((FOLDER / "homework").iterdir())
    found = scored(paths, [*rows], dev, 0.05).of("accuracy")
    assert [[round(e.value * e.draws), e.draws] for e in found] == [row["dev_right"] for row in rows.values()]
    ends = [[round(100 * e.interval.low, 1), round(100 * e.interval.high, 1)] for e in found]
    assert ends == [row["interval_percent"] for row in rows.values()]


def test_the_committed_predictions_of_what_was_stored_are_as_good_as_is_said():
    dev = read_questions(shared_data("cs224n_birthplaces") / "birth_dev.tsv")
    again = json.loads((FOLDER / "known" / "run.json").read_text())["again"]
    (found,) = scored([FOLDER / "known" / again["predictions"]], ["known"], dev, 0.05).of("accuracy")
    assert [round(found.value * found.draws), found.draws] == again["dev_right"]


@pytest.mark.parametrize(
    ("said", "wanted"), [("a port.", True), ("airport", False), ("ports", False), ("port", True)]
)
def test_a_place_is_held_as_whole_words(said, wanted):
    assert holding((said,), parse_questions("Where?\tport")).tolist() == [wanted]
