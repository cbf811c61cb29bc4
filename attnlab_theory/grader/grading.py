"""Judging somebody's own answer: Hypothesis looks for givens at which it fails, and shrinks what it finds."""

import contextlib
import dataclasses
import difflib
import enum
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.configuration
import jax
import numpy as np
from hypothesis.errors import NoSuchExample
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attnlab_theory.answers import sheet
from attnlab_theory.grader.contract import Case, Contract, template
from attnlab_theory.grader.contracts import CONTRACTS
from attnlab_theory.grader.contracts.frames import numbers
from attnlab_theory.grader.submission import TIME_LIMIT, BrokenAnswer, Reply, Submission

RIGHT, NOT_RIGHT, BROKEN = 0, 1, 2
"""Exit codes. NOT_RIGHT stands for WRONG and INCONCLUSIVE; BROKEN goes with BrokenAnswer, a ValueError."""


class Grade(enum.StrEnum):
    """What is said of an answer."""

    RIGHT = "RIGHT"
    """It is within the tolerance in all the cases that its contract promises, and gave the same answers twice."""
    WRONG = "WRONG"
    """A counterexample stands beside it."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """No counterexample was found, but not every case was judged."""


SETTINGS = hypothesis.settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    verbosity=hypothesis.Verbosity.quiet,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counterexample:
    """Givens at which an answer misses."""

    error: float
    givens: dict[str, str]
    answer: dict[str, str]
    seen: dict[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judgement:
    """What became of one submission."""

    question: str
    where: str
    tolerance: float
    cases: int
    """How many cases it was judged on, repeated ones counted once."""
    worst: float
    """The largest error of all cases judged."""
    counterexample: Counterexample | None
    """The smallest found, or None."""
    unfinished: str = ""
    """Why not every case was judged; empty if every one was."""
    notes: tuple[str, ...] = ()

    @property
    def grade(self) -> Grade:
        """What is said of the answer."""
        if self.counterexample is not None:
            return Grade.WRONG
        return Grade.INCONCLUSIVE if self.unfinished else Grade.RIGHT

    @property
    def exit_code(self) -> int:
        """0 right, 1 wrong or inconclusive; a broken file never gets this far."""
        return RIGHT if self.grade == Grade.RIGHT else NOT_RIGHT

    def as_json(self) -> dict[str, Any]:
        """Plain values; an infinite error becomes None."""
        finite = {"error": self.counterexample.error if self.counterexample else None, "worst": self.worst}
        finite = {
            name: value if value is not None and np.isfinite(value) else None for name, value in finite.items()
        }
        counterexample = None
        if self.counterexample:
            counterexample = dataclasses.asdict(self.counterexample) | {"error": finite["error"]}
        return {
            "question": self.question,
            "answer": self.where,
            "verdict": str(self.grade),
            "right": self.grade == Grade.RIGHT,
            "unfinished": self.unfinished,
            "cases": self.cases,
            "tolerance": self.tolerance,
            "worst": finite["worst"],
            "counterexample": counterexample,
            "notes": list(self.notes),
        }


def contract_of(question: str) -> Contract:
    """The contract of a question.

    Raises:
        ValueError: if there is none: with the reason if the question is on the answer sheet, with the nearest id
            that has one if it is not.
    """
    if question in CONTRACTS:
        return CONTRACTS[question]
    if question in {entry.id for entry in sheet.entries()}:
        raise ValueError(
            f"{question} asks for words, which code cannot judge; attnlab answers {question} shows what is "
            f"measured; to be checked are {', '.join(CONTRACTS)}"
        )
    close = difflib.get_close_matches(question, CONTRACTS, n=1, cutoff=0.0)[0]
    raise ValueError(
        f"no question '{question}' can be checked; the nearest that can is {close} (of {', '.join(CONTRACTS)})"
    )


def template_of(question: str) -> str:
    """A runnable Python file to fill in.

    Raises:
        ValueError: as `contract_of`.
    """
    return template(contract_of(question))


def check_answer(
    where: str,
    question: str,
    *,
    time_limit: float = TIME_LIMIT,
    asked: Callable[[int, int], None] = lambda done, planned: None,
) -> Judgement:
    """Judge FILE.py::FUNCTION against the contract of a question.

    The cases are the same on every run. Everything is computed in float64, whatever jax's setting is
    outside: at a query of length 1e5 float32 cannot tell a right answer from a wrong one. After half the
    time limit no new case is begun, so that an endless loop is still caught; an answer that was not judged on
    every case by then is INCONCLUSIVE. At the end every case is asked once more, in an order that no answer can
    know: an answer that has changed is refused.

    Args:
        where: FILE.py::FUNCTION.
        question: HOMEWORK/QUESTION.
        time_limit: seconds for the submission, its imports included.
        asked: told after every call how many there have been, and how many there will be for a right answer.

    Raises:
        ValueError: if the question has no contract; as BrokenAnswer, if the submission cannot be judged.
    """
    contract = contract_of(question)
    with Submission(where, time_limit=time_limit) as submission, jax.enable_x64(True), _no_litter():
        search = _Search(contract, submission, asked)
        try:
            search.run()
        except _Stop as stop:
            if stop.broken is not None:
                raise stop.broken from None
        return search.judgement()


class _Stop(BaseException):
    """Ends the search: the time is up, or the submission is broken.

    Not an Exception, for that Hypothesis would take for a miss, and shrink.
    """

    def __init__(self, broken: BrokenAnswer | None = None) -> None:
        self.broken = broken


class _Search:
    """What has been seen of one submission so far."""

    def __init__(self, contract: Contract, submission: Submission, asked: Callable[[int, int], None]) -> None:
        self.contract, self.submission, self.asked = contract, submission, asked
        self.calls = 0
        self.errors: dict[Case, float] = {}
        self.answers: dict[Case, tuple[np.ndarray, ...]] = {}
        self.smallest: Counterexample | None = None
        self.undecided = 0
        self.done = False
        self.notes: tuple[str, ...] = ()
        self.remarks: dict[str, None] = {}

    def run(self) -> None:
        """Ask the drawn cases, those besides, and all of them again, up to the first miss."""
        settings = hypothesis.settings(SETTINGS, max_examples=self.contract.examples)
        try:
            hypothesis.find(self.contract.cases(), self.misses, settings=settings)
        except NoSuchExample:
            if not any(self.misses(case) for case in self.contract.besides):
                again = list(self.errors)
                random.SystemRandom().shuffle(again)
                for case in again:
                    self.ask(case)
        self.done = True

    def misses(self, case: Case) -> bool:
        """Whether the answer misses the tolerance at this case."""
        new = case not in self.errors
        replies = self.ask(case)
        answer = tuple(reply.array for reply in replies)
        try:
            self._refuse_malformed(answer, case)
        except BrokenAnswer as broken:
            raise _Stop(broken) from None
        measured = case.measure(answer)
        self.errors[case] = measured.error
        if measured.remark:
            self.remarks[measured.remark] = None
        if measured.undecided:
            self.undecided += new
            return False
        # Written so that NaN misses.
        if measured.error <= self.contract.tolerance:
            return False
        # Hypothesis only shrinks, so a later miss is a smaller one.
        names = list(self.contract.returns)
        self.smallest = Counterexample(
            error=measured.error,
            givens=case.shown(),
            answer={name: numbers(part) for name, part in zip(names, answer, strict=True)},
            seen=measured.seen,
        )
        self.notes = _notes(answer, [reply.kind for reply in replies])
        return True

    def ask(self, case: Case) -> tuple[Reply, ...]:
        """The answer at this case; one that differs from an earlier one ends the search."""
        if self.errors and self.submission.seconds_left < self.submission.time_limit / 2:
            raise _Stop
        try:
            replies = self.submission.call(*case.arguments, parts=len(case.shapes))
        except BrokenAnswer as broken:
            raise _Stop(broken) from None
        self.calls += 1
        # Every case is asked twice.
        self.asked(self.calls, 2 * (self.contract.examples + len(self.contract.besides)))
        answer = tuple(reply.array for reply in replies)
        before = self.answers.setdefault(case, answer)
        if not all(np.array_equal(old, new, equal_nan=True) for old, new in zip(before, answer, strict=True)):
            raise _Stop(BrokenAnswer(f"{self.submission.where} gives different answers to the same givens"))
        return replies

    def judgement(self) -> Judgement:
        """The verdict on what has been seen."""
        unfinished = ""
        if not self.done:
            unfinished = (
                f"Half of the time limit of {self.submission.time_limit:g} s was over before every case was judged "
                "and asked again. Make the answer faster, or raise --time-limit."
            )
        elif self.undecided:
            unfinished = (
                f"In {self.undecided} of {len(self.errors)} cases the draws decide neither for the answer nor "
                "against it: it is too close to what is allowed."
            )
        return Judgement(
            question=self.contract.question,
            where=self.submission.where,
            tolerance=self.contract.tolerance,
            cases=len(self.errors),
            worst=max(self.errors.values()),
            counterexample=self.smallest,
            unfinished=unfinished,
            notes=(*self.notes, *self.remarks),
        )

    def _refuse_malformed(self, answer: tuple[np.ndarray, ...], case: Case) -> None:
        who = self.submission.where
        for name, part, shape in zip(self.contract.returns, answer, case.shapes, strict=True):
            if part.shape == shape and np.all(np.isfinite(part)):
                continue
            at = "; ".join(f"{label} = {text}" for label, text in list(case.shown().items())[:2])
            if part.shape != shape:
                raise BrokenAnswer(f"{who} must return {name} of shape {shape}, but returned {part.shape}, at {at}")
            bad = part[~np.isfinite(part)][0]
            raise BrokenAnswer(f"{who} must return finite numbers, but {name} holds {bad}, at {at}")


def _notes(answer: tuple[np.ndarray, ...], kinds: Iterable[str]) -> tuple[str, ...]:
    low = sorted({kind for kind in kinds if kind in ("float32", "float16", "bfloat16")})
    largest = max(float(np.max(np.abs(part), initial=0.0)) for part in answer)
    if not low or largest < 100:
        return ()
    return (
        f"The answer came back as {low[0]}, with numbers up to {largest:.3g}: its rounding alone moves scores. "
        "It is judged in float64; compute it in float64, too.",
    )


@contextlib.contextmanager
def _no_litter() -> Iterator[None]:
    # Hypothesis caches what it reads of the source in the working folder, which is the user's.
    with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
        hypothesis.configuration.set_hypothesis_home_dir(Path(folder))
        try:
            yield
        finally:
            hypothesis.configuration.set_hypothesis_home_dir(None)


def judgement_text(judgement: Judgement) -> RenderableType:
    """A judgement for the terminal."""
    found = judgement.counterexample
    name = f"{judgement.question}  {judgement.where}  "
    cases = f"{judgement.cases} case{'s' if judgement.cases != 1 else ''}"
    notes = [Text(note) for note in judgement.notes]
    if found is None:
        style = "green" if judgement.grade == Grade.RIGHT else "yellow"
        note = f"\nlargest error {judgement.worst:.2g} on {cases}; {judgement.tolerance:g} is allowed"
        why = [Text(judgement.unfinished)] if judgement.unfinished else []
        return Group(Text.assemble(name, (str(judgement.grade), style), note), *why, *notes)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    sections = {"the smallest counterexample found": found.givens, "the answer there": found.answer, "": found.seen}
    for heading, lines in sections.items():
        if heading:
            table.add_row(Text(heading, style="bold"), "")
        for label, text in lines.items():
            table.add_row(f"  {label}", Text(text.replace(") (", ")\n(")))
    by = f"off by {found.error:.6g} where {judgement.tolerance:g} is allowed; judged on {cases}"
    return Group(Text.assemble(name, (str(judgement.grade), "red")), Text(by), table, *notes)
