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


@pytest.mark.parametrize(("blocks", "window"), [(2, 3), (3, 3), (4, 3), (9, 3), (9, 5), (10, 5), (4, 9), (8, 1)])
def test_layers_are_those_of_a_walk(blocks, window):
    if window > 1:  # else nobody ever hears of another
        assert bigbird.window_layers(blocks, window) == layers_needed(neighbours(blocks, window))
    for global_blocks in (1, blocks - 1):
        needed = layers_needed(neighbours(blocks, window, global_blocks))
        assert bigbird.global_layers(blocks, window, global_blocks) == needed


def test_a_window_that_shows_a_block_itself_alone_reaches_no_other():
    assert bigbird.window_layers(1, 1) == layers_needed(neighbours(1, 1))
    with pytest.raises(ValueError, match="through a window of 1 a block never reaches the other 3"):
        bigbird.window_layers(4, 1)


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_window_heard_is_that_of_a_walk(layers):
    heard = heard_after(neighbours(9, 5), layers)
    assert bigbird.window_heard(9, 5, layers) == sum(map(len, heard)) / 81


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


@pytest.mark.parametrize(("blocks", "links"), [(7, 1), (7, 3), (6, 2)])
def test_most_layers_bounds_what_every_graph_of_a_few_blocks_needs(blocks, links):
    """No more pairs are missed by two layers than the union bound counts: over all graphs, or many of them."""
    rng = np.random.default_rng(0)
    missed = layers = 0
    for _ in range(400):
        graph = [
            near | set(rng.choice(sorted(set(range(blocks)) - near), links, replace=False).tolist())
            for near in neighbours(blocks, 3)
        ]
        missed += sum(len(heard) < blocks for heard in heard_after(graph, 2)) > 0
        layers += layers_needed(graph)
    bound = bigbird.most_layers(blocks, links)
    assert layers / 400 <= bound <= blocks - 1
    assert missed / 400 <= blocks**2 * (1 - links / (blocks - 2)) ** (links + 3)


def test_many_links_make_two_layers_enough():
    # 16^2 pairs, each missed with probability (1 - 11/14)^14, would take 13 layers more.
    assert bigbird.most_layers(16, 11) - 2 == pytest.approx(13 * 256 * (3 / 14) ** 14, rel=1e-3)
    assert bigbird.most_layers(64, 2) == 63


@pytest.mark.parametrize("blocks", [4, 100])
def test_one_global_block_takes_exactly_two_layers(blocks):
    assert bigbird.global_layers(blocks, 3, 1) == 2


def test_a_window_that_meets_the_global_block_takes_one_layer_and_one_block_more_takes_two():
    assert bigbird.global_layers(22, 41, 1) == layers_needed(neighbours(22, 41, 1)) == 1
    assert bigbird.global_layers(23, 41, 1) == layers_needed(neighbours(23, 41, 1)) == 2
