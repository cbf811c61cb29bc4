"""Three walks of five minutes through the commands: `python -m tests.walks` makes their transcripts.

A walk is a script of steps with an empty line between them, in docs/walks. Each step begins with a sentence. It is
walked in an empty folder, on a fresh clone of the last commit.
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


def transcript(name: str, folder: Path, environment: dict[str, str]) -> str:
    """The transcript of a walk, in Markdown."""
    parts = [walked(step, folder, environment) for step in steps((WALKS / f"{name}.sh").read_text())]
    seconds = sum(
        float(x) for part in parts for x in re.findall(r"^Exit code \d+, ([\d.]+) s:$", part, re.MULTILINE)
    )
    made = f"`python -m tests.walks` made this page of `{name}.sh`: {seconds:.0f} s of commands."
    return "\n".join([f"# A walk of the {name}", "", made, "", *parts])


def main(*names: str) -> None:
    """Walk some walks, or all, on a fresh clone, and write their transcripts."""
    with tempfile.TemporaryDirectory() as inside:
        clone, commands = Path(inside) / "attnlab", Path(inside) / "bin"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        commands.mkdir()
        for name, call in (("attnlab", "-m attnlab_theory"), ("python", "")):
            (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} {call} "$@"\n')
            (commands / name).chmod(0o755)
        # After `source .venv/bin/activate` of the clone both names are found in the same way.
        environment = os.environ | {
            "PATH": f"{commands}:{os.environ['PATH']}",
            "PYTHONPATH": str(clone),
            "COLUMNS": "100",
        }
        for script in [WALKS / f"{name}.sh" for name in names] or sorted(WALKS.glob("*.sh")):
            (folder := Path(inside) / script.stem).mkdir()
            text = transcript(script.stem, folder, environment).replace(inside, "~")
            script.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
