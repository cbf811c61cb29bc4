"""A Gaussian sketch has the variance that makes it unbiased."""

import numpy as np
import pytest
import scipy.stats

from attnlab_theory.sampling import gaussian_sketch
from attnlab_theory.seeds import key_for


def test_entries_are_normal_with_variance_one_over_rows():
    r, n = 16, 4096
    drawn = np.asarray(gaussian_sketch(key_for(0, "sketch"), r, n), np.float64)
    assert drawn.shape == (r, n)
    # A chi-square sum: r times the sum of squares has r n degrees of freedom.
    low, high = scipy.stats.chi2.ppf([5e-7, 1 - 5e-7], r * n)
    assert low <= r * np.sum(drawn**2) <= high


@pytest.mark.parametrize(("r", "n"), [(0, 4), (4, 0)])
def test_an_empty_sketch_is_refused(r, n):
    with pytest.raises(ValueError, match="must be positive, not 0"):
        gaussian_sketch(key_for(0, "sketch"), r, n)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_part_of_a_row_is_refused():
    with pytest.raises(ValueError, match=r"rows must be a whole number, not 2\.5"):
        gaussian_sketch(key_for(0, "sketch"), 2.5, 3)
