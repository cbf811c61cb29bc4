"""Rounds double, share the blocks and the error rate out, and end at the cap."""

import pytest

from attnlab_theory.stats.rounds import rounds


def test_rounds_by_hand():
    found = list(rounds(10, 100))
    assert [r.number for r in found] == [1, 2, 3, 4]
    assert [list(r.blocks) for r in found] == [[0], [1], [2, 3], [4, 5, 6, 7]]
    assert [r.draws for r in found] == [10, 20, 40, 80]
    assert [r.is_last for r in found] == [False, False, False, True]
    assert [r.spends(12.0) for r in found] == [6.0, 2.0, 1.0, 12 / 20]


@pytest.mark.parametrize(("cap", "drawn"), [(10, 10), (19, 10), (20, 20), (39, 20), (40, 40), (41, 40)])
def test_a_round_is_the_last_where_twice_its_draws_exceed_the_cap(cap, drawn):
    found = list(rounds(10, cap))
    assert found[-1].draws == drawn
    assert [r.is_last for r in found] == [False] * (len(found) - 1) + [True]


def test_all_shares_sum_to_the_error_rate():
    # 1 / (j (j + 1)) = 1 / j - 1 / (j + 1): what is left after round j is 1 / (j + 1).
    found = list(rounds(1, 2**30))
    assert sum(r.spends(1.0) for r in found) == pytest.approx(1 - 1 / (len(found) + 1), rel=1e-12)


def test_a_cap_below_one_block_is_refused():
    with pytest.raises(ValueError, match="max_draws is 9, but a block holds 10"):
        next(rounds(10, 9))
