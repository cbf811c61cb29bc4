"""What a block has heard of: the law against a walk over a tree, bounds against every graph of a few blocks."""

import itertools

import numpy as np
import pytest

from attnlab_theory.theory.sparse import hearing


@pytest.mark.parametrize("r", [1, 2, 3])
def test_the_branching_law_grows_by_its_rate_and_counts_a_tree(r):
    """Against a walk over an endless row of blocks, whose random links lead to blocks on rows of their own."""

    def reached(layers: int, sides: int) -> int:
        # A block, what its window opens on so many sides, and its links, each with both sides open.
        if layers == 0:
            return 1
        return 1 + sides * reached(layers - 1, 1) + r * reached(layers - 1, 2)

    counts = [hearing.most_heard(r, layers) for layers in range(12)]
    assert counts == [reached(layers, 2) for layers in range(12)]
    new = np.diff(counts)
    assert new[-1] / new[-2] == pytest.approx(hearing.branching_rate(r), rel=1e-4)
    assert hearing.branching_rate(r) == pytest.approx(float(np.max(np.linalg.eigvals([[r, r], [2.0, 1.0]]))))
    below = [sum(hearing.descendants(r, j)[kind] for j in range(5)) for kind in (0, 1)]
    assert below == [reached(4, 2), reached(4, 1)]


def graphs(blocks: int, r: int):
    """Every graph of a window of 3 and r random links a row, with its probability."""
    rows = [
        [set(links) for links in itertools.combinations([j for j in range(blocks) if abs(i - j) > 1], r)]
        for i in range(blocks)
    ]
    chance = 1 / np.prod([float(len(choices)) for choices in rows])
    for links in itertools.product(*rows):
        yield [links[i] | {j for j in (i - 1, i, i + 1) if 0 <= j < blocks} for i in range(blocks)], chance


def numbers_heard(graph, layers):
    """How many blocks every block has heard of after 0, 1, ... layers."""
    heard = [[{i} for i in range(len(graph))]]
    for _ in range(layers):
        heard.append([set().union(*(graph[j] for j in known)) for known in heard[-1]])
    return np.array([[len(known) for known in layer] for layer in heard])


@pytest.mark.parametrize(("blocks", "r"), [(5, 1), (6, 1), (6, 2), (6, 3)])
def test_bounds_hold_in_the_mean_over_every_graph(blocks, r):
    layers = 4
    mean, ratios = np.zeros(layers + 1), np.zeros(layers + 1)
    for graph, chance in graphs(blocks, r):
        heard = numbers_heard(graph, layers)
        mean += chance * np.mean(heard, axis=1)
        new = np.diff(heard, axis=0)
        for layer in range(2, layers + 1):
            if hearing.most_heard(r, layer - 1) < blocks:
                ratios[layer] += chance * np.mean(new[layer - 1] / new[layer - 2])
    for layer in range(1, layers + 1):
        low, high = hearing.share_heard(blocks, r, layer)
        assert low - 1e-12 <= mean[layer] / blocks <= high + 1e-12
        if ratios[layer]:
            low, high = hearing.growth(blocks, r, layer)
            assert low <= ratios[layer] <= high


@pytest.mark.parametrize(("blocks", "r", "layers"), [(90, 1, 4), (150, 2, 3), (90, 3, 2)])
def test_what_is_lost_is_counted_block_by_block_of_the_law(blocks, r, layers):
    """Every block that comes after others meets each of them, and takes all below it along."""

    def below(by_link: bool, left: int) -> int:
        # All blocks of the law within so many layers below one, itself included.
        if left == 0:
            return 1
        return 1 + r * below(True, left - 1) + (2 if by_link else 1) * below(False, left - 1)

    layer, before, lost = [True], 1, 0.0
    for left in reversed(range(layers)):
        links = [True for _ in layer for _ in range(r)]
        windows = [False for by_link in layer for _ in range(2 if by_link else 1)]
        layer = links + windows
        for by_link in layer:
            # Through a window it may also go over an end.
            lost += (before + (not by_link)) / (blocks - 2 - r) * below(by_link, left)
            before += 1
    assert hearing.share_heard(blocks, r, layers)[0] == pytest.approx((before - lost) / blocks)
    assert lost < before


def test_one_layer_hears_of_no_more_than_the_law_and_loses_what_the_document_says():
    # Two links: pairs (1 + 2) of two links and the block, at 1/60; pairs (1 + 2 + 1, 1 + 2 + 2) of two windows.
    low, high = hearing.share_heard(64, 2, 1)
    assert high == pytest.approx(5 / 64)
    assert low == pytest.approx((5 - (1 + 2) / 60 - (1 + 2 + 1 + 1 + 2 + 1 + 1) / 60) / 64)


def test_bounds_on_what_is_heard_of_close_as_blocks_grow_and_end_at_all():
    low, high = hearing.share_heard(10**6, 2, 3)
    assert 0.99 * high < low < high < 69 / 10**6
    assert hearing.share_heard(64, 2, 5) == (0.0, 1.0)
    assert [hearing.fewest_layers(blocks, 2) for blocks in (5, 6, 19, 20, 69, 70)] == [1, 2, 2, 3, 3, 4]
    low, high = hearing.growth(10**7, 2, 6)
    assert low < hearing.branching_rate(2) < high < low + 0.03


def test_meetings_by_chance_alone_promise_more_than_the_theorem():
    # With two links: five blocks of the law, ten pairs that are one with chance 1/59, a step over an end for each.
    assert hearing.share_heard_if_all_meet_by_chance(64, 2, 1) == pytest.approx((5 - 10 / 59 - 5 / 64) / 64)
    for blocks, r, layers in ((4096, 2, 5), (4096, 1, 6), (1024, 1, 6), (1500, 1, 6)):
        promised = hearing.share_heard_if_all_meet_by_chance(blocks, r, layers)
        low, high = hearing.share_heard(blocks, r, layers)
        assert low < promised < high
