"""Processes that judge claims. Two threads of one Python would wait for each other."""

import contextlib
import functools
import gc
import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from attnlab_theory.cores import cores
from attnlab_theory.sandbox.processes import Server

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from attnlab_theory.claims import Findings
    from attnlab_theory.cluster.client import Cluster

MOST = 8
"""The most processes. Each takes about a gigabyte."""

Load = Callable[[], Callable[[str, int, dict[str, Any]], "Findings"]]
"""A function that a process calls once, to get the function that judges. It can be pickled, as
`experiment.judge_of(...)` can.

The function that judges takes the name of an experiment, the number of a claim in it, and the options."""


def can_share(experiments: int) -> int:
    """How many processes should judge these experiments. None if there are several devices, or an accelerator."""
    import jax

    count = min(cores(), experiments, MOST)
    one_processor = jax.default_backend() == "cpu" and jax.device_count() == 1
    return count if count > 1 and one_processor else 0


class Judge(Server):
    """A process that judges one claim after another.

    Args:
        load: gives the function that judges.
    """

    def __init__(self, load: Load) -> None:
        super().__init__(_serve, load, forked=True)

    def findings_of(self, experiment: str, claim: int, options: dict[str, Any]) -> "Findings":
        """The findings about a claim.

        Args:
            experiment: its name.
            claim: the number of the claim in it.
            options: of the function that judges.

        Raises:
            Exception: what that function raised.
            ValueError: if the process was killed.
        """
        try:
            self.connection.send((experiment, claim, options))
            answer = self.connection.recv()
        except (EOFError, OSError):
            raise ValueError("the process that judged it was killed, perhaps because memory ran out") from None
        if isinstance(answer, Exception):
            raise answer
        return answer


class JudgeOfCluster:
    """The free workers of a cluster judge one claim after another.

    Args:
        cluster: whose workers judge.
        load: gives the function that judges.
    """

    def __init__(self, cluster: "Cluster", load: Load) -> None:
        self._cluster, self._load = cluster, pickle.dumps(load)

    def findings_of(self, experiment: str, claim: int, options: dict[str, Any]) -> "Findings":
        """The findings about a claim, from the next free worker.

        Args:
            experiment: its name.
            claim: the number of the claim in it.
            options: of the function that judges.

        Raises:
            Exception: what that function raised.
            ValueError: if all workers are gone, or too many died.
        """
        return self._cluster.call(judge_there, self._load, experiment, claim, options)


def judge_there(load: bytes, experiment: str, claim: int, options: dict[str, Any]) -> "Findings":
    """Judge a claim on a worker of a cluster.

    Args:
        load: a `Load`, pickled. The function that it gives is kept for the next claim.
        experiment: its name.
        claim: the number of the claim in it.
        options: of the function that judges.
    """
    return _loaded(load)(experiment, claim, options)


@functools.lru_cache(maxsize=1)
def _loaded(load: bytes) -> Callable[[str, int, dict[str, Any]], "Findings"]:
    return pickle.loads(load)()


@contextlib.contextmanager
def judges(
    count: int, load: Load, cluster: "Cluster | None" = None
) -> Iterator["list[Judge] | list[JudgeOfCluster]"]:
    """Judges for the block: `count` processes, or the workers of a cluster. They are ended after it."""
    if cluster is not None:
        with cluster:
            yield [JudgeOfCluster(cluster, load)] * count
        return
    running: list[Judge] = []
    try:
        for _ in range(count):
            running.append(Judge(load))
        yield running
    finally:
        for judge in running:
            judge.end()


def _serve(connection: "Connection", load: Load) -> None:
    judge = load()
    # Programs that are traced stay: looking through them again and again takes seconds.
    gc.freeze()
    gc.set_threshold(100_000)
    with contextlib.suppress(EOFError, OSError):
        while True:
            asked = connection.recv()
            try:
                answer: Any = judge(*asked)
            except Exception as error:
                error.add_note(f"In a process that judges:\n{traceback.format_exc()}")
                answer = error
            connection.send(answer)
