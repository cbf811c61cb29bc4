"""Decoding token by token over a cache, against the whole pass."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.language.models.mixers import DenseSynthesizer, Softmax
from attnlab_theory.language.models.positions import Alibi, Learned, Rotary
from tests.language.models import FEATURES, PAIRS, TOKENS, compiled, config, gap, logits, name_of, rounding, stirred

step = compiled(lambda model, token, position, cache: model.step(token, position, cache))


@pytest.mark.parametrize(("mixer", "positions"), [*PAIRS, (DenseSynthesizer(), Alibi())], ids=name_of)
def test_steps_equal_the_whole_pass(mixer, positions):
    model = stirred(config(mixer, positions))
    whole = logits(model, TOKENS)
    atol = rounding(lambda m: logits(m, TOKENS), model)
    cache = model.empty_cache()
    for position, token in enumerate(TOKENS):
        row, cache = step(model, token, jnp.int32(position), cache)
        assert gap(row, whole[position]) <= atol


@pytest.mark.parametrize("positions", [Learned(), Rotary()], ids=name_of)
def test_steps_go_on_after_a_prompt_that_is_filled_up(positions):
    model = stirred(config(Softmax(), positions, layers=2))
    whole = logits(model, TOKENS)
    atol = rounding(lambda m: logits(m, TOKENS), model)
    prompt = TOKENS.at[3:].set(0)[:6]
    rows, cache = compiled(lambda m: m.prefill(prompt))(model)
    assert gap(rows[:3], whole[:3]) <= atol
    for position in range(3, 8):
        row, cache = step(model, TOKENS[position], jnp.int32(position), cache)
        assert gap(row, whole[position]) <= atol


@pytest.mark.parametrize(
    ("mixer", "positions"), [(Softmax(), Rotary()), (DenseSynthesizer(), Alibi())], ids=name_of
)
def test_an_empty_cache_has_the_shape_of_one_that_holds_a_prompt(mixer, positions):
    model = stirred(config(mixer, positions, layers=2))
    _, filled = eqx.filter_eval_shape(lambda m: m.prefill(TOKENS[:3], capacity=7), model)
    empty = model.empty_cache(7)
    assert [(x.shape, x.dtype) for x in jax.tree.leaves(empty)] == [
        (x.shape, x.dtype) for x in jax.tree.leaves(filled)
    ]
    assert not any(np.any(x) for x in jax.tree.leaves(empty))


def test_steps_are_mapped_over_prompts_of_different_lengths():
    model = stirred(config(Softmax(), Rotary()))
    lengths = jnp.array([2, 5])

    @compiled
    def both(model):
        _, caches = jax.vmap(model.prefill)(jnp.stack([TOKENS, TOKENS]))
        return jax.vmap(model.step)(TOKENS[lengths], lengths, caches)[0]

    rows, atol = both(model), rounding(both, model)
    assert gap(rows, logits(model, TOKENS)[lengths]) <= atol


def test_caches_may_be_longer_than_the_block_where_positions_are():
    model = stirred(config(Softmax(), Rotary()))
    longer = jnp.tile(TOKENS, 2)[:10]
    prefill = compiled(lambda m: m.prefill(longer, capacity=11))
    rows, cache = prefill(model)
    # The last token again, into the slot where it is already.
    row, _ = step(model, longer[9], jnp.int32(9), cache)
    assert gap(row, rows[9]) <= rounding(lambda m: prefill(m)[0], model)
    with pytest.raises(ValueError, match="a cache of 10 positions is longer than the block of this model, 8"):
        stirred(config(Softmax(), Learned())).empty_cache(10)


def test_positions_without_a_slot_are_refused_and_under_jit_give_nan():
    model = stirred(config(Softmax(), Rotary()))
    cache = model.empty_cache(4)
    for position in (4, -1):
        with pytest.raises(ValueError, match=f"position {position} has no slot: the cache has room for 4"):
            model.step(TOKENS[0], position, cache)
        assert np.isnan(step(model, TOKENS[0], jnp.int32(position), cache)[0]).all()


def test_what_cannot_be_cached_is_refused():
    model = stirred(config(FEATURES, Rotary()))
    for ask in (model.empty_cache, lambda: model.prefill(TOKENS)):
        with pytest.raises(ValueError, match="causal feature attention keeps no keys and values"):
            ask()
    with pytest.raises(ValueError, match="capacity must be positive, not 0"):
        stirred(config(Softmax(), Rotary())).empty_cache(0)
    with pytest.raises(ValueError, match="the prompt has 8 tokens, but the cache has room for 4"):
        stirred(config(Softmax(), Rotary())).prefill(TOKENS, capacity=4)
