"""The draws come so near the bounds of copying that a bound which is a little too low is broken by many of them."""

import jax
import numpy as np
import pytest

from attnlab_theory.claims.selecting.copying import COPY_ERROR, LEAK_NEVER, broken_with, further_than
from attnlab_theory.stats import proportion

DRAWS = 4096


def least_share(draw) -> float:
    """The share of draws that are 1 is no less; wrong once in 10^8."""
    draws = jax.jit(jax.vmap(draw))(jax.random.split(jax.random.key(0), DRAWS))
    return proportion().interval(np.asarray(draws), 1e-8).low


def said_by_the_rival(claim, setting) -> float:
    return claim.interval(claim.rival.predict, setting).low


@pytest.mark.slow("two of six members stay inside", but=2)
@pytest.mark.parametrize("setting", LEAK_NEVER.settings, ids=str)
def test_the_leak_bound_with_one_key_fewer_is_broken_as_often_as_the_rival_says(setting):
    """Compiles the draw of each setting, and draws some thousand trials."""
    broken = least_share(lambda key: broken_with(setting.n - 2, key, setting))
    assert broken > said_by_the_rival(LEAK_NEVER, setting)


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.parametrize("setting", COPY_ERROR.settings, ids=str)
def test_the_error_bound_less_one_per_cent_is_broken_as_often_as_the_rival_says(setting):
    """Compiles the draw of each setting, and draws some thousand trials."""
    broken = least_share(lambda key: further_than(0.99, key, setting))
    assert broken > said_by_the_rival(COPY_ERROR, setting)
