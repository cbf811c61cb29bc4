"""The front door: reads the command line, then opens the room that is asked for.

Importing jax costs a second and matplotlib another, so everything beyond the options is imported where it
is used. Options are imported for one command alone, and tyro with them: `commands.py` is a table of names.
How jax compiles is set here, too (`compilation.py`), before jax is imported.
"""

import dataclasses
import os
import sys
from typing import Any

from attnlab_theory import __version__, compilation, exits, files
from attnlab_theory.cli import bounds
from attnlab_theory.cli.commands import COMMANDS, Command, refuse_gone
from attnlab_theory.cli.overview import Overview

WITH_SMALL_MATRICES = {"run", "answers", "grade"}
"""Commands whose theory multiplies many small matrices: numpy's threads would only wait for each other."""

WITH_SMALL_PROGRAMS = {"run", "answers", "museum"}
"""Commands that judge claims: compiling their programs takes longer than running them."""

WITH_LARGE_MODELS = {"captions", "reviews", "heads"}
"""Commands that keep freed memory: models of their homeworks have 22 to 124 million parameters."""

HELP = {"-h", "--help"}
COMPLETION = ("--tyro-", "--tyro_")
"""How the options begin by which tyro writes completions for a shell. They list every option of every command."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: by default those of the process.

    Returns:
        The exit code: 0 done and every verdict as expected, 1 a verdict differs, 2 bad usage or bad input,
        3 `check` could not decide.
    """
    exits.open_streams()
    if arguments is None and sys.platform == "linux" and exits.narrow(time=True):
        from attnlab_theory.sandbox import processes

        return processes.supervised(lambda: main(sys.argv[1:]))
    given = sys.argv[1:] if arguments is None else arguments
    compilation.keep_programs()
    if given and given[0] in WITH_SMALL_PROGRAMS:
        compilation.compile_in_haste()
    # Processes that the lab starts look for no modules in the folder where the caller is: it may hold submissions.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    if given and given[0] in WITH_SMALL_MATRICES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if given and given[0] in WITH_LARGE_MODELS:
        from attnlab_theory.cli import allocation

        allocation.keep_freed_memory()
    return exits.exit_code(lambda: _parse(given).run(), announcement="starting …")


class Version:
    """The version of attnlab."""

    def run(self) -> int:
        """Print it."""
        print(f"attnlab {__version__}")
        return 0


def _parse(arguments: list[str]) -> Command:
    """What the command line asks for.

    Raises:
        ValueError: if it is mistaken.
        SystemExit: where tyro has printed the help of a command, or completions.
    """
    # Who types the bare name asks what there is: that is help, and no mistake.
    arguments = arguments or ["--help"]
    if arguments == ["--version"]:
        return Version()
    if arguments[0].startswith(COMPLETION):
        return _parsed_by_tyro({name: entry.options() for name, entry in COMMANDS.items()}, "attnlab", arguments)
    asked = arguments[0] in HELP
    if HELP.issuperset(arguments):
        return Overview({name: entry.about for name, entry in COMMANDS.items()})
    name, *rest = arguments[1:] if asked else arguments
    if name not in COMMANDS:
        raise _unknown(name)
    refuse_gone([name, *rest])
    exits.refuse_cramped()
    compilation.refuse_unknown_flags()
    return _parsed_by_tyro(COMMANDS[name].options(), f"attnlab {name}", rest + ["--help"] * asked)


def _unknown(name: str) -> ValueError:
    from attnlab_theory.cli import library

    if name.startswith("-"):
        return ValueError(f"{name} stands where a command should; name one first: {', '.join(COMMANDS)}")
    return library.unknown("command", name, COMMANDS, "attnlab --help")


def _parsed_by_tyro(options: type[Command] | dict[str, type[Command]], prog: str, arguments: list[str]) -> Command:
    """Options of one command, or of one of several."""
    import tyro

    from attnlab_theory.options import names_of, parsed_in_one_line

    config = (
        tyro.conf.FlagCreatePairsOff,
        tyro.conf.DisallowNone,
        tyro.conf.OmitSubcommandPrefixes,
        tyro.conf.OmitArgPrefixes,
    )

    registry = None
    if not HELP.isdisjoint(arguments):
        from attnlab_theory import layout

        registry = layout.registry()

    def parse() -> Command:
        if isinstance(options, dict):
            return tyro.extras.subcommand_cli_from_dict(options, prog=prog, args=arguments, config=config)
        return tyro.cli(options, prog=prog, args=arguments, config=config, registry=registry)

    elsewhere = getattr(options, "elsewhere", None)
    command = parsed_in_one_line(parse, elsewhere, given=arguments, known={*names_of(options)})
    bounds.refuse_beyond(command)
    files.force(_forced(command))
    return command


def _forced(command: Any) -> bool | None:
    """What a command, or the part of it that was chosen, says of files of others; None if it has no such option."""
    if not dataclasses.is_dataclass(command):
        return None
    inner = (getattr(command, field.name) for field in dataclasses.fields(command))
    found = [getattr(command, "force", None), *map(_forced, inner)]
    return next((each for each in found if each is not None), None)
