"""What every suite has: a target, a kind that it promises, and a row for each identity that the kind implies."""

import abc
import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from attnlab_theory.conform import replays
from attnlab_theory.conform.callers import Caller, Place
from attnlab_theory.conform.finding import LEAKS, Fault, Trouble, Verdict, draws
from attnlab_theory.conform.kinds import KINDS, Kind
from attnlab_theory.conform.recording import Log, Recording, Shown, holds_again
from attnlab_theory.plurals import several

MOST_REPLAYS = 6
"""So often calls are made again at most, to see whether a snippet shows a failure."""

DRAWING = ("dropout", "random-features")
"""The kinds that draw random numbers, whose law is judged."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """What became of one identity."""

    name: str
    verdict: Verdict
    line: str
    brief: str = ""
    """What of a convention is worth a cell of a table, where that is less than the line."""
    tried: int
    """How many cases or calls."""
    ratio: float = 0.0
    """The largest error over its tolerance."""
    counterexample: Any = None
    """Whatever the suite needs to print it."""
    rule: float | None = None
    """The largest error over what flash-attention's rule allows: twice that of a plain half-precision path."""
    trouble: Trouble | None = None
    """What was wrong, where that is more than a number."""
    case: str = ""
    """The call that shows it, in words."""


class Refused(ValueError):
    """A target that can be called in no way: why and the remedy in words, and the troubles of trial calls."""

    def __init__(self, words: str, troubles: Sequence[Trouble] = ()) -> None:
        super().__init__(words)
        self.troubles = troubles


class Killed(ValueError):
    """Somebody else ended the process of a target before it was known how to call it."""


