"""Other names of options, those of the homeworks and of older versions, do what the names do."""

import dataclasses
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attnlab_theory.cli import _parse, main
from attnlab_theory.cli.commands import COMMANDS
from tests.cli.fuzz.calls import GOOD


class Alias(NamedTuple):
    """Another name of an option."""

    words: tuple[str, ...]
    name: str
    other: str
    value: str


def aliases(cls: type, words: tuple[str, ...]) -> Iterator[Alias]:
    hints = typing.get_type_hints(cls, include_extras=True)
    for field in dataclasses.fields(cls):
        yield from _of(hints[field.name], field, words)


def _of(hint: Any, field: dataclasses.Field, words: tuple[str, ...]) -> Iterator[Alias]:
    notes = hint.__metadata__ if typing.get_origin(hint) is typing.Annotated else ()
    bare = typing.get_args(hint)[0] if notes else hint
    names = [note.name for note in notes if "Subcommand" in type(note).__name__]
    if dataclasses.is_dataclass(bare):
        yield from aliases(typing.cast(type, bare), (*words, *names))
    elif typing.get_origin(bare) in (typing.Union, types.UnionType):
        for part in typing.get_args(bare):
            yield from _of(part, field, words)
    for note in notes:
        for other in getattr(note, "aliases", None) or ():
            chosen = str(field.default[0]) if isinstance(field.default, tuple) else ""
            value = {"lr": "0.5", "arms": chosen, "parts": chosen}.get(field.name, "elsewhere")
            yield Alias(words, f"--{field.name.replace('_', '-')}", other, value)


EVERY = sorted({alias for name, entry in COMMANDS.items() for alias in aliases(entry.options(), (name,))})


def test_the_names_of_the_homeworks_and_of_older_versions_are_among_them():
    assert {alias.other for alias in EVERY} >= {
        *("--outputs-path", "--findings-path", "--figure", "--sentences"),
        *("--pretrain-lr", "--finetune-lr", "--parts", "--variants"),
    }


@pytest.mark.slow("five of twelve members stay inside", but=5)
@pytest.mark.parametrize("alias", EVERY, ids=lambda alias: " ".join((*alias.words, alias.other)))
def test_another_name_of_an_option_does_what_the_option_does(alias):
    rest = GOOD[alias.words].format(at="at").split()
    if alias.name in rest:
        place = rest.index(alias.name)
        del rest[place : place + 2]
    meant, *others = (
        _parse([*alias.words, *rest, name, alias.value])
        for name in (alias.name, alias.other, alias.other.replace("-", "_").replace("__", "--", 1))
    )
    assert [str(other) for other in others] == [str(meant)] * 2
    assert str(Path(alias.value)) in str(meant)


@pytest.mark.parametrize("alias", EVERY, ids=lambda alias: " ".join((*alias.words, alias.other)))
def test_the_help_shows_one_name_of_an_option(alias, capsys):
    with pytest.raises(SystemExit):
        main([*alias.words, "--help"])
    shown = capsys.readouterr().out
    assert re.search(rf"{alias.name}\b", shown)
    assert not re.search(rf"{alias.other}\b", shown)
