"""Reach by formula against walking the graph block by block."""

import itertools

import numpy as np
import pytest

from attnlab_theory.theory.sparse import bigbird


def neighbours(blocks, window, global_blocks=0):
    def sees(i, j):
        return abs(i - j) <= window // 2 or i < global_blocks or j < global_blocks

    return [{j for j in range(blocks) if sees(i, j)} for i in range(blocks)]


def heard_after(graph, layers):
    heard = [set(near) for near in graph]
    for _ in range(layers - 1):
        heard = [set().union(*(graph[j] for j in near)) for near in heard]
    return heard


def layers_needed(graph):
    return next(n for n in itertools.count(1) if all(len(h) == len(graph) for h in heard_after(graph, n)))


@pytest.mark.parametrize(("blocks", "window"), [(2, 3), (9, 3), (9, 5), (10, 5), (4, 9), (8, 1)])
def test_layers_are_those_of_a_walk(blocks, window):
    if window > 1:  # else nobody ever hears of another
        assert bigbird.window_layers(blocks, window) == layers_needed(neighbours(blocks, window))
    for global_blocks in (1, blocks - 1):
        needed = layers_needed(neighbours(blocks, window, global_blocks))
        assert bigbird.global_layers(blocks, window, global_blocks) == needed


def test_a_window_that_shows_a_block_itself_alone_reaches_no_other():
    assert bigbird.window_layers(1, 1) == layers_needed(neighbours(1, 1))
    with pytest.raises(ValueError, match="through a window of 1, blocks never hear of the other 3"):
        bigbird.window_layers(4, 1)


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_window_heard_is_that_of_a_walk(layers):
    heard = heard_after(neighbours(9, 5), layers)
    assert bigbird.window_heard(9, 5, layers) == sum(map(len, heard)) / 81


@pytest.mark.parametrize("r", [1, 2, 3])
def test_the_branching_law_grows_by_its_rate_and_counts_a_tree(r):
    """Against a walk over an endless row of blocks, whose random links lead to blocks on rows of their own."""

    def reached(layers: int, sides: int) -> int:
        # A block, what its window opens on so many sides, and its links, each with both sides open.
        if layers == 0:
            return 1
        return 1 + sides * reached(layers - 1, 1) + r * reached(layers - 1, 2)

    counts = [bigbird.most_heard(r, layers) for layers in range(12)]
    assert counts == [reached(layers, 2) for layers in range(12)]
    new = np.diff(counts)
    assert new[-1] / new[-2] == pytest.approx(bigbird.branching_rate(r), rel=1e-4)
    assert bigbird.branching_rate(r) == pytest.approx(float(np.max(np.linalg.eigvals([[r, r], [2.0, 1.0]]))))


def test_bounds_on_what_is_heard_of_close_as_blocks_grow_and_end_at_all():
    low, high = bigbird.share_heard(10**6, 2, 3)
    assert high == 69 / 10**6
    assert high * 0.99 < low < high
    assert bigbird.share_heard(64, 2, 5) == (0.0, 1.0)
    assert [bigbird.fewest_layers(blocks, 2) for blocks in (5, 6, 19, 20, 69, 70)] == [1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize(("global_blocks", "random_blocks"), [(0, 0), (2, 0), (2, 3), (0, 99)])
def test_visible_share_counts_pairs(global_blocks, random_blocks):
    blocks, block = 8, 3
    graph = neighbours(blocks, 3, global_blocks)
    seen = sum(
        blocks if i < global_blocks else min(blocks, len(near) + random_blocks) for i, near in enumerate(graph)
    )
    pairs = seen * block**2 - blocks * block
    found = bigbird.visible_share(blocks, block, window=3, global_blocks=global_blocks, random_blocks=random_blocks)
    assert found == pairs / (24 * 23)


def test_after_one_layer_meetings_and_ends_take_off_what_the_document_says():
    # With two links: five blocks of the law, ten pairs that are one with chance 1/59, five steps that lead over an
    # end with chance 1/64.
    assert bigbird.share_heard(64, 2, 1) == pytest.approx(((5 - 10 / 59 - 5 / 64) / 64, 5 / 64))


@pytest.mark.parametrize("blocks", [4, 100])
def test_one_global_block_takes_exactly_two_layers(blocks):
    assert bigbird.global_layers(blocks, 3, 1) == 2


def test_a_window_that_shows_everything_takes_one_layer_and_one_block_more_takes_two():
    assert bigbird.global_layers(21, 41, 1) == 1
    assert bigbird.global_layers(22, 41, 1) == 2
