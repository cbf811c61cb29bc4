r"""How near two ways to one answer must be, where there is no right one: a tolerance that is measured.

A right program gives the exact answer of inputs that are off by a few units u of their size for each token that
is added: (t + d + 16) u, for t tokens and width d. For a sum of t numbers in any order is the exact sum of
numbers that are off by less than t u (Higham, section 3.1). What that does to the output depends on the target,
whose formula is not known. So it is measured: every input is multiplied by 1 + eta x, x uniform in [-1, 1],
and the largest movement of an output over eta is the sensitivity S. Of a few draws the largest is taken, and
four times, for the signs of roundings may be worse than those that were drawn. Outputs are rounded themselves.
So

    tolerance = 2 (t + d + 16) u (4 S + max |output|),

where the 2 is for two ways, each with roundings of its own. It is no derivation: S is a largest of draws.
"""

from collections.abc import Callable, Mapping

import numpy as np

from attnlab_theory.conform.calling import Answer
from attnlab_theory.conform.case import Case, word
from attnlab_theory.conform.kinds.softmax.tolerances import HALF_EPS
from attnlab_theory.conform.operands import OPERANDS

ETA = {"float64": 1e-7, "float32": 1e-3, "float16": 3e-2}
"""How much inputs are moved: far above the rounding, and far below their size."""

DRAWS = 3


def measured(
    ask: Callable[[Case, Mapping[str, np.ndarray]], Answer],
    case: Case,
    given: Mapping[str, np.ndarray],
    right: Answer,
    kind: str,
) -> float:
    """The tolerance of this module's docstring.

    Args:
        ask: makes a call with other arrays than those of its case.
        case: the call.
        given: its arrays.
        right: what it gave.
        kind: the type in which the target computes.
    """
    eta, moved = ETA[kind], 0.0
    most = {word(role): OPERANDS[role].most for role, _ in case.arrays}
    for seed in range(DRAWS):
        r = np.random.default_rng(seed)
        other = {name: x * (1 + eta * r.uniform(-1, 1, x.shape)) for name, x in given.items()}
        for name, x in other.items():
            other[name] = np.minimum(x, most[name]).astype(given[name].dtype)
        answer = ask(case, other)
        if not answer.trouble:
            off = np.nan_to_num(np.abs(answer.numbers - right.numbers), nan=0.0)
            moved = max(moved, float(off.max(initial=0.0)))
    size = float(np.nan_to_num(np.abs(right.numbers), nan=0.0).max(initial=0.0))
    return 2 * (case["keys"] + case["width"] + 16) * HALF_EPS[kind] * (4 * moved / eta + size)
