"""The most that rounding makes of a residual that is zero in exact arithmetic. Computed on the host, in float64."""

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from attnlab_theory.axes import Scalar


def epsilon(x: Array) -> float:
    """The spacing of the dtype's numbers at one, twice the largest relative rounding error."""
    return float(jax.numpy.finfo(x.dtype).eps)


def host(x: ArrayLike) -> np.ndarray:
    """The array as float64 on the host, where sums and differences of outputs are taken."""
    return np.asarray(x).astype(np.float64)


def peak(x: ArrayLike) -> float:
    """The largest absolute value; 0 of nothing."""
    return float(np.max(np.abs(host(x)), initial=0.0))


def gap(a: ArrayLike, b: ArrayLike) -> float:
    """The largest absolute difference; NaN if there is a NaN in either."""
    return float(np.max(np.abs(host(a) - host(b)), initial=0.0))


def score_bound(q: Array, k: Array, scale: Scalar) -> float:
    """No score exceeds this, and neither does any partial sum of one: scale * sum_d |q_d| |k_d|."""
    return float(scale) * float(np.max(np.abs(host(q)) @ np.abs(host(k)).T, initial=0.0))


def score_rounding(q: Array, k: Array, scale: Scalar) -> float:
    """Absolute error of a score minus the row's maximum.

    A dot product of d terms errs by d eps/2 of its bound, in any order of summation. Rounding the scale and
    multiplying by it add eps. Subtracting a maximum of either sign doubles the bound and adds eps of it.
    """
    return epsilon(q) * (q.shape[1] / 2 + 3) * score_bound(q, k, scale)


def weight_rounding(score_error: float, n: int, eps: float) -> float:
    """Relative error of a softmax weight over n scores that are wrong by at most `score_error`.

    Numerator and normaliser are each wrong by a factor of e^error at most. In each, exp itself errs by 2 eps. The
    sum errs by n eps/2, the quotient by eps.
    """
    return float(np.expm1(2 * score_error)) + eps * (n / 2 + 5)


def attention_rounding(q: Array, k: Array, v: Array, scale: Scalar) -> float:
    """Absolute error of one coordinate of softmax attention: of the weights, then of a sum of n products."""
    eps, n = epsilon(q), k.shape[0]
    return peak(v) * (weight_rounding(score_rounding(q, k, scale), n, eps) + eps * (n / 2 + 1))


def angle_rounding(peak_position: float, base: float, eps: float) -> float:
    """Absolute error in radians of positions * base**e, -1 <= e <= 0.

    The exponent's rounding costs ln(base) eps/2, the power 4 eps, the product eps/2, all relative.
    """
    return eps * (np.log(base) / 2 + 5) * peak_position


def rotation_rounding(x: Array, angle_error: float) -> float:
    """Absolute error of a coordinate of x rotated by angles that are wrong by at most `angle_error`.

    A pair of coordinates is at most sqrt(2) peak long; sine, cosine, two products and a sum cost 4 eps of it.
    """
    return float(np.sqrt(2) * peak(x) * (angle_error + 4 * epsilon(x)))


def memory_rounding(
    n: int, width: int, eps: float, *, query: float, value: float, key_error: float = 0.0, gate_error: float = 0.0
) -> float:
    """Absolute error of what a memory of n fast weights answers, keys and gates no longer than 1.

    An error of a state never grows afterwards, and a row of it is no longer than n times the largest value. A write
    errs by what key and gates err, times that row or a value, and by sums of `width` or n products. In chunks a
    written value is found from at most n earlier ones, whose errors enter with a factor of at most 1. An answer
    multiplies n writes by a query, here of length `query`.
    """
    row = n * value
    write = (row + value) * (2 * key_error + 2 * gate_error + eps * (2 * n + width + 12))
    return query * (n * n * write + eps * (width / 2 + 3) * row)
