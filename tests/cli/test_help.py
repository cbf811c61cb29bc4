"""The help on every command: what is needed first fits a screen, and nothing in it is noise."""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator

import pytest

from attnlab_theory import experiment, layout
from attnlab_theory.cli import main
from attnlab_theory.cli.commands import COMMANDS
from tests.cli.every_option import EVERY, classes
from tests.toy_experiments import toy

WORDS = list(dict.fromkeys(option.words for option in EVERY))
MOST_WORDS = 25
"""How many words the help of an option may have, or one line of it that explains a choice."""

NOISE = ("{None}", "default: None", "default: ''", "default: False", "default: True")

CALLED = {"among_themselves": "self", "kind": "as"}
"""Options that are called otherwise than the fields that hold them."""

SCREEN = 40
"""Lines of a terminal."""

CHOICE = re.compile(r"\n(?=[\w-]+(?:, [\w-]+)*: )")
"""Where a line on one or several choices begins."""


def help_of(capsys, words: tuple[str, ...]) -> str:
    with pytest.raises(SystemExit) as leaving:
        main([*words, "--help"])
    assert not leaving.value.code
    return capsys.readouterr().out


def told(cls: type) -> Iterator[tuple[str, str]]:
    """Each option of a class, its bases included, with its help."""
    for each in cls.__mro__:
        if dataclasses.is_dataclass(each):
            (body,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
            assert isinstance(body, ast.ClassDef)
            for field, after in zip(body.body, body.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                    assert isinstance(field.target, ast.Name)
                    assert isinstance(after.value, ast.Constant)
                    yield field.target.id, inspect.cleandoc(str(after.value.value))


HELP = sorted({(cls.__name__, *pair) for name in COMMANDS for cls in classes(name) for pair in told(cls)})


def test_the_help_of_most_options_is_found():
    named = {name for _, name, _ in HELP}
    assert len({option.name for option in EVERY} - named) < 3


def test_the_help_of_an_option_is_read_at_a_glance():
    parts = [(f"{cls}.{name}", part) for cls, name, text in HELP for part in CHOICE.split(text)]
    long = [f"{option}: {part}" for option, part in parts if len(part.split()) > MOST_WORDS]
    assert not long, "\n".join(long)


def test_help_names_every_option_once_and_says_nothing_of_what_is_not_given(subtests, capsys, monkeypatch):
    """A second or two: every command writes its help."""
    monkeypatch.setenv("COLUMNS", "80")
    for words in WORDS:
        with subtests.test(" ".join(words)):
            shown = help_of(capsys, words)
            assert not [noise for noise in NOISE if noise in shown]
            listed = re.findall(r"^[│ ] (?:--\w[\w-]* \S+, )?--(\w[\w-]*)", shown, re.MULTILINE)
            assert len(listed) == len(set(listed))
            for option in EVERY:
                if option.words == words and not option.positional:
                    assert re.search(rf"--(no-)?{CALLED.get(option.name, option.name).replace('_', '-')}\b", shown)


def test_the_help_of_an_experiments_script_says_nothing_of_what_is_not_given(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["coins.py", "--help"])
    with pytest.raises(SystemExit):
        experiment.main(toy("coins"))
    shown = capsys.readouterr().out
    assert "--cluster" in shown
    assert not [noise for noise in NOISE if noise in shown]


def test_what_most_people_need_of_a_command_fits_a_screen(subtests, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for words in WORDS:
        with subtests.test(" ".join(words)):
            common, _, expert = help_of(capsys, words).partition("expert options")
            assert len(common.splitlines()) <= SCREEN
            names = {option.name for option in EVERY if option.words == words}
            for name in names & layout.EXPERT if expert else ():
                assert re.search(rf"--(no-)?{name.replace('_', '-')}\b", expert)


def test_every_expert_option_is_one_of_some_command():
    assert {option.name for option in EVERY} >= layout.EXPERT
