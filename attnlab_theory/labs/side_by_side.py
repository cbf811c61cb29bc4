"""Trainings side by side: every device takes one after the other, until none is left."""

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import jax

from attnlab_theory.interrupts import Interrupts, patient

T = TypeVar("T")

LOOKING = 0.1
"""Seconds after which the main thread looks whether Ctrl-C was pressed: a signal may reach another thread."""


def on_each_device(
    tasks: Sequence[Callable[[Interrupts], T]], devices: Sequence[Any], tell: Callable[[str], None]
) -> list[T | None]:
    """The results of all tasks, in their order.

    Args:
        tasks: each runs in a thread whose default device is one of the devices. It is given the reasons to stop,
            and looks now and then whether there is one. Ctrl-C is one, an error in another task is one.
        devices: jax's; as many tasks run at once.
        tell: is told when Ctrl-C was pressed.

    Returns:
        What each task returned; None for those that did not begin, since there was a reason to stop.

    Raises:
        Exception: the first that a task raised, once the others have stopped.
    """
    free: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for device in devices:
        free.put(device)

    def run(task: Callable[[Interrupts], T]) -> T | None:
        if interrupts:
            return None
        device = free.get()
        try:
            with jax.default_device(device):
                return task(interrupts)
        except BaseException:
            interrupts.append("an error")
            raise
        finally:
            free.put(device)

    def stopping(_: str) -> None:
        tell("stopping after the next step of every training")

    with patient(stopping) as interrupts, ThreadPoolExecutor(len(devices)) as threads:
        futures = [threads.submit(run, task) for task in tasks]
        while wait(futures, timeout=LOOKING).not_done:
            pass
        return [future.result() for future in futures]
