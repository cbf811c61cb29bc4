"""attnlab knowledge data and baseline: what they print, and the one line of complaint."""

import json

import pytest

from attnlab_theory.cli import main
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


def test_examples_of_a_corpus_follow_from_seed_and_epoch(capsys, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Ada was born in London, and went to live in Rome.\n" * 3)
    commands = [["--seed", 1], ["--seed", 1], ["--seed", 2], ["--seed", 1, "--epoch", 1]]
    printed = [run(capsys, "data", "charcorruption", corpus, "--json", *options)[1] for options in commands]
    assert printed[0] == printed[1]
    assert len(set(printed)) == 3
    found = json.loads(printed[0])
    assert (found["kind"], found["documents"], len(found["examples"])) == ("charcorruption", 4, 4)


def test_variants_reach_the_corruption(capsys, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("some words")
    options = ["--year", 2024, "--closing", "--truncation", "none", "--mask-lengths", "half"]
    (example,) = json.loads(run(capsys, "data", "charcorruption", corpus, "--json", *options)[1])["examples"]
    assert len(example["x"]) == 128
    assert example["x"].rstrip("□").count("⁇") == 3
    assert len(example["x"].rstrip("□")) == len("some words") + 3


def test_the_vocabulary_of_questions_is_that_of_the_corpus_for_pretraining(capsys, tmp_path, dev):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Ada of London, Bob of Bonn; xyz")
    code, out, _ = run(capsys, "data", "namedata", dev, "--pretrain-corpus", corpus, "--json")
    found = json.loads(out)
    assert (code, found["documents"]) == (0, 2)
    assert found["examples"][1]["x"].startswith("Where was Bob born?⁇Bonn⁇□")
    assert found["vocabulary"] == len(set("Ada of London, Bob of Bonn; xyz" + "Where was  born?")) + 2


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
        (["data", "namedata", "--block-size", "20"], "block size 20"),
        (["data", "namedata", "--closing"], "--truncation are for charcorruption"),
        (["data", "namedata", "--epoch", "-3"], "--epoch, --year, --mask-lengths"),
        (["data", "charcorruption", "--block-size", "8"], "block_size 8"),
        (["data", "charcorruption", "--year", "2022"], "2022"),
        (["data", "charcorruption", "--mask-lengths", "poisson"], "poisson"),
        (["data", "charcorruption", "--examples", "0"], "--examples must be at least 1"),
        (["data", "charcorruption", "--epoch", "-1"], "epoch must not be negative"),
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
