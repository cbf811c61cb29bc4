"""The cache: what it refuses, and what a full one gives. That it agrees with a full pass is an identity."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import attention, causal_mask
from attnlab_theory.attention.caching import Kept, cached_attention, decode_step, empty_cache
from tests.tolerances import attention_atol

FLOAT = jnp.zeros(()).dtype
ROW = jnp.ones(3, FLOAT)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 3, 3), "capacity must be positive, not 0"),
        ((2, 0, 3), "width must be positive, not 0"),
        ((2, 3, -1), "value_width must be positive, not -1"),
        ((2.5, 3, 3), "capacity must be a whole number, not 2.5"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_empty_caches_without_room_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        empty_cache(*sizes)


def test_slots_are_written_side_by_side_whatever_stands_before_them():
    """A cache of heads is the same cache: rows go to their slots, and further slots are empty."""
    k, v = (jnp.arange(1.0, n + 1).reshape(2, 3, -1) for n in (12, 6))
    kept = Kept(k, v).in_slots(5)
    assert np.array_equal(kept.k[:, :3], k)
    assert not np.any(kept.v[:, 3:])
    both = jax.jit(lambda slot: kept.written(-k[:, :2], -v[:, :2], slot))(jnp.int32(3))
    assert np.array_equal(both.v, np.concatenate([v, -v[:, :2]], axis=1))
    assert np.array_equal(both.k[:, 3:], -k[:, :2])
    one = Kept(k[0], v[0]).written(k[1, :1], v[1, :1], 0)
    assert np.array_equal(one.k, np.concatenate([k[1, :1], k[0, 1:]]))


def test_full_cache_is_refused_and_under_jit_gives_nan():
    cache = decode_step(empty_cache(1, 3, 3), ROW, ROW, ROW, scale=1.0)[1]
    with pytest.raises(ValueError, match="cache is full: it has room for 1"):
        decode_step(cache, ROW, ROW, ROW, scale=1.0)
    assert np.isnan(jax.jit(lambda c: decode_step(c, ROW, ROW, ROW, scale=1.0)[0])(cache)).all()


@pytest.mark.usefixtures("unchecked_shapes")
def test_rows_of_another_width_are_refused():
    cache = empty_cache(2, 3, 3)
    with pytest.raises(ValueError, match="key width must agree: cache has 3, k has 2"):
        decode_step(cache, ROW[:2], ROW[:2], ROW, scale=1.0)
    with pytest.raises(ValueError, match="value width must agree"):
        decode_step(cache, ROW, ROW, ROW[:2], scale=1.0)
    with pytest.raises(ValueError, match="positions must agree"):
        cached_attention(ROW[None], ROW[None], jnp.ones((2, 3), FLOAT), scale=1.0)


@pytest.mark.parametrize("narrow", range(3))
def test_arrays_of_several_types_are_attended_to_as_by_attention(narrow):
    x = [jnp.linspace(-1, 1, 12, dtype=FLOAT).reshape(4, 3)] * 3
    x[narrow] = x[narrow].astype(jnp.bfloat16)
    with jax.numpy_dtype_promotion("standard"):
        found, expected = cached_attention(*x, scale=1.0), attention(*x, causal_mask(4), scale=1.0)
    assert found.dtype == expected.dtype == FLOAT
    assert np.abs(found - expected).max() <= 2 * attention_atol(3, 4, 3.0, 1.0, FLOAT)


def test_rows_of_another_type_than_the_cache_are_refused():
    with pytest.raises(ValueError, match=r"v holds float16, but the cache float.*: cast it"):
        decode_step(empty_cache(2, 3, 3), ROW, ROW, ROW.astype(jnp.float16), scale=1.0)


@pytest.mark.parametrize(("scale", "bad"), [(0.0, 1.0), (1.0, np.nan)])
def test_bad_values_are_refused(scale, bad):
    with pytest.raises(ValueError, match=r"scale must be positive|v must be finite"):
        cached_attention(ROW[None], ROW[None], bad * ROW[None], scale=scale)
