"""One block followed over links hears of what the real mask shows, and its links have the real ones' law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import bigbird_links
from attnlab_theory.attention.sparse import linked_mask
from attnlab_theory.claims.sparse.hearing import links_beyond_the_window, one_layer_further


@pytest.mark.slow("two of three members stay inside", but=2)
@pytest.mark.parametrize(("blocks", "links"), [(9, 1), (9, 3), (5, 2)])
def test_a_walk_over_links_is_a_row_of_the_masks_powers(blocks, links):
    """Compiles each operation of a layer for each number of blocks and of links."""
    chosen = links_beyond_the_window(jax.random.key(blocks), blocks, links)
    sees = np.asarray(linked_mask(chosen, blocks, block=1, window=3, global_blocks=0), np.float64)
    for start in range(blocks):
        heard, power = jnp.arange(blocks) == start, np.eye(blocks)[start]
        for _ in range(4):
            heard, power = one_layer_further(heard, chosen), power @ sees
            assert (np.asarray(heard) == (power > 0)).all()


@pytest.mark.slow("real links that are distinct and reach everywhere stay inside")
@pytest.mark.parametrize("links", [1, 2, 3])
def test_links_are_different_blocks_beyond_the_window_and_all_choices_are_alike(links):
    """Compiles two ways to draw links for each number of them, and draws 30,000 times."""
    blocks, draws = 7, 30_000
    keys = jax.random.split(jax.random.key(links), draws)
    ours = np.sort(jax.vmap(lambda key: links_beyond_the_window(key, blocks, links))(keys), axis=2)
    real = jax.vmap(lambda key: bigbird_links(key, blocks, block=1, window=3, global_blocks=0, random_blocks=links))
    theirs = np.sort(real(keys[:500]), axis=2)
    for row in range(blocks):
        choices, counts = np.unique(ours[:, row], axis=0, return_counts=True)
        # The real links of 500 draws miss one of ten choices with probability 1e-22.
        assert (choices == np.unique(theirs[:, row], axis=0)).all()
        expected = draws / len(counts)
        # Six deviations of a count: wrong once in 1e8 runs for each of some hundred counts.
        assert np.max(np.abs(counts - expected)) < 6 * np.sqrt(expected)
