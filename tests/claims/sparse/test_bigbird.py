"""The furthest vector is named where nothing hinders it."""

import jax
import pytest

from attnlab_theory.claims.sparse.bigbird import REACH_IS_POWER


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("n", [2, 3])
def test_two_layers_in_which_every_row_sees_all_vectors_name_the_furthest(n):
    """Compiles two layers for each number of vectors, and draws 256 times."""
    setting = REACH_IS_POWER.at(n=n, d=8, layers=2)
    shares = jax.vmap(lambda key: REACH_IS_POWER.draw(key, setting))(jax.random.split(jax.random.key(0), 256))
    assert (shares == 1).all()
