"""A process that holds all tests which may tell of a room's changes, and asks them about one change after another.

Functions get other code where they lie (`in_place.py`), so a change costs its tests alone. Programs that the change
leaves as they were are not compiled again (`tests/programs.py`). A test that kills must pass again without the
change, or the process is spoilt and its answer worth nothing.
"""

import contextlib
import gc
import json
import os
import select
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from _pytest.subtests import failed_subtests_key

from tests.mutants.in_place import as_imported, changed, changed_codes, forget, is_imported, written
from tests.mutants.reach import processor_time

BEYOND = 60.0
"""Seconds of processor time beyond what was allowed; then a process is ended, as compiled code may never end."""
LONGEST = 60
"""Seconds of the clock for one test: with a change it may wait for another process that never answers."""


class Process:
    """Such a process in a copy of the tree, asked from another one."""

    def __init__(self, tree: Path, files: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.process", *files],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.tests: dict[str, bool] = json.loads(self.process.stdout.readline() or "{}")
        """The tests that it holds, and whether each is in the outer circle; none where they cannot be collected."""

    def ask(
        self,
        file: str,
        before: str,
        after: str,
        tests: list[str],
        seconds: float,
        *,
        on_disk: bool = False,
        to_the_end: bool = False,
    ) -> dict[str, Any]:
        """Whether one of these tests falls, asked in this order, when a file's source is another.

        Args:
            file, before, after: what is changed; equal sources where the change is on disk already.
            tests: that are asked.
            seconds: of processor time, after which no further test is asked.
            on_disk: whether the source is another there too, for processes that the tests start. A process that
                ends by the clock leaves it there.
            to_the_end: whether further tests are asked after one has fallen.

        Returns:
            `state`, `killer`, `asked` and `cpu`; if asked to the end also `tests` and those that have `fallen`.
            States are `passed`, `failed`, `clock`, `crash`; `unfound` if the functions were not; `spoilt` if the
            test that falls does so without the change too.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        spent = self._spent()
        question = [file, before, after, tests, seconds, on_disk, to_the_end]
        state = "crash"
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        while not select.select([self.process.stdout], [], [], 0.5)[0]:
            if self._spent() - spent > seconds + BEYOND:
                self.process.kill()
                state = "clock"
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else {"state": state, "killer": "", "asked": 0, "cpu": seconds + BEYOND}

    def _spent(self) -> float:
        """Its processor time in seconds."""
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return 0.0

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


class Asking:
    """The plugin of pytest that asks its tests about one change after the other, in the place of running them."""

    def __init__(self, questions: Any, answers: Any) -> None:
        self.questions, self.answers = questions, answers
        self.fallen = False
        self.functions: list[types.FunctionType] = []

    def pytest_collection(self) -> None:
        # The first counterexample is enough.
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("unshrunk", hypothesis.settings.default, phases=phases)
        hypothesis.settings.load_profile("unshrunk")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.fallen |= report.outcome == "failed"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()
        here = os.path.join(os.getcwd(), "attnlab_theory")
        self.functions = [
            f for f in gc.get_objects() if type(f) is types.FunctionType and f.__code__.co_filename.startswith(here)
        ]
        gc.collect()
        gc.freeze()
        items = {item.nodeid: item for item in session.items}
        self._say({name: item.get_closest_marker("slow") is not None for name, item in items.items()})
        for line in self.questions:
            self._say(self._answer(items, *json.loads(line)))
        return True

    def _say(self, what: Any) -> None:
        self.answers.write(json.dumps(what) + "\n")
        self.answers.flush()

    def _falls(self, item: Any) -> bool:
        self.fallen = False
        # pytest counts the failed subtests of a test over the whole session.
        item.config.stash[failed_subtests_key].pop(item.nodeid, None)
        item._initrequest()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return self.fallen

    def _answer(
        self,
        items: dict[str, pytest.Item],
        file: str,
        before: str,
        after: str,
        tests: list[str],
        seconds: float,
        on_disk: bool,
        to_the_end: bool,
    ) -> dict[str, Any]:
        begun, state, killer, asked = processor_time(), "passed", "", 0
        fallen: list[str] = []
        path = os.path.join(os.getcwd(), file)
        own = [function for function in self.functions if function.__code__.co_filename == path]
        with contextlib.ExitStack() as block:
            is_there = before == after
            is_elsewhere = on_disk and not is_imported(path)
            if not is_there:
                pairs = changed_codes(before, after, path, as_imported(path))
                is_there = bool(block.enter_context(changed(own, pairs))) or is_elsewhere
                if on_disk:
                    block.enter_context(written(path, before, after))
                forget()
            for name in tests if is_there else []:
                asked += 1
                if self._falls(items[name]):
                    fallen.append(name)
                    state, killer = "failed", fallen[0]
                    if not to_the_end:
                        break
                if processor_time() - begun > seconds:
                    break
        if before != after:
            forget()
            if not is_there:
                state = "unfound"
            elif (killer and self._falls(items[killer])) or (is_elsewhere and is_imported(path)):
                state = "spoilt"
        told = {"state": state, "killer": killer, "asked": asked, "cpu": round(processor_time() - begun, 2)}
        return {**told, "fallen": fallen, "tests": tests[:asked]} if to_the_end else told


def main(files: list[str]) -> None:
    """Answer line by line on what were the standard streams."""
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    options = ["--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", f"timeout={LONGEST}", "-s"]
    pytest.main([*options, "-m", "not torch", *files], plugins=[Asking(questions, answers)])


if __name__ == "__main__":
    main(sys.argv[1:])
