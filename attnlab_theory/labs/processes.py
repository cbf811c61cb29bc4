"""Training of small models in processes of one core each.

The program of a small model is many operations on few numbers. Several cores are no faster than one, and threads
of one Python wait for each other. So two trainings at the same time need two processes.
"""

import contextlib
import functools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from typing import Any

from attnlab_theory.cores import cores
from attnlab_theory.interrupts import Interrupts, patient

LOOKING = 0.1
"""Seconds between two checks of the other processes."""

MOST = 8
"""The most processes by default. Each takes half a gigabyte."""

ONE_CORE = "--xla_cpu_multi_thread_eigen=false"

_interrupts: Interrupts = []
"""The signals to stop, if this process is one of `Workers`."""


class Workers:
    """Processes that wait for tasks. Use it in a `with` block, at whose end they are gone.

    Args:
        count: how many. Each keeps to one core.
        tell: called with a line when Ctrl-C is pressed.
    """

    def __init__(self, count: int, tell: Callable[[str], None]) -> None:
        # A fork would inherit jax's threads without their work.
        context = multiprocessing.get_context("spawn")
        self._tell, places = tell, context.SimpleQueue()
        # Closed by hand or by the death of this process: either is seen at the other end.
        stopped, self._alive = context.Pipe(duplex=False)
        for core in _cores(count):
            places.put(core)
        self._pool = ProcessPoolExecutor(count, context, _settle, (os.getpid(), stopped, places))

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._alive.close()
        self._pool.shutdown(cancel_futures=True)

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
            self._alive.close()
            self._tell("stopping after the next step of every training")

        with patient(stopping):
            futures = [self._pool.submit(_unless_stopped, task, each) for each in arguments]
            while (ended := wait(futures, timeout=LOOKING)).not_done:
                if any(future.exception() for future in ended.done):
                    self._alive.close()
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


def _cores(count: int) -> list[int | None]:
    """A core for each process, or the same for several. XLA cuts sums by the number of cores that it sees."""
    found = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [None]
    return [found[number % len(found)] for number in range(count)]


def _settle(parent: int, stopped: Any, places: Any) -> None:
    """What a process does first: it keeps to its core, ignores Ctrl-C, and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    core = places.get()
    if core is not None:
        os.sched_setaffinity(0, {core})
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_CORE}".strip()

    def watch() -> None:
        with contextlib.suppress(EOFError):
            stopped.recv_bytes()
        _interrupts.append("Ctrl-C")
        while os.getppid() == parent:
            time.sleep(LOOKING)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _unless_stopped(task: Callable[..., bool], arguments: tuple[Any, ...]) -> bool:
    if _interrupts:
        return False
    try:
        return task(*arguments, _interrupts)
    except BaseException:
        # Before the parent knows, another task may begin here.
        _interrupts.append("an error")
        raise
