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


@pytest.mark.parametrize(
    ("kind", "digits"), [(ml_dtypes.bfloat16, 8), (np.float16, 11), (ml_dtypes.float8_e4m3fn, 4)]
)
def test_equal_writes_stop_where_half_a_step_is_one(kind, digits):
    for decay in (1.0, 1 - 2.0 ** -(digits + 1)):
        state = np.float32(0)
        for _ in range(2 * 2**digits):
            state = np.float32(kind(state * np.float32(decay) + 1))
        assert state == states.settled(digits)
    assert states.written(3, 5) == pytest.approx(sum((7 / 8) ** i for i in range(5)))


@pytest.mark.parametrize(("blocks", "size", "spread"), [(2, 1, 3.0), (8, 4, 5.0)])
def test_rows_rescale_as_often_as_drawn_ones(blocks, size, spread):
    drawn = spread * np.random.default_rng(6).standard_normal((20_000, blocks, size)).max(axis=2)
    reference, count = drawn[:, 0], np.zeros(len(drawn))
    for block in drawn.T[1:]:
        rises = block > reference + 4.0
        count += rises
        reference = np.where(rises, block, reference)
    assert abs(np.mean(count) - maxima.rescalings(blocks, size, spread, 4.0)) < 5 * np.std(count) / 20_000**0.5


def test_without_a_threshold_every_record_rescales():
    assert maxima.rescalings(6, 3, 1.0, 1e-2) == pytest.approx(maxima.changes(6, 1), abs=0.02)
