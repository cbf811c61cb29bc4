"""The front door: reads the command line, then opens the room that is asked for.

Importing jax costs a second and matplotlib another, so everything beyond the options is imported where it
is used. This is also the only place that sets global JAX configuration, and it does so before jax is imported.
"""

import os
import sys
from pathlib import Path

import tyro

from attnlab_theory.cli.estimators import Estimators
from attnlab_theory.cli.exhibits import Museum
from attnlab_theory.cli.knowledge import Knowledge
from attnlab_theory.cli.laws import Answers, List, Run
from attnlab_theory.cli.machine import Doctor
from attnlab_theory.cli.problems import Check, Construct, Leaks
from attnlab_theory.options import parsed_in_one_line

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
    "doctor": Doctor,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: by default those of the process.

    Returns:
        The exit code: 0 done and every verdict as expected, 1 a verdict differs, 2 bad usage or bad input.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    configure_jax()
    try:
        command = _parse(arguments)
        return command.run()
    except BrokenPipeError:
        # `attnlab list | head` closes our output early; that is no error of ours, nor will the last flush be one.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError) as error:
        text = " ".join(str(error).split())
        print(f"attnlab: {text}", file=sys.stderr)
        return 2
    except (MemoryError, OverflowError) as error:
        # numpy says how much was wanted; Python itself says nothing.
        text = " ".join(str(error).split()) or type(error).__name__
        print(f"attnlab: the numbers asked for are too large: {text}; ask for smaller ones", file=sys.stderr)
        return 2
    except RuntimeError as error:
        # So jax says that there is no memory; anything else is a mistake of ours and keeps its traceback.
        if not str(error).startswith("RESOURCE_EXHAUSTED"):
            raise
        print(f"attnlab: the sizes asked for are too large: {error}; ask for smaller ones", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("attnlab: interrupted", file=sys.stderr)
        return 130


def configure_jax() -> None:
    """Keep compiled code between runs, where the user's own environment does not already say where."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnlab" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def _parse(
    arguments: list[str],
) -> "Run | List | Answers | Check | Construct | Leaks | Estimators | Museum | Knowledge | Doctor":
    return parsed_in_one_line(
        lambda: tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="attnlab",
            description="Claims about attention: predicted by algebra, measured with the operator, judged.",
            args=arguments,
            config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes),
        )
    )
