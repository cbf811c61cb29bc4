"""Moments of softmax weights under independent normal scores: limits, rates, symmetries, brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from jaxtyping import TypeCheckError

from attnlab_theory.theory.noisy_keys import moments as theory
from tests.tolerances import grid_moment_atol, moment_atol

N = 5
SCORES = npst.arrays(np.float64, N, elements=st.floats(-30, 30, width=32, allow_subnormal=False))
VARIANCES = npst.arrays(np.float64, N, elements=st.floats(0, 400, width=32, allow_subnormal=False))

RNG = np.random.default_rng(0)
MEANS = RNG.standard_normal((4, 3))
FACTORS = RNG.standard_normal((4, 3, 3))
COVARIANCES = np.stack([f @ f.T for f in FACTORS])
QUERY = RNG.standard_normal(3)
EPS = float(np.finfo(np.float64).eps)


def softmax(z, axis=-1):
    z = z - z.max(axis=axis, keepdims=True)
    return np.exp(z) / np.exp(z).sum(axis=axis, keepdims=True)


def stretched_pair(n, beta, variance):
    """Score laws of q = beta (mu_0 + mu_1) with key 0 stretched by a half."""
    query = np.zeros(n)
    query[:2] = beta
    return theory.score_laws(query, np.eye(n), variance=variance, stretch=np.eye(1, n)[0] / 2)


def grid_of_weights(means, deviations):
    """A grid over every normal with a positive deviation: the points' chances, and the weights there."""
    noise = np.arange(-8, 8.1, 0.2)
    weight = np.exp(-noise * noise / 2)
    weight /= weight.sum()
    noisy = np.flatnonzero(deviations)
    scores = np.stack(np.broadcast_arrays(*[
        m + s * noise.reshape([-1 if i == j else 1 for j in noisy]) if s else np.full([1] * noisy.size, m)
        for i, (m, s) in enumerate(zip(means, deviations, strict=True))
    ]), axis=-1)  # fmt: skip
    alpha = softmax(scores).reshape(-1, len(means))
    product = np.ones(1)
    for _ in noisy:
        product = np.multiply.outer(product, weight).reshape(-1)
    return product, np.ascontiguousarray(alpha.T)


def brute_force(means, deviations):
    """E[alpha] and E[alpha alpha^T] by that grid."""
    product, alpha = grid_of_weights(means, deviations)
    # np.sum adds in pairs; a plain accumulation over half a million points would lose three digits.
    return np.sum(product * alpha, axis=-1), np.sum(product * alpha * alpha[:, None], axis=-1)


@pytest.mark.slow("moments that agree with a grid over the noise stay inside")
@given(means=SCORES, variances=VARIANCES)
def test_moments_sum_to_one(means, variances):
    moments = theory.weight_moments(means, variances)
    assert abs(moments.first.sum() - 1) <= N * moment_atol(N)
    assert abs(moments.second.sum() - 1) <= N * N * moment_atol(N)
    # E[alpha_i sum_j alpha_j] = E[alpha_i]: one law at a time, where the sums above could hide a trade.
    assert np.all(np.abs(moments.second.sum(axis=1) - moments.first) <= N * moment_atol(N))


@pytest.mark.slow("moments that agree with a grid over the noise stay inside")
@given(means=SCORES, variances=VARIANCES, shift=st.floats(-50, 50, width=32, allow_subnormal=False))
def test_a_common_shift_of_the_scores_changes_nothing(means, variances, shift):
    here, there = theory.weight_moments(means, variances), theory.weight_moments(means + shift, variances)
    # The shift itself rounds the means by eps * 100, and a weight moves by at most half of that.
    atol = moment_atol(N) + 100 * np.finfo(np.float64).eps
    assert np.all(np.abs(here.second - there.second) <= atol)
    assert np.all(np.abs(here.first - there.first) <= atol)


@pytest.mark.slow("moments that agree with a grid over the noise stay inside")
@given(means=SCORES, variances=VARIANCES, order=st.permutations(range(N)))
def test_permuting_keys_permutes_moments(means, variances, order):
    here = theory.weight_moments(means, variances)
    there = theory.weight_moments(means[order], variances[order])
    assert np.all(np.abs(here.first[order] - there.first) <= moment_atol(N))
    assert np.all(np.abs(here.second[np.ix_(order, order)] - there.second) <= moment_atol(N))


@given(means=SCORES)
def test_without_noise_the_moments_are_those_of_one_softmax(means):
    moments = theory.weight_moments(means, np.zeros(N))
    alpha = softmax(means)
    assert np.all(np.abs(moments.first - alpha) <= moment_atol(N))
    assert np.all(np.abs(moments.second - np.outer(alpha, alpha)) <= moment_atol(N))


