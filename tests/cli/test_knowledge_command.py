"""attnlab knowledge data and baseline: what they print, and the one line of complaint."""

import json

import pytest

from attnlab_theory.cli import main
from attnlab_theory.labs.knowledge.corpora.birthplaces import vocabulary
from attnlab_theory.language.corpora.corruption import Corruption
from attnlab_theory.language.corpora.span_corruption import CharCorruptionDataset
from tests.shared_data import shared_data


def run(capsys, *arguments):
    code = main(["knowledge", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def dev(tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_text("Where was Ada born?\tLondon\nWhere was Bob born?\tBonn\n")
    return path


@pytest.mark.parametrize("kind", ["namedata", "charcorruption"])
def test_generated_examples_are_printed_where_no_corpus_is_named(capsys, kind):
    code, out, err = run(capsys, "data", kind, "--examples", 2)
    assert (code, err) == (0, "")
    first, *pairs = out.splitlines()
    assert "vocabulary of 45 characters" in first
    assert [pair[:3] for pair in pairs] == ["x: ", "y: "] * 2
    assert {len(pair) for pair in pairs} == {3 + 127}


def test_examples_of_a_corpus_follow_from_seed_and_year(capsys, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Ada was born in London, and went to live in Rome.\n" * 3)
    commands = [["--seed", 1], ["--seed", 1], ["--seed", 2], ["--seed", 1, "--year", 2024]]
    printed = [run(capsys, "data", "charcorruption", corpus, "--json", *options)[1] for options in commands]
    assert printed[0] == printed[1]
    assert len(set(printed)) == 3
    found = json.loads(printed[0])
    assert (found["kind"], found["documents"], len(found["examples"])) == ("charcorruption", 4, 4)


def test_the_year_reaches_the_corruption_and_its_variants_are_there_for_python(capsys, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("some words")
    options = ["--year", 2024, "--json"]
    (example,) = json.loads(run(capsys, "data", "charcorruption", corpus, *options)[1])["examples"]
    assert (len(example["x"]), example["x"].rstrip("□").count("⁇")) == (128, 2)
    how = Corruption(year=2024, closing=True, truncation="none", mask_lengths="half")
    data = CharCorruptionDataset("some words", 128, how=how, characters=vocabulary("some words"), seed=0)
    (read,) = map(data.characters.decode, data.epoch(0).x)
    assert (len(read), read.rstrip("□").count("⁇")) == (128, 3)
    assert len(read.rstrip("□")) == len("some words") + 3


def test_the_vocabulary_of_questions_is_made_of_them(capsys, dev):
    code, out, _ = run(capsys, "data", "namedata", dev, "--json")
    found = json.loads(out)
    assert (code, found["documents"]) == (0, 2)
    assert found["examples"][1]["x"].startswith("Where was Bob born?⁇Bonn⁇□")
    assert found["vocabulary"] == len(set("Where was Ada born?LondonWhere was Bob born?Bonn")) + 2


def test_a_mark_in_a_question_is_found_by_its_line(capsys, tmp_path):
    (tmp_path / "marked.tsv").write_text("Where was Ada born?\tBonn\nWhere was B⁇b born?\tBonn\n", "utf-8")
    code, _, err = run(capsys, "data", "namedata", tmp_path / "marked.tsv")
    assert (code, err.count("\n")) == (2, 1)
    assert "line 2 of " in err
    assert "marked.tsv holds '⁇', which stands for no text" in err


def test_the_baseline_counts_exact_matches(capsys, dev):
    code, out, err = run(capsys, "baseline", dev)
    assert (code, err) == (0, "")
    assert out.startswith("London: 1 of 2 right, 50.0 % (95 % interval ")
    found = json.loads(run(capsys, "baseline", dev, "--place", "Rome", "--json")[1])
    assert (found["place"], found["correct"], found["total"], found["accuracy"]) == ("Rome", 0, 2, 0.0)
    assert found["interval"][0] == 0.0


def test_london_is_right_for_5_percent_of_the_homework(capsys):
    code, out, _ = run(capsys, "baseline", shared_data("cs224n_birthplaces") / "birth_dev.tsv", "--place", "London")
    assert code == 0
    assert out == "London: 25 of 500 right, 5.0 % (95 % interval 3.3 to 7.3 %)\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["baseline"], "EVAL_CORPUS"),
        (["baseline", "nowhere.tsv"], "there is no file nowhere.tsv"),
        (["data", "charcorruption", "nowhere.txt"], "there is no file nowhere.txt"),
        (["data", "captions"], "captions"),
        (["data", "namedata", "--year", "2021"], "--year is for charcorruption"),
        (["data", "charcorruption", "--year", "2022"], "2022"),
        (["data", "charcorruption", "--examples", "0"], "--examples must be at least 1"),
        (["data", "charcorruption", "--seed", "-1"], "seed must be"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments, said):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_a_corpus_that_holds_a_mark_is_named_with_its_line(capsys, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("fine\nnot ⁇\n")
    code, _, err = run(capsys, "data", "charcorruption", corpus)
    assert code == 2
    assert f"line 2 of {corpus} holds '⁇' (U+2047)" in err
