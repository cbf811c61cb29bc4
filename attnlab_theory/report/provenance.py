"""Where a result comes from: code, versions, processor and command line."""

import functools
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

NUMERIC_PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "matplotlib")
"""The packages whose versions a result depends on."""


def of_this_process() -> dict[str, Any]:
    """What every result file says of the process that wrote it."""
    return {
        "commit": commit(),
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in NUMERIC_PACKAGES},
        },
        "processor": processor(),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


@functools.cache
def commit() -> str | None:
    """The commit of the checkout this code runs from, marked if it has changes; None outside a checkout.

    Asked once: the results of the first experiment may themselves be a change to the checkout.
    """
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return described.stdout.strip() or None


def processor() -> str:
    """What the processor calls itself, and how many of it there are."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model} ({os.cpu_count()} cores)"
