"""Contracts of somebody's own questions: a TOML file says what is asked, and functions beside it judge the answers.

These functions belong to whoever wrote the homework. They run in a process of their own, and end in time
(`own_functions.py`). The submitted function runs in its fences.
"""

import ast
import contextlib
import dataclasses
import difflib
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from hypothesis import strategies as st

from attnlab_theory.answers.homework import Homework, Question
from attnlab_theory.grader.cases import drawn_cases
from attnlab_theory.grader.contract import Answer, Ask, Case, Contract, Faulty, Measurement, Undecidable
from attnlab_theory.grader.own_functions import Asking, Failed, Function, Functions, Numbers, Other
from attnlab_theory.sandbox.reasons import Reason

MOST_SEED = 2**16

SHORT = 8
"""So many seeds of each size are tried for a counterexample with short numbers."""

RECOGNISED = 20
"""At so many cases an answer is compared with a typical wrong one."""

SPECIAL = ("answer", "expected", "f")
"""What a check may ask for beside the givens: the answer, the reference's answer, and the submitted function."""

FAILURES = tuple(str(reason) for reason in Reason if reason.exit_code == 1)
"""The reasons for which a question may have a hint."""


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Givens that the homework's own function draws. Each question has a subclass with its `judge`."""

    judge: ClassVar["Judge"]
    size: int
    seed: int
    short: bool = False

    def __post_init__(self) -> None:
        most = self.judge.question.largest
        if not (type(self.size) is int and 1 <= self.size <= most):
            raise ValueError(f"the size is a whole number from 1 to {most}, not {self.size!r:.20}")
        if not (type(self.seed) is int and 0 <= self.seed <= MOST_SEED and type(self.short) is bool):
            raise ValueError(f"the seed is a whole number from 0 to {MOST_SEED}, not {self.seed!r:.20}")

    @functools.cached_property
    def givens(self) -> dict[str, Any]:
        """The arguments by their names."""
        return self.judge.draw(self)

    @functools.cached_property
    def expected(self) -> Answer | None:
        """What the reference returns; None without a reference."""
        return self.judge.computed("reference", self.judge.question.reference, self.givens)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The givens, in the order of the signature."""
        return tuple(self.givens.values())

    @property
    def shapes(self) -> tuple[tuple[int, ...] | None, ...]:
        """The shapes of the reference's arrays. Without a reference any shape will do."""
        return (None,) * len(self.judge.returns) if self.expected is None else tuple(a.shape for a in self.expected)

    def shown(self) -> dict[str, str]:
        """The givens."""
        return {name: _shown(value) for name, value in self.givens.items()}

    def measure(self, answer: Answer) -> Measurement:
        """Judge an answer that is not asked again."""
        return self.judge.measured(self, answer, _cannot_ask)


def _cannot_ask(*_: Any) -> Answer:
    raise RuntimeError("nobody can be asked")


def _shown(value: Any) -> str:
    from attnlab_theory.grader.contracts.frames import numbers

    return numbers(value) if isinstance(value, np.ndarray) and value.dtype != bool else _truths(value)


def _truths(value: Any) -> str:
    return str(value.astype(int).tolist()) if isinstance(value, np.ndarray) else str(value)


@functools.cache
def contracts(homework: Homework) -> dict[str, Contract]:
    """The contracts of a homework's own questions, by the part of the id after the homework.

    Each is tried once: its givens are drawn, and its own reference is judged.

    Raises:
        ValueError: if a function does not exist, raises, or returns something of a wrong form.
    """
    return {part: judge.contract() for part, judge in judges(homework).items()}


@functools.cache
def judges(homework: Homework) -> "dict[str, Judge]":
    """What judges the homework's own questions, by the part of the id."""
    return {each.id: Judge(homework, each) for each in homework.questions if each.signature}


class Trial(NamedTuple):
    """What became of the reference, or of a typical wrong answer."""

    name: str
    is_reference: bool
    as_expected: bool
    """Whether the reference is right, or the wrong answer is found out and gets its own hint."""
    remark: str = ""
    """What else came out."""


