"""Training of small models in processes of one core each.

The program of a small model is many operations on few numbers. Several cores are no faster than one, and threads
of one Python wait for each other. So two trainings at the same time need two processes.
"""

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from typing import Any

from attnlab_theory.cores import cores
from attnlab_theory.interrupts import Interrupts, patient
from attnlab_theory.sandbox.processes import Pool

LOOKING = 0.1
"""Seconds between two checks of the other processes."""

MOST = 8
"""The most processes by default. Each takes half a gigabyte."""

ONE_CORE = "--xla_cpu_multi_thread_eigen=false"


class Workers:
    """Processes that wait for tasks. Use it in a `with` block, at whose end they are gone.

    Args:
        count: how many. Each keeps to one core.
        tell: called with a line when Ctrl-C is pressed.
    """

    def __init__(self, count: int, tell: Callable[[str], None]) -> None:
        flags = f"{os.environ.get('XLA_FLAGS', '')} {ONE_CORE}".strip()
        self._tell, self._pool = tell, Pool(count, {"XLA_FLAGS": flags})

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.end()

    def finished(self, task: Callable[..., bool], arguments: Sequence[tuple[Any, ...]]) -> bool:
        """Do all tasks. Returns whether all came to their ends; False after Ctrl-C.

        Args:
            task: a function at the top of a module. It gets its arguments and the list of signals to stop, which it
                checks now and then. It returns whether it came to its end.
            arguments: of each task. They are pickled, and so is the task.

        Raises:
            Exception: the first that a task raised, after the others have stopped.
            ValueError: if a process was killed.
        """

        def stopping(_: str) -> None:
            self._pool.stop()
            self._tell("stopping after the next step of every training")

        with patient(stopping):
            futures = [self._pool.submit(task, *each) for each in arguments]
            while (ended := wait(futures, timeout=LOOKING)).not_done:
                if any(future.exception() for future in ended.done):
                    self._pool.stop()
        try:
            return all([future.result() for future in futures])
        except BrokenProcessPool:
            raise ValueError(
                "a training process was killed, perhaps because memory ran out: --resume goes on, with "
                "--processes 1 in a single process"
            ) from None


def workers(
    asked: int | None, *, small: bool, tell: Callable[[str], None]
) -> "AbstractContextManager[Workers | None]":
    """Processes for training, if more than one is useful.

    Args:
        asked: how many. None: as many as there are cores, if the models are small and train on a processor.
        small: whether one core trains a model as fast as several.
        tell: called with a line when Ctrl-C is pressed.

    Returns:
        A context that gives the processes. None to train in this process.

    Raises:
        ValueError: if there cannot be so many.
    """
    import jax

    if asked is not None and asked < 1:
        raise ValueError(f"--processes is how many models are trained at once, at least 1, not {asked}")
    platform = jax.default_backend()
    if platform != "cpu" and (asked or 1) > 1:
        raise ValueError(f"--processes {asked} needs cores of a processor; a {platform} takes 1")
    count = asked or (min(cores(), MOST) if small and platform == "cpu" else 1)
    return contextlib.nullcontext() if count == 1 else Workers(count, tell)


def unit_trained(command: Any, unit: Any, interrupts: Interrupts) -> bool:
    """Train the stages of a unit in this process, one of `Workers`. Returns False if that was stopped.

    Args:
        command: an `engine.run.RunLab`, unpickled. Its lab is made once for equal commands.
        unit: an arm and a seed of its lab.
        interrupts: the signals to stop so far.
    """
    return all(command.train(stage, interrupts) for stage in _lab_of(command).stages(*unit))


@functools.lru_cache(maxsize=1)
def _lab_of(command: Any) -> Any:
    return command.lab()
