r"""How far a right answer of linear attention may be from the exact one.

Let u be half of the type's eps, u' that of the type of the sums, n the number of keys and f that of features.

Features. `reference.FEATURES` states the error of each feature in units u. elu(x) + 1 adds 1 to a number near -1,
so its error is absolute: 6 u, however small the feature is. Weights A_ts = sum_f phi(q)_f phi(k)_f then err by
E_ts = sum_f (dq_f |phi(k)_f| + |phi(q)_f| dk_f) u. The product of two errors is less than a hundredth of that, and
is added.

Sums. N_te = sum over s and f of phi(q)_f phi(k)_sf v_se is a sum of n f products of three numbers. A program may
sum over keys first (the state), over features first, or in blocks. No number passes through more than n + f sums
and 8 products, stores and rescalings. So (Higham, section 3.1) N errs by at most
dN = sum_s (E_ts + (n + f + 8) u' |A|_ts) |v_se|, where |A| has absolute values inside. The normaliser D is the same
with v = 1: dD. A store of eps loses at most the smallest number of its type.

The quotient N / D errs by (dN + |N / D| dD) / (|D| - dD) + 4 u |N / D|. Where D is not larger than dD nothing is
known, and the entry is *loose*. It is also loose where this exceeds the range of the values that are seen: then
any program would pass. If nothing is divided, the sum of all absolute terms stands for that range. And it is
loose where a sum may exceed the largest number of its type, for no program can hold it.
"""

from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.attention.tolerances import HALF_EPS, LARGEST, TINY
from attnlab_theory.conform.linear.reference import Attended, Problem

SUBNORMAL = {"float64": 5e-324, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
"""The smallest number of a type."""


class Tolerance(NamedTuple):
    """What a right answer keeps."""

    output: np.ndarray
    """[b h t e], the largest error."""
    loose: np.ndarray
    """[b h t e], where it says nothing."""


def tolerance(given: Problem, exact: Attended, kind: str, accumulate: str | None = None) -> Tolerance:
    """The bound of this module's docstring; that of the reference, which computes in float64, is added.

    Args:
        given: what was asked.
        exact: what is right.
        kind: the type in which the target computes.
        accumulate: the type of its sums; by default `kind`.
    """
    one, loose = _bound(given, exact, kind, accumulate or kind)
    reference, _ = _bound(given, exact, "float64", "float64")
    return Tolerance(one + reference, loose)


def _bound(given: Problem, exact: Attended, kind: str, accumulate: str) -> tuple[np.ndarray, np.ndarray]:
    u, sums = HALF_EPS[kind], HALF_EPS[accumulate]
    v = np.abs(np.asarray(given.v, np.float64))
    terms = given.k.shape[2] + given.k.shape[3] + 8
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        weights = exact.error * u + terms * sums * exact.size
        lost = terms * given.k.shape[3] * TINY[kind]
        numerator = np.einsum("bhts,bhse->bhte", weights + lost, v)
        whole = np.einsum("bhts,bhse->bhte", exact.size, v)
        total = exact.size.sum(-1, keepdims=True)
        out = np.nan_to_num(np.abs(exact.output), nan=0.0)
        error = numerator + 4 * u * out
        if given.normaliser:
            normaliser = weights.sum(-1, keepdims=True) + lost + 2 * u * given.eps
            normaliser += SUBNORMAL[kind] * bool(given.eps)
            room = np.abs(exact.normaliser) - normaliser
            error = np.where(room > 0, (numerator + out * normaliser) / room, np.inf) + 4 * u * out
            most = _span(exact.seen, np.asarray(given.v, np.float64))
        else:
            most = whole
    largest = LARGEST[kind] / 8
    over = (whole > largest) | (np.broadcast_to(total, whole.shape) > largest) | (exact.state > largest)
    return error, ~np.isfinite(error) | ((error >= most) & (most > 0)) | over


def _span(seen: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The range of the visible values, [b h t e]; their size where they are all alike."""
    visible = np.broadcast_to(seen, (v.shape[0], v.shape[1], *seen.shape[2:]))
    found = np.zeros((*visible.shape[:3], v.shape[-1]))
    for e in range(v.shape[-1]):
        each = v[:, :, None, :, e]
        high = np.where(visible, each, -np.inf).max(-1, initial=-np.inf)
        low = np.where(visible, each, np.inf).min(-1, initial=np.inf)
        size = np.where(visible, np.abs(each), 0.0).max(-1, initial=0.0)
        found[..., e] = np.where(high > low, high - low, size)
    return found
