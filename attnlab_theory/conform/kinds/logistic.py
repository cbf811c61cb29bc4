r"""Attention of sigmoids: each key is weighed by itself, by sigma(scale q k + shift). No sum divides the output.

Source: Ramapuram et al. 2024, "Theory, Analysis, and Best Practices for Sigmoid Self-Attention" (arXiv 2409.04431),
section 3, where the shift is -log n. A query that sees no key gets 0.

Axes: b batch, h heads, t queries, s keys, d width, e width of values.

Tolerance. Let u be half of the type's eps, u' that of the type of the sums, n the number of keys. A score errs by
d u' a + 12 u a, where a = scale sum_d |q_d k_d|: the sum, the scale, both stores, and q and k rounded before. The
shift is a logarithm and a sum: 3 u (|score| + |shift|). The slope of sigma is below sigma itself, so a weight w
errs by w expm1(that). An exponential, a sum and a quotient add 8 u w. A program may write sigma(x) as
(1 + tanh(x / 2)) / 2, whose error is 3 u, however small the weight is. The output is a sum of n products: dw |v| of
each, (n + 2) u' of their sizes, 2 u of itself. Where this exceeds the sum of all sizes, nothing is judged.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.identities import (
    Covering,
    again,
    apart,
    empty_batch,
    explained,
    future,
    more_keys,
    right_at,
    right_in,
    sized,
    untouched,
    visible,
)
from attnlab_theory.conform.kind import Chosen, Kind, Right, Stage
from attnlab_theory.conform.rounding import HALF_EPS, TINY


@np.errstate(over="ignore")
def right(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
    """Sum over s of sigma(scale q . k_s + shift) v_s of what is seen, [b h t e]."""
    q, k, v = (np.asarray(made[name], np.float64) for name in "qkv")
    factor = case["scale"] or scales.factor(chosen["scale"], q.shape[-1])
    seen = np.broadcast_to(visible(case, chosen, made), (*q.shape[:3], k.shape[2]))
    n = {"none": 1, "-log keys": k.shape[2], "-log seen": np.maximum(seen.sum(-1, keepdims=True), 1)}
    shift = np.asarray(made.get("shift", -np.log(n[chosen["shift"]])), np.float64)
    scores = factor * np.einsum("bhtd,bhsd->bhts", q, k)
    weights = np.where(seen, 1 / (1 + np.exp(-(scores + shift))), 0.0)
    output = np.einsum("bhts,bhse->bhte", weights, v)
    size, whole = (
        abs(factor) * np.einsum("bhtd,bhsd->bhts", abs(q), abs(k)),
        np.einsum("bhts,bhse->bhte", weights, abs(v)),
    )

    def error(kind: str, accumulate: str) -> np.ndarray:
        u, sums, tiny = HALF_EPS[kind], HALF_EPS[accumulate], TINY[kind]
        lost = (
            tiny * max(1.0, abs(factor)) * (q.shape[-1] + abs(q).sum(-1)[..., None] + abs(k).sum(-1)[..., None, :])
        )
        exponent = (q.shape[-1] * sums + 12 * u) * size + 3 * u * (abs(scores) + abs(shift)) + lost
        off = np.where(seen, weights * (np.expm1(np.minimum(exponent, 600.0)) + 8 * u) + 3 * u + tiny, 0.0)
        terms = off + (k.shape[2] + 2) * sums * (weights + off)
        return np.einsum("bhts,bhse->bhte", terms, abs(v)) + 2 * u * abs(output) + (k.shape[2] + 1) * tiny

    def within(kind: str, accumulate: str) -> np.ndarray:
        one = error(kind, accumulate)
        # The reference computes in float64, so its own bound is added.
        return np.where((one >= whole) & (whole > 0), np.nan, one + error("float64", "float64"))

    return Right(output, within)


def promised(case: Case, chosen: Chosen) -> bool:
    """Other lengths of keys than of queries only where the target takes them."""
    return case["queries"] == case["keys"] or not chosen.get("more keys")


REPLACED = [dict.fromkeys("kv", "4 * {x}"), dict.fromkeys("kv", "{x} + 1e3")]
"""What becomes of later tokens, of which earlier ones know nothing."""

SIZES = [
    {},
    *({"batch": n} for n in (6, 4)),  # as many elements as queries, as heads
    *({"heads": n, "length": 5} for n in (9, 16)),
    *sized((1, 130, 8, 5), (4, 7, 4, 4), (7, 4, 2, 3), (17, 33, 16, 8), (5, 5, 128, 80), (1, 1, 1, 1)),
    *({"length": n, "batch": 1} for n in (129, 257)),
]

COLUMNS = {
    "sizes": SIZES,
    "types": [{}, {"type": "float64"}, {"type": "float16"}, {"type": "bfloat16"}],
    "masks": [{}, {"pair mask": "any"}],
    "padding": [{}, {"mask": "padded"}],
    "scale": [{}, {"scale": 0.3}],
    "shift": [{}, {"shift": "left away"}],
    "memory": [{}, {"memory": "rows"}],
    "values": [{}, {"values": "large"}, {"values": "offset"}],
}
"""What is set beside each other. A flag that hides the future is tried both ways with each of them."""

SIGMOID = Kind(
    operands=("q", "k", "v", "causal", "pair mask", "mask", "scale", "shift"),
    placed=("q", "k", "v"),
    gives="bhte",
    usual={"batch": 2, "heads": 4, "length": 6, "width": 4, "value_width": 3},
    few=8,
    promised=promised,
    stages=(
        Stage(
            forms={"same width": (False, True), "layout": ("bhtd", "bthd", "btd", "td")},
            choices={"shift": ("none", "-log keys", "-log seen"), "scale": ("rsqrt", "one", "inverse")}
            | {"causal": ("never", "always")},
            trials=tuple({"heads": 3, "length": 5, "seed": 4} | more for more in ({"shift": "left away"}, {})),
            identity="weights",
        ),
        Stage(
            needs="pair mask",
            forms={"pair mask axes": ("bhts", "b1ts", "11ts", "bs")},
            trials=({"pair mask": "any", "heads": 3, "seed": 3},),
            identity="masks",
        ),
        Stage(needs="mask", trials=({"mask": "padded", "heads": 3, "seed": 3},), identity="padding"),
    ),
    right=right,
    reads=(more_keys,),
    columns=COLUMNS,
    compiled={"sizes": COLUMNS["sizes"][:2]},
    laws={
        "weights": explained,
        "plain": right_at({"seed": seed} for seed in range(6)),
        "one token": right_at(sized((1, 1, 4, 3), (1, 1, 1, 1), (6, 6, 1, 1))),
        "odd widths": right_at(sized((5, 5, 7, 5), (5, 5, 3, 9), (6, 6, 17, 9), (5, 5, 80, 40))),
        "block edges": right_at({"length": n, "batch": 1} for n in (130, 17, 65, 15, 16, 63, 64, 127, 128, 129)),
        "more keys": right_at(sized((4, 7, 4, 3), (1, 19, 4, 3), (1, 130, 4, 3))),
        "more queries": right_at(sized((7, 4, 4, 3), (5, 1, 4, 3))),
        "ties": right_at({"values": "zeros", "seed": seed} for seed in range(2)),
        "large": right_at({"values": "large", "seed": seed} for seed in range(3)),
        "offset values": right_at({"values": "offset", "seed": seed} for seed in range(3)),
        "masks": right_at({"pair mask": "any", "length": n, "seed": n} for n in (6, 9, 17)),
        "padding": right_at({"mask": "padded", "length": n, "seed": n} for n in (6, 9, 17)),
        "left away": right_at({"shift": "left away", "length": n} for n in (6, 17)),
        "scale": right_at({"scale": 0.3, "seed": seed} for seed in range(2)),
        "float64": right_in("float64"),
        "float16": right_in("float16"),
        "bfloat16": right_in("bfloat16"),
        "pairs": Covering(),
        "future": future((5, 17, 65), (5,), REPLACED, batch=1, causal=True),
        "same result": again({"seed": 11}, [{"seed": 11, "length": 17}, {"seed": 11, "type": "float64"}]),
        "elements apart": apart({"batch": 3, "heads": 3, "seed": 7}, "qkv"),
        "empty batch": empty_batch,
        "inputs unchanged": untouched([{}, {"memory": "rows"}]),
    },
)
