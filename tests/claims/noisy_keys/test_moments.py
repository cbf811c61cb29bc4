"""Draws of the exact moments compile on their own, whatever was predicted before."""

import jax
import numpy as np

from attnlab_theory.claims.noisy_keys import moments
from attnlab_theory.seeds import key_for


def test_a_draw_can_be_compiled_before_anything_is_predicted():
    claim = moments.ANY
    moments._any_problem.cache_clear()
    assert np.isfinite(jax.jit(lambda key: claim.draw(key, claim.settings[0]))(key_for(0)))
