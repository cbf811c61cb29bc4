"""Three walks of five minutes through the commands: `python -m tests.walks` makes their transcripts.

A walk is a script of steps with an empty line between them, in docs/walks. Each step begins with a sentence. It is
walked in an empty folder beside a fresh clone of the last commit, with the .venv that `make lab` makes there.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
WALKS = ROOT / "docs" / "walks"
SHOWN = 30
"""So many lines of what a step prints are shown."""


class Step(NamedTuple):
    """One step of a walk."""

    says: str
    """What the reader wants, in a sentence."""
    code: str
    """Lines for bash."""


def steps(script: str) -> list[Step]:
    """The steps of a script: each begins with a comment after an empty line."""
    found = re.split(r"\n\n(?=# )", script.strip())
    return [Step(*each.removeprefix("# ").split("\n", 1)) for each in found]


def walked(step: Step, folder: Path, environment: dict[str, str]) -> str:
    """One step as a part of a transcript: what was typed, what came, the exit code and the seconds."""
    begun = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", step.code], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    seconds, lines = time.monotonic() - begun, done.stdout.decode().rstrip().splitlines()
    more = [f"... and {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
    printed = "\n".join([*lines[:SHOWN], *more])
    ended = f"Exit code {done.returncode}, {seconds:.1f} s:"
    return f"{step.says}\n\n```\n{step.code}\n```\n\n{ended}\n\n```\n{printed}\n```\n"


def transcript(name: str, folder: Path, environment: dict[str, str], lab: float = 0.0) -> str:
    """The transcript of a walk, in Markdown. `lab` is how many seconds `make lab` took before."""
    parts = [walked(step, folder, environment) for step in steps((WALKS / f"{name}.sh").read_text())]
    seconds = sum(
        float(x) for part in parts for x in re.findall(r"^Exit code \d+, ([\d.]+) s:$", part, re.MULTILINE)
    )
    made = (
        f"`python -m tests.walks` made this page of `{name}.sh`: {seconds:.0f} s of commands in a fresh clone, "
        f"after `make lab` ({lab:.0f} s) and `source .venv/bin/activate`."
    )
    return "\n".join([f"# A walk of the {name}", "", made, "", *parts])


def made(clone: Path) -> float:
    """Clone the last commit and `make lab` there, as README tells. The seconds that `make lab` takes."""
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    begun = time.monotonic()
    subprocess.run(["make", "-s", "lab"], cwd=clone, env=bare(), check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def bare() -> dict[str, str]:
    """The environment without what another Python has put there."""
    found = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return found | {"COLUMNS": "100"}


def walk(name: str, clone: Path, lab: float) -> None:
    """Walk one of the walks beside a clone, with its own Python, and write the transcript."""
    commands = clone / ".venv" / "bin"
    # What `source .venv/bin/activate` sets.
    environment = bare() | {"PATH": f"{commands}:{os.environ['PATH']}", "VIRTUAL_ENV": str(clone / ".venv")}
    (folder := clone.parent / name).mkdir()
    text = transcript(name, folder, environment, lab).replace(str(clone.parent), "~")
    (WALKS / f"{name}.md").write_text(text)


def main(*names: str) -> None:
    """Walk some walks, or all, on a fresh clone, and write their transcripts."""
    with tempfile.TemporaryDirectory() as inside:
        clone = Path(inside) / "attnlab"
        lab = made(clone)
        for name in names or sorted(script.stem for script in WALKS.glob("*.sh")):
            walk(name, clone, lab)


if __name__ == "__main__":
    main(*sys.argv[1:])
