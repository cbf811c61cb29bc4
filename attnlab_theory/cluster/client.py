"""A cluster, seen from the machine that hands out work. Each worker calls one function at a time.

If a worker dies, another worker calls its function once more. What a lost worker still sends is dropped.
"""

import asyncio
import contextlib
import os
import pickle
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from attnlab_theory.cluster import worker
from attnlab_theory.cluster.worker import Settings

T = TypeVar("T")

ATTEMPTS = 2
"""How often a function is called if its workers die."""

LOOKING = 0.1
"""Seconds between two looks at a result."""

COUNTING = 2.0
"""Seconds between two looks at the list of workers."""

PATIENCE = 60.0
"""Seconds to wait for a new worker if all have gone."""

CONNECTING = 10.0
"""Seconds in which a scheduler must be reached. Half as many more it has to greet whoever asks."""

SILENT = 2.0
"""Seconds of waiting after which a person is told for what."""

PASSED = ("JAX_", "XLA_", "OPENBLAS_", "OMP_")
"""Beginnings of the environment variables that every worker gets from here."""


class Lost(ValueError):
    """Every worker that did some work was killed."""


class Stopped(Exception):
    """The cluster was closed while a function was called."""


class Cluster:
    """The workers of a scheduler. Use it in a `with` block, which ends their processes.

    Args:
        address: of the scheduler, tcp://HOST:PORT.
        tell: called with each line that a person should read. By default they go to standard error.
        one_core: whether each process keeps to one core, as for small models.
        xla_flags: added to XLA_FLAGS of each process.
        able: called on each worker before its first work. It returns "", or why that worker cannot do the work.

    Raises:
        ValueError: if Dask is missing, the scheduler does not answer, it has no workers, or a worker has other
            versions.
    """

    def __init__(
        self,
        address: str,
        *,
        tell: Callable[[str], None] | None = None,
        one_core: bool = False,
        xla_flags: str = "",
        able: Callable[[], str] | None = None,
    ) -> None:
        self.address, self._tell, self._able = address, tell or _tell, able
        self._session, self._one_core = uuid.uuid4().hex, one_core
        self._environment = {n: value for n, value in os.environ.items() if n.startswith(PASSED)}
        flags = f"{self._environment.get('XLA_FLAGS', '')} {xla_flags}".strip()
        self._environment |= {"XLA_FLAGS": flags} if flags else {}
        # Where compiled programs are kept is each machine's own affair.
        self._environment.pop("JAX_COMPILATION_CACHE_DIR", None)
        self._ours, self._processor = worker.identity(), worker.processor()
        self._free, self._busy, self._cores = threading.Condition(), set[str](), dict[str, int]()
        self._closed, self._looked, self._there, self._proven = False, -COUNTING, set[str](), set[str]()
        with _announced(address, self._tell):
            self._client = _client(address)
            try:
                self._look()
                if not self._there:
                    start = f"start some with `dask worker {address} --nthreads 1`"
                    raise ValueError(f"{address} has no workers: {start}")
            except BaseException:
                self._client.close()
                raise

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def workers(self) -> int:
        """How many workers there are now."""
        return len(self._there)

    def close(self) -> None:
        """End the processes of all workers. Functions that are being called raise `Stopped`."""
        with self._free:
            if self._closed:
                return
            self._closed = True
            self._free.notify_all()
        with contextlib.suppress(Exception):
            self._client.run(worker.end, self._session, on_error="ignore")
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)

    def call(self, task: Callable[..., T], *arguments: Any) -> T:
        """Call a function on the next free worker, and return its result. Several threads may do so at once.

        Args:
            task: a function at the top of a module, so that it can be pickled.
            arguments: of the function; they are pickled.

        Raises:
            Exception: what the function raised.
            Lost: if `ATTEMPTS` workers died.
            ValueError: if all workers are gone, or one cannot do the work.
            Stopped: if the cluster is closed meanwhile.
        """
        request = pickle.dumps((task, arguments))
        for _ in range(ATTEMPTS):
            with self._taken() as name:
                answer = self._answer(name, request) if self._is_able(name) else None
            if answer is None:
                self._tell(f"the worker {name} is gone: its work is done again")
                continue
            returned, value = pickle.loads(answer)
            if returned:
                return value
            raise value
        raise Lost(f"{ATTEMPTS} workers were killed at the same work, perhaps because memory ran out")

    def _is_able(self, name: str) -> bool:
        """Whether a worker can do the work; False if it is gone.

        Raises:
            ValueError: if it cannot.
        """
        if self._able is None or name in self._proven:
            return True
        answer = self._answer(name, pickle.dumps((self._able, ())))
        if answer is None:
            return False
        returned, why = pickle.loads(answer)
        if not returned or why:
            raise ValueError(f"the worker {name} cannot do this: {why}")
        self._proven.add(name)
        return True

    def _answer(self, name: str, request: bytes) -> bytes | None:
        """What a worker answers; None if it is gone."""
        settings = Settings(self._session, self._environment, self._cores[name] if self._one_core else None)
        future = self._client.submit(
            worker.call, request, settings, workers=[name], allow_other_workers=False, pure=False
        )
        try:
            while not future.done():
                if self._closed:
                    raise Stopped
                if name not in self._present():
                    return None
                time.sleep(LOOKING)
            return future.result()
        except (Stopped, KeyboardInterrupt):
            raise
        except Exception as error:
            if self._closed:
                raise Stopped from None
            # Ended: the process alone was killed. KilledWorker and cancellations: the worker was.
            if isinstance(error, worker.Ended) or type(error).__name__ in _GONE:
                return None
            raise ValueError(f"{name}: {type(error).__name__}: {error}") from error
        finally:
            # A cluster that is closed meanwhile has nobody left to tell.
            with contextlib.suppress(Exception):
                future.cancel(force=True)

    @contextlib.contextmanager
    def _taken(self) -> Iterator[str]:
        """A free worker, taken until the block ends.

        Raises:
            ValueError: if there is none for `PATIENCE` seconds.
            Stopped: if the cluster is closed.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            there = self._present()
            with self._free:
                if self._closed:
                    raise Stopped
                free = sorted(there - self._busy)
                if free:
                    name = free[0]
                    self._busy.add(name)
                    break
                if there:
                    deadline = time.monotonic() + PATIENCE
                elif time.monotonic() > deadline:
                    raise ValueError(f"{self.address} has lost all of its workers")
                self._free.wait(LOOKING)
        try:
            yield name
        finally:
            with self._free:
                self._busy.discard(name)
                self._free.notify()

    def _present(self) -> set[str]:
        """The names of the present workers, looked up now and then."""
        with self._free:
            if time.monotonic() - self._looked < COUNTING:
                return self._there
            self._looked = time.monotonic()
        self._look()
        return self._there

    def _look(self) -> None:
        try:
            there = set(self._client.nthreads())
            new = sorted(there - set(self._cores))
            for name, found in (self._client.run(worker.described, workers=new) if new else {}).items():
                self._admit(name, *found)
        except ValueError:
            raise
        except Exception as error:
            if self._closed:
                raise Stopped from None
            if isinstance(error, ImportError):
                raise ValueError(f"a worker of {self.address} has no attnlab: install the same one there") from None
            raise ValueError(f"{self.address} no longer answers: {error}") from error
        self._looked, self._there = time.monotonic(), there

    def _admit(self, name: str, theirs: dict[str, str], their_processor: str) -> None:
        """Refuse a worker whose versions differ: its numbers might differ."""
        for what in sorted({*theirs, *self._ours}):
            if theirs.get(what) != self._ours.get(what):
                raise ValueError(
                    f"the worker {name} has {what} {theirs.get(what, 'not at all')}, this machine "
                    f"{self._ours.get(what, 'not at all')}: install the same there, and start the worker again"
                )
        if their_processor != self._processor:
            self._tell(f"{name} is a {their_processor}, this is a {self._processor}: last digits may differ")
        host = name.rsplit(":", 1)[0]
        # Workers of one machine take its cores in turn.
        self._cores[name] = sum(other.rsplit(":", 1)[0] == host for other in self._cores)


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


_GONE = {"KilledWorker", "CancelledError", "FutureCancelledError", "CommClosedError"}


@contextlib.contextmanager
def _announced(address: str, tell: Callable[[str], None]) -> Iterator[None]:
    """A block that waits for a scheduler. If it takes long, a line says so."""
    timer = threading.Timer(SILENT, tell, [f"waiting for {address} ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--cluster needs Dask: pip install 'attnlab[cluster]'") from None
    if not address.startswith(("tcp://", "tls://")):
        raise ValueError(f"--cluster is the address of a Dask scheduler, tcp://HOST:PORT, not {address!r}")

    class Patient(Client):
        """A client that gives up. Dask's own waits without end for the greeting of whatever listens there."""

        async def _ensure_connected(self, timeout: float | None = None) -> None:
            try:
                await asyncio.wait_for(super()._ensure_connected(timeout=timeout), 1.5 * (timeout or CONNECTING))
            except (OSError, ImportError):
                raise
            except Exception as error:
                # A greeting of another protocol is read as the length of a message.
                raise OSError(f"{type(error).__name__}: {error}") from error

    start = "start one with `dask scheduler`"
    # Without a certificate Dask does not even try.
    start += ", and name your certificate in Dask's configuration" if address.startswith("tls") else ""
    try:
        return Patient(address, timeout=CONNECTING, set_as_default=False)
    except TimeoutError as error:
        raise ValueError(
            f"what listens at {address} does not answer as a Dask scheduler: name another address, or {start}"
        ) from error
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {address}: {start}") from error
