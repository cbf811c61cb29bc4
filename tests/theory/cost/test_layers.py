"""The arithmetic of costs: sums against their closed forms, crossings against the costs that cross."""

import pytest

from attnlab_theory.theory.cost import layers


@pytest.mark.parametrize("t", [1, 2, 7, 40])
def test_generation_is_the_sum_of_its_steps(t):
    d = 12
    fixed = layers.projections(1, d) + layers.mlp(1, d)
    assert layers.generation(t, d) == sum(layers.mixing(1, d, sources=i) + fixed for i in range(1, t + 1))
    assert layers.generation_uncached(t, d) == sum(layers.layer(i, d) for i in range(1, t + 1))
    assert layers.generation_padded(t, d, t) == sum(layers.mixing(1, d, sources=t) + fixed for _ in range(t))


def test_everything_grows_with_the_batch_and_only_the_readout_with_the_vocabulary():
    alone = layers.generation(9, 12, vocabulary=50)
    assert layers.generation(9, 12, vocabulary=50, batch=6) == 6 * alone
    assert alone - layers.generation(9, 12) == layers.readout(9, 12, 50)


@pytest.mark.parametrize("rival", ["projections", "mlp", "all else", "module"])
@pytest.mark.parametrize("cached", [False, True])
def test_costs_are_equal_where_they_cross(rival, cached):
    d = 10
    t = layers.crossing(d, rival, cached=cached)
    mixing = 2 * t * (t + 1) * d if cached else layers.mixing(t, d)
    projections, mlp = layers.projections(t, d), layers.mlp(t, d)
    ours = mixing + (projections if rival == "module" else 0)
    theirs = {"projections": projections, "mlp": mlp, "all else": projections + mlp, "module": mlp}[rival]
    assert ours == theirs


def test_one_head_of_short_rows_holds_its_output_and_long_rows_their_weights():
    assert layers.largest_array("plain", 8, 64) == 4 * 8 * 64
    assert layers.largest_array("plain", 128, 64, heads=4) == 4 * 4 * 128**2
    assert layers.largest_array("blocked", 128, 64, heads=4, block=32) == layers.largest_array("recurrent", 128, 64)


@pytest.mark.parametrize(("d", "m"), [(64, 256), (16, 3), (1, 1), (7, 50)])
def test_exact_attention_is_dearer_from_its_crossings_on_and_not_before(d, m):
    t = layers.feature_crossing(d, m)
    assert layers.mixing(t, d) >= layers.feature_mixing(t, d, m)
    assert layers.mixing(t - 1, d) < layers.feature_mixing(t - 1, d, m)
    t = layers.feature_traffic_crossing(d, m)
    assert layers.mixing_traffic(t, d) >= layers.feature_traffic(t, d, m)
    assert layers.mixing_traffic(t - 1, d) < layers.feature_traffic(t - 1, d, m)
    t = layers.linformer_crossing(m)
    assert layers.mixing(t, d) == layers.linformer_mixing(t, d, m)


def test_bigbird_that_sees_everything_costs_what_dense_attention_costs():
    assert layers.bigbird_mixing(48, 8, block=16, near=2, global_blocks=1) == layers.mixing(48, 8)
    assert layers.bigbird_mixing(48, 8, block=16, near=0, global_blocks=3) == layers.mixing(48, 8)


def test_bigbird_and_features_are_linear_in_the_length():
    layout = {"block": 16, "near": 3, "global_blocks": 1}
    rise = [layers.bigbird_mixing(t + 16, 8, **layout) - layers.bigbird_mixing(t, 8, **layout) for t in (64, 4096)]
    assert rise[0] == rise[1]
    assert layers.feature_mixing(4096, 8, 32, chunk=128) == 4 * layers.feature_mixing(1024, 8, 32, chunk=128)


def test_causal_blocks_tend_to_half_and_one_block_to_all():
    assert layers.blocked_causal_mixing(64, 8, 64) == layers.mixing(64, 8)
    assert layers.blocked_causal_mixing(64, 8, 1) == sum(layers.mixing(1, 8, sources=i) for i in range(1, 65))


def test_a_sliding_window_is_linear_beyond_its_block():
    sizes = {"window": 9, "least_block": 16}
    assert layers.sliding_mixing(320, 8, **sizes) == 10 * layers.sliding_mixing(32, 8, **sizes)
    assert layers.sliding_mixing(17, 8, **sizes) == layers.sliding_mixing(32, 8, **sizes)
    assert layers.sliding_mixing(16, 8, window=1, least_block=16) == layers.mixing(16, 8)


def test_synthesizers_save_the_scores_and_nothing_else():
    assert layers.synthesizer_mixing(32, 8, 4, "random") == layers.mixing(32, 8) // 2
    assert layers.synthesizer_mixing(32, 8, 8, "factorised") == layers.mixing(32, 8)
    dense = layers.synthesizer_mixing(32, 8, 8, "dense") - layers.mixing(32, 8)
    assert dense == 2 * 32 * 8 * 8
    assert layers.additive_mixing(32, 8, 4) == layers.synthesizer_mixing(32, 8, 4, "random") + 4 * 32 * 8 * 4
