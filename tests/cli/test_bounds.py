"""Every number on the command line has a largest value, declared in one place."""

import dataclasses
import types
import typing

import pytest

from attnlab_theory.cli import bounds, main
from attnlab_theory.cli.commands import COMMANDS


def options(cls, words):
    """Words of the command, field and type of every option of a class of commands."""
    for field in dataclasses.fields(cls):
        hint = typing.get_type_hints(cls, include_extras=True)[field.name]
        kinds = bare(hint)
        for kind in kinds:
            if dataclasses.is_dataclass(kind[0]):
                yield from options(kind[0], [*words, *kind[1]])
        if kinds and not dataclasses.is_dataclass(kinds[0][0]):
            yield words, field.name, [kind for kind, _ in kinds]


def bare(hint):
    """The types that a hint allows, each with the name of its subcommand, if it is one."""
    if typing.get_origin(hint) is typing.Annotated:
        inner, *notes = typing.get_args(hint)
        names = [note.name for note in notes if getattr(note, "name", None) and hasattr(note, "constructor")]
        return [(kind, names or more) for kind, more in bare(inner)]
    if typing.get_origin(hint) in (typing.Union, types.UnionType, tuple):
        return [each for part in typing.get_args(hint) for each in bare(part)]
    return [(hint, [])]


NUMBERS = [
    (words, name)
    for command, entry in COMMANDS.items()
    for words, name, kinds in options(entry.options(), [command])
    if {int, float} & {kind for kind in kinds if isinstance(kind, type)}
]


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
        ["reviews", "search", "--rungs"],
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
