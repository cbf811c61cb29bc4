"""Long rows are mixed in halves, and positions are added. What layers compute is in `identities/layers.py`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import sinusoidal
from attnlab_theory.language.models import mixing
from attnlab_theory.language.models.positions import Alibi, Learned, Rotary, Sinusoidal
from tests.language.models import (
    BLOCK,
    PAIRS,
    TOKENS,
    compiled,
    config,
    gap,
    name_of,
    rounding,
    stirred,
)

X = jnp.asarray(np.random.default_rng(0).standard_normal((BLOCK, 8)), jnp.zeros(()).dtype)
T, AT = BLOCK, jnp.arange(BLOCK)


@pytest.mark.slow("one of 18 members stays inside", but=1)
@pytest.mark.parametrize(("mixer", "positions"), PAIRS, ids=name_of)
@pytest.mark.parametrize("segments", [None, [1, 1, 1, 1, 1, 1, 2, 2]], ids=["alone", "packed"])
def test_long_rows_are_mixed_in_halves(monkeypatch, mixer, positions, segments):
    """Compiles a model and its gradient twice: with whole rows and with halves."""
    segments = None if segments is None else jnp.array([segments])

    def ahead(model):
        return model.rows(TOKENS[None], segments=segments)

    def both(model):
        out, pull = jax.vjp(ahead, model)
        return out, pull(jnp.cos(out))[0]

    model = stirred(config(mixer, positions))
    whole = compiled(both)(model)
    atol = rounding(compiled(both), model)
    assert f"[1,2,{T},{T}]" in str(jax.make_jaxpr(ahead)(model))
    monkeypatch.setattr(mixing, "HALVED", T)
    # Other functions, or what was traced before would come out again.
    assert f"[1,2,{T},{T}]" not in str(jax.make_jaxpr(lambda model: ahead(model))(model))
    assert gap(whole, compiled(lambda model: both(model))(model)) <= atol


def test_sinusoids_are_added_to_the_tokens():
    assert np.array_equal(Sinusoidal(base=100.0).added(None, AT[None], 8)[0], sinusoidal(AT, 8, base=100.0))


def test_learned_vectors_are_rows_of_their_table():
    table = jnp.asarray(np.random.default_rng(1).standard_normal((T, 3)), X.dtype)
    at = jnp.array([[0, 2], [7, 7]])
    assert np.array_equal(Learned().added(table, at, 3), table[at])
    beyond = compiled(lambda at: Learned().added(table, at, 3))(jnp.array([[8, -1]]))
    assert bool(jnp.isnan(beyond).all())


def test_first_positions_of_every_row_are_zero():
    assert not jax.tree.leaves([scheme.table(4, 2) for scheme in (Sinusoidal(), Rotary(), Alibi())])
    assert not jnp.any(Learned().table(4, 2))
