"""Further mixers against exact attention."""

from attnlab_theory.theory.cost import layers, mixers
from attnlab_theory.theory.cost.mixers import Synthesizer


def test_causal_blocks_tend_to_half_and_one_block_to_all():
    assert mixers.blocked_causal_mixing(64, 8, 64) == layers.mixing(64, 8)
    assert mixers.blocked_causal_mixing(64, 8, 1) == sum(layers.mixing(1, 8, sources=i) for i in range(1, 65))


def test_a_sliding_window_is_linear_beyond_its_block():
    sizes = {"window": 9, "least_block": 16}
    assert mixers.sliding_mixing(320, 8, **sizes) == 10 * mixers.sliding_mixing(32, 8, **sizes)
    assert mixers.sliding_mixing(17, 8, **sizes) == mixers.sliding_mixing(32, 8, **sizes)
    assert mixers.sliding_mixing(16, 8, window=1, least_block=16) == layers.mixing(16, 8)


def test_a_window_wider_than_the_least_block_makes_blocks_of_its_width_less_one():
    # 96 queries in blocks of 32 meet 64 keys each: two products of 2 * 96 * 64 * 8 operations.
    assert mixers.sliding_mixing(96, 8, window=33, least_block=16) == 2 * 2 * 96 * 64 * 8


def test_synthesizers_save_the_scores_and_nothing_else():
    assert mixers.synthesizer_mixing(32, 8, 4, Synthesizer.RANDOM) == layers.mixing(32, 8) // 2
    assert mixers.synthesizer_mixing(32, 8, 8, Synthesizer.FACTORISED) == layers.mixing(32, 8)
    dense = mixers.synthesizer_mixing(32, 8, 8, Synthesizer.DENSE) - layers.mixing(32, 8)
    assert dense == 2 * 32 * 8 * 8
    assert (
        mixers.additive_mixing(32, 8, 4) == mixers.synthesizer_mixing(32, 8, 4, Synthesizer.RANDOM) + 4 * 32 * 8 * 4
    )
