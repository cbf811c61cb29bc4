"""The rounding that is allowed to a Jacobian is enough for any matrix."""

import jax
import numpy as np
import pytest

from attnlab_theory.claims.limits.gradients_at_distance import LINEAR


@pytest.mark.parametrize("gain", [0.8, 1.1])
def test_matrices_of_other_keys_stay_within_the_rounding(gain):
    setting = LINEAR.at(d=16, gain=gain, stretch=2.0, distance=31)
    for seed in range(20):
        drawn = np.array([LINEAR.draw(jax.random.key(seed), setting)], np.float64)
        assert LINEAR.bound_at(setting).interval(drawn, 0.0).contains(LINEAR.predicted_at(setting))