@pytest.mark.parametrize(
    ("means", "deviations"),
    [
        ([0.5, -1.0, 2.0, 0.0], [0.3, 3.0, 0.0, 0.0]),
        ([0.5, -1.0, 2.0, 0.0], [1.5, 0.9, 0.0, 0.0]),
        ([4.0, 4.0, 0.0, 0.0, 0.0], [2.8, 0.1, 0.0, 0.0, 0.0]),
        ([1.0, -2.0, 0.5], [2.0, 1.0, 0.5]),
        ([1.0, 1.0, 1.0, -3.0], [1.2, 1.2, 1.2, 0.0]),
    ],
)
def test_moments_agree_with_a_grid_over_the_noise(means, deviations):
    means, deviations = np.array(means), np.array(deviations)
    first, second = brute_force(means, deviations)
    moments = theory.weight_moments(means, deviations**2)
    atol = moment_atol(means.size) + grid_moment_atol()
    assert np.all(np.abs(moments.first - first) <= atol)
    assert np.all(np.abs(moments.second - second) <= atol)


@pytest.mark.parametrize("target", [(0.5, 0.5, 0.0, 0.0, 0.0), (0.6, 0.1, 0.1, 0.2, 0.0)])
def test_the_spread_of_the_squared_error_agrees_with_a_grid_over_the_noise(target):
    # Ties of law with and without ties of target: the classes of exchangeable keys differ.
    means, deviations, target = np.array([1.0, 1.0, 0.0, 0.0, 0.0]), np.array([1.5, 0.8, 0, 0, 0]), np.array(target)
    weight, alpha = grid_of_weights(means, deviations)
    error = np.sum((alpha - target[:, None]) ** 2, axis=0)
    mean, square = np.sum(weight * error), np.sum(weight * error**2)
    moments = theory.weight_moments(means, deviations**2)
    # Nine moments with factors up to four make up the square.
    atol = 36 * (moment_atol(5) + grid_moment_atol())
    assert abs(theory.squared_error(moments, target) - mean) <= atol
    assert abs(theory.squared_error_variance(means, deviations**2, target) - (square - mean**2)) <= atol


@pytest.mark.parametrize("power", [0, 1, 2])
def test_both_rules_agree_where_they_meet(power):
    x = np.linspace(-20, 12, 65)
    below, above = (theory._transform(x, s, [power])[0] for s in (np.nextafter(1, 0), 1.0))
    assert np.all(np.abs(below - above) <= moment_atol(1))


def test_any_moment_is_the_sum_of_its_refinements():
    means, variances = np.array([0.5, -1.0, 2.0]), np.array([4.0, 0.25, 0.0])
    moments = theory.weight_moments(means, variances)

    def moment(*raised):
        return theory.weight_moment(means, variances, [raised.count(k) for k in range(3)])

    for i in range(3):
        assert abs(moment(i) - moments.first[i]) <= moment_atol(3)
        for j in range(3):
            assert abs(moment(i, j) - moments.second[i, j]) <= moment_atol(3)
            assert abs(sum(moment(i, j, k) for k in range(3)) - moment(i, j)) <= 3 * moment_atol(3)


@pytest.mark.parametrize("beta", [1e2, 3e2, 2e3])
def test_one_strong_head_tosses_a_coin_at_the_known_rate(beta):
    # alpha_0 = sigma(X), X ~ N(0, s^2): 1/4 - Var = E[sigma (1 - sigma)] = int sigma' phi(x/s)/s = phi(0)/s up to
    # a relative (pi^2/3) / (2 s^2), the variance of sigma' over twice s^2; the other keys add 14 e^-beta.
    means, variances = stretched_pair(16, beta, 0.0)
    s = beta * math.sqrt(0.5)
    expected = 1 / (s * math.sqrt(2 * math.pi))
    gap = 0.25 - theory.weight_moments(means, variances).covariance[0, 0]
    assert abs(gap / expected - 1) <= (math.pi**2 / 6) / s**2 + moment_atol(16) / expected


@pytest.mark.parametrize(
    ("beta", "variance", "first", "square"), [(5, 0.01, 0.48641, 0.38827), (32, 0.0, 0.5, 0.4824)]
)
def test_known_moments(beta, variance, first, square):
    moments = theory.weight_moments(*stretched_pair(16, beta, variance))
    assert round(moments.first[0], 5) == first
    assert round(moments.second[0, 0], len(str(square)) - 2) == square


@pytest.mark.parametrize(("beta", "expected"), [(5, 0.1490), (10, 0.1953), (20, 0.2220), (50, 0.2387)])
def test_known_variances_of_the_gamble(beta, expected):
    assert round(theory.weight_moments(*stretched_pair(16, beta, 0.0)).covariance[0, 0], 4) == expected


def test_known_errors_of_one_head_and_two():
    n, beta = 16, 30.0
    half = np.zeros(n)
    half[:2] = 0.5
    one = theory.weight_moments(*stretched_pair(n, beta, 0.0))
    assert round(theory.squared_error(one, half), 4) == 0.4625
    heads = [
        theory.weight_moments(*theory.score_laws(q, np.eye(n), variance=0.0, stretch=np.eye(1, n)[0] / 2))
        for q in beta * np.eye(2, n)
    ]
    assert round(theory.mean_of_heads_squared_error(heads, half), 4) == 0.0245


def test_the_mean_of_one_head_is_that_head():
    moments = theory.weight_moments(*stretched_pair(6, 3.0, 0.1))
    target = np.array([0.3, 0.5, 0.2, 0.0, 0.0, 0.0])
    alone, mean = theory.squared_error(moments, target), theory.mean_of_heads_squared_error([moments], target)
    assert abs(alone - mean) <= 8 * moment_atol(6)


