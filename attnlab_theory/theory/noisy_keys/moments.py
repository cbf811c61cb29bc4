r"""Exact moments of attention weights whose scores are independent normals (docs/mathematics/noisy_keys.md).

Scores z_i ~ N(m_i, s_i^2), independent over i, S = sum_i e^{z_i}, weights alpha_i = e^{z_i} / S. Because
S^{-k} = int_0^infinity t^{k-1} e^{-tS} dt / (k-1)!, every moment is one integral of a product over the keys:

    E[prod_i alpha_i^{p_i}] = 1/(k-1)! int prod_i G_{p_i}(u + m_i; s_i) du,      k = sum_i p_i >= 1,
    G_p(x; s) = E[f_p(x + s g)],   f_p(w) = e^{pw} exp(-e^w),   g ~ N(0, 1),

after the change of variables t = e^u, by which every bump is at least one wide. All integrands are analytic for
|Im| < pi/2. There the trapezoid rule of step h errs by about e^{-pi^2/h}: 1e-17 at h = 1/4. Adaptive quadrature
over t or over the noise steps over the bump. It loses up to a fifth of the answer, and reports an error of 1e-11.
"""

from collections.abc import Sequence
from math import factorial
from typing import NamedTuple

import numpy as np
import scipy.special
from jaxtyping import Float

STEP = 0.25
"""The step of every trapezoid rule here: e^{-pi^2 / STEP} is below float64's rounding."""

NORMAL_REACH = 9.0
"""Standard deviations that hold all of a normal variable but 1e-19."""

LEFT, RIGHT = -40.0, 4.5
"""f_1 and f_2 are below 1e-17 outside these: e^-40 on the left, exp(-e^4.5) on the right."""


MOST_POINTS = 2**20
"""The most points of the grid. They allow deviations up to 14,000, and means up to 260,000 apart."""

MOST_POWERS = 8
"""The largest k, where the error is 1e-10. For larger k the bump of f_k is too narrow for the step of the rule."""


class Moments(NamedTuple):
    """First and second moments of one softmax's weights."""

    first: Float[np.ndarray, " s"]
    """E[alpha_i]"""
    second: Float[np.ndarray, "s s"]
    """E[alpha_i alpha_j]"""

    @property
    def covariance(self) -> Float[np.ndarray, "s s"]:
        """Cov(alpha_i, alpha_j)."""
        found = self._difference
        # A difference of moments: where nothing varies, rounding may leave a variance a little below 0.
        np.fill_diagonal(found, np.maximum(np.diagonal(found), 0.0))
        return found

    @property
    def _difference(self) -> Float[np.ndarray, "s s"]:
        return self.second - np.outer(self.first, self.first)


