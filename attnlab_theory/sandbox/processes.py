"""Processes of this machine. Here all of them are started, waited for and ended.

A `Program` is a command. A `Server` is a function of ours that answers in another Python. A `Pool` has several that
do tasks, a core each. Whoever starts one ends it.

Inside the fences there are others, of which the launcher takes care: it imports nothing of this package.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnlab_theory import exits

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""The signals by which people and systems end processes of others. A crash has signals of its own."""

OF_MEMORY = ("SIGABRT", "SIGBUS", "SIGKILL", "SIGSEGV")
"""How a process ends that gets no more memory."""

OF_TIME = ("SIGKILL", "SIGXCPU")
"""How a process ends that gets no more time of a processor."""

LOOKING = 0.1
"""Seconds between two looks of a process whether its parent lives."""


def killed_by(code: int | None) -> str:
    """The name of the signal, if what a process ended with says that somebody else ended it; else empty."""
    number = -(code or 0)
    return signal.Signals(number).name if number in FROM_OUTSIDE else ""


def supervised(command: Callable[[], int]) -> int:
    """Run a command in a fork of this process, whose end by a limit is told in a line. Linux has it.

    A library that gets no memory ends the process, and so does a kernel at a limit. Neither leaves Python a word.
    Signals that are sent to this process reach the other one; a terminal sends its own to both.

    Returns:
        The exit code of the command; 2 if it ended as one does that reached a limit.
    """
    numbers = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    ours, process = os.getpid(), os.fork()
    if not process:
        from attnlab_theory.sandbox import kernel

        kernel.die_with_parent()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        return command() if os.getppid() == ours else 130
    while not (ended := os.waitpid(process, os.WNOHANG))[0]:
        told = signal.sigwaitinfo(numbers)
        # A terminal's signal says that the kernel has sent it.
        if told.si_signo != signal.SIGCHLD and told.si_code <= 0:
            os.kill(process, told.si_signo)
    code = os.waitstatus_to_exitcode(ended[1])
    if code >= 0:
        return code
    name = (number := signal.Signals(-code)).name
    if most := exits.narrow(memory=name in OF_MEMORY, time=name in OF_TIME):
        return exits.refuse(f"{name} ended this command, which may have {most}: it may need more")
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    os.kill(ours, number)
    return 128 + number


