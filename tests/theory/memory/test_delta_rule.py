"""What the delta rule recalls, against exact means over directions in the plane, and against limits."""

import itertools

import numpy as np
import pytest

from attnlab_theory.theory.memory import delta_rule, sums


def exact_error(n, age, beta, decay, scale):
    """The mean error at d = 2, over seven directions of each key.

    The error is a polynomial of degree 6 at most in each key, of degree 4 in those that are not read. So the mean
    over seven equally spaced directions is the mean over all.
    """
    angles = 2 * np.pi * np.array([*itertools.product(range(7), repeat=n)]) / 7
    keys = np.stack([np.cos(angles), np.sin(angles)], axis=2)
    state = np.zeros((len(keys), n, 2))
    for i in range(n):
        k = keys[:, i]
        written = -np.einsum("xvd,xd->xv", decay * state, k)
        written[:, i] += 1
        state = decay * state + beta * written[:, :, None] * k[:, None, :]
    wanted = n - 1 - age
    answers = scale * np.einsum("xvd,xd->xv", state, keys[:, wanted]) - np.eye(n)[wanted]
    return np.mean(np.sum(answers**2, axis=1))


@pytest.mark.parametrize("age", range(4))
@pytest.mark.parametrize(("beta", "decay", "scale"), [(1.0, 1.0, 1.0), (0.6, 1.0, 1.5), (0.8, 0.7, 1.0)])
def test_the_recursion_is_an_exact_mean_in_the_plane(age, beta, decay, scale):
    found = delta_rule.delta_error(4, 2, age, beta=beta, decay=decay, scale=scale)
    assert found == pytest.approx(exact_error(4, age, beta, decay, scale), rel=1e-12)


def test_the_closed_form_without_a_decay_is_the_recursion():
    n, d, age, beta = 12, 5, 7, 0.3
    c, a, squared = 2 * beta - beta**2, 1.0, 1.0
    for _ in range(age):
        cross = squared * (1 - 2 * beta / d + 2 * beta**2 / (d * (d + 2)))
        a, squared = a * (1 - c / d), cross + beta**2 * a / (d * (d + 2))
    past = (a - c * squared) * (1 - (1 - c / d) ** (n - 1 - age))
    closed = beta**2 * squared - 2 * beta * (1 - beta / d) ** age + 1 + beta / (2 - beta) * (1 - a + past)
    assert delta_rule.delta_error(n, d, age, beta=beta) == pytest.approx(closed, rel=1e-13)


def test_many_wide_keys_have_the_limit():
    assert delta_rule.delta_error(3000, 2000, 1500) == pytest.approx(
        delta_rule.delta_error_of_many(1.5, 0.75), abs=2e-3
    )
    assert delta_rule.delta_error_of_many(50.0, 50.0) == pytest.approx(2)


def test_a_small_step_is_a_scaled_sum_and_the_best_pair_is_better():
    n, d, beta = 10, 6, 1e-5
    small = delta_rule.mean_delta_error(n, d, beta=beta, scale=sums.best_scale(n, d) / beta)
    assert small == pytest.approx(sums.scaled_sum_error(n, d), abs=1e-3)
    step = delta_rule.best_step(n, d)
    scale = delta_rule.best_delta_scale(n, d, step)
    best = delta_rule.mean_delta_error(n, d, beta=step, scale=scale)
    near = [(step * 1.05, scale), (step / 1.05, scale), (step, scale * 1.05), (step, scale / 1.05)]
    assert all(delta_rule.mean_delta_error(n, d, beta=b, scale=s) > best for b, s in near)
    assert best < sums.scaled_sum_error(n, d) - 0.02


@pytest.mark.parametrize("n", [2, 3, 9])
def test_least_squares_leaves_what_no_projection_reaches(n):
    keys = np.random.default_rng(n).standard_normal((n, 3))
    missed = np.eye(n) - keys @ np.linalg.pinv(keys)
    assert delta_rule.least_squares_error(n, 3) == pytest.approx(np.sum(missed**2) / n, abs=1e-12)


def test_writes_of_nothing_multiply_an_answer():
    assert [delta_rule.repeated_write(2.0, times) for times in range(4)] == [1, -1, 1, -1]
    assert delta_rule.repeated_write(0.25, 2) == 0.5625