def score_laws(
    query: Float[np.ndarray, " d"],
    means: Float[np.ndarray, "s d"],
    *,
    variance: float,
    stretch: Float[np.ndarray, " s"],
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """Means and variances of the scores k_i . q for k_i ~ N(mu_i, variance * I + stretch_i mu_i mu_i^T).

    Raises:
        ValueError: if a variance is negative.

    Source: docs/mathematics/noisy_keys.md, z_i ~ N(mu_i . q, q^T Sigma_i q).
    """
    query, means, stretch = (np.asarray(array, dtype=np.float64) for array in (query, means, stretch))
    if not (variance >= 0 and np.all(stretch >= 0)):
        raise ValueError(
            f"variances must not be negative: variance is {variance}, smallest stretch {stretch.min()}"
        )
    scores = means @ query
    return scores, variance * float(query @ query) + stretch * scores**2


def score_laws_from_covariances(
    query: Float[np.ndarray, " d"], means: Float[np.ndarray, "s d"], covariances: Float[np.ndarray, "s d d"]
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """Means and variances of one query's scores of independent keys k_i ~ N(mu_i, Sigma_i), for any Sigma_i.

    Raises:
        ValueError: if a covariance is not symmetric, or gives the score a negative variance.

    Source: docs/mathematics/noisy_keys.md.
    """
    if not np.array_equal(covariances, np.swapaxes(covariances, 1, 2)):
        raise ValueError("a covariance must be symmetric")
    variances = np.einsum("d,sde,e->s", query, covariances, query)
    if not np.all(variances >= 0):
        raise ValueError(f"a covariance must not give a negative variance, but one gives {variances.min()}")
    return means @ query, variances


def weight_moments(means: Float[np.ndarray, " s"], variances: Float[np.ndarray, " s"]) -> Moments:
    """E[alpha_i] and E[alpha_i alpha_j] for independent normal scores, to about 1e-13 absolute.

    Keys whose scores have the same law are computed once, so n - 2 equal keys cost as much as one.

    Args:
        means: of the scores.
        variances: of the scores. A score of variance zero is not random.

    Raises:
        ValueError: if the arrays disagree in length, are empty or not finite, a variance is negative, or scores
            spread too far for the grid.

    Source: docs/mathematics/noisy_keys.md.
    """
    laws, law_of, counts = _distinct_laws(means, variances)
    zeroth, linear, quadratic = _transforms(laws, range(3))
    # prod over all keys but some would divide by a G_0 that underflows; leaving keys out of the counts does not.
    number = len(counts)
    first = np.empty(number)
    square = np.empty(number)
    cross = np.full((number, number), np.nan)
    for i in range(number):
        without = _product(zeroth, counts - _one(number, i))
        first[i] = _integral(linear[i] * without)
        square[i] = _integral(quadratic[i] * without)
        for j in range(i + 1):
            left = counts - _one(number, i) - _one(number, j)
            if left.min() >= 0:
                cross[i, j] = cross[j, i] = _integral(linear[i] * linear[j] * _product(zeroth, left))
    second = cross[np.ix_(law_of, law_of)]
    np.fill_diagonal(second, square[law_of])
    return Moments(first[law_of], second)


def weight_moment(
    means: Float[np.ndarray, " s"], variances: Float[np.ndarray, " s"], powers: Sequence[int]
) -> float:
    """E[prod_i alpha_i^powers_i] for independent normal scores.

    Raises:
        ValueError: if the arrays are refused by `weight_moments`. Also if `powers` does not hold one non-negative
            integer for each key, all are zero, or they add up to more than `MOST_POWERS`.

    Source: docs/mathematics/noisy_keys.md.
    """
    if len(powers) != len(means) or min(powers) < 0 or not sum(powers):
        raise ValueError(f"powers must hold one non-negative integer per key and not be all zero: {tuple(powers)}")
    if sum(powers) > MOST_POWERS:
        raise ValueError(
            f"powers must add up to at most {MOST_POWERS}, not {sum(powers)}: the quadrature is too coarse"
        )
    laws, law_of, _ = _distinct_laws(means, variances)
    raised = sorted(set(powers))
    return _moment(dict(zip(raised, _transforms(laws, raised), strict=True)), law_of, powers)


def squared_error(moments: Moments, target: Float[np.ndarray, " s"]) -> float:
    """E||sum_i (alpha_i - target_i) v_i||^2 for orthonormal values v_i: the sum of E(alpha_i - target_i)^2."""
    # A difference of moments, as `Moments.covariance`.
    return max(0.0, float(np.trace(moments.second) - 2 * target @ moments.first + target @ target))


def squared_error_variance(
    means: Float[np.ndarray, " s"], variances: Float[np.ndarray, " s"], target: Float[np.ndarray, " s"]
) -> float:
    """Var||sum_i (alpha_i - target_i) v_i||^2 for orthonormal values, from moments of order up to four.

    The squared error is A - 2B + target . target, with A = sum alpha_i^2 and B = sum target_i alpha_i. Keys with
    the same law and the same target are exchangeable, so each class of pairs is computed once.

    Raises:
        ValueError: if the arrays disagree in length, are empty or not finite, a variance is negative, or scores
            spread too far for the grid.
    """
    laws, law_of, _ = _distinct_laws(means, variances)
    transforms = dict(enumerate(_transforms(laws, range(5))))
    members: dict[tuple[int, float], list[int]] = {}
    for i, kind in enumerate(zip(law_of.tolist(), target.tolist(), strict=True)):
        members.setdefault(kind, []).append(i)

    def expected(*raised: int) -> float:
        return _moment(transforms, law_of, np.bincount(raised, minlength=len(law_of)).tolist())

    total = 0.0
    for mine in members.values():
        for yours in members.values():
            i, ti = mine[0], target[mine[0]]
            pairs = [(i, i, len(mine))] if mine is yours else []
            others = [j for j in yours if j != i]
            pairs += [(i, others[0], len(mine) * len(others))] if others else []
            for i, j, count in pairs:
                tj = target[j]
                a_a, a_b, b_b = expected(i, i, j, j), expected(i, i, j), expected(i, j)
                total += count * (a_a - 4 * tj * a_b + 4 * ti * tj * b_b)
    moments = weight_moments(means, variances)
    centre = float(np.trace(moments.second) - 2 * target @ moments.first)
    return max(total - centre**2, 0.0)


def mean_of_heads_squared_error(heads: Sequence[Moments], target: Float[np.ndarray, " s"]) -> float:
    """E||c - sum_i target_i v_i||^2 for c the mean of the heads' outputs. Heads are independent, v_i orthonormal.

    Heads that read the same keys are independent if q_1^T Sigma_i q_2 = 0 for every key. An example are orthogonal
    queries and isotropic noise, with a stretch along a direction that is orthogonal to one of them.
    """
    count = len(heads)
    bias = sum(head.first for head in heads) / count - target
    # A difference of moments: where nothing errs, rounding may leave it a little below 0. Cut in each key by itself
    # it would lean upwards.
    return max(0.0, float(sum(np.trace(head._difference) for head in heads) / count**2 + bias @ bias))


class _Laws(NamedTuple):
    """The distinct laws of the scores, and the grid of u for all integrals."""

    means: np.ndarray
    deviations: np.ndarray
    grid: np.ndarray


def _distinct_laws(means: np.ndarray, variances: np.ndarray) -> tuple[_Laws, np.ndarray, np.ndarray]:
    means, variances = np.asarray(means, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if means.ndim != 1 or means.shape != variances.shape or not means.size:
        raise ValueError(f"means and variances must be vectors of one length: {means.shape} and {variances.shape}")
    if not (np.all(np.isfinite(means)) and np.all(np.isfinite(variances)) and np.all(variances >= 0)):
        raise ValueError(f"scores need finite means and variances >= 0, not {means} and {variances}")
    pairs, law_of, counts = np.unique(
        np.stack([means - means.max(), variances], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    centres, deviations = pairs[:, 0], np.sqrt(pairs[:, 1])
    # The part of E[alpha_i ...] left of u = l is at most E[min(1, (S e^l)^k)], and right of u = r at most
    # E[(1 + S e^r)^{k-1} exp(-S e^r)]: both are below 1e-16 at these ends.
    low = LEFT - np.max(centres + NORMAL_REACH * deviations)
    high = RIGHT + np.min(NORMAL_REACH * deviations - centres)
    if not high - low <= MOST_POINTS * STEP:
        raise ValueError(
            f"scores with means of {means.min():.3g} to {means.max():.3g} and deviations of up to "
            f"{deviations.max():.3g} spread too far for the quadrature: there the largest score has all the weight"
        )
    return _Laws(centres, deviations, np.arange(low, high + STEP, STEP)), law_of.reshape(-1), counts


def _transforms(laws: _Laws, powers: Sequence[int]) -> np.ndarray:
    """G_p on the grid for each of the powers p: powers, laws, points."""
    rows = [_transform(laws.grid + m, s, powers) for m, s in zip(laws.means, laws.deviations, strict=True)]
    return np.stack(rows, axis=1)


def _transform(x: np.ndarray, deviation: float, powers: Sequence[int]) -> np.ndarray:
    """G_p(x; s) for each of the powers p, by the rule whose bump is at least one wide."""
    if deviation == 0:
        return _bumps(x, powers)
    if deviation < 1:
        noise = np.arange(-NORMAL_REACH, NORMAL_REACH + STEP, STEP)
        return _bumps(x[:, None] + deviation * noise, powers) @ (STEP * _normal_density(noise))
    # Here the noise is wider than f_p: integrate over f_p's bump. f_0 is a step and no bump, but 1 - f_0 is
    # the distribution function with density f_1, so that G_0(x) = E[Phi((w - x) / s)] with w drawn from f_1.
    bump = np.arange(LEFT, RIGHT + STEP, STEP)
    weights = STEP * _bumps(bump, [max(power, 1) for power in powers])
    result = np.empty((len(powers), x.size))
    for start in range(0, x.size, 4096):  # bounds the memory at 6 MB
        scaled = (bump - x[start : start + 4096, None]) / deviation
        density = _normal_density(scaled) / deviation
        for row, power, weight in zip(result, powers, weights, strict=True):
            smooth = scipy.special.ndtr(scaled) if power == 0 else density
            row[start : start + 4096] = smooth @ weight
    return result


def _bumps(w: np.ndarray, powers: Sequence[int]) -> np.ndarray:
    """f_p(w) = e^{pw} exp(-e^w) for each of the powers p."""
    w = np.minimum(w, 700.0)  # beyond, e^w overflows and f_p is zero anyway
    raised = np.exp(w)
    return np.stack([np.exp(power * w - raised) for power in powers])


def _normal_density(x: np.ndarray) -> np.ndarray:
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def _moment(transforms: dict[int, np.ndarray], law_of: np.ndarray, powers: Sequence[int]) -> float:
    product = np.prod([transforms[power][law] for power, law in zip(powers, law_of, strict=True)], axis=0)
    return _integral(product) / factorial(sum(powers) - 1)


def _product(zeroth: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.prod(zeroth ** counts[:, None], axis=0)


def _one(size: int, index: int) -> np.ndarray:
    return np.eye(1, size, index, dtype=np.int64)[0]


def _integral(values: np.ndarray) -> float:
    return float(STEP * np.sum(values))
