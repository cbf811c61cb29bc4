"""The table of commands: it agrees with the options it stands for, and help imports no more than it needs."""

import inspect
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory import __version__, exits
from attnlab_theory.cli import main
from attnlab_theory.cli.commands import COMMANDS, GONE
from tests.cli.every_option import EVERY

EVERY_HELP = """
import contextlib, io, re, sys
from attnlab_theory import __version__
from attnlab_theory.cli import main
from attnlab_theory.cli.commands import COMMANDS

HEAVY = {"jax", "equinox", "optax", "numpy", "scipy", "matplotlib"}

def help_on(*words):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            main([*words, "-h"])
        except SystemExit as leaving:
            assert not leaving.code
    assert printed.getvalue().startswith(f"usage: attnlab {' '.join(words)} [-h]"), printed.getvalue()
    assert not HEAVY & set(sys.modules), f"{words} imports {HEAVY & set(sys.modules)}"
    return printed.getvalue()

modules = {f"attnlab_theory.{entry.module}" for entry in COMMANDS.values()}
for name, entry in COMMANDS.items():
    for module in modules & set(sys.modules):
        del sys.modules[module]
    tasks = re.match(r"usage: attnlab \\S+ \\[-h\\] {(.+?)}", help_on(name))
    for task in tasks[1].split(",") if tasks else ():
        help_on(name, task)
        print(name, task)
    imported = modules & set(sys.modules)
    assert imported == {f"attnlab_theory.{entry.module}"}, f"{name} imports {imported}"
"""
"""Asks for the help of every command and every task in one process, and watches what is imported."""


def help_of(capsys, *arguments: str) -> str:
    try:
        assert main(list(arguments)) == 0
    except SystemExit as leaving:
        assert not leaving.code  # noqa: PT017
    return capsys.readouterr().out


def test_a_line_of_help_is_the_first_of_the_docstring(subtests):
    for name in COMMANDS:
        with subtests.test(name):
            options = COMMANDS[name].options()
            first, *_ = inspect.getdoc(options).split("\n\n")
            assert COMMANDS[name].about == " ".join(first.split())
            assert callable(options.run)


WITHOUT_JSON: dict[tuple[str, ...], str] = {}
"""Commands that print nothing which a program could read, each with the reason."""


def test_every_command_prints_json_where_it_is_asked_to():
    every = {option.words for option in EVERY}
    assert len(every) > 40
    with_json = {option.words for option in EVERY if option.name == "json"}
    assert every - with_json == WITHOUT_JSON.keys()


@pytest.mark.parametrize("words", GONE)
def test_what_is_gone_is_named_with_what_took_its_place(capsys, words):
    assert main([*words.split(), "3"]) == 2
    assert capsys.readouterr().err == f"attnlab: there is no {words} any more: {GONE[words]}\n"
    *command, last = words.split()
    options = {(*option.words, f"--{option.name.replace('_', '-')}") for option in EVERY}
    assert (*command, last) not in options | {option.words for option in EVERY}
    for file in re.findall(r"\S+\.py", GONE[words]):
        assert (Path(__file__).parents[2] / file).is_file()


def test_the_overview_imports_neither_tyro_nor_jax_nor_any_options():
    program = (
        "import sys\nfrom attnlab_theory.cli import main\nassert main(['--help']) == 0\n"
        "print(*{'jax', 'numpy', 'scipy', 'matplotlib', 'tyro', 'rich'} & set(sys.modules), file=sys.stderr)\n"
        "print(*[m for m in sys.modules if m.startswith('attnlab_theory.labs')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "\n\n")
    assert f"{{{','.join(COMMANDS)}}}" in done.stdout


@pytest.mark.slow("what the overview of all commands imports stays inside")
def test_help_on_a_command_imports_its_own_options_alone_and_no_heavy_library():
    """Starts a process that prints the help of every command."""
    done = subprocess.run([sys.executable, "-c", EVERY_HELP], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert {"knowledge run", "captions sweep", "construct subset"} <= set(done.stdout.splitlines())


@pytest.mark.parametrize("columns", [1, 40, 80, 115])
def test_the_overview_fits_the_terminal_and_loses_no_word(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    *_, boxes = help_of(capsys, "--help").split("\n\n")
    assert {len(line) for line in boxes.splitlines()} == {max(columns, 40)}
    words = " ".join(boxes.translate(dict.fromkeys(map(ord, "│•"))).split())
    for name, entry in COMMANDS.items():
        assert f" {name} {entry.about} " in words


def test_a_wide_terminal_has_a_line_for_each_command(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    rows = help_of(capsys, "--help").splitlines()
    assert [row.split()[2] for row in rows if "•" in row] == list(COMMANDS)
    assert all(entry.about in " ".join(rows) for entry in COMMANDS.values())
    assert max(len(row) for row in rows if "│" in row) < 150


def test_the_overview_is_ascii_where_nothing_else_can_be_printed(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    assert main(["--help"]) == 0
    assert b"  * list " in written.getvalue()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "latin-1", "utf-8", "utf-16"])
def test_what_a_screen_cannot_show_is_written_out_and_json_stays_json(monkeypatch, encoding):
    text = "α ≥ ½ · μ\N{MATHEMATICAL ITALIC SMALL PHI} — ✓"
    for stream in ("stdout", "stderr"):
        written = io.BytesIO()
        screen = io.TextIOWrapper(written, encoding=encoding, write_through=True)
        with monkeypatch.context() as patched:
            patched.setattr(sys, stream, screen)

            def command(stream=stream):
                print(json.dumps({"of": text}, ensure_ascii=False), file=getattr(sys, stream))
                return 0

            assert exits.exit_code(command) == 0
        shown = written.getvalue().decode(encoding)
        assert json.loads(shown) == {"of": text}
        assert ("\\u03b1" in shown) == (encoding in {"ascii", "cp1252", "latin-1"})


def test_nobody_has_to_read_the_overview(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["--help"]) == 0


def test_help_may_stand_before_the_command_or_after_it(capsys):
    assert help_of(capsys, "-h", "leaks") == help_of(capsys, "leaks", "-h")


@pytest.mark.slow("help that names every option once stays inside")
def test_completions_for_a_shell_name_the_options_of_every_command(capsys):
    completions = help_of(capsys, "--tyro-print-completion", "bash")
    assert all(f"'{name}'" in completions or f" {name} " in completions for name in COMMANDS)
    assert "--finetune-corpus-path" in completions


def test_the_bare_name_prints_the_help_as_no_mistake(capsys):
    assert main([]) == 0
    bare = capsys.readouterr()
    assert bare == (help_of(capsys, "--help"), "")


def test_the_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"attnlab {__version__}\n", "")


@pytest.mark.parametrize("words", [["run"], ["grade"], ["knowledge", "run"], ["knowledge", "data"]])
def test_no_help_offers_none_as_a_value(capsys, words):
    assert "None}" not in help_of(capsys, *words, "-h")
