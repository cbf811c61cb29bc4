"""Processes that mark submissions. If one is killed, no mark of another submission is lost."""

import contextlib
import os
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from attnlab_theory import files
from attnlab_theory.cores import cores
from attnlab_theory.exits import NoDevice
from attnlab_theory.grader.classroom.hand_ins import HandIn, content_of, files_in
from attnlab_theory.grader.classroom.marks import Mark, Terms
from attnlab_theory.sandbox.processes import Server, ready

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from attnlab_theory.cluster.client import Cluster

MOST = 10
"""The most processes. Each takes 400 MB, and the submission that it judges takes more."""

MOST_THERE = 256
"""Submissions that wait for a worker of a cluster at the same time."""

WAITING = 2
"""There are this many more processes than cores, because a submission that sleeps keeps no core busy."""

SCRATCH = "attnlab-class-"
"""The beginning of the name of a run's own folder. The next run removes the folder of a killed one."""

AGAIN = 0.05
"""A lost signal is sent again after this many seconds."""

ENDING = 5.0
"""Seconds that a process has to end after it is told to."""


def most_at_once() -> int:
    """Processes that mark at the same time."""
    return min(cores() + WAITING, MOST)


ENDED_TWICE = "the process that judges it was killed twice, perhaps because memory ran out"
"""The line of a submission that the grader could not mark."""


class _Marker(Server):
    """A process that marks one submission after another. It has nothing of the lab's state."""

    def __init__(self, terms: Terms, scratch: Path) -> None:
        super().__init__(_serve, terms, scratch)


def marked(work: Sequence[HandIn], count: int, terms: Terms) -> Iterator[tuple[HandIn, dict[str, Mark] | str]]:
    """Mark submissions, in the order in which they are done.

    Args:
        work: the submissions.
        count: the number of processes.
        terms: the rubric and the limits.

    Yields:
        A submission, and a mark for each part of the rubric, or a line that says why there are none.

    Raises:
        NoDevice: if jax cannot compute here.
    """
    left = deque((hand_in, 1) for hand_in in work)
    running: dict[Any, tuple[_Marker, HandIn, int]] = {}
    idle: list[_Marker] = []
    with contextlib.ExitStack() as block:
        if sys.platform == "linux":
            for left_over in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
                files.remove_abandoned_folder(left_over)
        scratch = Path(os.path.realpath(tempfile.mkdtemp(prefix=SCRATCH)))
        block.callback(files.remove_folder, scratch)
        block.enter_context(files.held(scratch))
        # Each submission lies in a folder below, which its user reads; nobody else knows its name.
        scratch.chmod(0o711)
        try:
            while left or running:
                while left and len(running) < count:
                    marker = idle.pop() if idle else _Marker(terms, scratch)
                    hand_in, attempt = left.popleft()
                    running[marker.connection] = (marker, hand_in, attempt)
                    with contextlib.suppress(OSError):
                        marker.connection.send(hand_in)
                for connection in ready(list(running)):
                    marker, hand_in, attempt = running.pop(connection)
                    try:
                        found = marker.connection.recv()
                        idle.append(marker)
                    except (EOFError, OSError):
                        marker.tell()
                        marker.end(ENDING)
                        if attempt == 1:
                            left.append((hand_in, 2))
                            continue
                        found = ENDED_TWICE
                    if isinstance(found, NoDevice):
                        raise found
                    yield hand_in, found
        finally:
            left_over = [*idle, *(marker for marker, _, _ in running.values())]
            for marker in left_over:
                marker.tell()
            deadline = time.monotonic() + ENDING
            for marker in left_over:
                marker.end(max(deadline - time.monotonic(), 0))


def marked_there(
    work: Sequence[HandIn], cluster: "Cluster", terms: Terms
) -> Iterator[tuple[HandIn, dict[str, Mark] | str]]:
    """Mark submissions on the workers of a cluster, in the order in which they are done.

    Args:
        work: the submissions.
        cluster: whose workers mark.
        terms: the rubric and the limits.

    Yields:
        A submission, and a mark for each part of the rubric, or a line that says why there are none.
    """
    from attnlab_theory.cluster.client import Lost
    from attnlab_theory.grader.classroom.marking import marks_of_files

    def ask(hand_in: HandIn) -> tuple[HandIn, dict[str, Mark] | str]:
        handed_in = _unchanged(hand_in)
        if isinstance(handed_in, str):
            return hand_in, handed_in
        try:
            return hand_in, cluster.call(marks_of_files, handed_in, terms)
        except Lost:
            return hand_in, ENDED_TWICE

    with ThreadPoolExecutor(MOST_THERE) as threads:
        try:
            for future in as_completed([threads.submit(ask, hand_in) for hand_in in work]):
                yield future.result()
        except BaseException:
            cluster.close()
            threads.shutdown(cancel_futures=True)
            raise


def end_when_told() -> None:
    """Let SIGTERM end this process and the submission that it waits for.

    Python drops what is raised in a callback of the garbage collector, and jax has such a callback. So the signal
    is sent again a moment later.
    """

    def end(*_: object) -> NoReturn:
        raise SystemExit(0)

    dropped = sys.unraisablehook

    def again(what: Any) -> None:
        if issubclass(what.exc_type, SystemExit):
            timer = threading.Timer(AGAIN, os.kill, (os.getpid(), signal.SIGTERM))
            timer.daemon = True
            timer.start()
        else:
            dropped(what)

    signal.signal(signal.SIGTERM, end)
    sys.unraisablehook = again


def _serve(connection: "Connection", terms: Terms, scratch: Path) -> None:
    end_when_told()
    if sys.platform == "linux":
        from attnlab_theory.sandbox import kernel

        kernel.die_with_parent()
    # All that is left lying about goes with the folder of the parent, however this process ends.
    tempfile.tempdir = str(scratch)
    from attnlab_theory.grader.classroom.marking import marks_of_files

    with contextlib.suppress(EOFError, OSError):
        while True:
            handed_in = _unchanged(connection.recv())
            try:
                found = handed_in if isinstance(handed_in, str) else marks_of_files(handed_in, terms)
            except NoDevice as error:
                found = error
            connection.send(found)


def _unchanged(hand_in: HandIn) -> dict[str, bytes] | str:
    """The files of a submission, or a line that says why they cannot be judged."""
    try:
        handed_in = files_in(hand_in)
    except ValueError as error:
        return str(error)
    return (
        handed_in
        if content_of(handed_in) == hand_in.content
        else "its files have changed meanwhile; grade it again"
    )
