"""Heads that share keys, in other numbers than four on two: there wrong formulas agree with the right one."""

import dataclasses

from attnlab_theory.conform.attention.asking import call_of
from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.attention.layouts import has_heads
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.suite import NOTHING, Said, failed

GROUPINGS = ((4, 2), (6, 2), (6, 3), (4, 1), (3, 3), (8, 2), (32, 8))
"""Heads of queries, and of keys. One head of keys is multi-query attention."""

COMPILED = ((6, 2), (8, 2), (4, 1))
"""Those that a jax target is given."""


def groupings(judge: Judge, kind: Kind) -> Said:
    """Each head reads its own group, for several numbers of either; a number that is refused is told."""
    if not kind.grouped or not has_heads(judge.way.layout):
        return NOTHING
    taken, refused, worst = [], [], 0.0
    for heads, groups in COMPILED if judge.way.framework == "jax" else GROUPINGS:
        case = fitted(Case(queries=5, keys=6, seed=heads + groups), kind, judge.way)
        if judge.way.alignment == "square" and judge.way.by_place(case):
            case = dataclasses.replace(case, keys=5)
        case = dataclasses.replace(case, heads=heads, groups=groups)
        outcome, words = judge.judge(case), f"{heads} on {groups}"
        if outcome.answer.trouble:
            refused.append(f"{words}: {outcome.answer.trouble}")
        elif outcome.fails:
            wrong = outcome.wrong(call_of(judge.way, case))
            return failed(wrong, f"{words}: ", len(taken) + 1, counterexample=case, ratio=outcome.ratio)
        else:
            taken.append(words)
            worst = max(worst, outcome.ratio)
    if refused:
        line = f"taken: {', '.join(taken) or 'none'}; refused: {'; '.join(refused)}"
        return Said(Verdict.CONVENTION, line, len(taken) + len(refused))
    return Said(Verdict.HOLDS, f"heads {', '.join(taken)}", len(taken), ratio=worst)
