"""The k best keys: ties, masks, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import causal_mask, top_k_mask


def test_the_best_keys_are_those_of_a_sort():
    scores = np.random.default_rng(0).standard_normal((5, 9)).astype(np.float32)
    read = np.asarray(top_k_mask(jnp.asarray(scores), 4))
    for row, kept in zip(scores, read, strict=True):
        assert set(np.flatnonzero(kept)) == set(np.argsort(-row)[:4])


def test_of_equal_scores_the_earlier_keys_are_read():
    assert np.asarray(top_k_mask(jnp.zeros((1, 4)), 2)).tolist() == [[True, True, False, False]]


def test_what_is_hidden_takes_no_place():
    scores = jnp.tile(jnp.arange(4.0), (4, 1))
    read = top_k_mask(scores, 2, causal_mask(4))
    assert np.asarray(read).astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]


@pytest.mark.parametrize(("k", "line"), [(0, "k"), (5, "of 4 keys no 5 can be read; give a k of at most 4")])
def test_a_number_of_keys_that_cannot_be_read_is_refused(k, line):
    with pytest.raises(ValueError, match=line):
        top_k_mask(jnp.zeros((2, 4)), k)
