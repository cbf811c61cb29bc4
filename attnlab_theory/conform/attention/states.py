"""What stays of a call, and calls of nothing: many in a row, one that is refused, a second object."""

import dataclasses

import numpy as np

from attnlab_theory.conform.attention.asking import Answer
from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.attention.paths import outcome
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.finding import ANOTHER_ANSWER, Fault, Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said, Wrong, failed, refused

TIMES = 250
"""So often one call is made in a row, as flash-attention's tests do."""

FAR = 1e-3
"""An output that is off by more is one of other keys."""


def repetitions(judge: Judge, kind: Kind) -> Said:
    """The same call gives the same bits, 250 times in a row."""
    if judge.way.framework == "jax":
        return NOTHING
    case = fitted(Case(queries=17, keys=17, seed=9), kind, judge.way)
    answer = judge.ask(case, more={"times": TIMES})
    hung = answer.trouble is not None and answer.trouble.fault is Fault.HUNG
    if hung and not judge.ask(case).trouble:
        return Said(
            Verdict.NOT_JUDGED, f"{TIMES} calls take more than the seconds of one call: see --call-seconds", TIMES
        )
    if answer.trouble:
        return failed(answer.trouble, counterexample=case)
    if answer.differs:
        return Said(Verdict.FAILS, f"call {answer.differs} of {TIMES} gives other bits than the first", TIMES)
    return Said(Verdict.HOLDS, "the same bits each time", TIMES)


def outputs_stay(judge: Judge, kind: Kind) -> Said:
    """A call leaves the output of the call before it alone."""
    if judge.way.framework == "jax":
        return NOTHING
    case = fitted(Case(seed=19), kind, judge.way)
    answer = judge.ask(case, more={"overwrites": True})
    if answer.trouble:
        return failed(answer.trouble, counterexample=case)
    if answer.overwritten:
        return Said(Verdict.FAILS, "the next call writes into the output of the one before", 2, case)
    return Said(Verdict.HOLDS, "after another call", 2)


def flag(judge: Judge, kind: Kind) -> Said:
    """The flag that hides the future may be True and False in any order at one length."""
    way = judge.way
    if way.causal != "asked":
        return NOTHING
    right: dict[bool, list[bool]] = {False: [], True: []}
    orders = ((11, (False, True)),) if way.framework == "jax" else ((11, (False, True)), (13, (True, False)))
    for n, order in orders:
        for hides in order:
            case = dataclasses.replace(fitted(Case(queries=n, keys=n, batch=1, seed=n), kind, way), causal=hides)
            plain, _ = way.plan(case)
            answer = judge.ask(case, more={"plain": {**plain, way.names["causal"]: hides}})
            if answer.trouble:
                return refused(answer.trouble, f"{way.names['causal']}={hides} is refused: ")
            exact = attend(way.problem(arrays(case), case)).output
            gap = np.abs(answer.output - exact)
            right[hides].append(bool((gap < FAR).all()))
            saw(judge.caller, answer.output, exact, gap / FAR)
            if hides and not right[True][-1]:
                why = f"{way.names['causal']}=True at {n} tokens"
                line = f"{why}, {'after it was False, ' * (n == 11)}gives another answer"
                return Said(Verdict.FAILS, line, trouble=ANOTHER_ANSWER)
    if any(right[False]) and not all(right[False]):
        line = f"{way.names['causal']}=False after it was True gives another answer than before it"
        return Said(Verdict.FAILS, line, trouble=ANOTHER_ANSWER)
    if not any(right[False]):
        line = f"{way.names['causal']}=False hides the future, or does something else that it does not say"
        return Said(Verdict.FAILS, line, 2 * len(orders))
    return Said(Verdict.HOLDS, "True and False in both orders", 2 * len(orders))


def after_refusal(judge: Judge, kind: Kind) -> Said:
    """Nothing stays of a call that is refused: keys of another width than queries, then good calls."""
    case, longer = (fitted(Case(queries=n, keys=n, seed=13), kind, judge.way) for n in (5, 9))
    first, given = judge.ask(case), arrays(longer)
    refused = judge.ask(longer, given._replace(k=np.concatenate([given.k, given.k], -1)))
    again = judge.ask(case)
    if not _alike(judge, first, again):
        line = "another answer after a call that was refused"
        return Said(Verdict.FAILS, line, counterexample=case, trouble=ANOTHER_ANSWER)
    outcome = judge.judge(longer)
    if outcome.fails:
        wrong = Wrong(outcome.why, outcome.answer.trouble)
        return failed(wrong, "after a call that was refused: ", counterexample=longer)
    return Said(Verdict.HOLDS, "keys of another width are " + ("refused" if refused.trouble else "answered"), 2)


def two_objects(judge: Judge, kind: Kind) -> Said:
    """Two objects of a class answer alike, and none is moved by calls of the other."""
    if not judge.caller.about().get("class"):
        return NOTHING
    case = fitted(Case(queries=5, keys=5, seed=17), kind, judge.way)
    first = judge.ask(case)
    judge.ask(fitted(Case(queries=9, keys=9, width=7, seed=18), kind, judge.way), more={"object": 1})
    if not _alike(judge, first, judge.ask(case)):
        line = "another answer after a call of a second object of the class"
        return Said(Verdict.FAILS, line, counterexample=case, trouble=ANOTHER_ANSWER)
    if not _alike(judge, first, judge.ask(case, more={"object": 1})):
        line = "a second object of the class gives another answer"
        return Said(Verdict.FAILS, line, counterexample=case, trouble=ANOTHER_ANSWER)
    return Said(Verdict.HOLDS, "two objects of the class", 2)


def nothing_to_see(judge: Judge, kind: Kind) -> Said:
    """No queries, and no keys: told, for nothing is right there."""
    told = []
    for name, sizes in (("no queries", {"queries": 0, "keys": 4}), ("no keys", {"queries": 4, "keys": 0})):
        answer = judge.ask(dataclasses.replace(fitted(Case(batch=1), kind, judge.way), **sizes))
        if answer.trouble:
            told.append(f"{name}: refused: {answer.trouble}")
        elif not answer.output.size:
            told.append(f"{name}: an empty output")
        else:
            told.append(f"{name}: {outcome(answer.output)}")
    return Said(Verdict.CONVENTION, "; ".join(told), 2)


def _alike(judge: Judge, one: Answer, other: Answer) -> bool:
    if one.output.shape == other.output.shape:
        saw(judge.caller, other.output, one.output, np.where(one.output == other.output, 0.0, np.inf))
    return one.trouble == other.trouble and np.array_equal(one.output, other.output, equal_nan=True)
