"""Errors of an estimator on a problem: predicted for one projection, measured over many draws.

A row is judged by the root mean square of its errors over the root mean square of what is estimated, once for the
kernel values exp(q . k) and once for the weights. Squares are averaged over the rows.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.estimators.catalogue import FittedFeatures, Signed
from attnlab_theory.estimators.problem import Problem
from attnlab_theory.sampling import Coupling, coupled_projection
from attnlab_theory.theory.features import rows as feature_ratio
from attnlab_theory.theory.features import variance as feature_error
from attnlab_theory.theory.features.estimator import Estimator

COUPLINGS = (Coupling.INDEPENDENT, Coupling.ORTHOGONAL, Coupling.QUASI_MONTE_CARLO)
"""The couplings under which features stay unbiased."""

SHORTEST, LONGEST = 1e-4, 60.0
"""The range of |q + k|^2, or of |q - k|^2 for trigonometric features. The saving by orthogonal projections has a
limit at 0. Below `SHORTEST` rounding hides it, so the saving at `SHORTEST` is used. Beyond `LONGEST`, variances of
1e25 are not worth predicting.
"""


@dataclasses.dataclass(frozen=True)
class Predicted:
    """Relative mean square errors for one projection. For m independent projections, divide by m."""

    kernel: float
    weights: float
    """The error by the delta method, which is for errors well below one."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """Relative root mean square errors, and the standard error of each."""

    kernel: float
    weights: float
    kernel_deviation: float
    weights_deviation: float
    failed: float
    """Share of rows whose normaliser was not positive."""


def predicted(estimator: FittedFeatures, problem: Problem) -> Predicted:
    """The errors that independent projections will make, from the covariances of one.

    Args:
        estimator: from `estimators_for` this problem.
        problem: from `pose`.

    Example:
        A query and a key that are equal: trigonometric features make no error, positive ones err as exp(L) - 1, and
        L = |q + k|^2 = 4.

        >>> from attnlab_theory.estimators.catalogue import estimators_for
        >>> from attnlab_theory.estimators.problem import pose
        >>> problem = pose(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]), scale=1.0)
        >>> waves, positive = estimators_for(problem)[:2]
        >>> round(predicted(waves, problem).kernel, 3), round(predicted(positive, problem).kernel, 1)
        (0.0, 53.6)
        >>> round(math.exp(4) - 1, 1)
        53.6
    """
    kernel, weights = [], []
    for q, exact, shares in zip(problem.q, problem.weights, problem.shares, strict=True):
        covariances = estimator.covariances(q, problem.k)
        seen = shares > 0
        kernel.append(np.sum(shares[seen] * np.diag(covariances)[seen]))
        weights.append(np.sum(feature_ratio.row_errors(covariances, exact)) / np.sum(exact**2))
    return Predicted(_mean_or_infinite(kernel), _mean_or_infinite(weights))


def orthogonal_kernel(estimator: FittedFeatures, problem: Problem, m: int) -> float | None:
    """The relative mean square error of kernel estimates from m projections, orthogonal in blocks of the width.

    The covariance of two orthogonal projections is computed at a few lengths and interpolated.

    Args:
        estimator: from `estimators_for` this problem.
        problem: from `pose`.
        m: how many projections.

    Returns:
        None for dense exponential features, for width 1, and beyond `LONGEST`.

    Example:
        Four independent projections divide the error of one by 4. Orthogonal ones, two and two, divide it by more.

        >>> from attnlab_theory.estimators.catalogue import estimators_for
        >>> from attnlab_theory.estimators.problem import pose
        >>> problem = pose(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), scale=1.0)
        >>> positive = estimators_for(problem)[1]
        >>> orthogonal_kernel(positive, problem, 4) < predicted(positive, problem).kernel / 4
        True
    """
    width = problem.q.shape[1]
    trigonometric = estimator.name is Estimator.TRIGONOMETRIC
    squares = problem.difference_squares if trigonometric else problem.sum_squares
    if estimator.powers is None or width == 1 or not np.max(squares) <= LONGEST:
        return None
    low, high = (max(float(end), SHORTEST) for end in (np.min(squares), np.max(squares)))
    lengths = np.linspace(low, high, 24) if low < high else np.array([low])
    laws = [estimator.powers(float(length)) for length in lengths]
    alone = [feature_error.moment(law, 2) - 1 for law in laws]
    pairs = [feature_error.orthogonal_covariance(law, width) for law in laws]
    blocks = [width] * (m // width) + [m % width]
    together = sum(block * (block - 1) for block in blocks) / m**2
    # What orthogonality saves is smooth in the length. The variance itself grows exponentially.
    saved = np.interp(squares, lengths, m * together * np.divide(pairs, alone))
    variance = np.array([np.diag(estimator.covariances(q, problem.k)) for q in problem.q])
    return float(np.mean(np.sum(problem.shares * variance * (1 + saved), axis=1))) / m


def measured(estimator: FittedFeatures, problem: Problem, projections: Sequence[Array]) -> Measured:
    """The errors that these projections make. Each projection is one draw.

    Args:
        estimator: from `estimators_for` this problem.
        problem: from `pose`.
        projections: at least two, for a standard error.

    Example:
        A single key has the weight 1 whatever is estimated. Two draws of three projections show no error of the
        weights.

        >>> from attnlab_theory.estimators.catalogue import estimators_for
        >>> from attnlab_theory.estimators.problem import pose
        >>> problem = pose(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), scale=1.0)
        >>> positive = estimators_for(problem)[1]
        >>> w = projections_of(jax.random.key(0), coupling=Coupling.INDEPENDENT, draws=2, m=3, d=2)
        >>> found = measured(positive, problem, list(w))
        >>> found.weights, found.kernel > 0, found.failed
        (0.0, True, 0.0)
    """
    errors = [_errors_of_draw(estimator.features, problem, projection) for projection in projections]
    kernel, weights, failed = (list(each) for each in zip(*errors, strict=True))
    (kernel, kernel_deviation), (weights, weights_deviation) = _root(kernel), _root(weights)
    return Measured(kernel, weights, kernel_deviation, weights_deviation, float(np.mean(failed)))


@functools.partial(jax.jit, static_argnames=("coupling", "draws", "m", "d"))
def projections_of(key: PRNGKeyArray, *, coupling: Coupling, draws: int, m: int, d: int) -> Float[Array, "n m d"]:
    """Several projections of one coupling.

    Args:
        key: a PRNG key, not to be used again.
        coupling: how the rows of one projection depend on each other.
        draws: how many projections.
        m: rows of each.
        d: width.

    Example:
        Two draws of three rows of width 2.

        >>> projections_of(jax.random.key(0), coupling=Coupling.INDEPENDENT, draws=2, m=3, d=2).shape
        (2, 3, 2)
    """
    return jax.vmap(lambda each: coupled_projection(each, m, d, coupling))(jax.random.split(key, draws))


def _errors_of_draw(features: Signed, problem: Problem, projection: Array) -> tuple[float, float, float]:
    phi_q, log_q = (np.asarray(part) for part in features(jnp.asarray(problem.q), projection))
    phi_k, log_k = (np.asarray(part) for part in features(jnp.asarray(problem.k), projection))
    products = phi_q @ phi_k.T
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratios = products * np.exp(log_q + log_k.T - problem.q @ problem.k.T)
        shares = problem.shares
        kernel = np.sum(np.where(shares > 0, shares * (ratios - 1) ** 2, 0), axis=1)
        # One factor per query, and one common to all keys, cancel in the weights.
        estimates = products * np.exp(log_k.T - np.max(log_k))
        normalisers = np.sum(estimates, axis=1, keepdims=True)
        off = np.sum((estimates / normalisers - problem.weights) ** 2, axis=1)
    rows = off / np.sum(problem.weights**2, axis=1)
    return _mean_or_infinite(kernel), _mean_or_infinite(rows), float(np.mean(~(normalisers > 0)))


def _root(squares: list[float]) -> tuple[float, float]:
    """The root of the mean of squares, and its standard error."""
    root = math.sqrt(np.mean(squares))
    if not 0 < root < math.inf:
        return root, 0.0 if root == 0 else math.inf
    return root, float(np.std(squares, ddof=1)) / math.sqrt(len(squares)) / (2 * root)


def _mean_or_infinite(values: list[float] | np.ndarray) -> float:
    mean = float(np.mean(values))
    return mean if math.isfinite(mean) else math.inf
