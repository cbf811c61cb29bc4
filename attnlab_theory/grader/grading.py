"""Judging somebody's own answer. Hypothesis looks for givens at which it fails, and makes them small."""

import contextlib
import itertools
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import jax
import numpy as np

from attnlab_theory.grader import replay
from attnlab_theory.grader.cases import finds, no_litter
from attnlab_theory.grader.contract import HINTS, Answer, Case, Contract, Faulty, Undecidable, template
from attnlab_theory.grader.judgement import Counterexample, Judgement
from attnlab_theory.grader.question_names import contract_of
from attnlab_theory.sandbox import fences
from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason
from attnlab_theory.sandbox.submission import Reply, Submission

AHEAD = 16
"""How many cases a submission gets before the first of them is answered."""


def template_of(question: str | Contract) -> str:
    """A runnable Python file to fill in.

    Raises:
        ValueError: if the question has no contract.
    """
    return template(contract_of(question) if isinstance(question, str) else question)


def check_answer(
    where: str,
    question: str | Contract,
    *,
    at: str = "",
    seed: int = 0,
    unfenced: bool = False,
    drawn: Sequence[Case] = (),
    progress: Callable[[int, int], None] = lambda done, planned: None,
    **limits: Any,
) -> Judgement:
    """Judge FILE.py::FUNCTION against the contract of a question.

    The cases are the same for the same seed. Everything is computed in float64, whatever jax's own setting. At a
    query of length 1e5 float32 cannot tell a right answer from a wrong one.

    After half of the time no new case is begun, so that there is time to catch an endless loop. If some cases have
    not been judged by then, the answer is INCONCLUSIVE. At the end every case is tried again, in an order that no
    answer can know. If an answer has changed, it is wrong.

    Args:
        where: FILE.py::FUNCTION.
        question: HOMEWORK/QUESTION, by any name that `contract_of` knows; or the contract itself.
        at: the description of one case, to try that one alone.
        seed: of the cases. 0 has those of every `attnlab check`.
        unfenced: whether to believe a verdict that the submission could have forged.
        drawn: the cases of `drawn_cases` for this seed, so that they need not be drawn again for a right answer.
        progress: called after every call with the number of calls so far, and the number that a right answer gets.
        limits: further arguments of `Submission`, such as `time_limit`.

    Raises:
        ValueError: if the question has no contract, or `at` describes none of its cases.
        Faulty: if somebody's own question is at fault.
        BrokenAnswer: if there is no such file or function.
        Exception: what the lab itself raised, as it was raised. No answer is at fault then.
    """
    contract = contract_of(question) if isinstance(question, str) else question
    only = replay.case_of(contract, at) if at else None
    submission = Submission(where, **limits)
    search = _Search(contract, submission, progress, only)
    search.drawn, search.seed = drawn, seed
    if isinstance(question, str) and question != contract.question:
        search.renamed = (f"{question} is called {contract.question} here.",)
    broken: BrokenAnswer | None = None
    with jax.enable_x64(True), no_litter():
        try:
            with submission:
                with contextlib.suppress(_Stop):
                    search.run()
                search.shrink_break()
                search.output = submission.output
        except BrokenAnswer as error:
            broken = error
    broken = broken or search.broken
    if search.failed is not None:
        raise search.failed
    if search.faulty is not None:
        raise search.faulty
    if broken is not None and broken.reason is None:
        raise broken
    return search.judgement(broken, believed=unfenced or fences.JUDGE not in submission.missing)


SHRINKS = (Reason.RAISED, Reason.WRONG_SHAPE, Reason.NOT_FINITE)
"""After these a submission answers on, so a smaller case can be found at which it breaks."""

MOST_SHRINKING = 80
"""So many cases are tried for that."""


class _Stop(BaseException):
    """This ends the search, because the time is up or the submission is broken.

    It is not an Exception, which Hypothesis would take for a wrong answer, and shrink.
    """


