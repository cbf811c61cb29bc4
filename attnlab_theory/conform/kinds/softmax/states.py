"""What stays of a call, and calls of nothing: many in a row, one that is refused, a second object."""

import dataclasses

import numpy as np

from attnlab_theory.conform.calling import Answer, ask
from attnlab_theory.conform.finding import ANOTHER_ANSWER, NOT_TRIED, Fault, Finding, Verdict
from attnlab_theory.conform.judge import Judge, answered
from attnlab_theory.conform.recording import saw

TIMES = 250
"""So often one call is made in a row, as flash-attention's tests do."""


def repetitions(judge: Judge) -> Finding:
    """The same call gives the same bits, 250 times in a row."""
    if judge.compiles:
        return NOT_TRIED
    (case,) = judge.cases([{"length": 17, "seed": 9}])
    answer, about = judge.ask(case, more={"times": TIMES}), {"times": TIMES}
    if answer.trouble is not None and answer.trouble.fault is Fault.HUNG and not judge.ask(case).trouble:
        return Finding(verdict=Verdict.NOT_JUDGED, fact="takes long", about=about, tried=TIMES)
    if answered(answer, case).differs:
        about |= {"call": answer.differs}
        return Finding(verdict=Verdict.FAILS, fact="other bits", about=about, tried=TIMES, failures=1)
    return Finding(verdict=Verdict.HOLDS, fact="repeated", tried=TIMES)


def outputs_stay(judge: Judge) -> Finding:
    """A call leaves the output of the call before it alone."""
    if judge.compiles:
        return NOT_TRIED
    (case,) = judge.cases([{"seed": 19}])
    answer = answered(judge.ask(case, more={"overwrites": True}), case)
    if answer.overwritten:
        return Finding(verdict=Verdict.FAILS, fact="overwritten", case=case, tried=2, failures=1)
    return Finding(verdict=Verdict.HOLDS, fact="outputs stay", tried=2)


def flag(judge: Judge) -> Finding:
    """The flag that hides the future may be True and False in any order at one length."""
    if judge.convention.chosen["causal"] != "asked":
        return NOT_TRIED
    name, right = judge.convention.names["causal"], dict[bool, list[bool]]({False: [], True: []})
    loud = dataclasses.replace(judge.convention, quiet=frozenset())
    orders = ((11, (False, True)),) if judge.compiles else ((11, (False, True)), (13, (True, False)))
    fail = {"verdict": Verdict.FAILS, "failures": 1, "tried": 2 * len(orders)}
    for n, order in orders:
        for hides in order:
            case = loud.fitted(judge.kind, judge.kind.case({"length": n, "batch": 1, "seed": n, "causal": hides}))
            assert case is not None
            about = {"name": name, "value": hides, "tokens": n, "after": n == 11}
            judge.calls += 1
            answer = ask(judge.kind, judge.caller, loud, case)
            if answer.trouble:
                verdict = Verdict.CONVENTION if answer.trouble.refuses else Verdict.FAILS
                return Finding(verdict=verdict, trouble=answer.trouble, fact="flag refused", about=about)
            exact = judge.expected(case).output
            gap = np.abs(answer.numbers - exact)
            # An output that is off by more is one of other keys.
            near = judge.near(case, answer)
            right[hides].append(bool((gap < near).all()))
            saw(judge.caller, answer.numbers, exact, gap / near)
            if hides and not right[True][-1]:
                return Finding(**fail, fact="flag", about=about, trouble=ANOTHER_ANSWER)
    about = {"name": name}
    if any(right[False]) and not all(right[False]):
        return Finding(**fail, fact="flag after", about=about, trouble=ANOTHER_ANSWER)
    if not any(right[False]):
        return Finding(**fail, fact="flag ignored", about=about)
    return Finding(verdict=Verdict.HOLDS, fact="both orders", tried=2 * len(orders))


def after_refusal(judge: Judge) -> Finding:
    """Nothing stays of a call that is refused: keys of another width than queries, then good calls."""
    case, longer = judge.cases({"length": n, "seed": 13} for n in (5, 9))
    first, made = judge.ask(case), judge.operands(longer)
    refused = judge.ask(longer, {**made, "k": np.concatenate([made["k"], made["k"]], -1)})
    if not _alike(judge, first, judge.ask(case)):
        return Finding(verdict=Verdict.FAILS, fact="after refusal", case=case, trouble=ANOTHER_ANSWER, failures=1)
    outcome = judge.judge(longer)
    if outcome.fails:
        return judge.failed(outcome, shrinks=False, fact="after refusal")
    fact = "wider keys refused" if refused.trouble else "wider keys answered"
    return Finding(verdict=Verdict.HOLDS, fact=fact, tried=2)


def two_objects(judge: Judge) -> Finding:
    """Two objects of a class answer alike, and none is moved by calls of the other."""
    if not judge.caller.about().get("class"):
        return NOT_TRIED
    case, other = judge.cases([{"seed": 17}, {"length": 9, "width": 7, "seed": 18}])
    first, second = judge.ask(case), {"object": 1}
    judge.ask(other, more=second)
    fail = {"verdict": Verdict.FAILS, "case": case, "trouble": ANOTHER_ANSWER, "failures": 1}
    if not _alike(judge, first, judge.ask(case)):
        return Finding(**fail, fact="after another object")
    if not _alike(judge, first, judge.ask(case, more=second)):
        return Finding(**fail, fact="another object")
    return Finding(verdict=Verdict.HOLDS, fact="two objects", tried=2)


def nothing_to_see(judge: Judge) -> Finding:
    """No queries, and no keys: told, for nothing is right there."""
    (plain,), parts = judge.cases([{"batch": 1}]), []
    for name, sizes in (("no queries", {"queries": 0, "keys": 4}), ("no keys", {"queries": 4, "keys": 0})):
        answer = judge.ask(plain.replaced(**sizes))
        what = "" if answer.trouble else "empty" if not answer.numbers.size else row_of_nothing(answer.numbers)
        parts.append(("of nothing", {"name": name, "what": what, "trouble": answer.trouble}))
    return Finding(verdict=Verdict.CONVENTION, fact="parts", about={"parts": tuple(parts)}, tried=2)


def row_of_nothing(row: np.ndarray) -> str:
    """What stands in a row that sees nothing, by a word."""
    if np.isnan(row).any():
        return "NaN"
    return "numbers" if row.any() else "zeros"


def _alike(judge: Judge, one: Answer, other: Answer) -> bool:
    if one.numbers.shape == other.numbers.shape:
        saw(judge.caller, other.numbers, one.numbers, np.where(one.numbers == other.numbers, 0.0, np.inf))
    return one.trouble == other.trouble and np.array_equal(one.numbers, other.numbers, equal_nan=True)
