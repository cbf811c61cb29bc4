r"""Differential attention: a softmax map minus lambda times another one, over the same values.

The target takes q1, q2, k1, k2 and v, or one k for both maps. Or it takes q and k whose channels hold both maps,
the first one first. What it gives may be divided by its root mean square over the channels of a head, to whose
square eps is added. Where it takes lambda_init, it multiplies by 1 - lambda_init.

Source: Ye et al. 2024, "Differential Transformer" (arXiv 2410.05258), section 2.1, eq. (1) and (3).

Axes: b batch, h heads, t queries, s keys, d width, e width of values.

Tolerance. Let u be half of the type's eps. Each map errs as softmax attention does (`softmax/tolerances.py`), and
m1 and m2 are the means of |v| by their weights. The product with lambda, its store and the difference, of weights
or of outputs, add 4 u (m1 + |lambda| m2). Where this exceeds m1 + |lambda| m2, nothing is judged. Let x be the
difference, dx its error, r = sqrt(mean x^2 + eps). r has the slope 1 in the root mean square of x. So r errs by
rho, the root mean square of dx, and x / r by dx / (r - rho) + |x| rho / (r (r - rho)). Where rho reaches r, nothing
is judged. Squares, their mean, the root and the quotient add (e + 10) u |x| / r, the factor 3 u of what it gives.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.identities import RightAt, more_keys, visible
from attnlab_theory.conform.kind import Chosen, Right
from attnlab_theory.conform.kinds import attending
from attnlab_theory.conform.kinds.softmax.reference import Problem, attend
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.rounding import HALF_EPS, TINY


def maps(made: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Queries and keys of the two maps."""
    given = {name: np.asarray(x, np.float64) for name, x in made.items() if name[0] in "qk"}
    if "q" in given:
        return [*zip(np.split(given["q"], 2, -1), np.split(given["k"], 2, -1), strict=True)]
    return [(given[f"q{i}"], given[f"k{i}" if f"k{i}" in given else "k"]) for i in (1, 2)]


def right(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
    """The values by the first map, minus lambda times those by the second, [b h t e]."""
    v, seen, both = np.asarray(made["v"], np.float64), visible(case, chosen, made), maps(made)
    scale = case["scale"] or scales.factor(chosen["scale"], both[0][0].shape[-1])
    lam = np.asarray(made["lam"], np.float64).reshape(-1, 1, 1)
    given = [Problem(q, k, v, scale, seen) for q, k in both]
    exact = [attend(each) for each in given]
    first, second = (each.output for each in exact)
    plain, sizes = first - lam * second, [each.weights @ abs(v) for each in exact]
    whole, eps = sizes[0] + abs(lam) * sizes[1], chosen["norm"]
    length = 1.0 if eps == "none" else np.sqrt((plain**2).mean(-1, keepdims=True) + eps)
    rest = 1.0 if case["lambda init"] is None else 1 - case["lambda init"]
    with np.errstate(invalid="ignore", divide="ignore"):
        output = rest * plain / length

    @np.errstate(invalid="ignore", divide="ignore")
    def within(kind: str, accumulate: str) -> np.ndarray:
        u = HALF_EPS[kind] + HALF_EPS["float64"]
        errors = [tolerance(x, y, kind, accumulate, cast=True).output for x, y in zip(given, exact, strict=True)]
        off = errors[0] + abs(lam) * errors[1] + 4 * u * whole
        off = np.where((off >= whole) & (whole > 0), np.nan, off)
        if eps != "none":
            rho = np.sqrt((off**2).mean(-1, keepdims=True))
            room = np.where(rho < length, length - rho, np.nan)
            off = off / room + abs(plain) * rho / (length * room) + (v.shape[-1] + 10) * u * abs(plain) / length
        return abs(rest) * off + 3 * u * abs(output) + TINY[kind]

    return Right(output, within)


def promised(case: Case, chosen: Chosen) -> bool:
    """Two maps of one width."""
    return case["width"] % 2 == 0 and attending.promised(case, chosen)


USUAL = {**attending.USUAL, "width": 8, "lambda init": 0.7}


def columns(loud: Sequence[str]) -> dict[str, list[Any]]:
    """What is set beside each other, by lines that make scores large."""
    values = [{}, {"edits": loud}, {"values": "offset"}]
    return {**attending.COLUMNS, "values": values, "lam": [{}, {"edits": ("lam = 1.5 * lam",)}]}


SPLIT_LOUD = ("q = 20 * q",)

DIFFERENTIAL = dataclasses.replace(
    attending.OF_QUERIES,
    operands=("q", "k", "v", "lam", "lambda init", "causal", "pair mask", "mask", "scale"),
    must=("lam",),
    usual=USUAL,
    promised=promised,
    instead=lambda names: BY_NAME if {*names} & {*OPERANDS["q2"].spellings} else None,
    telling=("lambda init", "q", "v"),
    reads=(more_keys,),
    stages=attending.stages(
        {"norm": ("none", 1e-5, 1e-6, 1e-8, 0.0), "causal": ("never", "always")}
        | {"scale": ("rsqrt", "one", "inverse")}
    ),
    right=right,
    columns=columns(SPLIT_LOUD),
    laws=attending.laws({}, {"edits": SPLIT_LOUD}),
)
"""By queries and keys whose channels hold both maps."""

LOUD = ("q1, q2 = 20 * q1, 20 * q2",)

BY_NAME = dataclasses.replace(
    DIFFERENTIAL,
    operands=("q1", "q2", "k1", "k2", "k", "v", *DIFFERENTIAL.operands[3:]),
    placed=(),
    must=("q1", "q2", "v", "lam"),
    instead=lambda names: None,
    telling=("q1", "q2"),
    columns=columns(LOUD),
    laws=attending.laws(
        {"ties": RightAt({"edits": ("q1, q2 = 0 * q1, 0 * q2",), "seed": seed} for seed in range(2))},
        {"edits": LOUD},
    ),
)
"""By two arrays of queries."""
