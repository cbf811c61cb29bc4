"""What the suites of this folder share: how a target is asked, and how two of its answers are compared."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnlab_theory.conform.calls import Kept, Reply, call
from attnlab_theory.conform.finding import Trouble, Verdict
from attnlab_theory.conform.precision import Answers, Arrays, Precision, narrower
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.sequences.rounding import apart
from attnlab_theory.conform.suite import LawSuite, Said, failed
from attnlab_theory.conform.templates import ADAPTER as REMEDY

if TYPE_CHECKING:
    pass

LENGTHS = (1, 2, 12, 15, 16, 17, 33, 63, 64, 65, 127, 128, 130)
"""Tokens, on both sides of the edges of blocks."""

COMPILED = (1, 5, 17, 33)
"""Tokens of a jax target, which compiles a program for each."""

POLITE = ("ValueError", "NotImplementedError", "AssertionError")
"""Errors by which a length in the middle may be refused."""

CAUSAL = ("causal", "is_causal")
"""What a flag is called that hides the future."""


class Distance(NamedTuple):
    """Two answers beside each other."""

    ratio: float
    """The largest distance over its tolerance."""
    error: float
    """The distance there."""
    place: tuple[int, ...] = ()
    ratios: Any = 0.0
    """How wrong each entry is."""

    @property
    def fails(self) -> bool:
        """Whether they are too far apart."""
        return not self.ratio <= 1


class SequenceSuite(LawSuite):
    """A target that is compared with itself."""

    framework = "numpy"

    def ask(self, *given: np.ndarray | Kept, kind: str = "float32", **options: Any) -> Reply:
        """Make one call, and remember what no call may do."""
        reply = call(
            self.caller, *given, framework=self.framework, kind=kind, watched=self.met is not None, **options
        )
        self.calls += 1
        self.places_of |= {k.number: n for k, n in zip(reply.kept, reply.one, strict=False) if n >= 0}
        if self.met is not None:
            self.met |= {*reply.narrow}
        if reply.changed and self.written is None:
            self.written = [*reply.changed]
        self.printed = self.printed or reply.printed
        self.note(reply.trouble)
        return reply

    def open(self) -> None:
        """Look at the target, and begin to count."""
        if self.accumulate is not None:
            raise ValueError(f"--accumulate says nothing of --as {self.name}: the target is compared with itself")
        self.written: list[int] | None = None
        self.printed = ""
        self.precision = Precision()
        self.met: set[str] | None = None
        """The types narrower than float64 that were met, while calls are watched."""
        self._narrow = False
        self.places_of: dict[int, int] = {}
        """The first object whose numbers lie in the same place, for each kept object, by their numbers."""
        self.about = self.caller.about()
        self.find()
        self.calls, self._hung = 0, 0

    def find(self) -> None:
        """Find out how the target wants to be called, and fill the profile."""
        raise NotImplementedError

    def frameworks(self) -> list[str]:
        """Those to try."""
        if "framework" in self.declared:
            return [self.declared["framework"]]
        return [*self.about["uses"], "numpy"]

    def refused(self, tried: Sequence[str], said: str) -> ValueError:
        """The error of a target that answered no trial call."""
        why = "; ".join(dict.fromkeys(tried[:2]))
        return ValueError(f"{self.caller.name} answered no trial call. {why}. {said}, or {REMEDY}")

    def refuse_chance(self, one: Reply, other: Reply) -> None:
        """Refuse a module in training mode whose two equal calls differ.

        Raises:
            ValueError: then nothing can be said of it. Nor can it if one of the calls has trouble.
        """
        if trouble := one.trouble or other.trouble:
            raise ValueError(f"{self.caller.name} answered a call, and not the same call again: {trouble}")
        if self.about["training"] and not same(one, other):
            raise ValueError(
                f"{self.caller.name} is a module in training mode, and two equal calls differ: "
                "hand over module.eval()"
            )

    def compared(self, one: np.ndarray, other: np.ndarray, tolerance: Any) -> Distance:
        """Two answers of one shape beside each other.

        Args:
            one: an answer.
            other: the answer that it should be.
            tolerance: a number, or one for each entry.
        """
        return self._seen(one, other, beside(one, other, tolerance))

    def compared_as(
        self,
        kind: str,
        one: np.ndarray,
        other: np.ndarray,
        tolerance: Callable[[str], float],
        answers: Answers,
        given: Arrays,
    ) -> Distance:
        """Two answers beside each other; those to float64 by float32, if that is what they are computed in.

        Args:
            kind: the type of the inputs.
            one: an answer.
            other: the answer that it should be.
            tolerance: of a type.
            answers: the way by which one of them came.
            given: the inputs.
        """

        def judged(narrower: str | None) -> Distance:
            return beside(one, other, tolerance(narrower or kind))

        return self._seen(
            one, other, self.precision.judged(kind, judged, lambda: self._computes_in_float32(answers, given))
        )

    def _computes_in_float32(self, answers: Answers, given: Arrays) -> bool:
        """Whether float64 is computed in float32 somewhere; once that is known, nobody is asked again."""
        self._narrow = self._narrow or narrower(answers, given)
        if not self._narrow:
            self.met = set()
            answers(given)
            self._narrow, self.met = bool(self.met), None
        return self._narrow

    def _seen(self, one: np.ndarray, other: np.ndarray, verdict: Distance) -> Distance:
        saw(self.caller, one, other, verdict.ratios)
        if verdict.ratio <= 1:
            self.largest = max(self.largest, verdict.ratio)
        return verdict

    def notes(self) -> list[str]:
        """What was printed, and the mode of a module."""
        found = [f"prints while it is called: {self.printed!r}"] * bool(self.printed)
        if self.about["training"]:
            found.append("it is a module in training mode; hand over module.eval() to judge the other")
        return found


def beside(one: np.ndarray, other: np.ndarray, tolerance: Any) -> Distance:
    """How far two answers of one shape are apart, by a tolerance for all or for each entry."""
    gap = apart(one, other)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(gap == 0, 0.0, gap / tolerance)
    if not ratios.size:
        return Distance(0.0, 0.0)
    place = np.unravel_index(int(ratios.argmax()), ratios.shape)
    return Distance(float(ratios[place]), float(gap[place]), tuple(int(i) for i in place), ratios)


def same(one: Reply, other: Reply) -> bool:
    """Whether two calls without trouble gave the same bits."""
    return len(one.arrays) == len(other.arrays) and all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(one.arrays, other.arrays, strict=True)
    )


def off(verdict: Distance) -> str:
    """How far off, in words."""
    if np.isinf(verdict.error):
        return "one of them is no number"
    return f"apart by {verdict.error:.2g}, {verdict.ratio:,.2g} tolerances"


def unsaid(parameters: Sequence[Sequence[Any]] | None, *known: str) -> list[str]:
    """The parameters that must be given, and of which nothing is known."""
    return [name for name, kind, must in parameters or () if must and name not in known and "VAR" not in kind]


def named(parameters: Sequence[Sequence[Any]] | None, names: Sequence[str]) -> str:
    """The first parameter that has one of some names; empty if none has."""
    found = [name for name, *_ in parameters or () if name.lower() in names]
    return found[0] if found else ""


def first_places(parameters: Sequence[Sequence[Any]] | None) -> list[str]:
    """The parameters that are given by their place, in order."""
    return [name for name, kind, _ in parameters or () if kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]


def told_lengths(lengths: Sequence[int], refused: Mapping[int, Trouble]) -> Said | None:
    """What is to be said of lengths that were refused; None if none was."""
    if not refused:
        return None
    taken = [n for n in lengths if n not in refused]
    first = min(refused)
    why = refused[first]
    if not taken:
        return failed(why, f"{first} tokens: ", len(lengths))
    inner = [n for n in refused if n < max(taken) and refused[n].error not in POLITE]
    if inner:
        trouble = refused[inner[0]]
        line = f"{inner[0]} tokens: {trouble}; {max(taken)} are taken"
        return Said(Verdict.FAILS, line, len(lengths), trouble=trouble)
    line = f"{', '.join(map(str, sorted(refused)))} tokens are refused: {why}"
    return Said(Verdict.CONVENTION, line, len(lengths), trouble=why)


Law = Callable[[Any], Said]
