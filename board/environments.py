"""Environments of the board: one for each group of libraries that go together, with pinned versions."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from board.entry import HERE

PINS = HERE / "environments"

ASK = (
    "import json, sys; from importlib import metadata as m\n"
    "print(json.dumps({d.metadata['Name'].lower(): d.version for d in m.distributions() if d.metadata['Name']}))"
)


def default_folder() -> Path:
    """Where environments are made, unless the user names a folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnlab" / "peers"


def python_of(folder: Path, environment: str) -> Path:
    """The Python of an environment, which may not be there."""
    return folder / environment / "bin" / "python"


def installed(python: Path) -> dict[str, str]:
    """The versions of what is installed there, without what stands after a plus; empty if nothing is there."""
    if not python.exists():
        return {}
    try:
        done = subprocess.run([python, "-I", "-c", ASK], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return {name: version.partition("+")[0] for name, version in json.loads(done.stdout).items()}


def pinned(environment: str) -> dict[str, str]:
    """The versions that are committed."""
    lines = (PINS / f"{environment}.txt").read_text("utf-8").splitlines()
    pairs = (line.partition("#")[0].strip().partition("==") for line in lines)
    return {name.lower(): version for name, _, version in pairs if name}


def install(folder: Path, environments: Sequence[str], tell: Callable[[str], None]) -> list[str]:
    """Make environments, each with the pinned versions. One that has them is left alone.

    Args:
        folder: where.
        environments: names of files of pins.
        tell: gets a line before each is made.

    Returns:
        What went wrong, a line for each environment that could not be made.
    """
    troubles = []
    for number, name in enumerate(environments, 1):
        python = python_of(folder, name)
        has, wanted = installed(python), pinned(name)
        if all(has.get(each) == version for each, version in wanted.items()):
            tell(f"{number} of {len(environments)}: {name} is installed")
            continue
        tell(f"{number} of {len(environments)}: installing {name}, {len(wanted)} packages")
        commands = [] if python.exists() else [[sys.executable, "-m", "venv", str(folder / name)]]
        commands.append([str(python), "-m", "pip", "install", "-q", "-r", str(PINS / f"{name}.txt")])
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode:
                said = [line for line in done.stderr.splitlines() if line.strip() and "WARNING" not in line]
                troubles.append(f"{name}: {(said or ['pip failed'])[-1][:200]}")
                break
    return troubles
