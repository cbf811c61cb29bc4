"""How a target wants to be called: one search over conventions, scored by how far answers are from what is right.

What is declared is not searched. What is found is a record, and each field of it may be declared.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.calls import call
from attnlab_theory.conform.case import Case, handed
from attnlab_theory.conform.finding import Trouble, misshapen
from attnlab_theory.conform.kind import Kind
from attnlab_theory.conform.operands import OPERANDS, Bound

MOST_NUMBERS = 1 << 22
"""Answers of more numbers are not asked for."""


class Uncallable(Exception):
    """A target that can be called in no way.

    Args:
        parameter: one that must be given, and of which nothing is known.
        trouble: of the first trial call.
        shows: whether its parameters can be seen.
    """

    def __init__(self, *, parameter: str = "", trouble: Trouble | None = None, shows: bool = True) -> None:
        super().__init__(parameter, trouble, shows)
        self.parameter, self.trouble, self.shows = parameter, trouble, shows


class Answer(NamedTuple):
    """What came back."""

    trouble: Trouble | None = None
    numbers: np.ndarray = np.zeros(0)
    """With all axes of the kind; those that the target has not are of length one."""
    kind: str = ""
    """The type of the numbers."""
    printed: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Convention:
    """How a target is called, and what its answers mean."""

    framework: str
    names: Mapping[str, str]
    """The parameter of each role."""
    chosen: Mapping[str, Any]
    """The conventions of the kind, and the number of each role that no parameter takes."""
    never_passed: tuple[str, ...] = ()
    """Parameters that are left alone."""
    idle: tuple[str, ...] = ()
    """Conventions of which no trial call can tell one value from another."""
    residual: float = 0.0
    """How far the trial call is from what is right, over the largest number."""

    def fitted(self, kind: Kind, case: Case) -> Case | None:
        """A case that can be asked: with the target's own numbers; None if lengths are tied that differ in it."""
        own = {role: self.chosen[role] for role, _ in case.sizes if role in self.chosen}
        case = case.replaced(**own)
        ends = {each for role in kind.operands for each in OPERANDS[role].instead}
        tied = {role for role in ends if role not in self.names}
        # Where all rows are one, it is that of a single query.
        single = any(case[role] == 1 and OPERANDS[role].axis not in self.chosen["axes"] for role in tied)
        fits = not tied or single or len({case[role] for role in ends}) == 1
        return (
            case
            if fits and kind.promised(case) and np.prod(case.shape(self.chosen["axes"])) <= MOST_NUMBERS
            else None
        )


def ask(caller: Caller, convention: Convention, case: Case, axes: str) -> Answer:
    """Make one call.

    Args:
        caller: of the target.
        convention: how it is called.
        case: what is asked.
        axes: those of the kind.
    """
    answer = raw(caller, convention, case)
    return answer if answer.trouble else read(answer, case, convention.chosen["axes"], axes)


def raw(caller: Caller, convention: Convention, case: Case) -> Answer:
    """Make one call, and leave the axes as they come."""
    made = case.operands()
    plain = {name: made[expression] for name, expression in handed(convention.names).items()}
    reply = call(caller, plain=plain, framework=convention.framework)
    if reply.trouble:
        return Answer(reply.trouble)
    return Answer(None, reply.arrays[0], reply.kind, reply.printed)


def read(answer: Answer, case: Case, axes: str, whole: str) -> Answer:
    """An answer with all axes of its kind, in their order.

    Args:
        answer: as it came.
        case: what was asked.
        axes: those that the answer has.
        whole: those of the kind.
    """
    numbers, shape = answer.numbers, case.shape(axes)
    if numbers.shape != shape:
        return Answer(misshapen(numbers.shape, shape))
    kept = [i for i, axis in enumerate(axes) if axis != "1"]
    numbers = numbers.reshape([shape[i] for i in kept])
    letters = [axes[i] for i in kept]
    order = [letters.index(axis) for axis in whole if axis in letters]
    numbers = numbers.transpose(order)
    return answer._replace(numbers=numbers[tuple(slice(None) if a in letters else None for a in whole)])


