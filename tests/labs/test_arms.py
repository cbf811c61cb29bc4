"""What a lab compares is named by --arms, and as before by the words that stood there once."""

import json

import pytest
import tyro

from attnlab_theory.cli import main
from attnlab_theory.labs.captions.tasks import Run as Captions
from attnlab_theory.labs.heads.commands import Heads
from attnlab_theory.labs.knowledge.tasks import Run as Knowledge
from attnlab_theory.labs.mixers.tasks import Run as Mixers
from attnlab_theory.labs.recurrent.tasks import Run as Recurrent
from attnlab_theory.labs.reviews.tasks import Run as Reviews

LABS = {"captions": Captions, "knowledge": Knowledge, "mixers": Mixers, "recurrent": Recurrent, "reviews": Reviews}


def arms_of(lab, folder, *options):
    """The names of the arms that a run would train for the first seed. No rate is swept, which takes training."""
    words = [*options, "--out", str(folder), *(["--no-sweep"] if lab == "reviews" else [])]
    run = tyro.cli(LABS[lab], args=words, config=(tyro.conf.OmitArgPrefixes,))
    return [str(getattr(arm, "name", arm)) for arm in run.lab().arms_of(0)]


@pytest.mark.slow("two of six members stay inside", but=2)
@pytest.mark.parametrize(
    ("lab", "old", "new", "first"),
    [
        ("knowledge", "--variants none rope", "--arms none rope", "none"),
        ("recurrent", "--parts equal growth", "--arms equal growth", "rnn"),
        (
            "recurrent",
            "--parts rates",
            "--arms letters-0.01 letters-0.003 letters-0.001 letters-0.0003",
            "letters-0.01",
        ),
        ("recurrent", "--parts equal", "--arms gpt w-rnn rnn", "rnn"),
        ("reviews", "--optimizers sgd --orders file --no-forgetful", "--arms sgd file", "adamw.lr-0.002"),
        ("reviews", "--optimizers adamw --orders by-label", "--arms by-label never-zeroed", "adamw.lr-0.002"),
    ],
)
def test_old_and_new_spelling_choose_the_same_arms(lab, old, new, first, tmp_path):
    """Makes the texts of a lab three times, and for reviews a model too."""
    arms = arms_of(lab, tmp_path, *new.split())
    assert arms[0] == first
    assert arms == arms_of(lab, tmp_path, *old.split())
    assert arms != arms_of(lab, tmp_path), "these are not all that there are"


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize(
    ("lab", "arms"),
    [
        ("captions", "heads-1 permuted"),
        ("knowledge", "vanilla alibi"),
        ("mixers", "additive zero-after"),
        ("recurrent", "gpt rnn-16 w-rnn-64 letters-0.001"),
    ],
)
def test_arms_that_are_named_are_trained_and_no_others(lab, arms, tmp_path):
    assert arms_of(lab, tmp_path, "--arms", *arms.split()) == arms.split()


def test_the_parts_of_heads_are_named_by_either_word():
    parts = ("collapse", "premises")
    for option in ("--arms", "--parts"):
        assert tyro.cli(Heads, args=["model", option, *parts]).parts == parts


@pytest.mark.slow("five of seven members stay inside", but=5)
@pytest.mark.parametrize(
    "words", [*(f"{lab} run --arms" for lab in LABS), "recurrent run --parts", "heads model --arms"]
)
def test_an_unknown_arm_is_refused_in_one_line(words, capsys):
    assert main([*words.split(), "strange"]) == 2
    said = capsys.readouterr().err
    assert "strange" in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.slow("one of seven members stays inside", but=1)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "recurrent run --arms rn",
            "no arm is called 'rn'; did you mean rnn? There are equal, growth, rates, tuning",
        ),
        ("recurrent run --arms equal gpt", "arm gpt is named twice; once is enough"),
        ("recurrent run --arms", "a run needs at least one arm"),
        ("reviews run --arms sgd sgd", "arm sgd is named twice; once is enough"),
        ("reviews run --arms", "a run needs at least one arm"),
        (
            "reviews run --arms sgd --orders file",
            "--arms names all that is compared: leave out --orders, or --arms",
        ),
        ("reviews run --arms sgd --no-forgetful", "leave out --no-forgetful, or --arms"),
    ],
)
def test_arms_that_are_none_or_named_twice_are_refused(words, told, tmp_path, capsys):
    assert main([*words.split(), "--out", str(tmp_path / "out")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow("a run of one part, and the arms that are named, stay inside")
@pytest.mark.usefixtures("unpainted")
def test_arms_of_several_parts_are_measured_as_far_as_they_can_be_compared(tmp_path, capsys):
    """Trains an arm of each of three parts."""
    arms = ["gpt", "rnn-16", "letters-0.001"]
    words = ["--seeds", "1", "--epochs", "1", "--processes", "1", "--out", str(tmp_path), "--json"]
    assert main(["recurrent", "run", "--arms", *arms, *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["run"]["parts"], told["run"]["arms"]) == (["equal", "growth", "rates"], arms)
    assert told["run"]["equal"]["arms"] == ["gpt"]
    found = {each["quantity"] for each in told["estimates"]}
    assert found == {"loss above the grammar", "test loss", "log of the gradient's norm", "garbled words"}
    assert {path.stem for path in tmp_path.glob("*.svg")} == {"garbled", "gradients"}
