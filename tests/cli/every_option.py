"""Every option of every command, as the classes of options declare them."""

import dataclasses
import types
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

import tyro

from attnlab_theory.cli.commands import COMMANDS


class Option(NamedTuple):
    """One option of one command."""

    words: tuple[str, ...]
    """The command and its subcommand."""
    name: str
    """The field that holds it."""
    kinds: tuple[Any, ...]
    """The types that its value may have; a choice is a string that is one of several."""
    several: bool
    """Whether it takes several values."""
    positional: bool
    """Whether it stands by its place."""


def _options(cls: type, words: tuple[str, ...]) -> Iterator[Option]:
    hints = typing.get_type_hints(cls, include_extras=True)
    for field in dataclasses.fields(cls):
        parts = list(_parts(hints[field.name]))
        for kind, name in parts:
            if dataclasses.is_dataclass(kind):
                yield from _options(typing.cast(type, kind), (*words, name) if name else words)
        kinds = tuple(kind for kind, _ in parts if not dataclasses.is_dataclass(kind))
        if kinds and not any(dataclasses.is_dataclass(kind) for kind, _ in parts):
            several = "tuple" in str(hints[field.name])
            positional = any(
                note is tyro.conf.Positional or "Positional" in str(note) for note in _notes(hints[field.name])
            )
            yield Option(words, field.name, kinds, several, positional)


def _notes(hint: Any) -> tuple[Any, ...]:
    return hint.__metadata__ if typing.get_origin(hint) is typing.Annotated else ()


def _parts(hint: Any, name: str = "") -> Iterator[tuple[Any, str]]:
    """The types that a hint allows, each with the name of its subcommand, if it is one."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        inner, *notes = typing.get_args(hint)
        names = [note.name for note in notes if "Subcommand" in type(note).__name__]
        yield from _parts(inner, names[0] if names else name)
    elif origin in (typing.Union, types.UnionType, tuple):
        for part in typing.get_args(hint):
            yield from _parts(part, name)
    elif hint not in (type(None), Ellipsis):
        yield (str if origin is typing.Literal else hint), name


def classes(command: str) -> Iterator[type]:
    """The classes of options of one command, those of its tasks and of what they are made of included."""
    found = [COMMANDS[command].options()]
    for cls in found:
        hints = typing.get_type_hints(cls, include_extras=True)
        parts = (kind for field in dataclasses.fields(cls) for kind, _ in _parts(hints[field.name]))
        found += [kind for kind in parts if dataclasses.is_dataclass(kind) and kind not in found]
    return iter(found)


EVERY = tuple(option for name, entry in COMMANDS.items() for option in _options(entry.options(), (name,)))
"""All of them, in the order of the table of commands."""
