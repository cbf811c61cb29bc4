"""The traceable linear programme against a solver's, and its decisions against those of the host."""

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attnlab_theory.construct import query_for_subset
from attnlab_theory.construct.leads import query_for_first, widest_lead
from tests.tolerances import simplex_atol

gaps_of_ten = hnp.arrays(np.int64, (10, 3), elements=st.integers(-4, 4))
keys_of_eight = hnp.arrays(np.int64, (8, 3), elements=st.integers(-4, 4))

solve = jax.jit(widest_lead)
first = jax.jit(query_for_first, static_argnums=1)


def assert_is_the_linear_programmes(gaps):
    # max t subject to gaps x >= t, |x| <= 1.
    solved = scipy.optimize.linprog(
        [0, 0, 0, -1],
        A_ub=np.hstack([-gaps, np.ones((10, 1))]),
        b_ub=np.zeros(10),
        bounds=[(-1, 1)] * 3 + [(None, None)],
    )
    found = np.asarray(solve(jnp.asarray(gaps, dtype=jnp.float32)), dtype=np.float64)
    assert np.max(np.abs(found)) <= 1 + simplex_atol(gaps)
    assert abs(np.min(gaps @ found) + solved.fun) <= simplex_atol(gaps)


@hypothesis.given(gaps_of_ten)
def test_the_lead_is_the_linear_programmes(gaps):
    assert_is_the_linear_programmes(gaps)


sides = st.tuples(*(st.integers(1, 4) for _ in range(3))).map(lambda sizes: np.array(sizes) * [1, -1, 1])


@hypothesis.given(gaps_of_ten, sides, st.sampled_from([0.25, 1, 4096]))
def test_it_is_so_where_somebody_leads(gaps, side, unit):
    """Ten random rows hardly ever leave room for a lead: these are turned to one side, or are its direction."""
    signs = np.sign(gaps @ side)[:, None]
    assert_is_the_linear_programmes(unit * np.where(signs == 0, side, signs * gaps))


@hypothesis.given(keys_of_eight, st.sampled_from([1, 2]))
def test_it_selects_what_the_host_selects(keys, size):
    """Compiles the linear programme, and the host solves every case as well."""
    query, lead = first(jnp.asarray(keys, dtype=jnp.float32), size)
    # Coinciding keys have no direction between them; random keys never coincide.
    if size == 2 and np.array_equal(keys[0], keys[1]):
        return
    try:
        margin = query_for_subset(keys.astype(np.float64), range(size)).margin
    except ValueError:
        assert lead <= simplex_atol(keys)
        return
    # In three dimensions a unit vector lies in the box, and the box within sqrt(3) units.
    assert margin - simplex_atol(keys) <= lead <= 2 * margin
    scores = keys @ np.asarray(query, dtype=np.float64)
    assert np.ptp(scores[:size]) <= simplex_atol(keys)


@hypothesis.given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2]))
def test_on_a_sphere_it_selects_every_key_and_the_pairs_that_the_host_selects(seed, size):
    keys = np.random.default_rng(seed).normal(size=(8, 3))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    nearest = 1 + np.argmax(keys[1:] @ keys[0])
    keys[[1, nearest]] = keys[[nearest, 1]]
    query, lead = first(jnp.asarray(keys, dtype=jnp.float32), size)
    # No other key is as near to the first as the second: the hull has an edge between the two.
    margin = query_for_subset(keys, range(size)).margin
    assert margin - simplex_atol(keys) <= lead <= 2 * margin
    assert np.ptp(keys[:size] @ np.asarray(query, dtype=np.float64)) <= simplex_atol(keys)


def test_larger_subsets_are_refused():
    with pytest.raises(ValueError, match="1 or 2, not 3"):
        query_for_first(jnp.ones((5, 2)), 3)