class _Search:
    """The search for a case at which one submission is wrong."""

    def __init__(
        self, contract: Contract, submission: Submission, progress: Callable[[int, int], None], only: Case | None
    ) -> None:
        self.contract, self.submission, self.progress, self.only = contract, submission, progress, only
        self.calls = 0
        self.at: Case | None = None
        self.errors: dict[Case, float] = {}
        self.answers: dict[Case, tuple[np.ndarray, ...]] = {}
        self.smallest: Counterexample | None = None
        self.broken: BrokenAnswer | None = None
        self.faulty: Faulty | None = None
        self.failed: Exception | None = None
        self.hint = ""
        self.undecided = 0
        self.misread = ""
        self.done = False
        self.drawn: Sequence[Case] = ()
        self.seed = 0
        self.ahead: deque[Case] = deque()
        self.output = ""
        self.notes: tuple[str, ...] = ()
        self.renamed: tuple[str, ...] = ()
        self.remarks: dict[str, None] = {}

    def run(self) -> None:
        """Try the drawn cases, the further ones, and all of them again, up to the first wrong answer."""
        if self.finds_a_miss():
            self.shorten()
        else:
            again = list(self.errors)
            random.SystemRandom().shuffle(again)
            self.in_turn(again, lambda case: self.ask(case) == ())
        self.done = True

    def shrink_break(self) -> None:
        """Look for a smaller case at which the answer breaks in the same way. It changes no verdict."""
        broken, at = self.broken, self.at
        if broken is None or broken.reason not in SHRINKS or self.only is not None or at is None:
            return
        before = self.errors.copy(), self.smallest, self.notes, self.undecided
        known: dict[Case, bool] = {}
        found = broken, at

        def breaks(case: Case) -> bool:
            nonlocal found
            if case in known:
                return known[case]
            if len(known) == MOST_SHRINKING or self.submission.left < 1 / 2:
                raise _Stop
            self.broken = None
            with contextlib.suppress(_Stop):
                self.misses(case)
            known[case] = self.broken is not None and self.broken.reason == broken.reason
            if known[case] and self.broken is not None:
                found = self.broken, case
            return known[case]

        with contextlib.suppress(_Stop):
            self._drop_those_ahead()
            finds(self.contract, breaks)
            any(breaks(case) for case in self.contract.shorter(found[1]))
        (self.broken, self.at), self.faulty = found, None
        self.errors, self.smallest, self.notes, self.undecided = before

    def shorten(self) -> None:
        """Look for a miss with short numbers. Whatever else happens meanwhile changes no verdict."""
        if self.only is None and self.smallest is not None:
            before = self.smallest, self.notes
            with contextlib.suppress(_Stop):
                self.in_turn(self.contract.shorter(self.smallest.case), self.misses)
            if self.broken or self.faulty:
                (self.smallest, self.notes), self.broken, self.faulty = before, None, None

    def finds_a_miss(self) -> bool:
        """Whether the answer is wrong at any case."""
        if self.only is not None:
            return self.misses(self.only)
        if self.drawn and not self.in_turn(self.drawn, self.misses):
            return self.in_turn(self.contract.besides, self.misses)
        # What misses at a case that was drawn before is searched from the beginning: only Hypothesis can shrink.
        if finds(self.contract, self.misses, self.seed):
            return True
        return self.in_turn(self.contract.besides, self.misses)

    def in_turn(self, cases: Sequence[Case], misses: Callable[[Case], bool]) -> bool:
        """Whether the answer is wrong at one of these cases. It computes the next while one is measured."""
        left = iter(cases)
        for case in cases:
            most = 1 if self.contract.asks_again else AHEAD
            for following in itertools.islice(left, most - len(self.ahead)):
                self.submission.send(*following.arguments, parts=len(following.shapes))
                self.ahead.append(following)
            if misses(case):
                self._drop_those_ahead()
                return True
        return False

    def _drop_those_ahead(self) -> None:
        while self.ahead:
            self.ahead.popleft()
            try:
                self.submission.receive()
            except BrokenAnswer as broken:
                # A miss is known: what goes on answers smaller cases, too, and what has ended does not.
                if broken.reason not in (Reason.RAISED, Reason.WRONG_SHAPE):
                    raise _Stop from None

    def misses(self, case: Case) -> bool:
        """Whether the answer's error at this case is greater than the tolerance."""
        try:
            return self._misses(case)
        except Faulty as error:
            # Hypothesis would take it for a wrong answer, and shrink.
            self.faulty = error
            raise _Stop from None
        except Exception as error:
            # The lab failed, and no answer did: a device may be missing, or there is a mistake of ours.
            self.failed = error
            raise _Stop from None

    def again(self, *arguments: Any) -> Answer:
        """The answer at other givens, for a check that asks for it."""
        try:
            replies = self.submission.call(*arguments, parts=len(self.contract.returns))
        except BrokenAnswer as broken:
            self.broken = broken
            raise _Stop from None
        return tuple(reply.array for reply in replies)

    def _misses(self, case: Case) -> bool:
        new = case not in self.errors
        replies = self.ask(case)
        answer = tuple(reply.array for reply in replies)
        answer, mistake = self.contract.misread(case, answer) or (answer, "")
        self._refuse_malformed(answer, case)
        try:
            measured = self.contract.measured(case, answer, self.again)
        except Undecidable as error:
            self._stop(BrokenAnswer(f"{error}; it is marked by hand", Reason.INCONCLUSIVE))
        self.errors[case] = measured.error
        for remark in filter(None, (measured.remark, mistake)):
            self.remarks[remark] = None
        if measured.undecided:
            self.undecided += new
            return False
        # Written so that NaN misses.
        if measured.error <= self.contract.tolerance:
            self.misread = self.misread or mistake
            return False
        # Hypothesis only shrinks, so a later miss is a smaller one.
        self.smallest = Counterexample(
            error=measured.error,
            case=case,
            given=dict(zip(self.contract.returns, (reply.array for reply in replies), strict=True)),
            seen=measured.seen,
            failed=measured.failed,
        )
        self.hint = measured.hint
        self.notes = _notes(answer, [reply.kind for reply in replies])
        return True

    def ask(self, case: Case) -> tuple[Reply, ...]:
        """The answer at this case. If it differs from an earlier one, the search ends."""
        if self.errors and self.submission.left < 1 / 2:
            raise _Stop
        self.at = case
        try:
            if self.ahead:
                self.ahead.popleft()
                replies = self.submission.receive()
            else:
                replies = self.submission.call(*case.arguments, parts=len(case.shapes))
        except BrokenAnswer as broken:
            self.broken = broken
            raise _Stop from None
        self.calls += 1
        # Every case is asked twice.
        cases = 1 if self.only else self.contract.examples + len(self.contract.besides)
        self.progress(self.calls, 2 * cases)
        answer = tuple(reply.array for reply in replies)
        before = self.answers.setdefault(case, answer)
        same = (
            old.shape == new.shape and np.array_equal(old, new, equal_nan=True)
            for old, new in zip(before, answer, strict=True)
        )
        if not all(same):
            self._stop(
                BrokenAnswer(f"{self.submission.where} gives different answers to the same givens", Reason.WRONG)
            )
        return replies

    def judgement(self, broken: BrokenAnswer | None, *, believed: bool) -> Judgement:
        """The verdict on what has been seen."""
        reason, said = Reason.RIGHT, ""
        if broken is not None:
            assert broken.reason is not None
            reason, said = broken.reason, str(broken)
        elif self.smallest is not None:
            reason = Reason.WRONG
        elif self.misread:
            reason, said = Reason.WRONG_SHAPE, self.misread
        elif not self.done:
            reason, said = (
                Reason.INCONCLUSIVE,
                (
                    "The answer is too slow: each case is tried twice, and half of the time limit did not suffice. "
                    f"The limit is {self.submission.time_limit:g} s of processor time, "
                    f"{self.submission.wall_limit:g} s in all. Make the answer faster, or raise --time-limit."
                ),
            )
        elif self.undecided:
            reason, said = (
                Reason.INCONCLUSIVE,
                (
                    f"In {self.undecided} of {len(self.errors)} cases the random draws do not decide whether the "
                    "answer is right: its error is too close to the tolerance."
                ),
            )
        elif not believed:
            reason, said = (
                Reason.INCONCLUSIVE,
                (
                    "The answer is within the tolerance in every case, but nothing on this machine keeps a "
                    "submission from forging its verdict. Say --unfenced if you trust its author."
                ),
            )
        counterexample = self.smallest if broken is None else None
        left = ", ".join(self.submission.never_passed(len(self.contract.parameters)))
        if broken is not None and self.at is not None:
            # None where it never answered.
            given = dict(zip(self.contract.returns, self.answers.get(self.at, ()), strict=False))
            counterexample = Counterexample(error=None, case=self.at, given=given, seen={})
        return Judgement(
            contract=self.contract,
            where=self.submission.where,
            reason=reason,
            said=said,
            cases=len(self.errors),
            seed=self.seed,
            worst=max(self.errors.values(), default=None),
            counterexample=counterexample,
            hint=self.hint_of(reason),
            notes=(
                *self.notes,
                *self.renamed,
                *self.remarks,
                *([f"Not run of the notebook: {self.submission.left_out}."] if self.submission.left_out else []),
                *(["Only this one case was tried."] if self.only else []),
                *([f"never passed: {left}"] if left else []),
            ),
            output=self.output if broken is None else broken.output or self.output,
            missing=self.submission.missing,
        )

    def hint_of(self, reason: Reason) -> str:
        """What to do: by the typical mistake that the answers show, by what does not hold, or by the reason."""
        hints = self.contract.hints
        general = hints.get(reason) or HINTS.get(reason, "")
        if reason not in (Reason.WRONG, Reason.WRONG_SHAPE, Reason.NOT_FINITE):
            return general
        return self.contract.mistake(self.answers) or (self.hint if reason == Reason.WRONG else "") or general

    def _stop(self, broken: BrokenAnswer) -> NoReturn:
        self.broken = broken
        raise _Stop

    def _refuse_malformed(self, answer: tuple[np.ndarray, ...], case: Case) -> None:
        who = self.submission.where
        for name, part, shape in zip(self.contract.returns, answer, case.shapes, strict=True):
            at = "; ".join(f"{label} = {text}" for label, text in list(case.shown().items())[:2])
            if shape is not None and part.shape != shape:
                said = f"{who} must return {name} of shape {shape}, but returned {part.shape}, at {at}"
                self._stop(BrokenAnswer(said, Reason.WRONG_SHAPE))
            if not (np.all(np.isfinite(part)) or self.contract.infinite(case)):
                bad = part[~np.isfinite(part)][0]
                said = f"{who} must return finite numbers, but {name} holds {bad}, at {at}"
                self._stop(BrokenAnswer(said, Reason.NOT_FINITE))


def _notes(answer: tuple[np.ndarray, ...], kinds: Iterable[str]) -> tuple[str, ...]:
    low = sorted({kind for kind in kinds if kind in ("float32", "float16", "bfloat16")})
    largest = max(float(np.max(np.abs(part), initial=0.0)) for part in answer)
    if not low or largest < 100:
        return ()
    return (
        f"The answer came back as {low[0]}, with numbers up to {largest:.3g}: its rounding alone moves scores. "
        "It is judged in float64; compute it in float64, too.",
    )
