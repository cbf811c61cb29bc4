"""Every number on the command line has a largest value, declared in one place."""

import pytest

from attnlab_theory.cli import bounds, main
from tests.cli.every_option import EVERY

NUMBERS = [(each.words, each.name) for each in EVERY if {int, float} & set(each.kinds)]


def test_there_are_as_many_numbers_as_the_help_tells_of():
    assert len(NUMBERS) > 130
    assert {words[0] for words, _ in NUMBERS} >= {"run", "leaks", "mixers", "reviews", "heads", "knowledge"}


def test_every_option_that_takes_a_number_has_a_bound_and_no_other_has():
    assert {name for _, name in NUMBERS} == bounds.MOST.keys()


def refused(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


@pytest.mark.parametrize("value", [str(10**9 + 1), str(10**20), "9" * 400])
@pytest.mark.parametrize(
    "arguments",
    [
        ["mixers", "run", "--processes"],
        ["captions", "train", "--writing-params-path", "x", "--width"],
        ["captions", "train", "--writing-params-path", "x", "--layers"],
        ["knowledge", "run", "--statements", "4"],
        ["reviews", "search", "--trials"],
        ["heads", "minilm", "--sentences"],
        ["leaks", "x.py::f", "--length"],
        ["estimators", "--queries", "q.npy", "--keys", "k.npy", "--features"],
    ],
    ids=lambda a: f"{a[0]} {a[-1]}",
)
def test_a_number_that_no_machine_ends_is_refused_by_its_option_and_its_bound(capsys, arguments, value):
    err = refused(capsys, *arguments, value)
    option = "--statements" if "--statements" in arguments else arguments[-1]
    said = value if len(value) < 30 else "a number of 400 digits"
    assert f"{option} is at most " in err
    assert f", not {said}: ask for less" in err


@pytest.mark.parametrize("value", ["inf", "1e300"])
def test_a_rate_that_is_no_rate_is_refused(capsys, value):
    err = refused(capsys, "captions", "train", "--writing-params-path", "x", "--lr", value)
    assert "--lr is at most 1,000, not " in err


@pytest.mark.parametrize("lab", ["captions", "reviews"])
def test_a_model_that_this_machine_does_not_hold_is_refused_before_it_is_made(capsys, monkeypatch, tmp_path, lab):
    monkeypatch.setattr("attnlab_theory.language.models.model.memory", lambda: 8e9)
    where = ["--writing-params-path", str(tmp_path / "model")]
    err = refused(capsys, lab, "train", *where, "--layers", "64", "--heads", "2", "--width", "8192")
    assert "a model of 64 layers of width 8,192 takes at least 27" in err
    assert "and this machine has 8 GB: ask for fewer layers or a smaller width" in err
    assert not any(tmp_path.iterdir())