class Judge:
    """Draws, references and checks of one question."""

    def __init__(self, homework: Homework, question: Question) -> None:
        self.homework, self.question = homework, question
        self.written = _functions(homework.code_path, homework.code)
        function = question.function
        self.parameters = {each.arg: ast.unparse(each) for each in function.args.args}
        parts = 1
        if isinstance(function.returns, ast.Subscript) and ast.unparse(function.returns.value) == "tuple":
            elements = function.returns.slice
            parts = len(elements.elts) if isinstance(elements, ast.Tuple) else 1
        self.name = function.name
        self.returns = dict(question.returns) or {
            f"out{number}" if parts > 1 else "out": "see the question" for number in range(1, parts + 1)
        }
        if len(self.returns) != parts:
            raise homework.refused(question, "returns", dict(question.returns), f"the signature returns {parts}")
        if taken := [name for name in SPECIAL if name in self.parameters]:
            remedy = f"checks get something else by the name {taken[0]}; choose another"
            raise homework.refused(question, "signature", question.signature, remedy)
        self.functions = {question.draw: self._function("draw", question.draw, ("rng", "size"))}
        if question.reference:
            self.functions[question.reference] = self._function("reference", question.reference, [*self.parameters])
        for name in question.holds:
            self.functions[name] = self._function("holds", name, None)
        self.mistakes = [name for name in question.hints if name not in FAILURES and name not in question.holds]
        for name in self.mistakes:
            if name not in self.written.known:
                known = f"{', '.join(FAILURES)}, a name in holds, or a function that makes the mistake"
                raise homework.refused(question, "hints", name, f"a hint belongs to one of these: {known}")
            self.functions[name] = self._function("hints", name, [*self.parameters])
        self.case = type("Drawn", (Drawn,), {"judge": self})
        self._try()

    def _function(self, key: str, name: str, wanted: Sequence[str] | None) -> Function:
        """A function of the homework, if it takes these parameters."""
        found = self.written.known.get(name)
        if found is None:
            every = [each for each, function in self.written.known.items() if function.is_function]
            near = difflib.get_close_matches(name, every, n=1)
            meant = f"; is {near[0]} meant?" if near else ""
            raise self._refused(key, name, f"{self.homework.code_path} has no function {name}{meant}")
        has = [*found.parameters]
        allowed = [*self.parameters, *(each for each in SPECIAL if each != "expected" or self.question.reference)]
        if wanted is None and (other := [each for each in has if each not in allowed]):
            remedy = f"{name} asks for {other[0]}, and a check gets of {', '.join(allowed)} what it asks for"
            raise self._refused(key, name, remedy)
        if wanted is not None and has != list(wanted):
            raise self._refused(key, name, f"write def {name}({', '.join(wanted)}), and not ({', '.join(has)})")
        return found

    def _refused(self, key: str, value: Any, remedy: str) -> ValueError:
        return self.homework.refused(self.question, key, value, remedy)

    def _faulty(self, key: str, name: str, said: str) -> Faulty:
        return Faulty(str(self._refused(key, name, said)))

    def _called(self, key: str, name: str, *arguments: Any) -> Any:
        """What a function of the homework returns.

        Raises:
            Faulty: naming it, if it raises, ends its process or does not end in time.
        """
        try:
            return self.written.call(name, self.question.seconds, *arguments)
        except Failed as error:
            raise self._faulty(key, name, f"{name} {self._mended(error)}") from error

    def _mended(self, error: Failed) -> str:
        """The error, and what to do about it."""
        more = f" ({self.homework.code_path}); mend it, or raise seconds" if error.is_late else "; mend it"
        return f"{error}{more}"

    def draw(self, case: Drawn) -> dict[str, Any]:
        """The givens of a case, as the signature orders them."""
        name = self.question.draw
        drawn = self._called("draw", name, Numbers(case.seed, case.size, case.short), case.size)
        if not isinstance(drawn, dict) or set(drawn) != set(self.parameters):
            has = f"the keys {', '.join(drawn)}" if isinstance(drawn, dict) else f"a {_kind(drawn)}"
            wanted = ", ".join(f'"{each}": ...' for each in self.parameters)
            raise self._faulty("draw", name, f"{name} returns {has}, but a dict {{{wanted}}} is asked for")
        givens = {}
        for each in self.parameters:
            value = drawn[each]
            is_array = isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
            if not is_array and not (value is None or isinstance(value, bool | int | float | str)):
                remedy = "give an array of numbers, a number or a text"
                raise self._faulty("draw", name, f"{each} is a {_kind(value)}; {remedy}")
            givens[each] = value
        return givens

    def computed(self, key: str, name: str, givens: Mapping[str, Any]) -> Answer | None:
        """What the reference, or a typical wrong answer, returns; None without a name."""
        if not name:
            return None
        found = self._called(key, name, *givens.values())
        parts = list(found) if len(self.returns) > 1 and isinstance(found, tuple | list) else [found]
        try:
            if any(np.iscomplexobj(part) for part in parts):
                raise TypeError
            arrays = tuple(np.asarray(part, dtype=np.float64) for part in parts)
        except (TypeError, ValueError):
            raise self._faulty(key, name, f"{name} returns something that is no array of real numbers") from None
        if len(arrays) != len(self.returns):
            said = f"{name} returns {len(arrays)} arrays, and the signature {len(self.returns)}"
            raise self._faulty(key, name, said)
        if key == "reference" and any(np.any(np.isnan(array)) for array in arrays):
            # Else an answer of NaN would be right.
            raise self._faulty(key, name, f"{name} returns NaN; mend it, or draw other givens")
        return arrays

    def measured(self, case: Case, answer: Answer, ask: Ask) -> Measurement:
        """The largest difference from the reference, and what else does not hold."""
        assert isinstance(case, Drawn)
        tolerance, seen = self.question.tolerance, {}
        error, failed, hint = 0.0, "", ""
        if case.expected is not None:
            error = max(map(_distance, answer, case.expected))
            one = len(self.returns) == 1
            for name, part in zip(self.returns, case.expected, strict=True):
                seen["expected" if one else f"expected {name}"] = _shown(part)
        is_wrong = not error <= tolerance
        for name in self.question.holds:
            try:
                off = self._check(name, case, answer, ask)
            except Undecidable:
                # The reference has told already what is wrong.
                if is_wrong:
                    continue
                raise
            if not off <= tolerance:
                failed, hint = (
                    failed or self.functions[name].about or name,
                    hint or self.question.hints.get(name, ""),
                )
            error = max(error, off)
        return Measurement(error=error, seen=seen, failed=failed, hint=hint)

    def _check(self, name: str, case: Drawn, answer: Answer, ask: Ask) -> float:
        """By how much a check fails. A check that raises at an answer decides nothing."""

        def f(**named: Any) -> Any:
            return alone(ask(*(named[each] for each in self.parameters)))

        def alone(arrays: Answer) -> Any:
            return arrays[0] if len(arrays) == 1 else arrays

        gets = {**case.givens, "answer": alone(answer), "f": Asking((*self.parameters,))}
        if case.expected is not None:
            gets["expected"] = alone(case.expected)
        given = {each: gets[each] for each in self.functions[name].parameters}
        try:
            found = self.written.call(name, self.question.seconds, answered=f, **given)
        except Failed as error:
            raise Undecidable(f"the check {name} {error} at this answer") from error
        if isinstance(found, bool):
            return 0.0 if found else np.inf
        if not isinstance(found, int | float):
            remedy = "return True, False, or an error as a number"
            raise self._faulty("holds", name, f"{name} returns a {_kind(found)}; {remedy}")
        return float(found) if np.isfinite(found) else np.inf

    def mistake(self, answers: Mapping[Case, Answer]) -> str:
        """The hint of the typical wrong answer that agrees at all of these cases; empty if none does."""
        cases = list(answers.items())[-RECOGNISED:]

        def agrees(name: str, case: Case, answer: Answer) -> bool:
            assert isinstance(case, Drawn)
            with contextlib.suppress(Faulty):
                made = self.computed("hints", name, case.givens) or ()
                same = [
                    a.shape == b.shape and _distance(a, b) <= self._slack(b)
                    for a, b in zip(answer, made, strict=True)
                ]
                return all(same)
            return False

        for name in self.mistakes:
            if cases and all(agrees(name, case, answer) for case, answer in cases):
                return self.question.hints[name]
        return ""

    def _slack(self, made: np.ndarray) -> float:
        """As much as float32 rounds, for the answer may be computed in it."""
        return max(
            self.question.tolerance, 1e-5 * float(np.max(np.abs(made), initial=0.0, where=np.isfinite(made)))
        )

    def _try(self) -> None:
        """Judge the reference by its own checks, at the smallest and the largest givens."""
        for size in sorted({1, self.question.largest}):
            case, again = self.case(size, 0), self.case(size, 0)
            for key, name, one, other in (
                ("draw", self.question.draw, case.arguments, again.arguments),
                ("reference", self.question.reference, case.expected, again.expected),
            ):
                # A case that cannot be drawn again is no counterexample, and no marks could be compared.
                if one is not None and other is not None and not all(map(_same, one, other)):
                    wanted = "rng and size" if key == "draw" else "the givens"
                    raise self._faulty(key, name, f"two equal calls of {name} differ; compute from {wanted} alone")
            if case.expected is None:
                continue

            def ask(*arguments: Any) -> Answer:
                found = self.computed(
                    "reference", self.question.reference, dict(zip(self.parameters, arguments, strict=True))
                )
                assert found is not None
                return found

            try:
                measured = self.measured(case, case.expected, ask)
            except Undecidable as error:
                raise self._refused(
                    "holds", list(self.question.holds), f"{error}, and it is the reference's"
                ) from None
            if measured.failed:
                said = f"{self.question.reference} does not keep it at size {size}: {measured.failed.rstrip('.')}"
                raise self._refused("holds", list(self.question.holds), f"{said}; mend one of the two")

    def trials(self) -> list[Trial]:
        """Judge the reference and each typical wrong answer, at the cases that a right answer gets."""
        contract, found = self.contract(), []
        cases = (*drawn_cases(contract), *contract.besides)
        for key, name in (("reference", self.question.reference), *(("hints", each) for each in self.mistakes)):
            if not name:
                continue
            is_right, answers = self._tried(key, name, cases)
            if key == "reference":
                found.append(Trial(name, True, is_right, "" if is_right else "it does not keep what it is held to"))
                continue
            given = self.mistake(answers)
            owners = [each for each in self.mistakes if self.question.hints[each] == given]
            remark = (
                "nothing finds it out" if is_right else f"it gets the hint of {owners[0]}" if owners else "no hint"
            )
            own = not is_right and name in owners
            found.append(Trial(name, False, own, "" if own else remark))
        return found

    def _tried(self, key: str, name: str, cases: Iterable[Case]) -> tuple[bool, dict[Case, Answer]]:
        """Whether a function of the homework is right at all cases, and its answers."""
        answers: dict[Case, Answer] = {}
        is_right = True

        def ask(*arguments: Any) -> Answer:
            return self.computed(key, name, dict(zip(self.parameters, arguments, strict=True))) or ()

        for case in cases:
            assert isinstance(case, Drawn)
            answers[case] = answer = self.computed(key, name, case.givens) or ()
            fits = all(shape in (None, part.shape) for shape, part in zip(case.shapes, answer, strict=True))
            with contextlib.suppress(Undecidable):
                is_right = fits and self.measured(case, answer, ask).error <= self.question.tolerance and is_right
        return is_right, answers

    def contract(self) -> Contract:
        """The contract."""
        question, text = self.question, " ".join(self.question.question.split())
        measures = [self.functions[name].about or name for name in question.holds]
        if question.reference:
            measures.insert(0, "The error is the largest difference from the right answer, over all entries.")
        return Contract(
            question=f"{self.homework.name}/{question.id}",
            asks=text,
            function=self.name,
            parameters={
                spelled: question.given.get(each, "see the question") for each, spelled in self.parameters.items()
            },
            returns=self.returns,
            quantified=f"{question.cases + question.largest} drawn cases, of sizes from 1 to {question.largest}.",
            measure=" ".join(measures),
            unit="in an entry",
            tolerance=question.tolerance,
            case=self.case,
            cases=lambda: st.builds(self.case, st.integers(1, question.largest), st.integers(0, MOST_SEED)),
            examples=question.cases,
            besides=tuple(self.case(size, size) for size in range(1, question.largest + 1)),
            measured=self.measured,
            asks_again=any("f" in self.functions[name].parameters for name in question.holds),
            infinite=lambda case: isinstance(case, Drawn) and not _is_finite(case.expected),
            shorter=self._shorter,
            hints={reason: text for reason, text in question.hints.items() if reason in FAILURES},
            mistake=self.mistake,
            homework=self.homework.path,
        )

    def _shorter(self, missed: Case) -> Sequence[Case]:
        assert isinstance(missed, Drawn)
        return [self.case(size, seed, True) for size in range(1, missed.size + 1) for seed in range(SHORT)]


def _is_finite(arrays: Answer | None) -> bool:
    return arrays is not None and all(np.all(np.isfinite(array)) for array in arrays)


def _distance(answer: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference. What is not finite must be the same."""
    infinite = ~np.isfinite(expected)
    if not np.array_equal(answer[infinite], expected[infinite], equal_nan=True):
        return np.inf
    off = np.abs(answer[~infinite] - expected[~infinite])
    return float(np.max(off, initial=0.0)) if np.all(np.isfinite(off)) else np.inf


def _same(one: Any, other: Any) -> bool:
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")


def _kind(value: Any) -> str:
    """The name of a type, as its author knows it."""
    return value.kind if isinstance(value, Other) else type(value).__name__


@functools.cache
def _functions(path: str, code: str) -> Functions:
    """The functions of a homework.

    Raises:
        ValueError: if the file cannot be loaded.
    """
    try:
        return Functions(path, code)
    except Failed as error:
        said = f"it {error}".removeprefix("it raises ")
        raise ValueError(f"{path} cannot be loaded: {said}") from error
