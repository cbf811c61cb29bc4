"""The queries that are tried against the cap of a mixture come so near that a lower cap is broken by many."""

import jax
import numpy as np
import pytest

from attnlab_theory.claims.selecting.selection import CAP_NEVER_BROKEN, above_cap
from attnlab_theory.stats import proportion


@pytest.mark.slow("two of five members stay inside", but=2)
@pytest.mark.parametrize("setting", CAP_NEVER_BROKEN.settings, ids=str)
def test_one_per_cent_off_the_cap_is_broken_as_often_as_the_rival_says(setting):
    """Compiles the draw of each setting, and draws some thousand trials."""
    assert CAP_NEVER_BROKEN.rival is not None
    draw = jax.jit(jax.vmap(lambda key: above_cap(0.99, key, setting)))
    draws = np.asarray(draw(jax.random.split(jax.random.key(0), 4096)))
    said = CAP_NEVER_BROKEN.interval(CAP_NEVER_BROKEN.rival.predict, setting)
    assert proportion().interval(draws, 1e-8).low > said.low
