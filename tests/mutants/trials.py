"""Samples of a room's changes, each tried against the inner circle of tests and then against the outer one."""

import contextlib
import dataclasses
import queue
import random
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from tests.mutants import record as records
from tests.mutants.changes import ROOT, Change, changes_of, files_of
from tests.mutants.process import Process
from tests.mutants.reach import Reach, copied

READ_BY_OTHERS = ("attnlab_theory/grader/", "attnlab_theory/sandbox/")
"""Files below are read by processes that the tests start; a change has to be on disk, too."""
FILES_AT_IMPORT = 12
"""A change that is made before all imports is tried on so many files of tests: a process is begun for it."""


def commit_of(name: str) -> str:
    """The commit of a name, such as HEAD.

    Raises:
        ValueError: if git knows none.
    """
    found = subprocess.run(["git", "rev-parse", f"{name}^{{commit}}"], cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        raise ValueError(f"git knows no commit {name}")
    return found.stdout.strip()


def refuse_another_package(commit: str) -> None:
    """The changes are read in the working tree and made in a copy of the commit: both have to be the same.

    Raises:
        Refused: if they are not.
    """
    if subprocess.run(["git", "diff", "--quiet", commit, "--", "attnlab_theory"], cwd=ROOT).returncode:
        raise records.Refused(
            f"attnlab_theory is not as in commit {commit[:12]}: commit it, stash it, or let `reach` run again"
        )


def sampled(room: str, sample: int, seed: int) -> tuple[list[Change], int]:
    """Changes of a room drawn at random, and how many there are; a shorter sample is the beginning of a longer."""
    every = [change for path in files_of(room) for change in changes_of(path)]
    random.Random(seed).shuffle(every)
    return every[:sample], len(every)


def not_killed(path: Path) -> list[Change]:
    """The changes of a record that the inner circle lets pass and that are not listed, as the files have them now.

    A line that has moved is found by its text, if one change of the file fits.
    """
    listed = records.equivalents()
    found = []
    for fate in records.read(path)[1]:
        at = fate["file"], fate["text"], fate["change"]
        if records.is_killed(fate, "inner") or at in listed:
            continue
        fits = [c for c in changes_of(ROOT / fate["file"]) if (c.file, c.text, c.change) == at]
        same = [c for c in fits if c.start == fate["start"]] or fits
        if len(same) == 1:
            found.append(dataclasses.replace(same[0], was=records.key(fate)[3]))
    return found


class Bench:
    """A copy of the tree, with the process that holds its tests."""

    def __init__(self, tree: Path, reach: Reach, seconds: tuple[float, float], *, to_the_end: bool = False) -> None:
        self.tree, self.reach, self.to_the_end = tree, reach, to_the_end
        self.seconds = dict(zip(("inner", "outer"), seconds, strict=True))
        self.process: Process | None = None
        self.files: list[str] = []

    def holding(self, files: list[str]) -> Process:
        """The process that holds these files of tests: a new one where the last has ended or holds others."""
        if self.process is None or self.process.process.poll() is not None or not {*files} <= {*self.files}:
            self.close()
            self.files = files
            # A file that has gone since the tests were run once would keep pytest from collecting any.
            self.process = Process(self.tree, [file for file in files if (self.tree / file).exists()])
            if not self.process.tests:
                raise records.Refused("no test could be collected without a change: nothing is judged")
        return self.process

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.close()
            self.process = None

    def fate(self, change: Change, files: list[str]) -> dict[str, Any]:
        """What becomes of a change: a line of the record.

        Args:
            change: that is made.
            files: of tests that may tell, for this change and for others of its file.
        """
        line = dataclasses.asdict(change)
        path = self.tree / change.file
        before = path.read_text("utf-8")
        after = change.source(before.encode()).decode()
        order = self.reach.order(change)
        for circle in ("inner", "outer"):
            found = self._asked(change, circle, before, after, order, files)
            if found["state"] == "unfound" or (
                found["state"] == "passed" and self.reach.is_called_at_import(change)
            ):
                found = self._asked_from_the_start(change, circle, after, order)
            line[circle] = found
            if found["state"] in records.KILLED and not self.to_the_end:
                break
        return line

    def _asked(
        self, change: Change, circle: str, before: str, after: str, order: list[str], files: list[str]
    ) -> dict[str, Any]:
        on_disk = change.file.startswith(READ_BY_OTHERS)
        spoilt: set[str] = set()
        for _ in range(3):
            process = self.holding(files)
            tests = [t for t in order if process.tests.get(t) is (circle == "outer") and t not in spoilt]
            found = process.ask(
                change.file, before, after, tests, self.seconds[circle], on_disk=on_disk, to_the_end=self.to_the_end
            )
            if on_disk:
                (self.tree / change.file).write_text(before, "utf-8")
            if found["state"] != "spoilt":
                break
            spoilt.add(found["killer"])
            self.close()
        return {**found, "reaching": len(tests)}

    def _asked_from_the_start(self, change: Change, circle: str, after: str, order: list[str]) -> dict[str, Any]:
        """The answer of a process that imports the change."""
        path = self.tree / change.file
        before = path.read_text("utf-8")
        near = dict.fromkeys(test.partition("::")[0] for test in order)
        files = [file for file in near if (self.tree / file).exists()][:FILES_AT_IMPORT]
        if not files:  # pytest would collect all tests
            return {"state": "passed", "killer": "", "asked": 0, "cpu": 0.0, "reaching": 0}
        try:
            _write(path, after)
            with contextlib.closing(Process(self.tree, files)) as process:
                if not process.tests:
                    return {"state": "crash", "killer": "", "asked": 0, "cpu": 0.0, "reaching": len(order)}
                tests = [test for test in order if process.tests.get(test) is (circle == "outer")]
                found = process.ask(
                    change.file, after, after, tests, self.seconds[circle], to_the_end=self.to_the_end
                )
                return {**found, "reaching": len(tests)}
        finally:
            _write(path, before)


def _write(path: Path, source: str) -> None:
    """Another source, without the bytecode of the last."""
    path.write_text(source, "utf-8")
    for old in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        old.unlink()


def judge(
    changes: list[Change],
    record: records.Record,
    commit: str,
    reach: Reach,
    jobs: int,
    seconds: tuple[float, float],
    *,
    to_the_end: bool = False,
) -> None:
    """Try every change that has no fate yet and is not listed, and write down what became of it.

    Args:
        changes: that are tried.
        record: in which it is written.
        commit: whose tree is changed.
        reach: what each test reaches.
        jobs: copies of the tree that work at a time.
        seconds: processor time of the tests of either circle.
        to_the_end: whether all tests are asked that this time allows, though one has fallen.
    """
    listed = records.equivalents()
    left: queue.SimpleQueue[Change] = queue.SimpleQueue()
    wanted = [change for change in changes if records.key(change) not in record.fates]
    for change in wanted:
        if (change.file, change.text, change.change) in listed:
            record.add(dataclasses.asdict(change))
        else:
            left.put(change)
    files = sorted({test.partition("::")[0] for change in wanted for test in reach.order(change)})
    failed: list[BaseException] = []

    def work() -> None:
        with (
            copied(commit) as tree,
            contextlib.closing(Bench(tree, reach, seconds, to_the_end=to_the_end)) as bench,
        ):
            while not failed:
                try:
                    change = left.get_nowait()
                except queue.Empty:
                    return
                begun = time.monotonic()
                fate = bench.fate(change, files)
                record.add({**fate, "wall": round(time.monotonic() - begun, 1)})
                print(_told(record, fate), flush=True)

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _told(record: records.Record, fate: dict[str, Any]) -> str:
    by = next((circle for circle in ("inner", "outer") if records.is_killed(fate, circle)), "")
    told = f"killed by the {by} circle: {fate[by]['killer'] or fate[by]['state']}" if by else "SURVIVES"
    where = f"{fate['file'].removeprefix('attnlab_theory/')}:{fate['line']}"
    return f"{len(record.fates)}/{record.lines[0]['sample']}  {where}  {fate['change']}  {told}"
