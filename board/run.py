"""The run of the board: a process for each entry point, some of them side by side; a file for each that is done."""

import contextlib
import dataclasses
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from attnlab_theory.sandbox.processes import Program
from board.cells import verdict_of
from board.entry import HERE, Entry
from board.environments import installed, python_of
from board.judging import fingerprint

LIMIT = 420.0
"""Seconds that one entry point may take."""

POLL = 0.1
"""Seconds between two looks at the processes."""


@dataclasses.dataclass
class _Judge:
    entry: Entry
    file: Path
    process: Program
    said: IO[bytes]
    begun: float


def file_of(out: Path, entry: Entry, version: str) -> Path:
    """Where the result of an entry point goes."""
    return out / f"{entry.name}-{version}.json"


def board(
    entries: Sequence[Entry],
    out: Path,
    environments: Path,
    *,
    processes: int,
    again: bool = False,
    tell: Callable[[str], None],
) -> list[str]:
    """Judge entry points. What is written stays, and is not judged again unless the adapter has changed.

    Args:
        entries: of the catalogue.
        out: the folder of the JSON files.
        environments: the folder of the environments.
        processes: how many are judged side by side.
        again: whether to judge also what is written.
        tell: gets a line for each entry point.

    Returns:
        A line for each entry point that was not judged.
    """
    out.mkdir(parents=True, exist_ok=True)
    versions = {name: installed(python_of(environments, name)) for name in {e.environment for e in entries}}
    troubles, waiting = [], []
    done = 0

    def told(entry: Entry, line: str) -> None:
        nonlocal done
        done += 1
        tell(f"{done} of {len(entries)}: {entry.name} {line}")

    for entry in entries:
        version = versions[entry.environment].get(entry.library.lower())
        if not entry.can_be_judged:
            # A result of a machine that has the device stays. Without one, nobody has judged it.
            if not any(out.glob(f"{entry.name}-*.json")):
                troubles.append(f"{entry.name}: not judged; this machine has no {entry.device} device")
            told(entry, f"needs {entry.device}, which this machine does not have")
        elif version is None:
            troubles.append(f"{entry.name}: not installed; type: attnlab conform --peers --install")
            told(entry, f"is not installed in {environments / entry.environment}")
        elif not again and _is_current(file_of(out, entry, version), entry):
            told(entry, f"{version} is judged already")
        else:
            waiting.append((entry, version))
    with contextlib.ExitStack() as stack:
        running: list[_Judge] = []
        stack.callback(_leave, running)
        while waiting or running:
            while waiting and len(running) < processes:
                entry, version = waiting.pop(0)
                running.append(
                    _started(entry, python_of(environments, entry.environment), file_of(out, entry, version))
                )
            for judge in [*_finished(running)]:
                running.remove(judge)
                with judge.said:
                    line = _line(judge)
                told(judge.entry, line)
                if judge.process.code:
                    troubles.append(f"{judge.entry.name}: {line}")
            time.sleep(POLL)
    return troubles


def _is_current(file: Path, entry: Entry) -> bool:
    try:
        return json.loads(file.read_text("utf-8"))["adapter"] == fingerprint(entry)
    except (OSError, ValueError, KeyError):
        return False


def _started(entry: Entry, python: Path, file: Path) -> _Judge:
    said = tempfile.TemporaryFile()  # noqa: SIM115
    asked = json.dumps(dataclasses.asdict(entry), default=str)
    command = [sys.executable, "-m", "board", asked, str(python), str(file.absolute())]
    # A group of its own, so that it ends with all that it has started.
    process = Program(
        command,
        cwd=HERE.parent,  # `-m board` finds this very board there
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said,
        group=True,
    )
    return _Judge(entry, file, process, said, time.monotonic())


def _finished(running: Sequence[_Judge]) -> Iterator[_Judge]:
    for judge in running:
        if judge.process.has_ended() or time.monotonic() - judge.begun > LIMIT:
            judge.process.end()
            yield judge


def _leave(running: Sequence[_Judge]) -> None:
    for judge in running:
        judge.process.end()
        judge.said.close()


def _line(judge: _Judge) -> str:
    """What became of it, in one line."""
    code = judge.process.code
    if code == 0:
        told: dict[str, Any] = json.loads(judge.file.read_text("utf-8"))
        words = [f"{kind} {verdict_of(judge.entry, kind, told['kinds'][kind]).word}" for kind in told["kinds"]]
        return f"in {told['seconds']:.0f} s: {', '.join(words)}"
    judge.said.seek(0)
    lines = [line for line in judge.said.read().decode("utf-8", "replace").splitlines() if line.strip()]
    if code == -signal.SIGKILL:
        return f"took longer than {LIMIT:g} s"
    return lines[-1][:200] if lines else f"ended with {code}"
