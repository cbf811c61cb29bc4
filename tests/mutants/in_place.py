"""Changes asked about in one process that has collected a file of tests: functions get other code where they lie.

A change costs its tests alone, no imports. What is not changed that way: what a function returned while modules
were imported, and programs that jax compiled then. So a change that survives here may not survive a process of its
own. A test that kills must pass again without the change, or the process is spoilt and its answer worth nothing.
Where tests start other processes, those read a file with the change.
"""

import contextlib
import functools
import gc
import itertools
import json
import os
import select
import subprocess
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from tests.mutants.reach import processor_time, without_shrinking

LIMIT = 60.0
"""Processor time after which a change ends its process: a loop that compiled code never leaves."""
LONGEST = 120
"""Seconds of the clock for one test: with a change it may wait for another process that never answers."""


class InPlace:
    """Such a process in a copy of the tree, asked from another one."""

    def __init__(self, tree: Path, file: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.in_place", file],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.tests = json.loads(self.process.stdout.readline() or "0")
        """How many tests the file has; 0 where it cannot be collected."""

    def ask(
        self,
        file: str,
        before: bytes,
        after: bytes,
        parameters: list[str] | None,
        on_disk: bool,
        seconds: float,
    ) -> dict[str, Any]:
        """Whether a test falls when this file's source is another, those first that have killed most.

        Args:
            file, before, after: what is changed.
            parameters: of the tests that are asked; None asks all.
            on_disk: whether the source is another there too, for processes that the tests start. A process that
                ends by the clock leaves it there.
            seconds: of processor time, after which no further test is asked.

        Returns:
            `state`, `killer`, `asked`, `cpu` and `wall`. States are those of a nursery; `unfound`, if the functions
            were not; and `spoilt`, if the test that falls does so without the change too.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        begun, spent = time.monotonic(), self._spent()
        self.process.stdin.write(
            json.dumps([file, before.decode(), after.decode(), parameters, on_disk, seconds]) + "\n"
        )
        self.process.stdin.flush()
        state = "crash"
        while not select.select([self.process.stdout], [], [], 0.5)[0]:
            if self._spent() - spent > LIMIT:
                self.process.kill()
                state = "clock"
        answer = self.process.stdout.readline()
        found = json.loads(answer) if answer else {"state": state, "killer": "", "asked": 0, "cpu": LIMIT}
        return {**found, "wall": round(time.monotonic() - begun, 2)}

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


Compiled = Callable[[str, str], types.CodeType]
"""From a source and its path; as the importer does that decorates functions, those inside others too."""


def plainly(source: str, path: str) -> types.CodeType:
    """As Python itself compiles a module."""
    return compile(source, path, "exec", dont_inherit=True)


def as_imported(path: str) -> Compiled:
    """As the importer of this module did."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == path:
            loader = module.__spec__.loader if module.__spec__ else None
            if hasattr(loader, "source_to_code"):
                return lambda source, path: loader.source_to_code(source.encode(), path)  # pyright: ignore
    return plainly


def codes(source: str, path: str, compiled: Compiled) -> list[types.CodeType]:
    """The code of all functions and lambdas of a source, in their order."""
    found: list[types.CodeType] = []

    def walk(code: types.CodeType) -> None:
        for part in code.co_consts:
            if isinstance(part, types.CodeType):
                found.append(part)
                walk(part)

    walk(compiled(source, path))
    return found


def changed_codes(
    before: str, after: str, path: str, compiled: Compiled = plainly
) -> list[tuple[types.CodeType, types.CodeType]]:
    """The codes that differ, old and new; none where the change took away a function inside another."""
    old, new = codes(before, path, compiled), codes(after, path, compiled)
    return [(a, b) for a, b in zip(old, new, strict=True) if a != b] if len(old) == len(new) else []


def _is_of(function: types.FunctionType, code: types.CodeType) -> bool:
    """Whether the function was made of this code, by an importer that decorates functions and leaves them alone."""
    own = function.__code__
    if own.co_qualname != code.co_qualname or own.co_code != code.co_code or own.co_names != code.co_names:
        return False
    return own.co_name != "<lambda>" or own.co_firstlineno == code.co_firstlineno


@contextlib.contextmanager
def changed(
    functions: list[types.FunctionType], pairs: list[tuple[types.CodeType, types.CodeType]]
) -> Iterator[int]:
    """Functions with other code for as long as the block lasts; how many there are."""
    kept = [(f, f.__code__, new) for f in functions for old, new in pairs if _is_of(f, old)]
    try:
        for function, _, new in kept:
            function.__code__ = new
        yield len(kept)
    finally:
        for function, old, _ in kept:
            function.__code__ = old


_times = itertools.count(1000 * os.getpid())
"""Every file that is written gets a time of its own: no bytecode of another source is taken for its own."""


@contextlib.contextmanager
def written(path: str, before: str, after: str) -> Iterator[None]:
    """Another source on disk for as long as the block lasts."""
    try:
        _write(path, after)
        yield
    finally:
        _write(path, before)


def _write(path: str, source: str) -> None:
    Path(path).write_text(source, "utf-8")
    now = next(_times)
    os.utime(path, (now, now))


def is_imported(path: str) -> bool:
    """Whether a module of this process came from the file."""
    return any(getattr(module, "__file__", None) == path for module in list(sys.modules.values()))


def forget() -> None:
    """Forget programs, and what functions of the package and of the tests keep."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("attnlab_theory", "tests"):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
    jax.clear_caches()


class Asking:
    """The plugin of pytest that asks its tests about one change after the other, in the place of running them."""

    def __init__(self, questions: Any, answers: Any) -> None:
        self.questions, self.answers = questions, answers
        self.fallen, self.killers = False, Counter[str]()
        self.functions: list[types.FunctionType] = []

    def pytest_collection(self) -> None:
        without_shrinking()

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
        self._say(len(session.items))
        for line in self.questions:
            self._say(self._answer(session.items, *json.loads(line)))
        return True

    def _say(self, what: Any) -> None:
        self.answers.write(json.dumps(what) + "\n")
        self.answers.flush()

    def _falls(self, item: Any) -> bool:
        self.fallen = False
        item._initrequest()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return self.fallen

    def _answer(
        self,
        items: list[pytest.Item],
        file: str,
        before: str,
        after: str,
        parameters: list[str] | None,
        on_disk: bool,
        seconds: float,
    ) -> dict[str, Any]:
        begun, state, killer, asked = processor_time(), "passed", "", 0
        path = os.path.join(os.getcwd(), file)
        own = [function for function in self.functions if function.__code__.co_filename == path]
        with contextlib.ExitStack() as block:
            found = block.enter_context(changed(own, changed_codes(before, after, path, as_imported(path))))
            is_elsewhere = on_disk and not is_imported(path)
            if on_disk:
                block.enter_context(written(path, before, after))
            forget()
            for item in sorted(items, key=lambda item: -self.killers[item.nodeid]) if found or is_elsewhere else []:
                if parameters is not None and item.name.partition("[")[2][:-1] not in parameters:
                    continue
                asked += 1
                if self._falls(item):
                    state, killer = "failed", item.nodeid
                    break
                if processor_time() - begun > seconds:
                    break
        forget()
        if killer and self._falls(next(item for item in items if item.nodeid == killer)):
            state = "spoilt"
        elif is_elsewhere and is_imported(path):
            state = "spoilt"  # what was imported with the change stays
        elif not found and not is_elsewhere:
            state = "unfound"
        else:
            self.killers[killer] += 1
        return {"state": state, "killer": killer, "asked": asked, "cpu": round(processor_time() - begun, 2)}


def main(file: str) -> None:
    """Answer line by line on what were the standard streams."""
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    options = ["--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", f"timeout={LONGEST}", "-s"]
    pytest.main([*options, file], plugins=[Asking(questions, answers)])


if __name__ == "__main__":
    main(sys.argv[1])
