"""The judge of a declared kind: it asks, compares, counts tolerances, and shrinks the recipe of what fails."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.calling import Answer, Thread, Uncallable, ask, counted, search
from attnlab_theory.conform.case import Case, word
from attnlab_theory.conform.finding import (
    LEAKS,
    NOT_FINITE,
    NOT_TRIED,
    Fault,
    Finding,
    Number,
    Trouble,
    Verdict,
    misshapen,
)
from attnlab_theory.conform.kind import Kind, Right, Spec
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.precision import Arrays, narrower
from attnlab_theory.conform.recording import Recording, remembered, saw
from attnlab_theory.conform.rounding import HALF_EPS, NEAR, coarser
from attnlab_theory.conform.sensitivity import measured, most_apart

NOT_ASKED = Trouble(fault=Fault.NOT_CALLED)
"""The trouble of a call that cannot be made."""

MOST_HUNG = 3
"""After so many calls that take too long an identity asks nothing more."""

MOST_SHRUNK = 40
"""Calls that one counterexample may cost."""

MOST_MADE = 32
"""So many cases are remembered with what they are made of."""

UNCHANGED = ("type", "parts", "chunk")
"""Switches that stay as they are where a case is made smaller."""

SHAPELESS: Mapping[str, Any] = {"seed": 0, "edits": (), "values": None, "memory": None, "scale": None}
"""What may be of a case, and changes no shape."""


class Pair(NamedTuple):
    """Two calls whose answers are one."""

    case: Case
    right: Case
    where: Mapping[str, slice] = {}
    """What is compared, by the letter of an axis; all, if none is named."""
    of_other: bool = False
    """Whether the first is asked of the other target."""
    of_state: bool = False
    """Whether the arrays beside the answers are compared."""


class Outcome(NamedTuple):
    """What one answer is worth."""

    case: Case
    ratio: float = 0.0
    """The largest error over its tolerance; infinite where there is no answer or no number."""
    trouble: Trouble | None = None
    number: Number | None = None
    is_judged: bool = True
    """Whether anything can be said of some number."""
    beside: Case | None = None
    """The case whose answer is the right one."""
    is_shown: bool = True
    """Whether the case alone shows it."""
    of_second: bool = False
    """Whether the number stands in what came beside the answer."""

    @property
    def fails(self) -> bool:
        """Whether the answer is wrong."""
        return not self.ratio <= 1


class Unanswered(Exception):
    """A call that a law needs, and that went wrong."""

    def __init__(self, trouble: Trouble, case: Case | None = None, tried: int = 1) -> None:
        self.finding = Finding(verdict=Verdict.FAILS, trouble=trouble, case=case, tried=tried, failures=1)


def answered(answer: Answer, case: Case | None = None, tried: int = 1) -> Answer:
    """An answer that a law needs: where there is none, the law fails, by the case if that alone shows it."""
    if answer.trouble:
        raise Unanswered(answer.trouble, case, tried)
    return answer


class Judge:
    """Judges answers of one target.

    Args:
        kind: what it promises.
        caller: of the target.
        declared: conventions that are known.
        accumulate: the type of its sums; by default that of its numbers.
        other: who calls another target that gives the same.

    Raises:
        Uncallable: if a target can be called in no way.
    """

    def __init__(
        self,
        kind: Kind,
        caller: Caller,
        declared: Mapping[str, Any],
        accumulate: str | None = None,
        other: Caller | None = None,
    ) -> None:
        declared = {kind.aliases.get(name, name): x for name, x in declared.items()}
        self.kind, self.caller, self.declared = kind, caller, declared
        self.convention = search(kind, caller, declared)
        if kind.ways and other is None and not {*kind.ways} & {*self.convention.names}:
            raise Uncallable("one way", ways=kind.ways)
        self.other = None if other is None else Judge(dataclasses.replace(kind, ways=()), other, declared)
        self.accumulate = accumulate
        self.most_cases: int | None = None
        self.unread: list[str] = []
        """Parameters whose meaning no reading explains."""
        self.calls, self.hung = self.convention.calls, 0
        self.largest = 0.0
        """The largest error per tolerance of all answers that were right."""
        self.gives = "float32"
        """The type of the answers, where it is one that has a tolerance."""
        self.kinds: dict[str, str] = {}
        """The type of the answers, by that of the arrays."""
        self.several: dict[bool, bool] = {}
        """Whether more than one array comes back: of a whole, and of a part."""
        self.printed = ""
        self.changed: Case | None = None
        """The first call that wrote into its arrays."""
        self.narrow = ""
        """The type in which the target computes, where that is narrower than what it gives."""
        self.rule = 0.0
        """The largest error over what another rule than the tolerance allows."""
        self.excess = 0.0
        """The error over the tolerance of the wider type by which that was seen."""
        self._teller = ""
        self.draws: dict[tuple[Case, range], np.ndarray] = {}
        """The answers to a call by several seeds."""
        self._answers: dict[Case, Answer] = {}
        self._tried: dict[tuple[Any, ...], Answer] = {}
        self._measured: dict[tuple[Case, str], float] = {}
        # Cases of one law follow each other, so the last few are enough.
        self._made = functools.lru_cache(MOST_MADE)(Case.operands)
        self._right = functools.lru_cache(MOST_MADE)(self._right_by_itself)
        self._within = functools.lru_cache(MOST_MADE)(self._within_of)
        if self.trials:
            self.remembered(self.trial)
        self.apart: frozenset[frozenset[str]] = frozenset()
        """Features that are refused together."""
        self.told: dict[str, tuple[str, Trouble | None]] = {}
        """What only one of two targets refuses: where, and how."""
        for read in kind.reads:
            more = read(self)
            self.rebind(chosen=more, idle=tuple(name for name in self.convention.idle if name not in more))
            if self.convention.diagnosed:
                break

    @property
    def explained(self) -> bool:
        """Whether some convention explains the trial call."""
        return self.convention.residual <= self.kind.near

    @property
    def trial(self) -> Case:
        """The trial call: the first that is not refused."""
        cases = self.cases(self.trials)
        return next((case for case in cases if not self.remembered(case).trouble), cases[0])

    @property
    def compiles(self) -> bool:
        """Whether every shape is compiled, so that few are asked."""
        return self.convention.framework == "jax"

    @property
    def trials(self) -> Sequence[Spec]:
        """The first trial calls."""
        trials = self.kind.stages[0].trials
        return trials(self.declared) if callable(trials) else trials

    def wants(self, role: str) -> bool:
        """Whether the kind is about what a role does."""
        return self.kind.usual.get(role) is not None

    def contradict(self, identity: str, fact: str, trouble: Trouble | None = None, /, **about: Any) -> None:
        """Note what shows, before an identity is tried, that it fails."""
        found = Finding(verdict=Verdict.FAILS, fact=fact, trouble=trouble, about=about, failures=1)
        known = {identity: found, **self.convention.contradictions}
        self.convention = dataclasses.replace(self.convention, contradictions=known)
        remembered(self.caller, identity)

    def tell(self, title: str, fact: str, about: Mapping[str, Any] | None = None) -> None:
        """Note what was found of a convention."""
        told = (*self.convention.told, (title, fact, about or {}))
        self.convention = dataclasses.replace(self.convention, told=told)

    def rebind(self, *, without: str = "", chosen: Mapping[str, Any] | None = None, **changes: Any) -> None:
        """Go on by another convention: without a role, by other choices, or other fields."""
        if without:
            changes["names"] = {role: name for role, name in self.convention.names.items() if role != without}
        changes["chosen"] = {**self.convention.chosen, **(chosen or {})}
        self.convention = dataclasses.replace(self.convention, **changes)
        self._right.cache_clear()
        self._within.cache_clear()

    def leave(self, role: str) -> None:
        """Go on without a role of which no reading explains a call: nobody knows what its parameter does."""
        self.unread.append(self.convention.names[role])
        self.rebind(without=role)

    def asked(self, spec: Spec, always: Mapping[str, Any]) -> Answer:
        """The answer to a case with other plain arguments in every call."""
        other = dataclasses.replace(self.convention, always=always)
        case = other.fitted(self.kind, self.kind.case(spec))
        self.calls += 1
        return Answer(NOT_ASKED) if case is None else ask(self.kind, self.caller, other, case)

    def tried(self, spec: Spec, *, names: Any = None, **chosen: Any) -> tuple[Trouble | None, float]:
        """Ask a case by another convention: what went wrong, and how far off the answer is by that convention."""
        own = self.convention
        other = dataclasses.replace(
            own,
            names=own.names if names is None else names,
            chosen={**own.chosen, **chosen},
        )
        case = other.fitted(self.kind, self.kind.case(spec))
        if case is None:
            return NOT_ASKED, np.inf
        called = (*case.lines(), *other.codes(case).items(), case.type)
        if called not in self._tried:
            self.calls += 1
            self._tried[called] = ask(self.kind, self.caller, other, case)
        answer = self._tried[called]
        if answer.trouble:
            return answer.trouble, np.inf
        assert self.kind.right is not None
        right = self.kind.right(case, other.chosen, self._made(case)).output
        with np.errstate(invalid="ignore"):
            off = np.where(np.isnan(right), 0.0, np.abs(answer.numbers - right))
        off = np.nan_to_num(off, nan=np.inf)
        if (worst := float(off.max(initial=0.0))) > self.kind.near:
            saw(self.caller, answer.numbers, right, 1 + off)
        return None, worst

    def cases(self, specs: Iterable[Spec]) -> list[Case]:
        """Those that can be asked, each once. Flags that the target takes are tried both ways together."""
        found: list[Case | None] = []
        for spec in specs:
            case = self.kind.case(spec)
            flags = [
                r for r in self.kind.operands if OPERANDS[r].is_flag and self.convention.chosen.get(r) == "asked"
            ]
            free = [flag for flag in flags if case[flag] is None]
            for way in itertools.product((False, True), repeat=len(free)):
                each = case.replaced(**dict(zip(free, way, strict=True)))
                found.append(self.convention.fitted(self.kind, each))
        cases = [*dict.fromkeys(each for each in found if each is not None)]
        if not self.compiles or self.kind.few is None:
            return cases
        shapes: dict[Case, list[Case]] = {}
        for case in cases:
            shapes.setdefault(case.replaced(**SHAPELESS), []).append(case)
        return [case for each in [*shapes.values()][: self.kind.few] for case in each]

    def ask(
        self,
        case: Case,
        made: Mapping[str, Any] | None = None,
        more: Mapping[str, Any] = {},
    ) -> Answer:
        """Make the calls of one case, and note what they did beside answering."""
        self.calls += len(case["parts"] or (1,))
        made = self.operands(case) if made is None else made
        return self.noted(case, ask(self.kind, self.caller, self.convention, case, made, more))

    def thread(self, case: Case) -> Thread:
        """A cache that is fed the tokens of a case."""

        def note(case: Case, answer: Answer) -> None:
            self.calls += 1
            self.noted(case, answer)

        return Thread(self.kind, self.caller, self.convention, case, self.operands(case), note=note)

    def noted(self, case: Case, answer: Answer) -> Answer:
        """An answer, of which is noted what was done beside answering."""
        self.hung += answer.trouble is not None and answer.trouble.costs
        self.printed = self.printed or answer.printed
        self.changed = self.changed or (case if answer.changed else None)
        if answer.kind:
            self.kinds.setdefault(case.type, answer.kind)
        if not answer.trouble:
            self.several[case["parts"] is not None] = answer.second is not None
        self.gives = answer.kind if answer.kind in HALF_EPS else self.gives
        return answer

    def remembered(self, case: Case) -> Answer:
        """The answer to a case, which is asked once."""
        if case not in self._answers:
            self._answers[case] = self.ask(case)
        return self._answers[case]

    def forget(self) -> None:
        """Forget the answers, for the target is called in another way from here on."""
        self._answers.clear()

    def operands(self, case: Case) -> Mapping[str, Any]:
        """What is handed over."""
        return self._made(case)

    def expected(self, case: Case) -> Right:
        """The right answer to a case, by what the target has of its own."""
        return self._right(case)

    def within(self, case: Case, kind: str) -> np.ndarray:
        """How far an answer of a type may be from it. NaN says nothing."""
        return self._within(case, kind)

    def _right_by_itself(self, case: Case) -> Right:
        return self._right_by(case, self.operands(case) if self.kind.own is None else self.kind.own(self, case))

    def _right_by(self, case: Case, numbers: Any) -> Right:
        assert self.kind.right is not None
        return self.kind.right(case, self.convention.chosen, numbers)

    def _within_of(self, case: Case, kind: str) -> np.ndarray:
        return self._right(case).within(kind, self.accumulate or kind)

    def judge(self, case: Case, numbers: Any = None) -> Outcome:
        """Ask, and compare with what is right by some numbers; by default by those of the target."""
        answer = self.ask(case)
        if answer.trouble:
            return Outcome(case, np.inf, answer.trouble)
        right = self._right(case) if numbers is None else self._right_by(case, numbers)
        given = counted(self.kind, case, self.convention.chosen, answer.numbers)
        found = self.compared(
            case, answer, given, right.output, lambda kind: right.within(kind, self.accumulate or kind)
        )
        kind = self.type_of(case, answer.kind)
        if self.kind.rule is not None and case.type in ("float16", "bfloat16"):
            self.rule = max(self.rule, self.kind.rule(case, right, answer.numbers))
        if right.loose is not None and found.is_judged and np.isfinite(right.output).any():
            is_loose = right.loose(kind, self.accumulate or kind)
            found = found._replace(is_judged=bool((np.isfinite(right.output) & ~is_loose).any()))
        if found.fails or right.second is None or answer.second is None:
            return found
        axes, numbers, most = right.second
        axes = "".join(axis for axis in axes if axis not in "bh" or axis in self.convention.layout)
        if answer.second.shape != case.shape(axes):
            return found
        second = answer.second.reshape(numbers.shape)
        beside = self.compared(case, answer, second, numbers, lambda kind: most(kind, self.accumulate or kind))
        return beside._replace(of_second=True) if beside.fails else found

    def type_of(self, case: Case, gave: str) -> str:
        """The type in which an answer may have been computed: the coarser one of what came in and went out."""
        kind = gave if gave in HALF_EPS else case.type
        kind = coarser(case.type, kind) if case.arrays else self.gives
        return self.narrow if self.narrow and kind == "float64" else kind

    def near(self, case: Case, answer: Answer) -> float:
        """How far an answer may be from one of a few outcomes that it is, in the type in which it was computed."""
        return NEAR[self.type_of(case, answer.kind)]

    def compared(
        self,
        case: Case,
        answer: Answer,
        given: np.ndarray,
        right: np.ndarray,
        within: Callable[[str], np.ndarray],
        inside: Callable[[], bool] = lambda: True,
        beside: Case | None = None,
    ) -> Outcome:
        """What numbers are worth beside those that are right.

        Whether the target computes in float32 inside is asked before anybody is accused.
        """
        kind = coarser(case.type, answer.kind) if case.is_typed and answer.kind in HALF_EPS else self.gives
        kind = coarser(kind, beside.type) if beside is not None and case.arrays else kind
        most = np.broadcast_to(within(self.narrow if self.narrow and kind == "float64" else kind), given.shape)
        ratio, place = largest(given, right, most)
        if kind == "float64" and not self.narrow and 1 < ratio < np.inf and inside():
            coarse = np.broadcast_to(within("float32"), given.shape)
            if (found := largest(given, right, coarse))[0] <= 1:
                self.narrow, self.excess, (ratio, place), most = "float32", ratio, found, coarse
        with np.errstate(all="ignore"):
            saw(self.caller, given, right, np.abs(given - right) / most)
        if ratio <= 1:
            self.largest = max(self.largest, ratio)
            is_judged = not given.size or bool((~np.isnan(right) & ~np.isnan(most)).any())
            return Outcome(case, ratio, is_judged=is_judged)
        origin = None
        if self.kind.origin is not None:
            origin = (*place[:-1], int(self.kind.origin(case, self.convention.chosen)[place[-2]]))
        number = Number(float(given[place]), float(right[place]), place, origin, float(most[place]))
        return Outcome(case, ratio, None, number)

    def alike(self, pair: Pair) -> Outcome:
        """Whether two calls give one answer."""
        asked = self.other or self if pair.of_other else self
        right, answer = self.remembered(pair.right), asked.ask(pair.case)
        for case, each in ((pair.right, right), (pair.case, answer)):
            if each.trouble:
                return Outcome(case, np.inf, each.trouble)
        return self.beside(pair, answer, right)

    def beside(self, pair: Pair, answer: Answer, right: Answer) -> Outcome:
        """Whether two answers are one."""
        one, two, at = answer.numbers, right.numbers, None
        if pair.of_state:
            one, two = np.asarray(answer.second), np.asarray(right.second)
        elif pair.where:
            at = tuple(pair.where.get(axis, slice(None)) for axis in self.kind.axes)
            one, two = one[at], two[at]
        if one.shape != two.shape:
            return Outcome(pair.case, np.inf, misshapen(one.shape, two.shape))
        if self.kind.right is None and not np.isfinite(right.numbers).all():
            return Outcome(pair.right, np.inf, NOT_FINITE)
        within = self._apart(pair, answer, right, at, most_apart(one, two))
        # What is NaN in the right answer is wrong beside a number.
        two = np.where(np.isnan(two), np.inf, two)
        found = self.compared(pair.case, answer, one, two, within, lambda: self._is_narrow(pair), pair.right)
        if found.number is not None and at is not None:
            begins = [x.start or 0 for x in at]
            place = tuple(i + begin for i, begin in zip(found.number.place, begins, strict=True))
            found = found._replace(number=found.number._replace(place=place))
        return found._replace(beside=pair.right, is_shown=not (pair.of_other or pair.of_state))

    def _apart(
        self, pair: Pair, answer: Answer, right: Answer, at: Any, error: float
    ) -> Callable[[str], np.ndarray]:
        """How far two right answers may be apart: twice the smaller tolerance, or as far as is measured."""
        if self.kind.tolerance is not None:
            return self.kind.tolerance(self, pair, answer, right, error)
        if self.kind.right is not None:
            # Of a prefix alone more is known than of the whole.
            least = pair.case if pair.case["parts"] else pair.right
            return lambda kind: 2 * np.fmin(*(self.within(each, kind)[at or ...] for each in (least, pair.right)))
        times = 1.0
        if pair.of_state and right.second is not None:
            # A state is a sum of as many products as an output, but for the query: the larger of the sizes counts.
            size = float(np.abs(right.numbers).max(initial=0.0))
            times += float(np.abs(right.second).max(initial=0.0)) / max(size, 1e-9)
        inside = self.convention.chosen.get("inside", "")
        return lambda kind: np.asarray(
            max(times * self.measured(pair.right, inside if inside and kind == "float64" else kind), 1e-300)
        )

    def measured(self, case: Case, kind: str) -> float:
        """How near two ways to the answer to a case must be, once measured."""
        if (case, kind) not in self._measured:
            self._measured[case, kind] = measured(self.ask, case, self.operands(case), self.remembered(case), kind)
        return self._measured[case, kind]

    def _is_narrow(self, pair: Pair) -> bool:
        """Whether one of two calls computes float64 in float32 somewhere."""
        if self.kind.right is not None:
            return True
        asked = self.other or self if pair.of_other else self
        both = (self, pair.right), (asked, pair.case)
        return any(judge.is_narrow(case) or judge.ask(case, more={"watched": True}).narrow for judge, case in both)

    def is_narrow(self, case: Case) -> bool:
        """Whether slight changes of a call in float64 show that it is computed in float32 somewhere."""
        given = self.operands(case)
        floats = {name: given[name] for name in map(word, self.convention.placed) if given[name].dtype.kind == "f"}

        def answers(arrays: Arrays) -> np.ndarray | None:
            answer = self.ask(case, {**given, **dict(zip(floats, arrays, strict=True))})
            return None if answer.trouble else answer.numbers

        return narrower(answers, [*floats.values()])

    def values(
        self,
        cases: Iterable[Case],
        *,
        may_refuse: Callable[[Outcome], bool] = lambda outcome: False,
        may_refuse_all: bool = False,
    ) -> Finding:
        """Whether every number of some answers is right.

        Args:
            cases: what is asked.
            may_refuse: whether a case may be refused, which is told.
            may_refuse_all: whether all of them may be, but not some.
        """
        outcomes = (self.judge(case) for case in [*cases][: self.most_cases])
        return self.settled(outcomes, may_refuse, may_refuse_all=may_refuse_all)

    def same(
        self,
        pairs: Iterable[Pair],
        may_refuse: Callable[[Outcome], bool] = lambda outcome: False,
        tells: bool = True,
    ) -> Finding:
        """Whether some pairs of calls give one answer each; the first that does not is told.

        Args:
            pairs: of calls.
            may_refuse: whether a case may be refused.
            tells: whether that is told.
        """
        return self.settled(map(self.alike, pairs), may_refuse, tells=tells, is_first_enough=True)

    def settled(
        self,
        outcomes: Iterable[Outcome],
        may_refuse: Callable[[Outcome], bool] = lambda outcome: False,
        *,
        may_refuse_all: bool = False,
        tells: bool = True,
        is_first_enough: bool = False,
    ) -> Finding:
        """What some outcomes say together."""
        tried, worst, loose, wrong, refused = 0, 0.0, 0, list[Outcome](), list[Outcome]()
        for outcome in outcomes:
            tried += 1
            if outcome.trouble and outcome.trouble.refuses and may_refuse(outcome):
                refused.append(outcome)
                continue
            worst, loose = max(worst, outcome.ratio), loose + (not outcome.is_judged)
            wrong += [outcome] * outcome.fails
            if wrong and (is_first_enough or self.hung >= MOST_HUNG):
                break
        if may_refuse_all and len(wrong) == tried and all(x.trouble and x.trouble.refuses for x in wrong):
            refused, wrong, worst = wrong, [], 0.0
        about = {"tried": tried, "ratio": worst, "loose": loose}
        if wrong:
            # A number that is wrong says more than a call that raises.
            least = min(wrong, key=lambda outcome: (outcome.number is None, outcome.case.numbers))
            return self.failed(least, **about, failures=len(wrong))
        if refused and tells:
            first = refused[0]
            return Finding(verdict=Verdict.CONVENTION, case=first.case, trouble=first.trouble, **about)
        if tried == len(refused):
            return NOT_TRIED
        return Finding(verdict=Verdict.NOT_JUDGED if loose == tried else Verdict.HOLDS, **about)

    def failed(self, outcome: Outcome, *, shrinks: bool = True, **more: Any) -> Finding:
        """A failure, by the smallest case that shows it."""
        least = self._least(outcome) if shrinks and not outcome.beside else outcome
        found = {"ratio": outcome.ratio, "failures": 1, "trouble": least.trouble, "number": least.number, **more}
        if least.is_shown:
            found |= {"case": least.case, "beside": least.beside}
        if least.of_second:
            found |= {"fact": "second", **more}
        return Finding(verdict=Verdict.FAILS, **found)

    def _least(self, outcome: Outcome) -> Outcome:
        """A smaller case that fails in the same way: the numbers of its recipe are made less while it fails."""
        # A call that hangs or ends the process costs too much to be made again.
        costly, trouble = (Fault.HUNG, Fault.ENDED, Fault.NOT_CALLED), outcome.trouble
        is_cheap = trouble is None or (trouble.fault not in costly and not trouble.loses_device)
        left = shrunk = MOST_SHRUNK * (is_cheap and self.kind.right is not None)
        while shrunk:
            shrunk = False
            for case in self._smaller(outcome.case):
                other = self.judge(case) if left > 0 else None
                left -= 1
                if other is not None and other.fails and _alike(other, outcome):
                    outcome, shrunk = other, True
                    break
        return outcome

    def _smaller(self, case: Case) -> Iterator[Case]:
        """Smaller cases, the boldest first: without what is unusual, then of fewer numbers."""
        usual = self.kind.usual
        plainer = [case.replaced(**{name: usual.get(name)}) for name, _ in case.switches if name not in UNCHANGED]
        together = [OPERANDS[role].instead for role in self.kind.operands if OPERANDS[role].instead]
        together += [("queries", "keys")] * bool(case.arrays and case["keys"] is not None)
        together += [("heads", "groups")] * (case["groups"] is not None)
        for roles in (*together, *((role,) for role, _ in case.sizes)):
            n = max(case[role] for role in roles)
            for less in dict.fromkeys((1, n // 2, n - n // 4, n - n // 16, n - 1)):
                if 0 < less < n:
                    plainer.append(case.replaced(**{role: min(case[role], less) for role in roles}))
        for each in plainer:
            smaller = self.convention.fitted(self.kind, each)
            if smaller is not None and smaller != case:
                yield smaller

    @contextlib.contextmanager
    def anew(self) -> Iterator[None]:
        """Inside, the target is one that was not called, as far as there can be another.

        A target that is called in a child gets a child of its own, and a class another object. A function of this
        process is the only one.
        """
        usual, convention = self.caller, self.convention
        with contextlib.ExitStack() as block:
            if isinstance(usual, Recording):
                again = usual.again(block)
                self.caller = Recording(again, usual.log)
                is_same = again is usual.caller
                self.convention = dataclasses.replace(convention, number=int(is_same and self.is_class))
            try:
                yield
            finally:
                self.caller, self.convention = usual, convention

    @property
    def is_class(self) -> bool:
        """Whether the target is a class, of which an object is called."""
        return bool(self.caller.about().get("class"))

    def _try(self, identity: str) -> Finding:
        try:
            return self.kind.laws[identity](self)
        except Unanswered as error:
            return error.finding

    def find(self, identity: str) -> Finding:
        """Try one identity."""
        if identity not in self.kind.laws:
            return NOT_TRIED
        must = "" if self.kind.declare or self.kind.score or not self.kind.stages else self.kind.stages[0].identity
        must = must or self.convention.diagnosed
        if must and (self.convention.diagnosed or not self.explained) and identity != must:
            # A leak is worse than what hinders all other judgement.
            leak = self._try(identity) if self.convention.diagnosed and identity in LEAKS else NOT_TRIED
            return dataclasses.replace(leak, identity=identity) if leak.verdict is Verdict.FAILS else NOT_TRIED
        if identity in self.convention.contradictions:
            return dataclasses.replace(self.convention.contradictions[identity], identity=identity)
        narrow, found = self.narrow, self._try(identity)
        if self.narrow and not self._teller:
            self._teller = "float64" if "float64" in self.kind.laws else identity * (self.narrow != narrow)
        if self.narrow and identity == self._teller and found.verdict is Verdict.HOLDS:
            # It is told once; from then on answers are judged by that type.
            about = {"excess": self.excess}
            found = dataclasses.replace(found, verdict=Verdict.CONVENTION, fact="narrow", about=about)
        return dataclasses.replace(found, identity=identity)


def largest(given: np.ndarray, right: np.ndarray, most: np.ndarray) -> tuple[float, tuple[int, ...]]:
    """The largest error over its tolerance, and where. What is no number is infinitely wrong; NaN is not judged."""
    if not given.size:
        return 0.0, ()
    with np.errstate(all="ignore"):
        ratios = np.abs(given - right) / most
    ratios = np.where(given == right, 0.0, np.where(np.isfinite(ratios), ratios, np.inf))
    ratios = np.where(np.isnan(right) | np.isnan(most), 0.0, ratios)
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratios)), ratios.shape))
    return float(ratios[place]), place


def _alike(one: Outcome, other: Outcome) -> bool:
    """Whether two cases fail in one way: by a number, or by the same trouble of calls that were made."""
    if one.trouble is None or other.trouble is None:
        return one.trouble is other.trouble
    is_same = (one.trouble.fault, one.trouble.error) == (other.trouble.fault, other.trouble.error)
    return is_same and one.trouble.fault is not Fault.NOT_CALLED
