"""Rounded scores, positions, weights and states, by exact arithmetic at few digits."""

import math
from fractions import Fraction

import numpy as np
import pytest

from attnlab_theory.theory.precision import scores


@pytest.mark.parametrize("exponent", [0, 3, 6, 9])
def test_the_series_is_the_closed_form_and_a_mean_over_one_step(exponent):
    h = scores.half_step(exponent)
    x = h * (2 * (np.arange(20_000) + 0.5) / 20_000 - 1)
    assert scores.mean_square_of_odds(exponent) == pytest.approx(np.mean(np.expm1(x) ** 2), rel=1e-7)
    assert scores.largest_square_of_odds(exponent) == pytest.approx(math.expm1(h) ** 2)
    if exponent >= 6:
        closed = math.sinh(2 * h) / (2 * h) - 2 * math.sinh(h) / h + 1
        assert scores.mean_square_of_odds(exponent) == pytest.approx(closed, rel=1e-9)


def test_half_a_step_is_the_largest_error_of_a_bfloat16():
    exact = Fraction(129, 2)  # 64.5 lies on the grid of halves between 64 and 128
    assert scores.half_step(6) == 0.25
    assert exact % Fraction(1, 2) == 0
    assert scores.mean_square_of_one_number() == pytest.approx(2.0**-18 / 3)
