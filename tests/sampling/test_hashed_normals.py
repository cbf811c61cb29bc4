"""The hashed normals are normal, and independent across positions and across keys, as far as tests can see.

Fast Monte Carlo runs rely on three laws: of one entry, of the entries of one call, and of the same entry in calls
with related keys. Every test states an exact law.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from attnlab_theory.sampling import hashed_bits, hashed_normal
from attnlab_theory.sampling.hashed_normals import normals_of
from attnlab_theory.seeds import key_for
from tests.sampling.laws import singular_values_fit
from tests.tolerances import hashed_normal_atol

ERROR_RATE = 1e-6 / 64
ROOT = key_for(0, "hashed")


def keys_by_split(n: int):
    return jax.random.split(ROOT, n)


def keys_by_number(n: int):
    return jax.vmap(lambda i: jax.random.fold_in(ROOT, i))(jnp.arange(n))


def keys_by_seed(n: int):
    return jax.vmap(jax.random.key)(jnp.arange(n))


FAMILIES = [keys_by_split, keys_by_number, keys_by_seed]


def quantiles(bits: np.ndarray) -> np.ndarray:
    sign = np.where(bits & 1, -1.0, 1.0)
    return sign * -scipy.special.ndtri(((bits >> 1) + 0.5) * 2.0**-32)


def test_a_normal_is_the_quantile_of_its_bits():
    edges = np.concatenate([2 ** np.arange(33) + shift for shift in range(-4, 5)])
    bits = np.unique(np.clip(edges, 0, 2**32 - 1)).astype(np.uint32)
    bits = np.concatenate([bits, np.asarray(hashed_bits(key_for(1), (2**16,)))])
    normals = np.asarray(normals_of(jnp.asarray(bits)), np.float64)
    assert np.isfinite(normals).all()
    assert np.abs(normals - quantiles(bits.astype(np.int64))).max() <= hashed_normal_atol()


def test_the_tails_reach_as_far_as_documented():
    furthest = normals_of(jnp.asarray([0, 1], jnp.uint32))
    assert 6.33 < furthest[0] < 6.34
    assert furthest[1] == -furthest[0]


@pytest.mark.parametrize("dtype", [jnp.int32, bool])
def test_normals_that_are_no_floating_numbers_are_refused(dtype):
    for normal in (hashed_normal, jax.random.normal):
        with pytest.raises(ValueError, match="float"):
            normal(key_for(1), (4,), dtype)


@pytest.mark.slow("the moments of the normals and the types they refuse stay inside")
def test_a_drop_in_for_jax_random_normal():
    """Compiles both generators for every shape."""
    for shape in ((), (3,), (2, 3, 4)):
        ours, theirs = hashed_normal(ROOT, shape), jax.random.normal(ROOT, shape)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    assert hashed_normal(ROOT, (2,), jnp.float32).dtype == jnp.float32
    np.testing.assert_array_equal(hashed_normal(ROOT, (6,)), hashed_normal(ROOT, (2, 3)).ravel())


def test_vmap_over_keys_is_a_loop_over_keys():
    keys = keys_by_split(5)
    together = jax.vmap(lambda key: hashed_bits(key, (7,)))(keys)
    np.testing.assert_array_equal(together, np.stack([hashed_bits(key, (7,)) for key in keys]))


def test_one_call_repeats_no_value():
    bits = np.asarray(hashed_bits(ROOT, (2**18,)))
    assert np.unique(bits).size == bits.size


@pytest.mark.parametrize("word", [0, 1])
def test_both_words_of_a_key_count(word):
    # Among 2**17 keys some share one of the two words that the hash takes from a key; a run of a billion
    # chunks must not repeat itself there.
    keys = keys_by_split(2**17)
    words = np.asarray(jax.vmap(lambda key: jax.random.bits(key, (2,), jnp.uint32))(keys))[:, word]
    order = np.argsort(words, kind="stable")
    twins = np.flatnonzero(words[order][1:] == words[order][:-1])
    assert twins.size
    one, other = (hashed_bits(keys[order[twins[0] + i]], (2**12,)) for i in (0, 1))
    assert not np.intersect1d(one[:64], other[:64]).size
    assert agreements_fit(np.asarray(one), np.asarray(other))


def test_more_entries_than_positions_are_refused():
    with pytest.raises(ValueError, match="one key gives at most 2\\*\\*32 entries, not 4294967297"):
        hashed_bits(ROOT, (2**32 + 1,))


def along_positions() -> np.ndarray:
    return np.asarray(hashed_normal(key_for(2), (2**18,)))


def along_keys(keys=keys_by_split) -> np.ndarray:
    return np.asarray(jax.vmap(lambda key: hashed_normal(key, (2,))[1])(keys(2**16)))


@pytest.mark.slow("moments up to the sixth, along one stream, stay inside")
@pytest.mark.parametrize("stream", [along_positions, along_keys], ids=lambda f: f.__name__)
def test_entries_have_the_normal_distribution_function(stream):
    assert scipy.stats.kstest(stream(), "norm").pvalue > ERROR_RATE


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("stream", [along_positions, along_keys], ids=lambda f: f.__name__)
def test_moments_are_those_of_a_normal(stream):
    """Sums of odd and even powers up to six: a large sample of a known law, so its own variance is known too."""
    draws = stream().astype(np.float64)
    quantile = scipy.stats.norm.isf(ERROR_RATE / 2)
    double_factorial = [1, 0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10395]
    for power in range(1, 7):
        mean, square = double_factorial[power], double_factorial[2 * power]
        assert abs(np.mean(draws**power) - mean) <= quantile * np.sqrt((square - mean**2) / draws.size)


@pytest.mark.slow("one round of the hash fewer, which is seen, stays inside")
def test_a_shifted_or_shrunk_law_would_be_seen():
    """Tests hundreds of thousands of draws, made wrong in three ways, for the normal law."""
    draws = along_positions()
    for wrong in (draws + 0.02, draws * 1.03, np.clip(draws, -2.5, 2.5)):
        assert scipy.stats.kstest(wrong, "norm").pvalue < ERROR_RATE


def blocks_of_one_call() -> np.ndarray:
    return np.asarray(hashed_normal(key_for(3), (2**12, 64)))


def entries_a_power_of_two_apart() -> np.ndarray:
    """Position and position + 2**k: the differences that a weak hash lets through."""
    stream = np.asarray(hashed_normal(key_for(4), (2**18,)))
    starts = np.arange(2**12) * 31
    return np.stack([stream[starts], *(stream[starts + 2**k] for k in range(17))], axis=1)


def one_entry_of_many_keys(keys):
    return lambda: np.asarray(jax.vmap(lambda key: hashed_normal(key, (64,)))(keys(2**12)))


def many_keys_side_by_side(keys):
    return lambda: np.asarray(jax.vmap(lambda key: hashed_normal(key, (2**12,)), out_axes=1)(keys(64)))


TABLES = {
    "blocks": blocks_of_one_call,
    "powers": entries_a_power_of_two_apart,
    **{f"rows {f.__name__}": one_entry_of_many_keys(f) for f in FAMILIES},
    **{f"columns {f.__name__}": many_keys_side_by_side(f) for f in FAMILIES},
}


@pytest.mark.slow("nothing inside asks this; moments along one stream stay inside")
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_no_linear_dependence_between_positions_or_keys(table):
    assert singular_values_fit(table().astype(np.float64), ERROR_RATE)


def test_a_faint_linear_dependence_would_be_seen():
    table = blocks_of_one_call().astype(np.float64)
    assert not singular_values_fit(table + 0.05 * table.sum(axis=1, keepdims=True), ERROR_RATE)


def agreements_fit(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether every bit of `left` agrees with every bit of `right` half of the time: 1,024 binomial counts."""
    signs = [1.0 - 2.0 * ((x[:, None] >> np.arange(32, dtype=np.uint32)) & 1) for x in (left, right)]
    # Sums of at most 2**18 signs are exact in float32.
    sums = signs[0].astype(np.float32).T @ signs[1].astype(np.float32)
    agreements = (left.size + sums) / 2
    rate = ERROR_RATE / agreements.size / 2
    low, high = scipy.stats.binom.ppf(rate, left.size, 0.5), scipy.stats.binom.isf(rate, left.size, 0.5)
    return bool((agreements >= low).all() and (agreements <= high).all())


