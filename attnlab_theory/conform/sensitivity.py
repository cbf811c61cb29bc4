r"""How near two ways to one answer must be, where there is no right one: tolerances that are measured.

A right program gives the exact answer of inputs that are off by a few units u of their size for each token that
is added: (t + d + 16) u, for t tokens and width d. For a sum of t numbers in any order is the exact sum of
numbers that are off by less than t u (Higham, section 3.1). What that does to the output depends on the target,
whose formula is not known. So it is measured: every input is multiplied by 1 + eta x, x uniform in [-1, 1],
and the largest movement of an output over eta is the sensitivity S. Of a few draws the largest is taken, and
four times, for the signs of roundings may be worse than those that were drawn. Outputs are rounded themselves.
So

    tolerance = 2 (t + d + 16) u (4 S + max |output|),

where the 2 is for two ways, each with roundings of its own. It is no derivation: S is a largest of draws.

A layer may be deep (`of_layers`). Suppose that it works in at most L = 8 stages, and that each sums at most
n = t + d terms, a padded Fourier transform included. An error of n u of the largest number in a stage either stands
in the output, or acts as a change of the stage's input by n u of its size (Higham, sections 3.1 and 24.1). So one
answer errs by L n u (kappa + max |f|), and two are apart by at most twice that. kappa is the largest move of the
output over h. There every input is changed by a relative h of random signs, and h is the root of u, of float32 at
least. Both maxima are over all tokens of the louder call. So a Fourier transform that spreads the rounding of a
loud future over the past keeps it, and one that wraps around does not. kappa is measured only where the answers are
further apart than the bound without it. It can be measured in one place alone: a function that jumps there, such as
a sort or a hash, may be accused.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.calling import Answer
from attnlab_theory.conform.case import Case, word
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.precision import changed
from attnlab_theory.conform.rounding import HALF_EPS

ETA = {"float64": 1e-7, "float32": 1e-3, "float16": 3e-2}
"""How much inputs are moved: far above the rounding, and far below their size."""

DRAWS = 3

STAGES = 8
"""L, so many sums after each other."""


def measured(
    ask: Callable[[Case, Mapping[str, np.ndarray]], Answer],
    case: Case,
    given: Mapping[str, np.ndarray],
    right: Answer,
    kind: str,
) -> float:
    """The tolerance of this module's docstring, for a target that computes in some type."""
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


def peak(*arrays: np.ndarray) -> float:
    """The largest finite absolute value; 0 of nothing."""
    found = [float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in arrays]
    return max(found, default=0.0)


def gaps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The distance, entry by entry: infinite where one is no number and the other is, 0 where both are the same."""
    with np.errstate(invalid="ignore"):
        found = np.abs(one - other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(same, 0.0, np.nan_to_num(found, nan=np.inf))


def most_apart(one: np.ndarray, other: np.ndarray) -> float:
    """The largest of these distances; infinite where the shapes differ."""
    return float(gaps(one, other).max(initial=0.0)) if one.shape == other.shape else np.inf


def of_layers(judge: Any, pair: Any, answer: Answer, right: Answer, error: float) -> Callable[[str], Any]:
    """How far two right answers of a layer may be apart; NaN of a type whose tolerance exceeds their range."""
    made = {case: judge.operands(case) for case in (pair.right, pair.case)}
    loud = max(made, key=lambda case: peak(*(x for x in made[case].values() if x.dtype.kind == "f")))
    names = [word(role) for role in judge.convention.placed]
    x = made[loud][names[0]]
    terms = x.shape[-2] + max(x.shape[-1], right.numbers.shape[-1])
    size = peak(answer.numbers, right.numbers)

    def within(kind: str) -> Any:
        unit = 2 * STAGES * terms * HALF_EPS[kind]
        most = unit * size
        if most < error < np.inf:
            most += unit * moves(kind)
        is_loose = pair.case.type != pair.right.type and most >= np.ptp(right.numbers)
        return np.nan if is_loose else most

    def moves(kind: str) -> float:
        h = max(HALF_EPS[kind], HALF_EPS["float32"]) ** 0.5
        moved = dict(zip(names, changed([made[loud][name] for name in names], h), strict=True))
        one, other = judge.remembered(loud), judge.ask(loud, {**made[loud], **moved})
        if one.trouble or other.trouble:
            return np.inf
        return most_apart(one.numbers, other.numbers) / h

    return within
