"""Linear mixing against exact attention: where the two cost the same, and how they grow."""

import pytest

from attnlab_theory.theory.cost import layers, linear


@pytest.mark.parametrize(("d", "m"), [(64, 256), (16, 3), (1, 1), (7, 50)])
def test_exact_attention_is_dearer_from_its_crossings_on_and_not_before(d, m):
    t = linear.feature_crossing(d, m)
    assert layers.mixing(t, d) >= linear.feature_mixing(t, d, m)
    assert layers.mixing(t - 1, d) < linear.feature_mixing(t - 1, d, m)
    t = linear.feature_traffic_crossing(d, m)
    assert linear.mixing_traffic(t, d) >= linear.feature_traffic(t, d, m)
    assert linear.mixing_traffic(t - 1, d) < linear.feature_traffic(t - 1, d, m)
    t = linear.linformer_crossing(m)
    assert layers.mixing(t, d) == linear.linformer_mixing(t, d, m)


def test_bigbird_that_sees_everything_costs_what_dense_attention_costs():
    assert linear.bigbird_mixing(48, 8, block=16, near=2, global_blocks=1) == layers.mixing(48, 8)
    assert linear.bigbird_mixing(48, 8, block=16, near=0, global_blocks=3) == layers.mixing(48, 8)


def test_bigbird_and_features_are_linear_in_the_length():
    layout = {"block": 16, "near": 3, "global_blocks": 1}
    rise = [linear.bigbird_mixing(t + 16, 8, **layout) - linear.bigbird_mixing(t, 8, **layout) for t in (64, 4096)]
    assert rise[0] == rise[1]
    assert linear.feature_mixing(4096, 8, 32, chunk=128) == 4 * linear.feature_mixing(1024, 8, 32, chunk=128)