@pytest.mark.parametrize("lag", [1, 2, 3, 16, 64, 1024, 4096, 65536])
def test_every_bit_is_independent_of_every_bit_a_lag_away(lag):
    bits = np.asarray(hashed_bits(key_for(5), (2**18,)))
    assert agreements_fit(bits[:-lag], bits[lag:])


@pytest.mark.slow("nothing inside asks this of keys; moments along one stream stay inside")
@pytest.mark.parametrize("keys", FAMILIES, ids=lambda f: f.__name__)
def test_every_bit_is_independent_of_every_bit_of_the_next_key(keys):
    bits = np.asarray(jax.vmap(lambda key: hashed_bits(key, (8,)))(keys(2**14)))
    assert agreements_fit(bits[:-1].ravel(), bits[1:].ravel())


def test_bits_are_fair():
    bits = np.asarray(hashed_bits(key_for(6), (2**18,)))
    assert agreements_fit(bits, np.zeros_like(bits))


def test_one_round_fewer_would_be_seen():
    x = np.arange(2**18, dtype=np.uint32)
    x = (x ^ (x >> 17)) * np.uint32(0xED5AD4BB)
    x = (x ^ (x >> 11)) * np.uint32(0xAC4C1B51)
    assert not agreements_fit(x[:-1], x[1:])


def test_pairs_fill_the_square_evenly():
    # Lattice structure, which a linear test cannot see: 64 x 64 cells of (this, next) by distribution function.
    uniforms = scipy.special.ndtr(np.asarray(hashed_normal(key_for(7), (2**18,)), np.float64))
    for lag in (1, 2, 16):
        cells, *_ = np.histogram2d(uniforms[:-lag:2], uniforms[lag::2], bins=64, range=[[0, 1], [0, 1]])
        assert scipy.stats.chisquare(cells.ravel()).pvalue > ERROR_RATE


def test_squares_of_neighbours_are_uncorrelated():
    # Volatility clustering: what a test of linear dependence misses. u = 2 Phi(|z|) - 1 is uniform on [0, 1].
    sizes = 2 * scipy.special.ndtr(np.abs(np.asarray(hashed_normal(key_for(8), (2**12, 64)), np.float64))) - 1
    assert singular_values_fit(scipy.special.ndtri(np.clip(sizes, 1e-12, 1 - 1e-12)), ERROR_RATE)
