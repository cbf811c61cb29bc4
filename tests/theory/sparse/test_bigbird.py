"""Reach by formula against walking the graph block by block."""

import itertools

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


def test_no_graph_of_few_links_is_faster():
    assert [bigbird.fewest_layers(blocks, 5) for blocks in (5, 6, 25, 26)] == [1, 2, 2, 3]
    assert bigbird.fewest_layers(1, 1) == 1
    with pytest.raises(ValueError, match="see 1 block each never hear of the other 7"):
        bigbird.fewest_layers(8, 1)
    assert bigbird.most_heard(100, 5, 2) == 0.25
    assert bigbird.most_heard(100, 5, 3) == 1


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
