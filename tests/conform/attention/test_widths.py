"""Widths that a target refuses are a convention, and the suite asks those that it takes."""

import pytest

from attnlab_theory.conform.callers import Direct
from tests.conform.judging import suite as suite_of
from tests.conform.right import plain


def of(multiple, target=plain, error=ValueError):
    def attention(q, k, v, mask=None):
        if q.shape[-1] % multiple or v.shape[-1] % multiple:
            raise error(f"widths must be multiples of {multiple}")
        return target(q, k, v, mask)

    return attention


def steep(q, k, v, mask=None):
    return plain(q * q.dtype.type(1.01), k, v, mask)


def judged(target):
    suite = suite_of(Direct(target), "softmax")
    return dict(suite.profile), [row.name for row in suite.rows() if row.verdict == "fails"]


@pytest.mark.slow("widths that a rotation refuses stay inside")
@pytest.mark.parametrize("multiple", [8, 16, 64])
def test_widths_that_are_refused_are_a_convention(multiple):
    """Looks for the widths that are taken, and judges the target at them."""
    profile, failed = judged(of(multiple))
    assert profile["widths"].startswith(f"multiples of {multiple}; others refused: ValueError")
    assert failed == []


@pytest.mark.slow("rotations that are wrong at one of their widths stay inside")
def test_a_wrong_scale_is_found_at_the_widths_that_are_taken():
    _, failed = judged(of(8, steep))
    assert {"plain", "odd widths"} <= set(failed)


@pytest.mark.slow("a rotation that mixes up one of its widths stays inside")
def test_an_error_of_another_type_at_an_odd_width_fails():
    profile, failed = judged(of(2, error=IndexError))
    assert "widths" not in profile
    assert failed
