import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.stats import Interval

numbers = st.floats(-1e6, 1e6)
ends = st.floats(allow_nan=False)
intervals = (
    st.tuples(ends, ends)
    .map(lambda pair: (min(pair), max(pair)))
    .filter(lambda pair: pair[0] < math.inf and pair[1] > -math.inf)
    .map(lambda pair: Interval(*pair))
)


@pytest.mark.parametrize("ends", [(1.0, 0.0), (math.nan, 0.0), (0.0, math.nan), (math.inf, -math.inf)])
def test_ends_in_the_wrong_order_or_nan_are_refused(ends):
    with pytest.raises(ValueError, match="low <= high"):
        Interval(*ends)


@pytest.mark.parametrize("end", [math.inf, -math.inf])
def test_an_interval_without_a_real_number_is_refused(end):
    with pytest.raises(ValueError, match="holds real numbers"):
        Interval.point(end)


def test_a_negative_radius_is_refused():
    with pytest.raises(ValueError, match="low <= high"):
        Interval.around(0.0, -1.0)


def test_half_lines_have_one_end():
    assert Interval.at_most(2.0) == Interval(-math.inf, 2.0)
    assert Interval.at_least(2.0) == Interval(2.0, math.inf)
    assert Interval.at_most(2.0).width == math.inf


def test_ends_belong_to_the_interval():
    assert Interval(0.0, 1.0).contains(Interval.point(1.0))
    assert Interval(0.0, 1.0).contains(Interval.point(0.0))
    assert Interval(0.0, 1.0).overlaps(Interval(1.0, 2.0))
    assert not Interval(0.0, 1.0).overlaps(Interval(math.nextafter(1.0, 2.0), 2.0))


@given(numbers, st.floats(0, 1e6))
def test_around_reaches_its_radius_on_both_sides(centre, radius):
    interval = Interval.around(centre, radius)
    assert (interval.low, interval.high) == (centre - radius, centre + radius)


@given(intervals, intervals)
def test_overlap_is_symmetric_and_containing_is_overlapping(one, other):
    assert one.overlaps(other) == other.overlaps(one)
    assert not one.contains(other) or one.overlaps(other)
    assert (one.contains(other) and other.contains(one)) == (one == other)


@given(intervals, intervals)
def test_intervals_overlap_exactly_when_they_share_a_number(one, other):
    shares = max(one.low, other.low) <= min(one.high, other.high)
    assert one.overlaps(other) == shares
