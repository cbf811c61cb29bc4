"""A process that has imported what all tests import, and forks a child for each question: `Nursery`.

It runs in a copy of the tree, so that it and its children import nothing else. Before a fork it imports nothing
of attnlab but `tests.mutants`, and jax computes nothing.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FIRST = (
    "jax.numpy",
    "scipy.stats",
    "scipy.optimize",
    "hypothesis",
    "beartype",
    "jaxtyping",
    "equinox",
    "optax",
    "tyro",
)
OUT_OF_TIME = {signal.SIGXCPU, signal.SIGKILL}
PATIENCE = 20
"""Seconds of the clock for each second of processor time that is allowed: the machine may be busy."""


class Nursery:
    """A nursery in a copy of the tree, asked from another process."""

    def __init__(self, tree: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.nursery"],
            cwd=tree,
            env={**kept, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(
        self, files: list[str], tests: list[str] | None, seconds: float, parameters: list[str] | None = None
    ) -> dict[str, Any]:
        """Run tests of these files, in this order, until one fails; all, whatever fails, if none are named.

        Of all, run those alone whose parameter has one of these names.

        Returns:
            `state` (passed, failed, clock, crash, error), `killer`, `cpu` and `wall` in seconds. If no tests were
            named also `told`: of every test the outcome, the processor time and the functions that it reached.

        Raises:
            RuntimeError: if no test could be asked; the change has no fate then.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([files, tests, seconds, parameters]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("the nursery has ended")
        return json.loads(answer)

    def close(self) -> None:
        """End it, and the tests that it runs."""
        self.process.terminate()
        self.process.wait()


def _child(
    files: list[str], tests: list[str] | None, seconds: float, parameters: list[str] | None, answer: str
) -> None:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    import pytest

    from tests.mutants.reach import Asked

    asked = Asked(tests, parameters)
    # The limits of a test are of the clock, and here the processor's time counts.
    options = [
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-o",
        "timeout=0",
        *["-x"][: tests is not None],
    ]
    code = pytest.main([*options, *files], plugins=[asked])
    import attnlab_theory

    assert str(attnlab_theory.__file__).startswith(os.getcwd())
    states = {
        pytest.ExitCode.OK: "passed",
        pytest.ExitCode.NO_TESTS_COLLECTED: "passed",
        pytest.ExitCode.TESTS_FAILED: "failed",
        pytest.ExitCode.INTERRUPTED: "error",  # while the tests were collected
        pytest.ExitCode.INTERNAL_ERROR: "error",
    }
    found: dict[str, Any] = {"state": states[pytest.ExitCode(code)], "killer": asked.killer}
    if tests is None:
        found["told"] = {n: [t.outcome, round(t.seconds, 3), sorted(t.reached)] for n, t in asked.told.items()}
    Path(answer).write_text(json.dumps(found))


def _raised(
    files: list[str], tests: list[str] | None, seconds: float, parameters: list[str] | None
) -> dict[str, Any]:
    """Answer one question by a child."""
    with tempfile.TemporaryDirectory() as folder:
        answer, begun = f"{folder}/answer", time.monotonic()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                _child(files, tests, seconds, parameters, answer)
                os._exit(0)
            os._exit(1)
        ended, late = 0, False
        try:
            while not ended:
                ended, status, used = os.wait4(child, os.WNOHANG)
                if not ended:
                    late = time.monotonic() - begun > PATIENCE * seconds
                    if late:
                        os.kill(child, signal.SIGKILL)
                    time.sleep(0.02)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)  # what a test may have left running, or the child itself
        if os.WIFSIGNALED(status):
            found = {"state": "clock" if late or os.WTERMSIG(status) in OUT_OF_TIME else "crash", "killer": ""}
        elif os.WEXITSTATUS(status):
            raise RuntimeError("a child ended without an answer: no test has said anything of the change")
        else:
            found = json.loads(Path(answer).read_text())
        wall = time.monotonic() - begun
        return {**found, "cpu": round(used.ru_utime + used.ru_stime, 2), "wall": round(wall, 2)}


def main() -> None:
    """Answer line by line, until told to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for module in FIRST:
        importlib.import_module(module)
    for line in sys.stdin:
        print(json.dumps(_raised(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
