"""Influence through stacked windows, against powers of the whole matrix."""

import numpy as np
import pytest

from attnlab_theory.theory.selection import windows


@pytest.mark.parametrize(("window", "layers", "skip"), [(1, 3, 0.5), (3, 4, 0.0), (4, 5, 0.9)])
def test_influence_is_the_last_row_of_a_power_of_the_layer(window, layers, skip):
    n = layers * (window - 1) + window
    band = np.tril(np.ones((n, n))) - np.tril(np.ones((n, n)), -window)
    layer = skip * np.eye(n) + (1 - skip) * band / band.sum(axis=1, keepdims=True)
    row = np.linalg.matrix_power(layer, layers)[-1][::-1]
    found = windows.influence(window, layers, skip)
    np.testing.assert_allclose(found, row[: len(found)], atol=1e-15)
    assert np.all(row[len(found) :] == 0)


def test_influence_sums_to_one_and_has_the_mean_of_its_steps():
    found = windows.influence(8, 20, 0.75)
    assert found.sum() == pytest.approx(1)
    assert found @ np.arange(len(found)) == pytest.approx(0.25 * 20 * 3.5)
    assert windows.heard_from(8, 20, 0.75, 0) == pytest.approx(1)


def test_the_argument_of_branches_has_no_depth_in_it():
    assert windows.heard_by_decay(8, 0.95, 12) == pytest.approx(0.05**1.5)


def test_windows_reach_as_far_as_their_influence():
    for window, layers in ((1, 4), (2, 3), (5, 6)):
        found = windows.influence(window, layers, 0.0)
        assert np.flatnonzero(found)[-1] == windows.reach(window, layers)