def counted(kind: Kind, case: Case, chosen: Mapping[str, Any], numbers: np.ndarray) -> np.ndarray:
    """An answer, each row of it counted from the entry from which it counts."""
    origin = kind.origin(case, chosen)
    with np.errstate(invalid="ignore"):
        return numbers - numbers[..., np.arange(len(origin)), origin][..., None]


def residual(kind: Kind, case: Case, chosen: Mapping[str, Any], numbers: np.ndarray) -> float:
    """How far an answer is from what is right, over the largest number."""
    right = kind.reference(case, chosen, kind.numbers(numbers, case, chosen))
    judged = ~np.isnan(right)
    if not judged.any():
        return np.inf
    with np.errstate(invalid="ignore"):
        off = np.abs(counted(kind, case, chosen, numbers) - right)[judged]
    return float(np.nan_to_num(off, nan=np.inf).max() / max(np.abs(right[judged]).max(), 1e-300))


def search(kind: Kind, caller: Caller, declared: Mapping[str, Any]) -> Convention:
    """The convention under which a trial call is nearest to what is right.

    Args:
        kind: what the target promises.
        caller: of the target.
        declared: fields that are known.

    Raises:
        Uncallable: if the target can be called in no way.
    """
    about = caller.about()
    if not about["parameters"]:
        raise Uncallable(shows=about["parameters"] is not None)
    bound = Bound(about["parameters"], kind.operands, kind.unnamed)
    if bound.unknown:
        raise Uncallable(parameter=bound.unknown[0])
    frameworks = (declared["framework"],) if "framework" in declared else dict.fromkeys((*about["uses"], "numpy"))
    first: Trouble | None = None
    for framework in frameworks:
        best: Convention | None = None
        scores: list[tuple[Mapping[str, Any], float]] = []
        for case, trial, answer in _answers(kind, caller, framework, bound, declared):
            if answer.trouble:
                first = first or answer.trouble.of(case.call(trial.names))
                if answer.trouble.costs:
                    raise Uncallable(trouble=first)
                continue
            more = kind.known(answer.numbers, case, trial.chosen)
            error = np.inf if "" in more.values() else residual(kind, case, trial.chosen, answer.numbers)
            scores.append((trial.chosen, error))
            if best is None or error < best.residual:
                best = dataclasses.replace(trial, chosen={**trial.chosen, **more}, residual=error)
        if best is not None:
            return dataclasses.replace(best, idle=_idle(kind, best.chosen, scores))
    raise Uncallable(trouble=first)


def _idle(
    kind: Kind, chosen: Mapping[str, Any], scores: Sequence[tuple[Mapping[str, Any], float]]
) -> tuple[str, ...]:
    """The conventions whose values all have one score beside what is chosen."""
    found = []
    for name in kind.choices:
        beside = [e for other, e in scores if all(chosen[key] == x for key, x in other.items() if key != name)]
        if len(beside) > 1 and len({*beside}) == 1:
            found.append(name)
    return tuple(found)


def _answers(
    kind: Kind, caller: Caller, framework: str, bound: Bound, declared: Mapping[str, Any]
) -> Iterator[tuple[Case, Convention, Answer]]:
    """A trial call, read in each way that its conventions can be; it is made once."""
    own = {role: OPERANDS[role].values for role in kind.sized if role not in bound.names and OPERANDS[role].values}
    asked: dict[tuple[tuple[str, int], ...], Answer] = {}
    fields = {name: (declared[name],) if name in declared else x for name, x in {**own, **kind.choices}.items()}
    for values in itertools.product(*fields.values()):
        convention = Convention(
            framework=framework,
            names=bound.names,
            chosen=dict(zip(fields, values, strict=True)),
            never_passed=tuple(bound.never_passed),
        )
        fitted = [convention.fitted(kind, Case.of(kind.sized, sizes)) for sizes in kind.trials]
        case = next(each for each in fitted if each is not None)
        called = tuple((role, n) for role, n in case.sizes if role not in own)
        if called not in asked:
            asked[called] = raw(caller, convention, case)
        answer = asked[called]
        yield (
            case,
            convention,
            answer if answer.trouble else read(answer, case, convention.chosen["axes"], kind.axes),
        )
