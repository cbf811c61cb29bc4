"""Three tokens, checked by exact fractions, by limits and by brute force."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

from attnlab_theory.theory.routing import key_query_value as theory
from tests.tolerances import linear_algebra_rtol, softmax_rtol

BETAS = (0.5, 1.0, 2.0, 3.0)


def rtol(beta: float) -> float:
    return softmax_rtol(2 * beta**2, 3, np.float64)


@pytest.mark.parametrize("middle", theory.MIDDLES)
@pytest.mark.parametrize("beta", BETAS)
def test_self_leak_is_what_the_weights_leave(middle, beta):
    x = theory.tokens(middle)
    scores = np.exp(beta**2 * (x @ x[1]))
    assert theory.self_leak(middle, beta) == pytest.approx((scores[0] + scores[2]) / scores.sum(), rel=rtol(beta))


def test_tied_scores_leak_two_thirds():
    assert theory.self_leak(theory.Middle.A, 0.0) == theory.self_leak(theory.Middle.A_AND_D, 0.0) == 2 / 3


@pytest.mark.parametrize("head", theory.Head)
@pytest.mark.parametrize("beta", BETAS)
def test_weights_are_those_of_queries_and_tokens(head, beta):
    x = theory.tokens(theory.Middle.A)
    u = np.eye(4)
    q = np.outer(u[3], u[0]) + np.outer(u[2], u[3]) if head is theory.Head.CONSTRUCTED else np.eye(4)
    unnormalised = np.exp(beta**2 * (x @ q.T @ x.T))
    wanted = unnormalised / unnormalised.sum(axis=1, keepdims=True)
    assert theory.weights(head, beta) == pytest.approx(wanted, rel=rtol(beta))


@pytest.mark.parametrize("head", theory.Head)
def test_outputs_are_those_of_the_matrices_of_values(head):
    u = np.eye(4)
    homework = np.outer(u[1], u[1]) - np.outer(u[2], u[2])
    v = {
        theory.Head.PLAIN: np.eye(4),
        theory.Head.OTHER_VALUES: np.outer(u[1] - u[2], u[3]) + np.outer(u[1], u[0]),
    }.get(head, homework)
    wanted = theory.weights(head, 2.0) @ (theory.tokens(theory.Middle.A) @ v.T)
    assert theory.outputs(head, 2.0) == pytest.approx(wanted, abs=rtol(2.0))


@pytest.mark.parametrize("middle", theory.MIDDLES)
def test_nearest_mixture_is_certified_in_exact_fractions(middle):
    t, distance = theory.nearest_mixture(middle)
    mixture = [Fraction(float(share)).limit_denominator(10) for share in t]
    assert sum(mixture) == 1
    x = [[Fraction(int(entry)) for entry in row] for row in theory.tokens(middle)]
    miss = [sum(share * row[i] for share, row in zip(mixture, x, strict=True)) - (i == 1) for i in range(4)]
    squared = sum(entry**2 for entry in miss)
    slopes = [sum(row[i] * miss[i] for i in range(4)) for row in x]
    # No corner of the simplex is downhill: a convex function is then at its least.
    assert min(slopes) == sum(share * slope for share, slope in zip(mixture, slopes, strict=True))
    assert squared == Fraction(distance**2).limit_denominator(10)


@pytest.mark.parametrize("middle", theory.MIDDLES)
def test_no_mixture_comes_nearer_than_the_nearest(middle):
    t, distance = theory.nearest_mixture(middle)
    rounding = linear_algebra_rtol(3, 4, 1.0)
    assert np.linalg.norm(t @ theory.tokens(middle) - theory.U_B) == pytest.approx(distance, rel=rounding)
    for other in np.random.default_rng(0).dirichlet(np.ones(3), 200):
        assert np.linalg.norm(other @ theory.tokens(middle) - theory.U_B) >= distance * (1 - rounding)


@pytest.mark.parametrize("row", [1, 2])
@pytest.mark.parametrize("beta", BETAS)
def test_constructed_error_is_that_of_the_outputs_and_below_the_copy_bound(row, beta):
    error = beta * (
        theory.outputs(theory.Head.CONSTRUCTED, beta) - np.vstack([theory.wanted_outputs(), np.zeros(4)])
    )
    found = np.linalg.norm(error[row - 1])
    assert theory.constructed_error(row, beta) == pytest.approx(
        found, rel=2 * rtol(beta), abs=2 * beta * rtol(beta)
    )
    assert theory.constructed_error(row, beta) < theory.constructed_bound(row, beta)


@pytest.mark.parametrize("row", [1, 2])
@pytest.mark.parametrize("beta", BETAS)
def test_other_values_miss_by_what_leaks(row, beta):
    miss = theory.outputs(theory.Head.OTHER_VALUES, beta)[row - 1] - theory.wanted_outputs()[row - 1]
    found = beta * np.linalg.norm(miss)
    assert theory.other_values_error(row, beta) == pytest.approx(
        found, rel=2 * rtol(beta), abs=2 * beta * rtol(beta)
    )


@pytest.mark.parametrize("beta", BETAS)
def test_identity_queries_return_the_leak_of_the_two_others(beta):
    values = theory.tokens(theory.Middle.A) * np.array([0, 1, -1, 0])
    found = beta * np.linalg.norm(theory.weights(theory.Head.PLAIN, beta)[1] @ values)
    assert theory.identity_output(beta) == pytest.approx(found, rel=rtol(beta))


def test_least_routing_norm_of_orthogonal_inputs_has_a_closed_form():
    found = theory.least_routing_norm(4 * np.eye(3), [1, 2, None], 5.0)
    # Columns decouple: margin * (e_goal - 1/n) over the squared length, for each of two routed rows.
    closed = 5 / 2**2 * np.sqrt(2 * (1 - 1 / 3))
    assert found == pytest.approx(closed, rel=linear_algebra_rtol(6, 9, 1.0))


@pytest.mark.slow("six of nine members stay inside", but=6)
@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_least_routing_norm_of_a_cycle_of_alike_inputs_has_a_closed_form(n, correlation):
    gram = correlation + (1 - correlation) * np.eye(n)
    found = theory.least_routing_norm(gram, [(i + 1) % n for i in range(n)], 2.0)
    condition = (1 + (n - 1) * correlation) / (1 - correlation)
    closed = 2 * np.sqrt(n - 1) / (1 - correlation)
    assert found == pytest.approx(closed, rel=linear_algebra_rtol(n * (n - 1), n * n, condition))


@pytest.mark.parametrize("seed", range(6))
def test_least_routing_norm_agrees_with_a_general_optimiser(seed):
    x = np.random.default_rng(seed).normal(size=(3, 3)) + 0.5
    routes = ([2, 0, None], [1, 2, 0])[seed % 2]
    least = theory.least_routing_norm(x @ x.T, routes, 1.0)
    pairs = [(i, goal, j) for i, goal in enumerate(routes) if goal is not None for j in range(3) if j != goal]
    constraints = np.array([np.outer(x[goal] - x[j], x[i]).ravel() for i, goal, j in pairs])
    # Scores 1 where wanted and 0 elsewhere are a W to start from.
    wanted = np.zeros((3, 3))
    for i, goal, _ in pairs:
        wanted[goal, i] = 1
    inverse = np.linalg.inv(x)
    start = (inverse @ wanted @ inverse.T).ravel()
    size = np.linalg.norm(start)
    found = scipy.optimize.minimize(
        lambda w: w @ w,
        start / size,
        jac=lambda w: 2 * w,
        constraints={
            "type": "ineq",
            "fun": lambda w: size * constraints @ w - 1,
            "jac": lambda w: size * constraints,
        },
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    # A sequential quadratic method stops a square root of its tolerance away from the point, its value closer.
    assert size * np.sqrt(found.fun) == pytest.approx(least, rel=np.sqrt(1e-15) * size / least)


def test_the_homeworks_solution_is_not_the_shortest():
    x = theory.tokens(theory.Middle.A)
    assert theory.least_routing_norm(x @ x.T, [2, 0, None], 1.0) == pytest.approx(
        np.sqrt(0.9), rel=linear_algebra_rtol(6, 9, 9.0)
    )


def test_least_routing_norm_refuses_what_it_cannot_solve():
    with pytest.raises(ValueError, match="active set"):
        theory.least_routing_norm([[1.0, 1 - 1e-12], [1 - 1e-12, 1.0]], [1, 0], 1.0)


@pytest.mark.parametrize("beta", BETAS)
def test_the_copy_bound_is_the_leak_times_the_farthest_value(beta):
    b, c = beta * np.eye(2)
    values = {"b": b, "zero": np.zeros(2), "b - c": b - c}
    leak = 2 / (np.exp(beta**2) + 2)
    for row, goal in ((1, "b - c"), (2, "b")):
        farthest = max(np.linalg.norm(value - values[goal]) for value in values.values())
        assert theory.constructed_bound(row, beta) == pytest.approx(leak * farthest, rel=rtol(beta))
