"""Frequencies of stretched rotary positions: against the published rules, and what they leave alone."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.attention import (
    interpolated_frequencies,
    llama3_frequencies,
    ntk_frequencies,
    rotary,
    rotary_frequencies,
    yarn_frequencies,
    yarn_scale,
)
from tests.strategies import arrays
from tests.tolerances import rotation_atol

FLOAT = jax.dtypes.canonicalize_dtype(float)
widths = st.integers(2, 64).map(lambda n: 2 * n)
factors = st.floats(1.0, 64.0)
bases = st.sampled_from([10000.0, 500000.0])


@given(arrays(3, 6), arrays(3, peak=100.0), arrays(3, peak=1.0), st.sampled_from(["interleaved", "half"]))
def test_each_pair_turns_by_its_own_frequency(x, positions, frequencies, layout):
    order = [0, 2, 4, 1, 3, 5] if layout == "interleaved" else [0, 1, 2, 3, 4, 5]
    pairs = np.asarray(x, np.float64)[:, order]
    turned = (pairs[:, :3] + 1j * pairs[:, 3:]) * np.exp(
        1j * np.outer(np.asarray(positions, np.float64), np.asarray(frequencies, np.float64))
    )
    expected = np.empty((3, 6))
    expected[:, order] = np.concatenate((turned.real, turned.imag), axis=1)
    found = rotary(x, positions, layout=layout, frequencies=frequencies)
    assert np.abs(found - expected).max() <= rotation_atol(4.0, 100.0, dtype=FLOAT)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_a_part_of_the_width_turns_and_the_rest_stays(layout):
    x = jnp.linspace(-1, 1, 21, dtype=FLOAT).reshape(3, 7)
    at = jnp.array([0, 1, 50])
    found = rotary(x, at, layout=layout, frequencies=rotary_frequencies(4))
    whole = rotary(x[:, :4], at, layout=layout)
    assert np.abs(found[:, :4] - whole).max() <= 2 * rotation_atol(1.0, 50.0, dtype=FLOAT)
    assert np.array_equal(found[:, 4:], x[:, 4:])
    assert found.shape == x.shape


def test_frequencies_may_be_traced_and_have_gradients():
    x, at = jnp.ones((2, 4), FLOAT), jnp.array([1.0, 2.0], FLOAT)
    table = jnp.asarray(rotary_frequencies(4), FLOAT)
    by_jit = jax.jit(lambda f: rotary(x, at, frequencies=f))(table)
    assert np.abs(by_jit - rotary(x, at)).max() <= 2 * rotation_atol(1.0, 2.0, dtype=FLOAT)
    slope = jax.grad(lambda f: jnp.sum(rotary(x, at, frequencies=f)[:, 0::2]))(table)
    # cos(t f) - sin(t f), by f.
    expected = [-sum(t * (math.sin(t * f) + math.cos(t * f)) for t in (1.0, 2.0)) for f in (1.0, 0.01)]
    assert np.abs(slope - np.array(expected)).max() <= 4 * rotation_atol(1.0, 2.0, dtype=FLOAT)


@given(widths, bases)
def test_texts_of_the_original_length_change_nothing(width, base):
    plain = rotary_frequencies(width, base=base)
    stretched = (
        interpolated_frequencies(width, factor=1.0, base=base),
        ntk_frequencies(width, factor=1.0, base=base),
        yarn_frequencies(width, factor=1.0, original=4096, base=base),
        llama3_frequencies(width, factor=1.0, base=base),
    )
    for table in stretched:
        assert np.allclose(table, plain, rtol=1e-14, atol=0)
    assert yarn_scale(1.0) == 1


@given(widths, factors, bases)
def test_the_fastest_pair_stays_and_the_slowest_is_slowed_in_full(width, factor, base):
    plain = rotary_frequencies(width, base=base)
    ntk = ntk_frequencies(width, factor=factor, base=base)
    assert ntk[0] == 1
    assert ntk[-1] == pytest.approx(plain[-1] / factor, rel=1e-12)
    for ramp in ("index", "rotations"):
        yarn = yarn_frequencies(width, factor=factor, original=4096, base=base, ramp=ramp)
        assert yarn[0] == 1
        assert np.all(yarn <= plain * (1 + 1e-15))
        assert np.all(yarn >= plain / factor * (1 - 1e-15))
        turns = 4096 * plain / (2 * math.pi)
        if ramp == "rotations":
            assert np.allclose(yarn[turns < 1], plain[turns < 1] / factor, rtol=1e-14)
            assert np.array_equal(yarn[turns > 32], plain[turns > 32])


def llama3_as_published(width, factor, low, high, original, base):
    """`apply_scaling` of Llama 3.1's code, pair by pair."""
    found = []
    for frequency in (base ** (-i / width) for i in range(0, width, 2)):
        wavelength = 2 * math.pi / frequency
        if wavelength < original / high:
            found.append(frequency)
        elif wavelength > original / low:
            found.append(frequency / factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            found.append((1 - smooth) * frequency / factor + smooth * frequency)
    return found


def yarn_as_published(width, factor, original, base):
    """`yarn_find_correction_range` and `yarn_linear_ramp_mask` of its code, pair by pair."""

    def dimension(turns):
        return (width * math.log(original / (turns * 2 * math.pi))) / (2 * math.log(base))

    low, high = max(math.floor(dimension(32)), 0), min(math.ceil(dimension(1)), width - 1)
    high = high + 0.001 if low == high else high
    found = []
    for pair in range(width // 2):
        frequency = 1.0 / base ** (2 * pair / width)
        kept = 1 - min(max((pair - low) / (high - low), 0), 1)
        found.append(frequency / factor * (1 - kept) + frequency * kept)
    return found


@given(widths, factors)
def test_llama3_and_yarn_are_as_published(width, factor):
    mine = llama3_frequencies(width, factor=factor)
    assert np.allclose(mine, llama3_as_published(width, factor, 1, 4, 8192, 500000.0), rtol=1e-13, atol=0)
    mine = yarn_frequencies(width, factor=factor, original=4096)
    assert np.allclose(mine, yarn_as_published(width, factor, 4096, 10000.0), rtol=1e-13, atol=0)
    assert yarn_scale(factor) == pytest.approx(0.1 * math.log(factor) + 1, rel=1e-15)


def test_the_two_ramps_of_yarn_differ():
    tables = [yarn_frequencies(64, factor=4.0, original=4096, ramp=ramp) for ramp in ("index", "rotations")]
    assert np.max(np.abs(tables[0] / tables[1] - 1)) > 0.1


X = jnp.ones((2, 6), FLOAT)


@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_frequencies_are_refused(subtests):
    for call, message in [
        (lambda: rotary_frequencies(3), "the width must be even and positive, not 3"),
        (lambda: rotary_frequencies(4, base=-1.0), "base must be positive"),
        (lambda: interpolated_frequencies(4, factor=0.5), r"factor must be at least 1, not 0\.5"),
        (lambda: ntk_frequencies(2, factor=2.0), "a width of 2 has one pair"),
        (lambda: yarn_frequencies(4, factor=2.0, original=0), "original must be positive, not 0"),
        (
            lambda: yarn_frequencies(4, factor=2.0, original=9, fast=1.0),
            r"fast must be above slow, but they are 1\.0",
        ),
        (lambda: yarn_frequencies(4, factor=2.0, original=9, base=1.0), r"base must be above 1, not 1\.0"),
        (
            lambda: yarn_frequencies(4, factor=2.0, original=9, ramp="log"),
            "ramp must be one of index, rotations, not",
        ),
        (lambda: yarn_scale(float("inf")), "factor must be finite"),
        (lambda: rotary(X, jnp.arange(2), frequencies=np.ones(4)), "4 frequencies do not fit a width of 6"),
        (lambda: rotary(X, jnp.arange(2), frequencies=np.ones(0)), "0 frequencies do not fit a width of 6"),
        (lambda: rotary(X, jnp.arange(2), frequencies=np.ones(2, int)), "frequencies must hold floating-point"),
        (lambda: rotary(X, jnp.arange(2), frequencies=np.array([1, np.nan])), "frequencies must be finite"),
    ]:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            call()
