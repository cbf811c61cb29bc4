"""The front door: reads the command line, then opens the room that is asked for.

Importing jax costs a second and matplotlib another, so everything beyond the options is imported where it
is used. This is also the only place that sets global JAX configuration, and it does so before jax is imported.
"""

import os
import sys
from pathlib import Path
from typing import Protocol, runtime_checkable

import tyro

from attnlab_theory import exits
from attnlab_theory.cli import allocation
from attnlab_theory.cli.estimators import Estimators
from attnlab_theory.cli.exhibits import Museum
from attnlab_theory.cli.laws import Answers, List, Run
from attnlab_theory.cli.machine import Doctor
from attnlab_theory.cli.problems import Check, Construct, Leaks
from attnlab_theory.labs.captions.commands import Captions
from attnlab_theory.labs.heads.commands import Heads
from attnlab_theory.labs.knowledge.commands import Knowledge
from attnlab_theory.labs.mixers.commands import Mixers
from attnlab_theory.labs.recurrent.commands import Recurrent
from attnlab_theory.labs.reviews.commands import Reviews
from attnlab_theory.options import parsed_in_one_line

WITH_SMALL_MATRICES = {"run", "answers"}
"""Commands whose theory multiplies many small matrices: numpy's threads would only wait for each other."""

WITH_LARGE_MODELS = {"captions", "reviews", "heads"}
"""Commands that keep freed memory: models of their homeworks have 22 to 124 million parameters."""


@runtime_checkable
class Command(Protocol):
    """What the command line is parsed into."""

    def run(self) -> int:
        """Do it; the exit code."""
        ...


COMMANDS = {
    "list": List,
    "run": Run,
    "answers": Answers,
    "check": Check,
    "construct": Construct,
    "leaks": Leaks,
    "estimators": Estimators,
    "museum": Museum,
    "knowledge": Knowledge,
    "captions": Captions,
    "mixers": Mixers,
    "recurrent": Recurrent,
    "heads": Heads,
    "reviews": Reviews,
    "doctor": Doctor,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: by default those of the process.

    Returns:
        The exit code: 0 done and every verdict as expected, 1 a verdict differs, 2 bad usage or bad input.
    """
    given = sys.argv[1:] if arguments is None else arguments
    configure_jax()
    if given and given[0] in WITH_SMALL_MATRICES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if given and given[0] in WITH_LARGE_MODELS:
        allocation.keep_freed_memory()
    return exits.exit_code(lambda: _parse(given).run())


def configure_jax() -> None:
    """Keep compiled code between runs; the user's own environment comes first."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnlab" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    # Nobody reads where in the source an operation of a program comes from, and writing that down takes time.
    os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")


def _parse(arguments: list[str]) -> Command:
    return parsed_in_one_line(
        lambda: tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="attnlab",
            description="Check claims about attention: predict a number, measure it, judge.",
            args=arguments,
            config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes),
        )
    )
