"""Records among exchangeable scores, counted over all orders."""

import itertools

from attnlab_theory.theory.sinks import clipping


def test_a_fresh_score_is_the_largest_in_its_share_of_all_orders():
    orders = list(itertools.permutations(range(5)))
    assert clipping.chance_of_a_record(3, 2) == sum(order.index(4) >= 3 for order in orders) / len(orders)
