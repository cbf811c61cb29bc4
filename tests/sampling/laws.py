"""Exact intervals for normal samples: the tests know the law, so no large-sample argument is needed."""

import numpy as np
import scipy.stats

from attnlab_theory.stats import Interval


def variance_interval(draws: np.ndarray, error_rate: float) -> Interval:
    """An interval for the variance of a normal law with mean zero. The sum of squares over it is chi-square."""
    n, total = draws.size, float(np.sum(np.square(draws, dtype=np.float64)))
    law = scipy.stats.chi2(n)
    return Interval(total / float(law.isf(error_rate / 2)), total / float(law.ppf(error_rate / 2)))


def mean_interval(draws: np.ndarray, variance: float, error_rate: float) -> Interval:
    """An interval for the mean of a normal law with known variance."""
    radius = float(scipy.stats.norm.isf(error_rate / 2)) * np.sqrt(variance / draws.size)
    return Interval.around(float(np.mean(draws, dtype=np.float64)), radius)


def has_covariance(draws: np.ndarray, covariance: np.ndarray, error_rate: float) -> bool:
    """Whether rows of a centred normal law may have this covariance: every entry, by polarisation.

    Var(x + y) and Var(x - y) together say what Cov(x, y) is, and each is a chi-square matter.
    """
    m = covariance.shape[0]
    directions = [np.eye(m)[i] for i in range(m)]
    directions += [np.eye(m)[i] + sign * np.eye(m)[j] for i in range(m) for j in range(i) for sign in (-1, 1)]
    for direction in directions:
        interval = variance_interval(draws @ direction, error_rate / len(directions))
        if not interval.contains(Interval.point(direction @ covariance @ direction)):
            return False
    return True


def singular_values_fit(normals: np.ndarray, error_rate: float) -> bool:
    """Whether an N x n matrix may consist of independent standard normals, by its extreme singular values.

    They leave sqrt(N) +- (sqrt(n) + t) with probability at most 2 e^{-t^2/2}: any linear dependence between
    columns, however it is spread over them, pushes them out.

    Source: Davidson and Szarek 2001, theorem II.13.
    """
    rows, columns = normals.shape
    values = np.linalg.svd(normals, compute_uv=False)
    slack = np.sqrt(columns) + np.sqrt(2 * np.log(2 / error_rate))
    return bool(abs(values - np.sqrt(rows)).max() <= slack)
