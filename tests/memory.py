"""Each worker of the tests stays below 1.5 GB: compiled programs are dropped while it works, its peak is printed.

jax keeps every program it has ever compiled, and glibc every page it has ever had. A worker that has run half of
the tests holds thousands of programs that no later test calls.
"""

import ctypes
import functools
import gc
import sys
import threading
from pathlib import Path
from typing import Any

import jax
import pytest
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir

from tests import programs

LIMIT = 1.5e9
"""Bytes that a worker may ever hold; a run in which one held more fails."""
FULL = 1.0e9
"""Bytes at which programs are dropped. 0.6 GB are held once all tests are collected; what is dropped later is
compiled again. Workers have held up to 0.4 GB more than this."""
SOONER = 0.8e9
"""The same for the slow tests: one of them took 0.6 GB for itself."""

STATUS = Path("/proc/self/status")

# At each collection, of the youngest objects too, jax looks through what XLA left: a tenth of an import's time.
gc.set_threshold(50_000, 20, 100)


def held(field: str) -> float:
    """Bytes of memory of this process: now (`VmRSS`) or at most so far (`VmHWM`). NaN where Linux does not tell."""
    lines = STATUS.read_text().splitlines() if STATUS.exists() else []
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), float("nan"))


def drop_programs() -> None:
    """Forget all compiled programs, and give their memory back to the system."""
    # Samplers of claims and the like: compiled, each in a cache of its module. Those of the theory hold numbers.
    for name, module in list(sys.modules.items()):
        if name.startswith("attnlab_theory.") and not name.startswith("attnlab_theory.theory."):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper) and value.__module__ == name:
                    value.cache_clear()
    jax.clear_caches()
    programs.forget()
    share_contexts()
    gc.collect()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def share_contexts() -> None:
    """From now on all programs of a thread are lowered in one MLIR context.

    jax makes a context for each program and keeps it with the program: 1.1 MB and 4 ms, more than a small program
    needs. One context for each thread: threads that load dialects into the same one would race. A program that is
    compiled while another one is lowered gets its own: else it would be written into the other one.
    """
    here = threading.local()

    def context() -> Any:
        if ir.Context.current is not None:
            return _make_context()
        if not hasattr(here, "context"):
            here.context = _make_context()
        return here.context

    mlir.make_ir_context = context


_make_context = mlir.make_ir_context


class Memory:
    """Drops programs after a test that leaves too many, and tells the peak of each worker at the end."""

    def __init__(self, full: float = FULL) -> None:
        self.full = full
        self.peaks: dict[str, float] = {}
        self.tests: dict[str, str] = {}
        """The test in which each worker reached its peak, where it ran one."""
        self.peak, self.test = 0.0, ""
        share_contexts()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # What is imported by now stays: the collector need not look at it again.
        gc.collect()
        gc.freeze()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if (peak := held("VmHWM")) > self.peak:
            self.peak, self.test = peak, nodeid
        if held("VmRSS") > self.full:
            drop_programs()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # A worker that died has told nothing.
        if "peak" in getattr(node, "workeroutput", {}):
            self.peaks[node.gateway.id], self.tests[node.gateway.id] = node.workeroutput["peak"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        peak = held("VmHWM")
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["peak"] = peak, self.test
            return
        self.peaks["this process"], self.tests["this process"] = peak, self.test
        if self.beyond and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def beyond(self) -> list[str]:
        """Workers that held more than they may."""
        return [worker for worker, peak in self.peaks.items() if peak > LIMIT]

    @property
    def told(self) -> str:
        """The peak of each worker, and of this process."""
        peaks = (f"{worker} {peak / 1e9:.2f} GB" for worker, peak in sorted(self.peaks.items()))
        return f"peak memory: {', '.join(peaks)}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(self.told)
        if self.beyond:
            names = ", ".join(f"{worker} in {self.tests[worker]}" for worker in self.beyond)
            terminalreporter.write_line(f"ERROR: more than {LIMIT / 1e9:g} GB held: {names}; see tests/memory.py")
