"""Biases of large size: they decide which keys are seen, and so hide others."""

import numpy as np

from attnlab_theory.conform.attention.asking import call_of
from attnlab_theory.conform.attention.cases import BIASES, Case
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.suite import NOTHING, Said, failed


def large_biases(judge: Judge, kind: Kind) -> Said:
    """Biases of 100, of -1e4 and of minus infinity are added as small ones are; NaN for the last is told."""
    if kind.wants != "bias":
        return NOTHING
    worst, told = 0.0, ""
    for biases in BIASES:
        case = fitted(Case(biases=biases, seed=3), kind, judge.way)
        outcome = judge.judge(case)
        infinite = biases == "minus infinity"
        if infinite and (outcome.answer.trouble or np.isnan(outcome.answer.output).any()):
            told = f"minus infinity gives {outcome.answer.trouble or 'NaN'}"
        elif outcome.fails:
            wrong = outcome.wrong(call_of(judge.way, case))
            return failed(wrong, f"biases of {biases}: ", counterexample=case, ratio=outcome.ratio)
        worst = max(worst, outcome.ratio * (not infinite))
    if told:
        return Said(Verdict.CONVENTION, told, len(BIASES), ratio=worst)
    return Said(Verdict.HOLDS, "also minus infinity", len(BIASES), ratio=worst)
