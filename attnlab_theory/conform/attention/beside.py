"""What a target gives beside its output: weights are judged with it, and a log-sum-exp here."""

import numpy as np

from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.attention.layouts import laid_out, weights_layout
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.suite import NOTHING, Said

NEAR = 1e-3
"""How far a sum may be off to be known for what it is: what rounds in half precision is off by more."""


def second_output(judge: Judge, kind: Kind) -> Said:
    """The logarithm of the sum of exponentials, in base e or 2; anything else is said not to be judged."""
    case = fitted(Case(seed=21), kind, judge.way)
    answer = judge.ask(case)
    if answer.beside is None:
        return NOTHING
    problem = judge.way.problem(arrays(case), case)
    exact, told = attend(problem), "the logarithm of the sum of exponentials"
    scores = np.where(problem.visible, exact.scores, -np.inf)
    natural = np.logaddexp.reduce(scores, -1, keepdims=True)
    for layout in dict.fromkeys((weights_layout(judge.way.layout), judge.way.layout)):
        right = laid_out(natural, layout)
        if answer.beside.shape not in (right.shape, right.shape[:-1]):
            continue
        given = answer.beside.reshape(right.shape)
        if np.allclose(given, right, atol=NEAR):
            return Said(Verdict.HOLDS, told)
        if np.allclose(given, right / np.log(2), atol=NEAR):
            return Said(Verdict.CONVENTION, f"{told}, in base 2")
    return Said(
        Verdict.NOT_JUDGED,
        f"{[*answer.beside.shape]} is neither weights nor a logarithm of the sum of exponentials",
    )
