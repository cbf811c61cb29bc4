"""Positions, states and weights in few digits, against casts and exact arithmetic."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from attnlab_theory.theory.precision import maxima, positions, states, weights


@pytest.mark.parametrize("octaves", [8, 9, 12, 15])
def test_as_many_positions_are_told_apart_as_casts_differ(octaves):
    cast = np.arange(2**octaves).astype(ml_dtypes.bfloat16)
    assert len(np.unique(cast.astype(float))) == positions.positions_told_apart(octaves)
    below = len(np.unique(cast.astype(float)[cast.astype(float) < 2**octaves]))
    assert below == positions.without_rounding_up(octaves)


def test_the_nearest_number_of_eight_bits_is_that_of_a_cast():
    x = np.concatenate([np.linspace(0, 0.05, 3001), np.linspace(0.05, 448, 3001), [2.0**-10, 3 * 2.0**-10]])
    cast = x.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(float)
    assert [weights.nearest_e4m3(float(np.float32(each))) for each in x] == cast.tolist()


def test_from_that_many_keys_on_nothing_is_left():
    assert weights.keys_that_vanish(0.5, 1.0) == 1024
    assert [weights.kept_output(n, 0.5, 1.0) for n in (512, 1024, 1025)] == [1.0, 0.0, 0.0]
    assert weights.kept_output(1023, 0.5, 1.0) == pytest.approx(1.998, abs=1e-3)
    first = 29_128
    assert first - 1 < weights.keys_that_vanish(0.9, 256.0) <= first
    assert weights.kept_output(first - 1, 0.9, 256.0) == pytest.approx(2.0, abs=1e-3)
    assert weights.kept_output(first, 0.9, 256.0) == 0


@pytest.mark.parametrize("digits", [3, 4, 8])
@pytest.mark.parametrize("halvings", [2, 3, 4, 5, 8, 9])
def test_a_decay_changes_some_number_of_few_digits_unless_it_is_stuck(digits, halvings):
    size = 2 ** (digits - 1)

    def stored(x: Fraction) -> Fraction:
        """x, from a half to two, in so many digits; ties to even, as `round` has them."""
        step = Fraction(1, size) if x >= 1 else Fraction(1, 2 * size)
        return round(x / step) * step

    mantissas = [1 + Fraction(i, size) for i in range(size)]
    changed = [stored(m * (1 - Fraction(1, 2**halvings))) != m for m in mantissas]
    assert any(changed) != states.is_stuck(halvings, digits)


def test_exact_arithmetic_leaves_a_power():
    assert states.left(9, 1000) == pytest.approx(0.1416, abs=1e-4)


def test_records_are_counted_over_all_orders():
    import itertools

    orders = list(itertools.permutations(range(4)))
    rises = [{b for b in range(1, 4) if order[b] > max(order[:b])} for order in orders]
    one = sum(map(len, rises)) / len(orders)
    two = sum(len(a | b) for a in rises for b in rises) / len(orders) ** 2
    assert maxima.changes(4, 1) == pytest.approx(one)
    assert maxima.changes(4, 2) == pytest.approx(two)