class Program:
    """A command that runs.

    Args:
        command: its words.
        group: whether it begins a session of its own. Then it is ended with all that it has started.
        given: the files, the folder and the variables, as `subprocess.Popen` takes them.
    """

    def __init__(self, command: Sequence[str | os.PathLike[str]], *, group: bool = False, **given: Any) -> None:
        # Never a fork: jax has threads by now.
        self._process = subprocess.Popen(command, start_new_session=group, **given)
        self._group = group
        self.pid: int = self._process.pid
        self.stdin, self.stdout, self.stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._code: int | None = None

    @property
    def code(self) -> int | None:
        """What it ended with; the negative number of a signal that ended it. None while it runs."""
        if self._code is None and not hasattr(os, "waitid"):
            self._code = self._process.poll()
        elif self._code is None:
            # It is not reaped, so that no other process gets its number, or that of its group.
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None:
                self._code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return self._code

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Whether it ends within this time."""
        deadline, pause = time.monotonic() + seconds, 0.0005
        while self.code is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True

    def end(self, *, told: float | None = None) -> None:
        """End it, and with a group all that is left of that.

        Args:
            told: seconds that it has to end by itself, after SIGTERM. If None, it is killed at once.
        """
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if told is not None:
                # Not `terminate`, which reaps it.
                os.kill(self.pid, signal.SIGTERM)
                self.has_ended(told)
            (os.killpg if self._group else os.kill)(self.pid, signal.SIGKILL)
        self._code = self._process.wait()


class Server:
    """A function of ours in a process of its own, which answers what comes through a connection.

    Args:
        serve: the function, at the top of a module. It gets its end of the connection, then the arguments. Ctrl-C
            does not reach it.
        arguments: they are pickled.
        forked: whether it is forked from a process that has imported modules (`get_ready`) and computed nothing. So
            it begins at once, and no thread of jax is lost. Else it imports everything itself, and nothing of the
            lab's state is in it. So it does where a system cannot fork.
    """

    def __init__(self, serve: Callable[..., None], *arguments: Any, forked: bool = False) -> None:
        context = _context(forked=forked)
        self.connection, theirs = context.Pipe()
        # A daemon: it ends with this process, even where nobody ends it.
        self._process = context.Process(target=_served, args=(serve, theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()

    def tell(self) -> None:
        """Tell it to end, by SIGTERM."""
        self._process.terminate()

    def end(self, seconds: float = 0.0) -> None:
        """Wait this many seconds for its end, and then end it, whatever it is doing."""
        if seconds:
            self._process.join(seconds)
        self._process.kill()
        self._process.join()
        self.connection.close()


def ready(connections: Sequence[Any]) -> "list[Any]":
    """Those of some connections that have something to read. It waits until there is one."""
    from multiprocessing.connection import wait

    return wait(connections)


def get_ready(module: str) -> None:
    """Let the process from which servers are forked import a module, while this one goes on with its own work."""
    context = _context(forked=True)
    if context.get_start_method() == "forkserver":
        from multiprocessing import forkserver

        context.set_forkserver_preload([module])
        forkserver.ensure_running()


_stops: list[str] = []
"""Why this process shall stop, if it is one of a `Pool`."""


class Pool:
    """Processes that wait for tasks, each on a core of its own.

    Args:
        count: how many.
        variables: of their environment, beside those of this process.
    """

    def __init__(self, count: int, variables: Mapping[str, str]) -> None:
        from concurrent.futures import ProcessPoolExecutor

        # A fork would inherit jax's threads without their work.
        context = _context(forked=False)
        places = context.SimpleQueue()
        # Closed by hand or by the death of this process: either is seen at the other end.
        stopped, self._alive = context.Pipe(duplex=False)
        for core in cores_of(count):
            places.put(core)
        settled = (os.getpid(), stopped, places, dict(variables))
        self._pool = ProcessPoolExecutor(count, context, _settle, settled)

    def submit(self, task: Callable[..., bool], *arguments: Any) -> "Future[bool]":
        """Do a task when a process is free. It raises BrokenProcessPool if a process is killed.

        Args:
            task: a function at the top of a module. It gets its arguments and the list of reasons to stop, at which
                it looks now and then. It returns whether it came to its end.
            arguments: they are pickled.
        """
        return self._pool.submit(_unless_stopped, task, arguments)

    def stop(self) -> None:
        """Tell all processes to stop. No further task begins."""
        self._alive.close()

    def end(self) -> None:
        """Stop, and wait until the processes have ended."""
        self.stop()
        self._pool.shutdown(cancel_futures=True)


def cores_of(count: int) -> list[int | None]:
    """A core for each process, or the same for several. XLA cuts sums by the number of cores that it sees."""
    found = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [None]
    return [found[number % len(found)] for number in range(count)]


def keep_to(core: int | None) -> None:
    """Have this process compute on one core; on all of them if None."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def _context(*, forked: bool) -> Any:
    import multiprocessing

    can_fork = forked and "forkserver" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if can_fork else "spawn")


def _served(serve: Callable[..., None], connection: "Connection", *arguments: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C concerns the parent alone, which then ends this process
    serve(connection, *arguments)


def _settle(parent: int, stopped: Any, places: Any, variables: dict[str, str]) -> None:
    """What a process of a pool does first: it keeps to its core, ignores Ctrl-C, and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_to(places.get())
    os.environ.update(variables)

    def watch() -> None:
        with contextlib.suppress(EOFError):
            stopped.recv_bytes()
        _stops.append("Ctrl-C")
        while os.getppid() == parent:
            time.sleep(LOOKING)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _unless_stopped(task: Callable[..., bool], arguments: tuple[Any, ...]) -> bool:
    if _stops:
        return False
    try:
        return task(*arguments, _stops)
    except BaseException:
        # Before the parent knows, another task may begin here.
        _stops.append("an error")
        raise