def test_score_laws_are_quadratic_forms_of_the_covariances():
    means = np.array([[1.0, 2.0], [0.0, -1.0]])
    query, stretch, variance = np.array([3.0, -1.0]), np.array([0.5, 2.0]), 0.1
    scores, variances = theory.score_laws(query, means, variance=variance, stretch=stretch)
    for mu, t, m, s2 in zip(means, stretch, scores, variances, strict=True):
        sigma = variance * np.eye(2) + t * np.outer(mu, mu)
        assert abs(m - mu @ query) <= moment_atol(2)
        assert abs(s2 - query @ sigma @ query) <= moment_atol(2)


def test_scores_are_sums_of_independent_normals():
    # q . (mu + F g) = q . mu + sum_j (F^T q)_j g_j: a sum of independent normals, variances added.
    means, variances = theory.score_laws_from_covariances(QUERY, MEANS, COVARIANCES)
    for i in range(4):
        assert abs(means[i] - sum(QUERY * MEANS[i])) <= 8 * EPS * np.abs(QUERY * MEANS[i]).sum()
        parts = [(QUERY @ FACTORS[i][:, j]) ** 2 for j in range(3)]
        assert abs(variances[i] - sum(parts)) <= 64 * EPS * (QUERY @ QUERY) * np.sum(FACTORS[i] ** 2)


def test_the_stretched_noise_is_a_case_of_any_covariances():
    stretch = np.array([0.5, 0.0, 2.0, 0.1])
    covariances = np.stack([0.25 * np.eye(3) + s * np.outer(m, m) for m, s in zip(MEANS, stretch, strict=True)])
    expected = theory.score_laws(QUERY, MEANS, variance=0.25, stretch=stretch)
    for ours, theirs in zip(theory.score_laws_from_covariances(QUERY, MEANS, covariances), expected, strict=True):
        scale = (QUERY @ QUERY) * (1 + np.sum(MEANS**2)) * 3
        assert np.abs(ours - theirs).max() <= 32 * EPS * scale


def test_what_is_no_covariance_is_refused():
    with pytest.raises(ValueError, match="must be symmetric"):
        theory.score_laws_from_covariances(QUERY, MEANS, FACTORS)
    with pytest.raises(ValueError, match="must not give a negative variance"):
        theory.score_laws_from_covariances(QUERY, MEANS, -COVARIANCES)


@pytest.mark.parametrize(
    ("means", "variances"),
    [([], []), ([0.0, math.nan], [1.0, 1.0]), ([0.0, 1.0], [1.0, -1.0]), ([0.0], [math.inf])],
)
def test_bad_laws_are_refused(means, variances):
    with pytest.raises(ValueError, match=r"scores need|one length"):
        theory.weight_moments(np.array(means), np.array(variances))


def test_laws_of_different_length_are_refused():
    with pytest.raises((ValueError, TypeCheckError)):  # the hook that checks shapes in tests comes first
        theory.weight_moments(np.zeros(2), np.ones(1))


@pytest.mark.parametrize("powers", [(0, 0), (1,), (-1, 2)])
def test_bad_powers_are_refused(powers):
    with pytest.raises(ValueError, match="powers"):
        theory.weight_moment(np.zeros(2), np.ones(2), powers)


@pytest.mark.parametrize(("variance", "stretch"), [(-1.0, 0.0), (0.0, -1.0), (math.nan, 0.0)])
def test_negative_covariances_are_refused(variance, stretch):
    with pytest.raises(ValueError, match="must not be negative"):
        theory.score_laws(np.ones(2), np.eye(2), variance=variance, stretch=np.full(2, stretch))


@given(means=SCORES, variances=VARIANCES)
def test_no_variance_and_no_squared_error_is_negative(means, variances):
    for spread in (variances, np.zeros(N)):
        moments = theory.weight_moments(means, spread)
        assert np.diagonal(moments.covariance).min() >= 0
        assert theory.squared_error(moments, moments.first) >= 0


@pytest.mark.parametrize("power", range(1, theory.MOST_POWERS + 1))
def test_moments_of_any_power_are_those_of_a_weight_that_never_varies(power):
    found = theory.weight_moment(np.zeros(2), np.zeros(2), (power, 0))
    # The step errs by 1e-13 up to a power of four, and by 1e-9 up to eight.
    assert abs(found * 2.0**power - 1) <= (1e-12 if power <= 4 else 1e-7)


def test_powers_beyond_the_rule_are_refused():
    with pytest.raises(ValueError, match="powers must add up to at most 8, not 9"):
        theory.weight_moment(np.zeros(2), np.zeros(2), (9, 0))


@pytest.mark.parametrize(("means", "variances"), [([0.0, 0.0], [1e12, 1e300]), ([0.0, 1e9], [1e12, 1e12])])
def test_scores_that_spread_too_far_are_refused(means, variances):
    with pytest.raises(ValueError, match="spread too far for the quadrature"):
        theory.weight_moments(np.array(means), np.array(variances))
