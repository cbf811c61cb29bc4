"""attnlab knowledge store: everybody's question at once, answers read off by rule."""

import dataclasses
import json

import numpy as np
import pytest

from attnlab_theory.labs.knowledge.arms import STORING
from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions, read_questions
from attnlab_theory.labs.knowledge.stages import Corpus, storing
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.models.config import GPTConfig
from attnlab_theory.language.text.characters import MASK_ID, PAD_ID
from tests.labs.knowledge.people import BORN, BRIEF, SMALL, run

STORE = [
    *("store", "rope", "wiki.txt", "--finetune_corpus_path", "train.tsv", "--writing_params_path", "rope.params"),
    *SMALL,
    *BRIEF,
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "wiki.txt").write_text("".join(f"{name}. Born in {place} .\n" for name, place in BORN.items()))
    asked = [f"Where was {name} born?\t{place}\n" for name, place in BORN.items()]
    (tmp_path / "train.tsv").write_text("".join(asked[:8]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow("who is held back, as told in JSON, stays inside")
@pytest.mark.parametrize("rule", ["capitalised", "known"])
def test_everybody_is_trained_on_and_who_was_held_back_is_asked(capsys, folder, rule):
    """Trains a model, and asks it two questions."""
    code, out, err = run(capsys, *STORE, "--rule", rule, "--hold_back", "2")
    assert code == 0, err
    assert out.splitlines()[-1].startswith("held back, rope: ")
    assert " of 2 right" in out


@pytest.mark.slow("who is held back, as told in JSON, stays inside")
def test_the_file_says_which_rule_made_the_answers(capsys, folder):
    """Trains a small model."""
    _, out, _ = run(capsys, *STORE, "--json")
    origin = json.loads(out)["origin"]
    assert (origin["stage"], origin["rule"]) == ("store", "capitalised")
    # Twelve persons in batches of eight, twice.
    assert json.loads(out)["steps"] == 4
    assert origin["recipe"]["fall"] is None
    assert origin["recipe"]["shuffled"]


@pytest.mark.slow("a knowledge run, finetuned from what it pretrained, stays inside")
def test_it_goes_on_from_a_pretrained_model_with_its_dropout(capsys, folder):
    """Trains a small model in two stages."""
    pretrained = ["--writing_params_path", "pre.params", *SMALL, *BRIEF, "--schedule", "cosine"]
    assert run(capsys, "pretrain", "rope", "wiki.txt", *pretrained)[0] == 0
    without_sizes = [*STORE[: -len(SMALL + BRIEF)], *BRIEF]
    code, out, err = run(capsys, *without_sizes, "--reading_params_path", "pre.params", "--json")
    assert code == 0, err
    assert json.loads(out)["origin"]["start"]["origin"]["stage"] == "pretrain"
    assert load_model(folder / "rope.params").model.config.residual_dropout == 0.1


def test_the_loss_is_taken_on_answers_unless_on_questions_too(folder):
    corpus, questions = Corpus.read(folder / "wiki.txt"), read_questions(folder / "train.tsv")
    start = GPTConfig(block=48, vocabulary=len(corpus.characters.symbols))
    (whole,), (answers,) = (
        storing(corpus, questions, start, STORING, "known", questions_too=too).epochs(0) for too in (True, False)
    )
    assert np.array_equal(whole.x, answers.x)
    for x, y, targets in zip(whole.x, whole.y, answers.y, strict=True):
        behind = np.arange(len(x)) >= list(y).index(MASK_ID)
        assert np.array_equal(targets, np.where(behind, y, PAD_ID))


@pytest.mark.slow("nothing inside asks this of stores; dropout of one training stays inside")
def test_dropout_is_off_unless_it_is_asked_for(capsys, folder):
    """Trains a small model."""
    _, out, _ = run(capsys, *[word for word in STORE if word not in ("--dropout", "0.1")], "--json")
    same = run(capsys, *STORE[:-2], *BRIEF[-2:], "--resume")
    assert same[0] == 2
    assert "residual_dropout (0.0, not 0.1)" in same[2]
    assert json.loads(out)["losses"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--hold_back", "8"], "of the 8 questions of train.tsv, 8 cannot be held back: at most 7 can"),
        (["--hold_back", "-1"], "-1 cannot be held back"),
        (["--rule", "guess"], "guess"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(capsys, folder, more, said):
    code, _, err = run(capsys, *STORE, *more)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_a_rule_that_finds_nobody_is_refused(folder):
    corpus = Corpus.read(folder / "wiki.txt")
    start = GPTConfig(block=48, vocabulary=len(corpus.characters.symbols))
    nobody = dataclasses.replace(corpus, text="nobody is named here\n")
    with pytest.raises(ValueError, match=r"the rule 'capitalised' finds nobody's place in .*wiki\.txt"):
        storing(nobody, read_questions(folder / "train.tsv"), start, STORING, "capitalised")


def test_what_is_held_back_is_not_learned_under_another_answer():
    twice = Questions(("a?", "b?", "a?", "c?"), ("Rome", "Bonn", "Lima", "Oslo"))
    for seed in range(20):
        given, kept = twice.split(1, seed=seed)
        assert not set(given.texts) & set(kept.texts)
    with pytest.raises(ValueError, match="seed must not be negative, but is -1"):
        twice.split(1, seed=-1)


def test_what_is_held_back_stands_in_the_json_too(capsys, folder):
    """Trains a small model."""
    code, out, _ = run(capsys, *STORE, "--hold_back", "3", "--json")
    assert code == 0
    assert json.loads(out)["held_back"]["total"] == 3


def test_questions_are_split_at_random_and_stay_in_order(folder):
    questions = read_questions(folder / "train.tsv")
    given, kept = questions.split(3, seed=0)
    assert (len(given), len(kept)) == (5, 3)
    assert sorted([*given.texts, *kept.texts]) == sorted(questions.texts)
    assert list(kept.texts) == [asked for asked in questions.texts if asked in kept.texts]
    assert (
        dict(zip(kept.texts, kept.answers, strict=True)).items()
        <= dict(zip(questions.texts, questions.answers, strict=True)).items()
    )
    assert questions.split(3, seed=1)[1].texts != kept.texts
    assert questions.split(0, seed=0)[0] == questions
