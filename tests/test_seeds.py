import itertools
import zlib

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given

from attnlab_theory.seeds import key_for


def numbers(key) -> tuple[int, ...]:
    return tuple(int(word) for word in np.asarray(jax.random.key_data(key)))


def test_a_key_depends_on_seed_and_names_alone():
    assert numbers(key_for(3, "a", "b")) == numbers(key_for(3, "a", "b"))


def test_different_seeds_and_names_give_different_keys():
    seeds = (0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**63 - 1)
    names = ((), ("a",), ("b",), ("a", "b"), ("b", "a"), ("ab",), ("",), ("a", ""))
    keys = {numbers(key_for(seed, *path)) for seed, path in itertools.product(seeds, names)}
    assert len(keys) == len(seeds) * len(names)


def test_names_are_folded_in_one_after_another():
    # So a part of the program that is handed a key can go on naming what it needs it for.
    further = jax.random.fold_in(key_for(7, "experiment"), zlib.crc32(b"claim"))
    assert numbers(further) == numbers(key_for(7, "experiment", "claim"))


@pytest.mark.slow("the keys of a release, number by number, stay inside")
@given(st.integers(0, 2**63 - 1), st.lists(st.text(max_size=5), max_size=3))
def test_a_key_has_the_high_bits_of_its_seed_and_then_its_names_folded_in(seed, names):
    key = jax.random.key(seed % 2**32)
    for number in [seed // 2**32] * (seed >= 2**32) + [zlib.crc32(name.encode()) for name in names]:
        key = jax.random.fold_in(key, number)
    assert numbers(key_for(seed, *names)) == numbers(key)


def test_the_keys_of_a_release_are_the_keys_of_the_next():
    # Committed results stand on these numbers: a change here moves every one of them.
    assert numbers(key_for(0)) == (0, 0)
    assert numbers(key_for(1, "copy-weight")) == (4294362976, 4034449587)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_seed_is_any_whole_number_and_no_other():
    assert numbers(key_for(np.int32(5), "a")) == numbers(key_for(np.uint8(5), "a")) == numbers(key_for(5, "a"))
    for seed in (1.5, "1", True):
        with pytest.raises(ValueError, match=f"seed must be a whole number, not {seed!r}"):
            key_for(seed)


@pytest.mark.parametrize("seed", [-1, 2**63, -(2**70)])
def test_a_seed_out_of_range_is_refused(seed):
    with pytest.raises(ValueError, match=rf"between 0 and 2\*\*63 - 1, not {seed}"):
        key_for(seed)
