r"""How far a right answer may be from the exact one: derived from the roundings that any program must make.

Let u be half of the type's eps, and u' that of the type in which sums are accumulated. The bounds hold for sums in
any order (Higham, Accuracy and Stability, section 3.1). They are worst cases, so a right program is never accused.

Scores. s_j = scale * sum_d q_d k_jd has d products and d - 1 sums: an error of at most d u' a_j, where a_j = scale
* sum_d |q_d k_jd| + |bias_j|. The root in the scale (1), the product with it (1), a factor log2(e) in two roundings
(2), the cap (a quotient, a tanh of 2 u, a product: 4), the bias (1) and the store (1) add 10 u a_j. Below the
smallest normal number `tiny` a product may be lost. Of q_d k_jd that is d tiny, times the scale where this is above
1. Of scale q_d it is tiny |k_jd|, of scale k_jd it is tiny |q_d|; the root of the scale may go to both, which
multiplies what is lost by at most that root.

A target whose output is coarser than its input may have rounded q, k and v first: 2 u a_j in the scores, and u of
each value.

Weights. The maximum is subtracted: u (|s_j| + |m|). A program that goes through the keys block by block rescales
with exp(m - m'), whose exponents are rounded alike and telescope: twice that. An exponential errs by 4 u. Together
weight j is wrong by a factor within 1 +- r_j, where r_j = expm1(all of these). The same factor in all weights of
a row cancels. So to all orders

    |sum_j w_j (1 + rho_j) v_j / sum_j w_j (1 + rho_j) - out| <= sum_j w_j r_j |v_j - out| / (1 - sum_j w_j r_j),

and never more than max_j |v_j - out|, for weights are positive.

Sums. n weights are summed, and n products with values: (2 n u' + 6 u)(sum_j w_j |v_j| + |out|), where each block
may rescale what was before, which n counts twice. Exponentials below tiny are lost: 2 n tiny max_j |v_j|.

A program that takes exp(s_j - L), where L = m + log(sum), divides by nothing afterwards: the rounding of L and that
of the differences stay, 3 u (|m| + log n)(sum_j w_j |v_j| + |out|).

An entry is *loose* where its tolerance exceeds the range of the values: any mean of them would pass. A case that
has only loose entries is not judged.

The reference makes the same roundings in float64, so its own bound is added.
"""

from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.kinds.softmax.reference import Attended, Problem
from attnlab_theory.conform.rounding import HALF_EPS, TINY


class Tolerance(NamedTuple):
    """What a right answer keeps, entry by entry."""

    output: np.ndarray
    """[b h t e], the largest error."""
    loose: np.ndarray
    """[b h t e], whether any mean of the visible values would pass; one value alone has no range, and is judged."""
    weights: np.ndarray
    """[b h t s], the largest error of a weight."""


def tolerance(
    given: Problem, exact: Attended, kind: str, accumulate: str | None = None, *, cast: bool = False
) -> Tolerance:
    """The bound of this module's docstring.

    Args:
        given: what was asked.
        exact: what is right.
        kind: the type in which the target computes.
        accumulate: the type of its sums; by default `kind`.
        cast: whether q, k and v were rounded to that type first.
    """
    weights, output, v = _finite(exact.weights), _finite(exact.output), _finite(given.v)
    seen = np.broadcast_to(given.visible, exact.scores.shape)
    types = ((kind, accumulate or kind, cast), ("float64", "float64", False))
    # By how much each weight may be moved by its own factor, in the target and in the reference.
    factors = [
        np.where(seen, np.expm1(np.minimum(_exponent(given, exact, seen, *each), 600.0)), 0.0) for each in types
    ]
    moves = np.stack([weights * factor for factor in factors])
    errors, span, mean = np.zeros((2, *output.shape)), np.zeros_like(output), weights @ np.abs(v)
    # A few channels after the others: the differences of all of them at once may be large.
    width = max(1, MOST_AT_ONCE // max(seen.size, 1))
    for e in range(0, v.shape[-1], width):
        some = slice(e, e + width)
        apart = np.where(seen[..., None], np.abs(v[:, :, None, :, some] - output[..., None, some]), 0.0)
        with np.errstate(invalid="ignore", over="ignore"):
            errors[..., some] = (moves[..., None, :] @ apart)[..., 0, :]
        span[..., some] = apart.max(-2, initial=0.0)
    top = np.where(seen, np.abs(exact.scores), 0.0).max(-1, keepdims=True, initial=0.0)
    n = seen.sum(-1, keepdims=True)
    most = np.abs(v).max(-2, keepdims=True, initial=0.0)
    totals, own = [], []
    for (name, wide, rounds), factor, move, error in zip(types, factors, moves, errors, strict=True):
        u, sums, tiny = HALF_EPS[name], HALF_EPS[wide], TINY[name]
        moved = move.sum(-1, keepdims=True)
        room = np.where(moved < 0.5, 1 - moved, np.nan)
        undivided = 3 * u * (top + np.log(np.maximum(n, 1)))
        rest = (2 * n * sums + (6 + rounds) * u + undivided) * (mean + np.abs(output)) + 2 * n * tiny * most + tiny
        totals.append(np.minimum(np.nan_to_num(error / room, nan=np.inf), span) + rest)
        # A weight is moved by its own factor and by that of the normaliser, and never by more than 1.
        both = np.nan_to_num(factor + moved / room * (1 + factor), nan=1e30) + 2 * n * sums + 6 * u + undivided
        own.append(np.minimum(weights * both, 1.0) + 2 * n * tiny)
    return Tolerance(np.add(*totals), (totals[0] >= span) & (span > 0), np.add(*own))


MOST_AT_ONCE = 1 << 18
"""Differences of values from outputs are made so many at once."""


def _exponent(
    given: Problem, exact: Attended, seen: np.ndarray, kind: str, accumulate: str, cast: bool
) -> np.ndarray:
    """How far the exponent of each weight may be off."""
    u, sums, tiny = HALF_EPS[kind], HALF_EPS[accumulate], TINY[kind]
    q, k = np.abs(_finite(given.q)), np.abs(_finite(given.k))
    d = q.shape[-1]
    with np.errstate(invalid="ignore", over="ignore"):
        scale = max(1.0, abs(given.scale))
        sizes = q.sum(-1)[..., None] + k.sum(-1)[..., None, :]
        lost = tiny * (scale * d + scale**0.5 * sizes)
        size = abs(given.scale) * (q @ k.swapaxes(-1, -2))
        size = np.where(seen, size + (0.0 if given.bias is None else np.abs(given.bias)), 0.0)
        scores = np.where(seen, np.abs(exact.scores), 0.0)
        top = scores.max(-1, keepdims=True, initial=0.0)
        return d * sums * size + (10 + 2 * cast) * u * size + lost + 4 * u * (scores + top) + 4 * u


def span(seen: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The range of the values [b h s e] that each query sees, [b h t e]; their size where they are all alike.

    Args:
        seen: True where a query sees a key, [b h t s] or what spreads to it.
        v: the values.
    """
    visible = np.broadcast_to(seen, (*v.shape[:2], *seen.shape[2:]))
    found = np.zeros((*visible.shape[:3], v.shape[-1]))
    for e in range(v.shape[-1]):
        each = v[:, :, None, :, e]
        high = np.where(visible, each, -np.inf).max(-1, initial=-np.inf)
        low = np.where(visible, each, np.inf).min(-1, initial=np.inf)
        size = np.where(visible, np.abs(each), 0.0).max(-1, initial=0.0)
        found[..., e] = np.where(high > low, high - low, size)
    return found


def _finite(x: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.asarray(x, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
