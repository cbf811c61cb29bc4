"""Masks: windows with an offset, valid lengths, and where the queries stand among the keys."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.attention import attention, causal_mask, length_mask, sliding_window_attention, window_mask
from tests.tolerances import attention_atol

limits = st.one_of(st.none(), st.integers(0, 6))


@pytest.mark.slow("windows with a traced offset, and refused ones, stay inside")
@given(st.integers(1, 5), st.integers(1, 6), limits, limits, st.integers(-3, 8))
def test_a_window_shows_what_is_near_enough(queries, keys, before, after, offset):
    """Builds a mask of another shape for nearly every case that Hypothesis draws."""
    mask = window_mask(queries, keys, before=before, after=after, offset=offset)
    for t in range(queries):
        for s in range(keys):
            distance = s - (t + offset)
            near = (before is None or distance >= -before) and (after is None or distance <= after)
            assert bool(mask[t, s]) == near


def test_a_window_without_limit_is_the_causal_mask_at_the_end_of_the_keys():
    for queries, keys in ((1, 1), (3, 3), (2, 5)):
        assert np.array_equal(window_mask(queries, keys), causal_mask(queries, keys))
    assert np.array_equal(window_mask(2, 5, offset=0), jnp.tri(2, 5, dtype=bool))


def test_offsets_and_lengths_may_be_traced():
    moved = jax.jit(lambda offset: window_mask(2, 5, before=1, offset=offset))(jnp.int32(2))
    assert np.array_equal(moved, window_mask(2, 5, before=1, offset=2))
    cut = jax.vmap(lambda length: length_mask(2, 5, length=length))(jnp.arange(6))
    assert np.array_equal(cut.sum(axis=2), np.arange(6)[:, None] * np.ones(2, int))
    assert np.array_equal(cut[3, 0], [True, True, True, False, False])


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: window_mask(0), "queries must be positive, not 0"),
        (
            lambda: window_mask(3, 2),
            "3 queries do not fit among 2 keys: give the position of the first query as offset",
        ),
        (lambda: window_mask(3, before=-1), "before must not be negative, but is -1"),
        (lambda: window_mask(3, after=1.5), r"after must be a whole number, not 1\.5"),
        (lambda: window_mask(3, offset=0.5), r"offset must be a whole number, not 0\.5"),
        (lambda: length_mask(2, 4, length=5), "the length must lie between 0 and the 4 keys there are, not 5"),
        (lambda: length_mask(2, 4, length=-1), "the length must lie between 0 and the 4 keys there are, not -1"),
        (lambda: length_mask(2, 0, length=0), "keys must be positive, not 0"),
    ],
)
def test_masks_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


RNG = np.random.default_rng(0)
Q, K, V = (jnp.asarray(RNG.uniform(-1, 1, shape), jnp.float32) for shape in ((130, 4), (140, 4), (140, 3)))


@pytest.mark.slow("two of five members stay inside", but=2)
@pytest.mark.parametrize(
    ("queries", "offset", "causal", "window"),
    [(130, None, True, 3), (130, 2, False, 5), (4, 136, True, 1), (2, -1, False, 3), (129, 7, True, 130)],
)
def test_a_sliding_window_with_an_offset_is_attention_under_its_mask(queries, offset, causal, window):
    """Past the block of 128, before the first key and at the last."""
    before, after = (window - 1, 0) if causal else (window // 2, window // 2)
    mask = window_mask(queries, 140, before=before, after=after, offset=offset)
    expected = attention(Q[:queries], K, V, mask, scale=0.5)
    found = sliding_window_attention(Q[:queries], K, V, scale=0.5, window=window, causal=causal, offset=offset)
    assert np.abs(found - expected).max() <= 2 * attention_atol(4, window, 2.0, 1.0, np.float32)


@pytest.mark.parametrize(("offset", "query"), [(-3, 0), (139, 3)])
def test_a_sliding_window_that_shows_nothing_is_refused(offset, query):
    with pytest.raises(ValueError, match=f"query {query} stands at position {offset + query} of 140 keys"):
        sliding_window_attention(Q[:4], K, V, scale=0.5, window=3, offset=offset)
    with pytest.raises(ValueError, match="4 queries do not fit among 3 keys"):
        sliding_window_attention(Q[:4], K[:3], V[:3], scale=0.5, window=3)
