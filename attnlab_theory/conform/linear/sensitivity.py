r"""How near two forms of one recurrence must be, where there is no reference: a tolerance that is measured.

A right program gives the exact answer of inputs that are off by a few units u of their size for each token that
is added: (t + d + 16) u, for t tokens and width d. For a sum of t numbers in any order is the exact sum of
numbers that are off by less than t u (Higham, section 3.1). What that does to the output depends on the
recurrence, which is not known. So it is measured: every input is multiplied by 1 + eta x, x uniform in [-1, 1],
and the largest movement of an output over eta is the sensitivity S. Of a few draws the largest is taken, and
four times, for the signs of roundings may be worse than those that were drawn. Outputs are rounded themselves.
So

    tolerance = 2 (t + d + 16) u (4 S + max |output|),

where the 2 is for two forms, each with roundings of its own. It is no derivation: S is a largest of draws.
"""

from collections.abc import Mapping

import numpy as np

from attnlab_theory.conform.attention.tolerances import HALF_EPS
from attnlab_theory.conform.linear.forms import Case, Form

ETA = {"float64": 1e-7, "float32": 1e-3, "float16": 3e-2}
"""How much inputs are moved: far above the rounding, and far below their size."""

DRAWS = 3


def measured(form: Form, given: Mapping[str, np.ndarray], case: Case, output: np.ndarray, kind: str) -> float:
    """The tolerance of this module's docstring.

    Args:
        form: which is moved.
        given: its inputs.
        case: the call.
        output: what it gave for them.
        kind: the type in which it computes.
    """
    eta, moved = ETA[kind], 0.0
    for seed in range(DRAWS):
        r = np.random.default_rng(seed)
        other = {name: x * (1 + eta * r.uniform(-1, 1, x.shape)) for name, x in given.items()}
        for name in ("decay", "beta"):
            other[name] = np.minimum(other[name], 1.0)
        answer = form.ask(other, case)
        if not answer.trouble:
            moved = max(moved, float(np.nan_to_num(np.abs(answer.output - output), nan=0.0).max(initial=0.0)))
    size = float(np.nan_to_num(np.abs(output), nan=0.0).max(initial=0.0))
    return 2 * (case.length + case.width + 16) * HALF_EPS[kind] * (4 * moved / eta + size)
