"""Layers beside a sink, against powers of their matrix."""

import numpy as np
import pytest

from attnlab_theory.theory.sinks import mixing


@pytest.mark.parametrize(("n", "w", "layers"), [(3, 0.5, 4), (8, 0.9, 32), (5, 0.01, 1)])
def test_parts_are_those_of_a_power_of_the_matrix(n, w, layers):
    power = np.linalg.matrix_power(np.eye(n) + (1 - w) * np.full((n, n), 1 / n), layers)
    assert mixing.part_of_another(n, w, layers) == pytest.approx(power[0, 1], rel=1e-12)
    assert mixing.own_share(n, w, layers) == pytest.approx(power[0, 0] / power[0].sum(), rel=1e-12)


def test_the_first_order_is_right_for_one_layer_and_without_a_sink():
    assert mixing.first_order(5, 0.3, 1) == pytest.approx(mixing.part_of_another(5, 0.3, 1))
    assert mixing.first_order(5, 0.0, 7) == pytest.approx(mixing.part_of_another(5, 0.0, 7))


@pytest.mark.parametrize(("n", "layers"), [(8, 12), (8, 32), (1000, 32)])
def test_the_share_that_keeps_half_keeps_half(n, layers):
    assert mixing.own_share(n, mixing.share_that_keeps_half(n, layers), layers) == pytest.approx(0.5)


def test_a_sink_of_that_score_takes_that_share():
    scores = np.append(np.zeros(5), mixing.sink_of_share(5, 0.9))
    assert np.exp(scores[-1]) / np.exp(scores).sum() == pytest.approx(0.9)
