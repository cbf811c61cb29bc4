r"""Stick-breaking attention: a token offers its unit of weight to one past token after the other, the last first.

Each takes the share beta = sigma(scale q k) of what those between have left over. What nobody took is lost, or the
token's own value gets it. Whether a token offers to itself is a choice. A key that a mask hides takes nothing, and
leaves all to those before it.

Source: Tan et al. 2024, "Scaling Stick-Breaking Attention" (arXiv 2410.17980), section 2.

Axes: b batch, h heads, t queries, s keys, d width, e width of values.

Tolerance. Let u be half of the type's eps, u' that of the type of the sums, n the number of keys. A score errs by
E, as `attending.scored` says. The slopes of log sigma are at most 1, so beta and 1 - beta err by a factor within
exp(+-E). A program that multiplies shares rounds each of them. Its 1 - beta has an error of 3 u, however small it
is. So a weight is at most

    (beta exp(E) + 3 u) prod_r ((1 - beta_r) exp(E_r) + 3 u) exp((n u' + 4 u) L + 8 u + 2 n u'),

where L is the sum of all logarithms of a row. A program may take the sum of some of them as a difference of two. A
weight may be too small by less than that, for all factors are positive. What is left over errs alike, or as 1
minus the sum of the weights. The output is a sum of n products: dw |v| of each, (n + 2) u' of their sizes, 2 u of
itself. Where this exceeds the sum of all sizes, nothing is judged.
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


def left_after(shares: np.ndarray) -> np.ndarray:
    """Products [b h t s + 1] of the shares of later keys, those of all keys first."""
    products = np.cumprod(shares[..., ::-1], -1)[..., ::-1]
    return np.concatenate([products, np.ones_like(products[..., :1])], -1)


@np.errstate(over="ignore")
def right(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
    """Sums of the values of past tokens, each by its share of what is left, [b h t e]."""
    q, k, v = (np.asarray(made[name], np.float64) for name in "qkv")
    t, s = q.shape[2], k.shape[2]
    factor = case["scale"] or scales.factor(chosen["scale"], q.shape[-1])
    seen = np.broadcast_to(visible(case, chosen, made), (*q.shape[:3], s))
    place = np.arange(t) + (s - t) * (chosen.get("alignment") != "start")
    seen = seen & (np.arange(s) < place[:, None] + bool(case["own key"]))
    scores, errs = attending.scored(q, k, factor)
    shares = np.where(seen, 1 / (1 + np.exp(-scores)), 0.0)
    others = np.where(seen, 1 / (1 + np.exp(scores)), 1.0)
    left = left_after(others)
    weights = shares * left[..., 1:]
    is_own = chosen["left over"] == "own value"
    own = np.take(v, np.clip(place, 0, s - 1), 2) * is_own
    output, whole = (
        np.einsum("bhts,bhse->bhte", weights, x) + left[..., :1] * y for x, y in ((v, own), (abs(v), abs(own)))
    )
    logs = np.where(seen, np.logaddexp(0, scores), 0.0).sum(-1, keepdims=True)

    def errors(kind: str, accumulate: str) -> tuple[np.ndarray, np.ndarray]:
        """How far the weights may be off, and what is left."""
        u, sums, tiny = HALF_EPS[kind], HALF_EPS[accumulate], TINY[kind]
        power = (s * sums + 4 * u) * (logs + np.logaddexp(0, -scores)) + 8 * u + 2 * s * sums
        moved, rounds = (np.exp(np.minimum(x, 30.0)) for x in (errs(kind, accumulate), power))
        most = left_after(np.where(seen, others * moved + 3 * u, 1.0))
        off = np.where(seen, (shares * moved + 3 * u) * most[..., 1:] * rounds - weights + tiny, 0.0)
        rest = most[..., :1] * rounds.max(-1, keepdims=True, initial=1.0) - left[..., :1]
        return np.minimum(off, 1.0), np.minimum(rest + off.sum(-1, keepdims=True) + (s + 2) * sums, 1.0)

    def error(kind: str, accumulate: str) -> np.ndarray:
        sums, (off, rest) = HALF_EPS[accumulate], errors(kind, accumulate)
        found = np.einsum("bhts,bhse->bhte", off + (s + 2) * sums * (weights + off), abs(v))
        return found + (rest + 2 * sums) * abs(own) + 2 * HALF_EPS[kind] * abs(output) + (s + 1) * TINY[kind]

    def beside(kind: str, accumulate: str) -> np.ndarray:
        return errors(kind, accumulate)[1][..., 0] + errors("float64", "float64")[1][..., 0]

    return Right(output, attending.bounded(error, whole), second=("bht", left[..., 0], beside))


def promised(case: Case, chosen: Chosen) -> bool:
    """No query stands before the first key."""
    return case["queries"] <= case["keys"] and attending.promised(case, chosen)


LARGE = ("large", "low", "negative")
"""Keys that take nearly all of what is left, or nearly nothing."""

STICK_BREAKING = dataclasses.replace(
    attending.OF_QUERIES,
    operands=(*attending.OF_QUERIES.operands, "own key"),
    promised=promised,
    stages=attending.stages(
        {"own key": ("never", "always"), "left over": ("lost", "own value"), "causal": ("always",)}
        | {"scale": ("rsqrt", "one", "inverse")}
    ),
    right=attending.by_heads(right),
    laws=attending.laws({"large": RightAt({"values": x, "seed": seed} for x in LARGE for seed in (0, 1))}),
)