class Suite(abc.ABC):
    """A target, and what it promises.

    Args:
        caller: of the target.
        kind: a key of `kinds.KINDS`.
        declared: conventions that are known, by their names in `CONVENTIONS`.
        accumulate: the type of its sums.

    Raises:
        ValueError: if the target can be called in no way.
    """

    IDENTITIES: ClassVar[Collection[str]]
    """All that may be tried, in this order."""
    CONVENTIONS: ClassVar[Collection[str]]
    """What a user may declare."""
    LEAKS: ClassVar[Collection[str]] = LEAKS
    """Those identities that only a leak of the future breaks."""
    HAS_CASES: ClassVar[bool] = False
    """Whether identities are tried on cases, of which there may be fewer."""
    most_cases: int | None = None
    """So many cases of each identity at most."""

    def __init__(
        self, caller: Caller, kind: str, declared: Mapping[str, Any] | None = None, accumulate: str | None = None
    ) -> None:
        self.log = Log()
        self.callers: list[Recording] = []
        self.caller, self.name, self.kind = self.recorded(caller), kind, KINDS[kind]
        self.declared: Mapping[str, Any] = dict(declared or {})
        self.accumulate = accumulate
        self.profile: list[tuple[str, str]] = []
        """Conventions in words: a name, and what was found."""
        self.calls = 0
        self.largest = 0.0
        """The largest error per tolerance of all answers that were right."""
        self._shown: dict[str, Shown] = {}
        try:
            with np.errstate(all="ignore"):
                self.open()
                if kind not in DRAWING:
                    self._refuse_dice()
        except ValueError:
            if self.log.killed:
                raise Killed(f"{self._unsettled()}; run it again") from None
            raise
        if any(getattr(each.caller, "killed", "") for each in self.callers):
            raise Killed(f"{self._unsettled()}; run it again")

    def _refuse_dice(self) -> None:
        """Refuse a target that draws random numbers: with one seed two calls agree, and without one they differ.

        What differs with one seed too is judged: it may remember.
        """
        asked = next((made for made in self.log.made if made.is_plain), None)
        if asked is None:
            return

        def differ(*seeds: int | None) -> bool:
            """Whether calls with these seeds give other bits than each other."""
            found = []
            for seed in seeds:
                random = {} if seed is None else {"": ["int", seed]}
                report, arrays = self.callers[0].caller.call(asked.plan | {"random": random}, [*asked.arrays])
                if report["trouble"]:
                    return False
                found.append(arrays)
            return any(
                not np.array_equal(x, y, equal_nan=True)
                for each in found[1:]
                for x, y in zip(found[0], each, strict=True)
            )

        if differ(None, None) and not differ(1, 1) and differ(1, 2, 3):
            raise ValueError(draws(self.caller.name, self.caller.about().get("mode", "")))

    def kills(self) -> list[str]:
        """What is said of calls whose process somebody else has ended."""
        if not self.log.killed:
            return []
        count = len(self.log.killed)
        again = f"{several(count, 'call was', 'calls were')} made again"
        return [f"{again}: {Trouble(fault=Fault.KILLED, code=self.log.killed[-1])}"]

    def _unsettled(self) -> str:
        """What is said of a target whose process somebody else has ended."""
        return f"{self.caller.name} is not judged: {Trouble(fault=Fault.KILLED, code=self.log.killed[-1])}"

    def recorded(self, caller: Caller) -> Caller:
        """A caller whose calls are remembered, for a snippet: of the target first, then of another one."""
        self.callers.append(Recording(caller, self.log, len(self.callers)))
        return self.callers[-1]

    @abc.abstractmethod
    def open(self) -> None:
        """Find out how the target wants to be called, and fill the profile."""

    @abc.abstractmethod
    def row(self, name: str) -> Row | None:
        """Try one identity; None if there is nothing to try."""

    def rows(self, names: Collection[str] = ()) -> Iterator[Row]:
        """Try identities, or some of them; those for which there is nothing to try have no row.

        Raises:
            ValueError: if a name is none of an identity of this kind.
        """
        if unknown := sorted({*names} - {*self.IDENTITIES}):
            raise ValueError(f"{self.name} has no identity {unknown[0]!r}; there are {', '.join(self.IDENTITIES)}")
        for name in self.IDENTITIES:
            if names and name not in names:
                continue
            self.log.begin()
            before, killed = self.log.left_out, len(self.log.killed)
            # A stranger's numbers may be anything.
            with np.errstate(all="ignore"):
                row = self.row(name)
            if len(self.log.killed) > killed:
                # Whatever it says may come from a call that was not answered, or from a memory that was lost.
                trouble = Trouble(fault=Fault.KILLED, code=self.log.killed[-1])
                yield Row(name=name, verdict=Verdict.NOT_JUDGED, line=str(trouble), tried=0, trouble=trouble)
            elif row is not None:
                row = self._as_far_as_called(row, self.log.left_out - before)
                if row.verdict is Verdict.FAILS and (shown := self.log.shown(name, row.trouble)) is not None:
                    self._shown[name] = shown
                yield row

    def _as_far_as_called(self, row: Row, left_out: int) -> Row:
        """A row, which is not judged if what it says may come from calls that were not made."""
        is_sure = row.trouble is None or not row.trouble.is_unsure
        if not left_out or (row.verdict is Verdict.FAILS and is_sure):
            return row
        said = "one call of it was" if left_out == 1 else f"{left_out} calls of it were"
        line = f"{said} not made, for such calls had hung, ended the process or lost the accelerator"
        trouble = Trouble(fault=Fault.NOT_CALLED)
        return dataclasses.replace(
            row, verdict=Verdict.NOT_JUDGED, line=line, trouble=trouble, case="", counterexample=None
        )

    def replay(self, places: Sequence[Place], rows: Sequence[Row]) -> list[str]:
        """At most 15 lines of Python that make again the calls of some row that fails: of the fewest calls."""
        found = [self._shown[row.name] for row in rows if row.name in self._shown]
        about, left = [each.about() for each in self.callers], MOST_REPLAYS
        for shown in sorted(found, key=lambda each: len(each.tries[0])):
            for calls in shown.tries:
                lines = replays.snippet(self.log, shown, calls, places, about)
                if lines and left:
                    left -= 1
                    # A target that cannot be loaded once more shows nothing.
                    with contextlib.suppress(ValueError), contextlib.ExitStack() as block:
                        fresh = [each.again(block) for each in self.callers]
                        if holds_again(self.log, shown, calls, fresh):
                            return lines
        return []

    def against(self, caller: Caller) -> None:
        """Compare with another function that promises the same.

        Raises:
            ValueError: if this suite compares nothing.
        """
        raise ValueError(f"--against compares no two targets as {self.name}; {caller.name} can be judged by itself")

    @property
    def never_passed(self) -> list[str]:
        """The parameters of the target that nothing was handed over for: nobody knows what they do."""
        return self.callers[0].never_passed

    def notes(self) -> list[str]:
        """What is neither right nor wrong, and was seen on the way."""
        return []

    def snippet(self, place: Place, rows: Sequence[Row]) -> list[str]:
        """At most 15 lines of Python that show a counterexample of some row; none if there is none."""
        del place, rows
        return []


def kind_of(name: str) -> Kind:
    """The kind of a name.

    Raises:
        ValueError: if there is none.
    """
    if name not in KINDS:
        raise ValueError(f"there is no kind {name!r}; there are {', '.join(KINDS)}")
    return KINDS[name]


def suite_class(kind: str) -> type[Suite]:
    """The class of suites that judges a kind.

    Raises:
        ValueError: if there is no such kind.
    """
    module, _, name = kind_of(kind).suite.partition(":")
    found = getattr(import_module(f"attnlab_theory.conform.{module}"), name)
    if isinstance(found, type):
        return found
    return import_module("attnlab_theory.conform.declarations").suite_of(found)
