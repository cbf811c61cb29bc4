r"""Attention of sigmoids: each key is weighed by itself, by sigma(scale q k + shift). No sum divides the output.

Source: Ramapuram et al. 2024, "Theory, Analysis, and Best Practices for Sigmoid Self-Attention" (arXiv
2409.04431), section 3, where the shift is -log n. A query that sees no key gets 0.

Axes: b batch, h heads, t queries, s keys, d width, e width of values.

Tolerance. Let u be half of the type's eps, u' that of the type of the sums, n the number of keys. A score errs as
`attending.scored` says, its sum with a shift by 3 u |shift| more. The slope of sigma is below sigma itself, so a
weight w errs by w expm1(that). An exponential, a sum and a quotient add 8 u w. A program may write sigma(x) as (1
+ tanh(x / 2)) / 2, whose error is 3 u, however small the weight is. The output is a sum of n products: dw |v| of
each, (n + 2) u' of their sizes, 2 u of itself. Where this exceeds the sum of all sizes, nothing is judged.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.identities import RightAt, visible
from attnlab_theory.conform.kind import Chosen, Right
from attnlab_theory.conform.kinds import attending
from attnlab_theory.conform.rounding import HALF_EPS, TINY


@np.errstate(over="ignore")
def right(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
    """Sum over s of sigma(scale q . k_s + shift) v_s of what is seen, [b h t e]."""
    q, k, v = (np.asarray(made[name], np.float64) for name in "qkv")
    factor = case["scale"] or scales.factor(chosen["scale"], q.shape[-1])
    seen = np.broadcast_to(visible(case, chosen, made), (*q.shape[:3], k.shape[2]))
    n = {"none": 1, "-log keys": k.shape[2], "-log seen": np.maximum(seen.sum(-1, keepdims=True), 1)}
    shift = np.asarray(made.get("shift", -np.log(n[chosen["shift"]])), np.float64)
    scores, errs = attending.scored(q, k, factor)
    weights = np.where(seen, 1 / (1 + np.exp(-(scores + shift))), 0.0)
    output, whole = (np.einsum("bhts,bhse->bhte", weights, x) for x in (v, abs(v)))

    def error(kind: str, accumulate: str) -> np.ndarray:
        u, sums, tiny = HALF_EPS[kind], HALF_EPS[accumulate], TINY[kind]
        exponent = errs(kind, accumulate) + 3 * u * abs(shift)
        off = np.where(seen, weights * (np.expm1(np.minimum(exponent, 600.0)) + 8 * u) + 3 * u + tiny, 0.0)
        terms = off + (k.shape[2] + 2) * sums * (weights + off)
        return np.einsum("bhts,bhse->bhte", terms, abs(v)) + 2 * u * abs(output) + (k.shape[2] + 1) * tiny

    return Right(output, attending.bounded(error, whole))


SIGMOID = dataclasses.replace(
    attending.OF_QUERIES,
    operands=(*attending.OF_QUERIES.operands, "causal", "shift"),
    stages=attending.stages(
        {"shift": ("none", "-log keys", "-log seen"), "scale": ("rsqrt", "one", "inverse")}
        | {"causal": ("never", "always")},
        *(attending.TRIAL | more for more in ({"shift": "left away"}, {})),
    ),
    right=attending.by_heads(right),
    columns={**attending.COLUMNS, "shift": [{}, {"shift": "left away"}]},
    laws=attending.laws({"left away": RightAt({"shift": "left away", "length": n} for n in (6, 17))}),
)
