"""What is found, as values: what became of an identity, and what went wrong with a call."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from attnlab_theory.conform.case import Case


class Verdict(enum.StrEnum):
    """What became of one identity."""

    HOLDS = "holds"
    FAILS = "fails"
    CONVENTION = "convention"
    """A choice, which is told and fails nobody."""
    NOT_JUDGED = "not judged"
    NOT_TRIED = "not tried"
    """There was nothing to try."""


class Fault(enum.StrEnum):
    """The kinds of trouble. The far side of a call names those that it sees by these words."""

    RAISED = "raised"
    """An exception. It is a refusal where a refusal is allowed."""
    EXITED = "exited"
    """The target called exit, which went no further."""
    HUNG = "hung"
    ENDED = "ended"
    """The process is gone, or was ended for what it did."""
    KILLED = "killed"
    """Somebody else ended the process. That says nothing of the target."""
    UNFIT = "unfit"
    """Nothing of that kind can be judged: the remedy is in the message."""
    SHAPE = "shape"
    NOT_FINITE = "not finite"
    WROTE = "wrote into its input"
    NOT_CALLED = "not called"
    """Calls like it had hung, or ended the process."""
    ANOTHER_ANSWER = "another answer"
    """The same call gave other numbers."""
    UNEQUAL = "unequal"
    """Two outputs that must have one shape have two."""
    FEWER = "fewer arrays"
    """Fewer arrays came back than are promised."""
    FUTURE = "reads the future"
    """It reads what its kind hides."""


LOST = "AcceleratorError"
"""The exception of torch after which no call of its process reaches the accelerator any more."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trouble:
    """What went wrong with a call, or with what came back. Fields that say nothing of a fault stay empty."""

    fault: Fault
    error: str = ""
    """The class of an exception."""
    message: str = ""
    """A stranger's own words, or those of whoever ended the process."""
    file: str = ""
    """Where it was raised."""
    line: int = 0
    seconds: float = 0.0
    """The limit."""
    code: str = ""
    """What exit was called with, or the name of the signal that killed the process."""
    gave: tuple[int, ...] = ()
    wanted: tuple[int | str, ...] = ()
    """Two shapes. A letter stands for any length."""
    count: int = 0
    """How many calls hung or ended the process."""
    like: str = ""
    """What this call has in common with them."""
    call: str = ""
    """What was handed over, where the call is named with the trouble."""

    @property
    def refuses(self) -> bool:
        """Whether it is a refusal: an exception, and no wrong answer."""
        return self.fault is Fault.RAISED

    @property
    def costs(self) -> bool:
        """Whether the call hung, or was left out because such calls did."""
        return self.fault in (Fault.HUNG, Fault.NOT_CALLED)

    @property
    def loses_device(self) -> bool:
        """Whether no later call of the process reaches the accelerator."""
        return self.error == LOST

    @property
    def is_unsure(self) -> bool:
        """Whether a call that is not made may be its cause."""
        return self.fault in (Fault.NOT_CALLED, Fault.ANOTHER_ANSWER, Fault.KILLED)

    def of(self, call: str) -> "Trouble":
        """The same trouble, with what was handed over."""
        return dataclasses.replace(self, call=f"{call}: {self.call}" if self.call else call)

    def is_that_of(self, other: "Trouble | None") -> bool:
        """Whether it is the trouble of another call, or of the same one, whatever was handed over."""
        return other is not None and dataclasses.replace(self, call="") == dataclasses.replace(other, call="")

    def __str__(self) -> str:
        """In one line, for the laws that still write their own sentences."""
        return f"{self.call}: {self._words()}" if self.call else self._words()

    def _words(self) -> str:
        place = f" ({self.file}, line {self.line})" if self.file else ""
        match self.fault:
            case Fault.RAISED:
                return (f"{self.error}: {self.message}" if self.message else self.error) + place
            case Fault.EXITED:
                return f"called exit({self.code}){place}"
            case Fault.HUNG:
                return self.message or f"took longer than {self.seconds:g} s"
            case Fault.SHAPE:
                return f"gave {[*self.gave]} where [{', '.join(map(repr, self.wanted))}] was expected"
            case Fault.NOT_CALLED:
                if self.error:
                    return f"not called: the {self.error} of a call before it left the accelerator unusable"
                like = f", {self.like}" if self.like else ""
                return f"not called: {self.count} calls before it hung or ended the process{like}"
            case Fault.FEWER:
                return f"gave {self.gave[0]} array where {self.wanted[0]} were expected"
            case Fault.UNEQUAL:
                return "queries and keys have different numbers of features"
            case Fault.KILLED:
                return f"its process was killed from outside ({self.code})"
            case Fault.ENDED | Fault.UNFIT:
                return self.message
        return str(self.fault)


ANOTHER_ANSWER = Trouble(fault=Fault.ANOTHER_ANSWER)
WROTE = Trouble(fault=Fault.WROTE)
NOT_FINITE = Trouble(fault=Fault.NOT_FINITE)
FUTURE = Trouble(fault=Fault.FUTURE)

LEAKS = ("causality", "future")
"""Identities that only a leak of the future breaks. Where one fails, other numbers are wrong for that alone."""


def misshapen(gave: tuple[int, ...], wanted: tuple[int | str, ...]) -> Trouble:
    """The trouble of an answer of another shape."""
    return Trouble(fault=Fault.SHAPE, gave=tuple(gave), wanted=tuple(wanted))


def trouble_of(report: Mapping[str, Any]) -> Trouble | None:
    """The trouble of a call, from what the far side reports; None if there was none.

    Args:
        report: of `harness.Host.call`, whose `trouble` is a `Fault` by its word, or a `Trouble` of the near side.
            Words that are no fault are those of whoever ended the process.
    """
    found = report["trouble"]
    if not found or isinstance(found, Trouble):
        return found or None
    if found not in tuple(Fault):
        return Trouble(fault=Fault.ENDED, message=found)
    return Trouble(fault=Fault(found), **report["about"])


class Number(NamedTuple):
    """A number of an answer that is wrong."""

    given: float
    right: float
    place: tuple[int, ...]
    """Where it stands, by the axes of the kind."""
    origin: tuple[int, ...] | None = None
    """The entry of its row from which it counts."""
    most: float = 0.0
    """How far off it may be; 0 where that is not known."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """What became of one identity."""

    identity: str = ""
    verdict: Verdict
    tried: int = 1
    """How many cases or calls."""
    failures: int = 0
    """How many of them failed."""
    ratio: float = 0.0
    """The largest error over its tolerance."""
    trouble: Trouble | None = None
    """What was wrong, where that is more than a number."""
    number: Number | None = None
    """The number that is most wrong."""
    case: "Case | None" = None
    """The call that shows it."""
    beside: "Case | None" = None
    """The call whose answer is the right one, where no formula gives it."""
    loose: int = 0
    """How many cases had no number of which anything can be said."""
    fact: str = ""
    """What was found beside right and wrong numbers, by its key in `say.FACTS`."""
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The data of the fact."""


NOT_TRIED = Finding(verdict=Verdict.NOT_TRIED, tried=0)


OFF = "switch dropout off, and keep no state between calls"
"""How equal calls give equal numbers."""


def draws(name: str, mode: str) -> str:
    """What is said of a target that draws random numbers where it must not, maybe in a mode, and the remedy."""
    where, remedy = f" in {mode} mode" * bool(mode), "hand over module.eval()" if mode == "training" else ""
    return f"{name} draws random numbers{where}: two equal calls differ; {remedy or OFF}"
