"""What few keys leave out, against integrals over all scores of tiny sets, and limits."""

import itertools
import math

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.selection import top_k


def exact_left_out(n, k, sigma, rho):
    """A product rule over the index scores and the noise of each key. The rank of a node has jumps: few digits."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    h, share = np.polynomial.hermite_e.hermegauss(3)
    total = 0.0
    y = np.array([*itertools.product(range(24), repeat=n)])
    chance = np.prod(weights[y] / weights.sum(), axis=1)
    order = np.argsort(np.argsort(-nodes[y] + 1e-9 * np.arange(n), axis=1), axis=1)
    for noise in itertools.product(range(3), repeat=n) if rho < 1 else [(1,) * n]:
        z = sigma * (rho * nodes[y] + math.sqrt(1 - rho**2) * h[list(noise)])
        alpha = scipy.special.softmax(z, axis=1)
        total += np.prod(share[list(noise)] / share.sum()) * (chance @ np.where(order >= k, alpha, 0).sum(axis=1))
    return total if rho < 1 else total / (share[1] / share.sum()) ** n


def test_two_keys_leave_out_an_integral_over_their_difference():
    """The lighter of two keys weighs 1 / (1 + e^|x|), x the difference."""
    x = np.linspace(0, 40, 40001)
    for sigma in (0.5, 2.0):
        density = 2 * np.exp(-(x**2) / (4 * sigma**2)) / math.sqrt(4 * math.pi * sigma**2)
        integral = np.trapezoid(density / (1 + np.exp(x)), x)
        assert top_k.left_out(2, 1, sigma) == pytest.approx(float(integral), abs=5e-6)


@pytest.mark.parametrize(("n", "k", "sigma", "rho"), [(3, 1, 1.0, 1.0), (3, 2, 2.0, 1.0), (3, 1, 1.0, 0.6)])
def test_three_keys_leave_out_what_a_product_rule_says(n, k, sigma, rho):
    assert top_k.left_out(n, k, sigma, rho) == pytest.approx(exact_left_out(n, k, sigma, rho), abs=0.02)


def test_drawn_keys_leave_out_the_integral():
    rng = np.random.default_rng(0)
    n, k, sigma, rho = 20, 5, 1.5, 0.8
    y, h = rng.standard_normal((2, 20_000, n))
    alpha = scipy.special.softmax(sigma * (rho * y + math.sqrt(1 - rho**2) * h), axis=1)
    chosen = np.argsort(-y, axis=1)[:, :k]
    drawn = 1 - np.take_along_axis(alpha, chosen, axis=1).sum(axis=1)
    error = float(np.std(drawn)) / math.sqrt(len(drawn))
    assert top_k.left_out(n, k, sigma, rho) == pytest.approx(float(np.mean(drawn)), abs=5 * error)


def test_keys_that_are_chosen_blindly_leave_out_their_number():
    assert top_k.left_out(8, 2, 1.0, 1e-9) == pytest.approx(6 / 8, abs=1e-4)


def test_many_keys_have_the_limit():
    for rho in (1.0, 0.7):
        limit = top_k.left_out_of_many(0.25, 1.0, rho)
        assert top_k.left_out(4000, 1000, 1.0, rho) == pytest.approx(limit, abs=2e-3)


def test_an_indexer_that_knows_nothing_keeps_a_needle_as_any_other_key():
    assert top_k.needle_kept(10, 3, 5.0, 0.0) == pytest.approx(0.3, abs=1e-9)


def test_a_needle_among_two_is_kept_by_one_normal_difference():
    assert top_k.needle_kept(2, 1, 1.5, 0.8) == pytest.approx(
        scipy.special.ndtr(0.8 * 1.5 / math.sqrt(1.36)), abs=1e-9
    )


def test_a_block_of_one_key_is_the_key():
    assert top_k.mean_block_kept(50, 1, 1, 2.0) == top_k.needle_kept(50, 1, 2.0, 1.0)
    mean = (2.0 / 4) / math.sqrt(3 / 16 + 1 / 4)
    assert top_k.mean_block_kept(2, 4, 1, 2.0) == pytest.approx(scipy.special.ndtr(mean), abs=1e-9)
