"""Influence in depth, against powers of the whole matrix of running means."""

import numpy as np
import pytest

from attnlab_theory.theory.recency import causal_mean


def power(n, layers, skip):
    """The last row of the layer's power."""
    means = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    return np.linalg.matrix_power(skip * np.eye(n) + (1 - skip) * means, layers)[-1]


@pytest.mark.parametrize(
    ("n", "layers", "skip"), [(1, 3, 0.0), (5, 1, 0.0), (7, 4, 0.0), (64, 8, 0.5), (20, 3, 0.9)]
)
def test_influence_is_the_last_row_of_a_power(n, layers, skip):
    np.testing.assert_allclose(
        causal_mean.influence(n, layers, skip), power(n, layers, skip), rtol=1e-9, atol=1e-12
    )


def test_a_share_is_a_sum_and_the_last_token_keeps_what_it_skips():
    row = power(12, 5, 0.7)
    assert causal_mean.share_between(12, 5, 0.7, 3, 6) == pytest.approx(row[2:6].sum())
    assert causal_mean.influence_on_itself(12, 5, 0.7) == pytest.approx(row[-1], rel=1e-12)


def test_long_texts_have_the_limit():
    assert causal_mean.share_between(2000, 4, 0.0, 1, 200) == pytest.approx(
        causal_mean.share_of_the_first(0.1, 4), abs=2e-3
    )
    assert causal_mean.influence(2000, 6)[999] == pytest.approx(causal_mean.dead_zone(2000, 6), rel=0.02)


def test_recency_ends_where_the_middle_is_heard_better():
    layers = causal_mean.layers_without_recency(64, 0.5)
    before, after = power(64, layers - 1, 0.5), power(64, layers, 0.5)
    assert before[-1] >= before[31]
    assert after[-1] < after[31]
