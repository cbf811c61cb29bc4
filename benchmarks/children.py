"""Measuring in a process of its own, which gives all its memory back, and where XLA reads its flags again.

rows("benchmarks.generation:small", quick=True)      -> the rows that `small(quick=True)` returns there
"""

import dataclasses
import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from attnlab_theory.cli import WITH_LARGE_MODELS
from attnlab_theory.cli.allocation import keep_freed_memory
from benchmarks import machine
from benchmarks.ratios import Row, Spread, Target

ROOT = Path(__file__).parents[1]


def rows(case: str, *, flags: str = "", devices: int | None = None, **arguments: object) -> list[Row]:
    """The rows of `case(**arguments)`, which a process of its own computes.

    Args:
        case: "module:function".
        flags: of XLA, besides the devices.
        devices: that jax makes of the processor; by default one for each core.
        arguments: passed to the function, through JSON.
    """
    return [_row(values) for values in told(case, flags=flags, devices=devices, **arguments)]


def told(case: str, *, flags: str = "", devices: int | None = None, **arguments: object) -> Any:
    """What `case(**arguments)` returns, through JSON.

    Args:
        case: "module:function".
        flags: of XLA, besides the devices.
        devices: that jax makes of the processor; by default one for each core.
        arguments: passed to the function, through JSON.

    Raises:
        subprocess.CalledProcessError: if the child fails; it has said why.
    """
    count = f"--xla_force_host_platform_device_count={devices or machine.cores()}"
    asked = (os.environ.get("XLA_FLAGS", ""), count, flags)
    command = [sys.executable, "-m", "benchmarks.children", case, json.dumps(arguments)]
    environment = os.environ | {"XLA_FLAGS": " ".join(filter(None, asked))}
    child = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(child.stdout.splitlines()[-1])


def _row(values: dict) -> Row:
    targets = {name: values[name] and Target(*values[name]) for name in ("target", "or_rate")}
    return Row(**values | {"ratio": Spread(*values["ratio"])} | targets)


def main() -> None:
    """The child: one JSON value in the last line. Ctrl-C ends it without a word: its parent says what is lost."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    case, arguments = sys.argv[1:]
    module, _, function = case.partition(":")
    # As the command of the same name does.
    if module.removeprefix("benchmarks.") in WITH_LARGE_MODELS:
        keep_freed_memory()
    found = getattr(importlib.import_module(module), function)(**json.loads(arguments))
    print(json.dumps(found, default=dataclasses.asdict))


if __name__ == "__main__":
    main()
