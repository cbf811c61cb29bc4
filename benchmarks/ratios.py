"""What a benchmark is, how two programs are raced, and the row that comes out.

A benchmark is a `Benchmark(name, peers, measure)`; `measure(quick)` returns rows, each made by a race:

    def measure(quick: bool) -> list[Row]:
        race = raced(ours=lambda: ..., peers={"numpy": lambda: ...}, rounds=5 if quick else 15)
        return [race.rate_row("keys in full", "n = 16, d = 64", work=TRIALS, unit="trials/s", target=Target(3, 5))]

Every callable does one whole piece of work and returns when it is done (for jax: `jax.block_until_ready`).
A ratio is always how many times better ours is: above one ours is faster, or takes less memory.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np


class Target(NamedTuple):
    """The least ratio that is acceptable, and the one that is wanted."""

    must: float
    aim: float


class Spread(NamedTuple):
    """A median between its quartiles."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, numbers) -> "Spread":
        """The quartiles of some numbers."""
        return cls(*(float(x) for x in np.quantile(np.asarray(numbers, float), (0.25, 0.5, 0.75))))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: ours against the best of its peers."""

    what: str
    size: str
    unit: str
    ours: float
    peer: float
    peer_name: str
    ratio: Spread
    """How many times better ours is."""
    target: Target | None = None
    or_rate: Target | None = None
    """The same two levels for `ours` itself, in `unit`: reaching either counts."""
    share: float | None = None
    """Ours as a fraction of the machine's best matrix product, filled in where `flops` is known."""
    flops: float | None = None
    """Floating-point operations per second of ours: `run` turns them into `share`."""

    @property
    def verdict(self) -> str:
        """Whether the target, or the one for the rate, is met, judged by the median."""
        pairs = [(self.ratio.middle, self.target), (self.ours, self.or_rate)]
        judged = [(reached, target) for reached, target in pairs if target is not None]
        if not judged:
            return ""
        if any(reached >= target.aim for reached, target in judged):
            return "aim met"
        return "met" if any(reached >= target.must for reached, target in judged) else "missed"


@dataclasses.dataclass(frozen=True)
class Race:
    """Seconds of every round, one array for ours and one for each peer."""

    ours: np.ndarray
    peers: Mapping[str, np.ndarray]

    @property
    def best_peer(self) -> str:
        """The peer with the smallest median: nobody is compared with a slow program."""
        return min(self.peers, key=lambda name: float(np.median(self.peers[name])))

    @property
    def ratio(self) -> Spread:
        """The best peer's time over ours, round by round: both halves of a round share the machine's mood."""
        return Spread.of(self.peers[self.best_peer] / self.ours)

    def time_row(self, what: str, size: str, *, target: Target | None = None, flops: float | None = None) -> Row:
        """Milliseconds; `flops` is the number of floating-point operations in one piece of work."""
        ours = float(np.median(self.ours))
        return Row(
            what=what,
            size=size,
            unit="ms",
            ours=1e3 * ours,
            peer=1e3 * float(np.median(self.peers[self.best_peer])),
            peer_name=self.best_peer,
            ratio=self.ratio,
            target=target,
            flops=None if flops is None else flops / ours,
        )

    def rate_row(
        self,
        what: str,
        size: str,
        *,
        work: float,
        unit: str,
        target: Target | None = None,
        or_rate: Target | None = None,
        flops: float | None = None,
    ) -> Row:
        """Pieces per second, where one call does `work` pieces; `or_rate` is a target for that number itself.

        `flops` is the number of floating-point operations in one call of ours.
        """
        ours = float(np.median(self.ours))
        return Row(
            what=what,
            size=size,
            unit=unit,
            ours=work / ours,
            peer=work / float(np.median(self.peers[self.best_peer])),
            peer_name=self.best_peer,
            ratio=self.ratio,
            target=target,
            or_rate=or_rate,
            flops=None if flops is None else flops / ours,
        )


