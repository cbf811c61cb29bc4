"""What sums recall, against exact means over directions and over normal keys at tiny sizes."""

import itertools

import numpy as np
import pytest

from attnlab_theory.theory.memory import sums


def normal_errors(n, d):
    """The error of the first of n normal keys at the nodes of a product rule, and the nodes' weights.

    The error and its square are polynomials of degree 8 at most in each coordinate: five nodes are exact.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    grid = np.array([*itertools.product(range(5), repeat=n * d)])
    keys = nodes[grid].reshape(-1, n, d) / np.sqrt(d)
    answers = np.einsum("xsd,xd->xs", keys, keys[:, 0]) - np.eye(n)[0]
    return np.sum(answers**2, axis=1), np.prod(weights[grid] / weights.sum(), axis=1)


@pytest.mark.parametrize(("n", "d"), [(1, 2), (2, 1), (2, 2), (3, 2)])
def test_mean_and_variance_of_normal_keys_are_integrals(n, d):
    errors, weights = normal_errors(n, d)
    mean = weights @ errors
    assert sums.sum_error(n, d, 0, normal_keys=True) == pytest.approx(mean, rel=1e-12)
    assert sums.sum_variance(n, d) == pytest.approx(weights @ errors**2 - mean**2, rel=1e-11)


@pytest.mark.parametrize(("age", "decay", "scale"), [(0, 1.0, 1.0), (2, 0.7, 1.0), (1, 0.9, 0.4)])
def test_a_decayed_sum_is_a_mean_over_directions(age, decay, scale):
    """The error has degree 2 in each key of width 2: three directions are enough."""
    n = 4
    angles = 2 * np.pi * np.array([*itertools.product(range(3), repeat=n - 1)]) / 3
    cosines = np.insert(np.cos(angles), n - 1 - age, 1.0, axis=1)
    factors = scale * decay ** np.arange(n)[::-1] * cosines - np.eye(n)[n - 1 - age]
    assert sums.sum_error(n, 2, age, decay=decay, scale=scale) == pytest.approx(np.mean(np.sum(factors**2, axis=1)))


def test_no_scale_does_better_than_the_best():
    n, d = 7, 5
    at_best = sums.sum_error(n, d, 0, scale=sums.best_scale(n, d))
    assert at_best == pytest.approx(sums.scaled_sum_error(n, d))
    assert all(sums.sum_error(n, d, 0, scale=sums.best_scale(n, d) + by) > at_best for by in (-0.01, 0.01))


def test_signs_are_wrong_as_often_as_cosines_add_up():
    # In one plane with one other key the cosine exceeds 1 never; with two the chance is that of two arcs.
    assert sums.wrong_signs(2, 8) == pytest.approx(0.0, abs=1e-6)
    keys = np.random.default_rng(4).standard_normal((40_000, 9, 8))
    cosines = keys[:, :, 0] / np.linalg.norm(keys, axis=2)
    wrong = np.mean(np.sum(cosines, axis=1) > 1)
    assert sums.wrong_signs(10, 8) == pytest.approx(float(wrong), abs=5 * 0.5 / 200)


@pytest.mark.parametrize("decay", [0.9, 1 - 1 / 32])
def test_divided_decays_overflow_before_decays_vanish(decay):
    first, last = sums.first_overflow(decay), sums.first_underflow(decay)
    with np.errstate(over="ignore"):
        assert [np.isinf(np.float32(decay**-t)) for t in (first - 1, first)] == [False, True]
    assert [np.float32(decay**t) > 0 for t in (last - 1, last)] == [True, False]
