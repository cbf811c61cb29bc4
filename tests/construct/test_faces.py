"""Least squares without negative numbers: what is at its optimum, and what is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.construct.faces import _slack, non_negative_solution
from tests.strategies import arrays

EPS = float(np.finfo(float).eps)


def problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Five equations for seven numbers, of which some columns repeat."""
    rng = np.random.default_rng(seed)
    system = rng.normal(size=(5, 4))[:, [0, 1, 2, 3, 1, 0, 0]]
    return system, rng.normal(size=5)


@given(st.integers(0, 2**32 - 1))
def test_at_the_solution_no_number_can_grow_and_none_in_use_can_move(seed):
    system, target = problem(seed)
    x = non_negative_solution(system, target)
    downhill = system.T @ (target - system @ x)  # minus the gradient of half the squared distance
    atol = 1e4 * EPS * np.sum(system**2)
    assert np.min(x) >= 0
    assert np.max(downhill) <= atol
    assert np.max(np.abs(downhill[x > 0]), initial=0.0) <= atol
    assert _slack(system, target, x) <= atol


@given(st.integers(0, 2**32 - 1), arrays(1, 7))
def test_the_slack_is_the_slope_of_the_squared_distance(seed, moves):
    system, target = problem(seed)
    x = np.abs(np.asarray(moves, np.float64)[0])

    def half_square(x):
        return float(np.sum((target - system @ x) ** 2)) / 2

    step = 1e-4
    slopes = [(half_square(x - step * row) - half_square(x + step * row)) / (2 * step) for row in np.eye(7)]
    wanted = max(*slopes, *(abs(slope) for slope, used in zip(slopes, x > 0, strict=True) if used), -np.inf)
    assert _slack(system, target, x) == pytest.approx(wanted, abs=1e-6 * (1 + half_square(x)))