def memory_row(
    what: str, size: str, *, ours: float, peer: float, peer_name: str, target: Target | None = None
) -> Row:
    """Extra peak memory in MiB, from `benchmarks.memory.extra_peak`. One number each, so no spread."""
    # A piece of work that needs no page of its own is counted as one page: a ratio must stay finite.
    page = 4096 / 2**20
    ratio = max(peer, page) / max(ours, page)
    return Row(
        what=what,
        size=size,
        unit="MiB",
        ours=ours,
        peer=peer,
        peer_name=peer_name,
        ratio=Spread(ratio, ratio, ratio),
        target=target,
    )


def error_row(what: str, size: str, *, ours: float, peer: float, peer_name: str, allowed: float) -> Row:
    """Largest absolute errors. The ratio is how far ours lies below what is allowed: one meets the target."""
    ratio = allowed / max(ours, float(np.finfo(np.float64).tiny))
    return Row(
        what=what,
        size=size,
        unit="",
        ours=ours,
        peer=peer,
        peer_name=peer_name,
        ratio=Spread(ratio, ratio, ratio),
        target=Target(1.0, 1.0),
    )


def crossover_row(what: str, races: Mapping[int, Race]) -> Row:
    """The race at the length from which ours stays ahead, with that length interpolated in logarithms.

    Args:
        what: the work.
        races: by length, all against the same peer; without a crossover the row is that of the longest race.
    """
    lengths = sorted(races)
    lead = [races[length].ratio.middle for length in lengths]
    behind = [i for i, ratio in enumerate(lead) if ratio < 1]
    first = behind[-1] + 1 if behind else 0
    if first == len(lengths):
        size = f"behind up to {lengths[-1]:,}"
    elif first == 0:
        size = f"ahead from {lengths[0]:,} or less"
    else:
        at = np.interp(0, np.log(lead[first - 1 : first + 1]), np.log(lengths[first - 1 : first + 1]))
        size = f"ahead from about {np.exp(at):,.0f}; at {lengths[first]:,}"
    return races[lengths[min(first, len(lengths) - 1)]].time_row(what, size)


def raced(
    *,
    ours: Callable[[], object],
    peers: Mapping[str, Callable[[], object]],
    rounds: int,
    warm_ups: int = 1,
    pause: float = 0.003,
    least: float = 0.1,
) -> Race:
    """Run ours and every peer in turn, `rounds` times, the order reversed in every other round.

    Work that takes less than `least` is repeated at each turn, and its mean time counts. The first run is left
    out: its own threads still wake, and those of the work before may still spin. After torch's attention our first
    run took 9.6 ms and the others 6.6 (medians of 25 turns).

    Args:
        ours: one whole piece of work; returns when it is done.
        peers: the same piece of work by others, by name.
        rounds: measured rounds.
        warm_ups: runs of each before the clock starts: compilation, page faults, thread pools.
        pause: seconds between turns. Thread pools go on spinning after their work is done (libgomp and
            XLA's alike), and would take a core from whoever runs next.
        least: seconds of one turn, about; 0: a turn is one run, and none is made to see how long one takes.

    Raises:
        ValueError: if there is no peer or no round.
    """
    if not peers or rounds < 1:
        raise ValueError(f"a race needs a peer and a round, not {len(peers)} peers and {rounds} rounds")
    runners = {"": ours, **peers}
    for _ in range(warm_ups):
        for runner in runners.values():
            runner()
    repeats = {name: math.ceil(least / _mean_time(runner, 1)) if least else 1 for name, runner in runners.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runners}
    for turn in range(rounds):
        names = list(runners) if turn % 2 == 0 else list(reversed(runners))
        for name in names:
            time.sleep(pause)
            if repeats[name] > 1:
                runners[name]()
            seconds[name].append(_mean_time(runners[name], repeats[name]))
    arrays = {name: np.asarray(times) for name, times in seconds.items()}
    return Race(ours=arrays.pop(""), peers=arrays)


def _mean_time(work: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """A named list of races; `peers` are the modules it cannot do without."""

    name: str
    peers: tuple[str, ...]
    measure: Callable[[bool], list[Row]]
    """quick -> rows."""
