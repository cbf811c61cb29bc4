"""With what weights a target averages what it sees: those of a softmax, or others."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.attention.asking import ask
from attnlab_theory.conform.attention.cases import Arrays, Case, arrays
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.kinds import Kind

FITS = 5e-3
"""An answer this near is that of a softmax. Feature maps are further off."""

MOST_CAP = 1e3
"""A higher cap is none: scores of 12 show it no more."""

PRODUCTS = (0.25, 12.0)
"""Scores that show the scale, and the cap."""


class Weighing(NamedTuple):
    """What a softmax needs to explain an answer, beside the guessed conventions."""

    scale: str
    """As `--scale` has it; empty if the guessed one is right."""
    cap: float | None
    note: str = ""
    """What is odd about the scale."""


def weighed(caller: Caller, kind: Kind, way: Conventions) -> Weighing | None:
    """Compare random numbers with an exact softmax, with the scale and the cap that single scores show.

    Args:
        caller: of the target.
        kind: what it seems to promise.
        way: to call it.

    Returns:
        What explains the answers; None if nothing of it does.
    """
    case = fitted(Case(queries=6, keys=6, width=8, value_width=8, seed=2), kind, way)
    answer = ask(caller, way, case)
    if answer.trouble:
        return None
    plain = _near(way, case, answer.output)
    shown = _shown(caller, way, dataclasses.replace(case, queries=1, keys=2) if _free(way, case) else case)
    if shown is None:
        return Weighing("", None) if plain else None
    scale, cap = shown
    fitting = dataclasses.replace(way, fixed_softcap=cap)
    name = "" if math.isclose(scale, way.factor(case), rel_tol=2e-3) else _named(scale, case.width)
    fitting = dataclasses.replace(fitting, scale=name) if name else fitting
    if _near(fitting, case, answer.output):
        if name and name not in scales.NAMES:
            other = fitted(dataclasses.replace(case, width=4, value_width=4), kind, way)
            again = ask(caller, way, other)
            if again.trouble or not _near(fitting, other, again.output):
                return Weighing("", cap, f"its scale is {name} at width {case.width}, and none that is known")
        return Weighing(name, cap)
    return Weighing("", None) if plain else None


def _free(way: Conventions, case: Case) -> bool:
    """Whether one query may look at two keys, and sees them both."""
    return not way.by_place(case) and way.alignment != "square"


def _near(way: Conventions, case: Case, output: np.ndarray) -> bool:
    right = attend(way.problem(arrays(case), case)).output
    return bool(np.all(np.abs(output - right) < FITS * (1 + np.abs(right).max())))


def _named(scale: float, width: int) -> str:
    near = [name for name in scales.NAMES if math.isclose(scale, scales.factor(name, width), rel_tol=2e-3)]
    return near[0] if near else f"{scale:.3g}"


def _shown(caller: Caller, way: Conventions, case: Case) -> tuple[float, float | None] | None:
    """The scale and the cap: from the weights of the last key and of the key before, which is 0."""
    scores = []
    for product in PRODUCTS:
        b, h, g = case.batch, case.heads, case.groups
        width = case.value_width
        q, k = np.zeros((b, h, case.queries, width), "float32"), np.zeros((b, g, case.keys, width), "float32")
        root = math.sqrt(product / way.factor(case))
        q[..., 0] = root
        k[..., -1, 0] = root
        v = np.zeros((b, g, case.keys, width), "float32")
        v[..., -1, 0], v[..., -2, 1] = 1, 1
        sized = dataclasses.replace(case, width=width, value_width=width)
        answer = ask(caller, way, sized, Arrays(q, k, v, None, None))
        if answer.trouble:
            return None
        own, before = answer.output[0, 0, -1, 0], answer.output[0, 0, -1, 1]
        if not (own > 0 and before > 0):
            return None
        scores.append(math.log(own / before))
    scale = way.factor(case) * scores[0] / PRODUCTS[0]
    high = PRODUCTS[1] * scores[0] / PRODUCTS[0]
    if not 0 < scores[1] < high * 0.9999:
        return scale, None
    low, top = 1e-3, 1e6
    for _ in range(80):
        middle = math.sqrt(low * top)
        low, top = (middle, top) if middle * math.tanh(high / middle) < scores[1] else (low, middle)
    return (scale, None) if low > MOST_CAP else (scale, float(f"{low:.3g}"))
