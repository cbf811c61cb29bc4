"""A tape keeps what the model computes, replaces what it is told to, and refuses places that there are not."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from attnlab_theory.language.models.mixers import Features, Softmax
from attnlab_theory.language.models.positions import Learned
from attnlab_theory.language.models.tape import Offer, tape, within
from tests.language.models import TOKENS, config, gap, rounding, stirred

MODEL = stirred(config(Softmax(), Learned(), layers=2))
ROWS = TOKENS[None]
PLACES = ("reads", "q", "k", "v", "weights", "means", "mixed", "skip_1", "between", "transformed", "skip_2", "out")


@functools.cache
def kept():
    return eqx.filter_jit(lambda m: tape(m.walk(ROWS), keep=[f"layers.*.{place}" for place in PLACES]))(MODEL)


def test_every_place_is_met_in_every_layer():
    assert set(kept().kept) == {f"layers.{layer}.{place}" for layer in range(2) for place in PLACES}


def test_layers_come_in_the_order_of_their_numbers():
    def walk(x):
        for layer in range(12):
            x = yield Offer(f"layers.{layer}.out", x + 1)

    found = jax.jit(lambda x: tape(walk(x), keep=["layers.*.out"]))(jnp.float32(0))
    assert found.layers("out") == list(range(1, 13))


def test_what_a_layer_gives_the_next_one_reads():
    assert jnp.array_equal(kept().kept["layers.0.out"], kept().kept["layers.1.reads"])
    assert jnp.array_equal(kept().end[0], kept().kept["layers.1.out"])


@pytest.mark.parametrize("layer", [0, 1])
def test_kept_values_are_joined_as_a_layer_is(layer):
    """Compiles a walk that keeps every place, and runs the model for the rounding."""
    at = {place: kept().kept[f"layers.{layer}.{place}"] for place in PLACES}

    def joined(model):
        means = jnp.matmul(at["weights"], at["v"])
        mixed = model.blocks[layer].mixing.merged(at["means"])
        return means, mixed, at["skip_1"] + at["mixed"], at["skip_2"] + at["transformed"]

    found = at["means"], at["mixed"], at["between"], at["out"]
    assert gap(found, joined(MODEL)) <= rounding(lambda m: tape(m.walk(ROWS)).end[0], MODEL)


def test_nothing_on_a_tape_changes_the_pass():
    bare = eqx.filter_jit(lambda m: tape(m.walk(ROWS)).end[0])(MODEL)
    assert gap(bare, kept().end[0]) <= rounding(lambda m: tape(m.walk(ROWS)).end[0], MODEL)


def test_a_replaced_value_is_kept_and_moves_only_what_comes_after_it():
    changed = tape(
        MODEL.walk(ROWS), keep=["layers.*.means", "layers.*.out"], replace={"layers.1.means": jnp.zeros_like}
    ).kept
    assert not jnp.any(changed["layers.1.means"])
    assert jnp.any(changed["layers.0.means"])
    assert gap(changed["layers.1.out"], kept().kept["layers.1.out"]) > 0.1


def test_a_value_is_replaced_once():
    found = tape(MODEL.walk(ROWS), keep=["layers.0.out"], replace={"layers.0.out": lambda x: x + 1}).kept
    assert gap(found["layers.0.out"] - 1, kept().kept["layers.0.out"]) <= rounding(
        lambda m: tape(m.walk(ROWS)).end[0], MODEL
    )


def test_weights_can_be_replaced_though_the_pass_does_without_them():
    """All weight on the first token: each head hands on its value."""

    def first(weights):
        return jnp.zeros_like(weights).at[..., 0].set(1)

    changed = tape(MODEL.walk(ROWS), keep=["layers.*.v", "layers.*.means"], replace={"layers.*.weights": first})
    for v, means in zip(changed.layers("v"), changed.layers("means"), strict=True):
        assert jnp.array_equal(means, jnp.broadcast_to(v[:, :, :1], v.shape))


def test_the_name_of_one_layer_goes_before_that_of_all():
    replace = {"layers.*.mixed": jnp.zeros_like, "layers.1.mixed": jnp.ones_like}
    first, second = tape(MODEL.walk(ROWS), keep=["layers.*.mixed"], replace=replace).layers("mixed")
    assert not jnp.any(first)
    assert jnp.all(second == 1)


@pytest.mark.parametrize(
    "asked", [{"keep": ["layers.2.weights"]}, {"replace": {"layers.*.wieghts": jnp.zeros_like}}]
)
def test_a_place_that_is_not_on_the_walk_is_refused(asked):
    with pytest.raises(ValueError, match=r"no place layers\.(2\.weights|\*\.wieghts).*layers\.\*\.weights"):
        tape(MODEL.walk(ROWS), **asked)


def test_a_mixer_without_scores_has_no_weights():
    """Draws the weights of a model, and walks through it twice."""
    model = stirred(config(Features(features=4), Learned()))
    with pytest.raises(ValueError, match=r"no place layers\.\*\.weights"):
        tape(model.walk(ROWS), keep=["layers.*.weights"])
    assert tape(model.walk(ROWS), keep=["layers.0.mixed"]).kept["layers.0.mixed"].shape == (1, 8, 8)


@pytest.mark.parametrize("other", [lambda x: x[:, :1], lambda x: x.astype(jnp.float16)])
def test_what_does_not_fit_a_place_is_refused(other):
    with pytest.raises(ValueError, match=r"at layers\.0\.mixed stands float32 of shape \(1, 8, 8\)"):
        tape(MODEL.walk(ROWS), replace={"layers.0.mixed": other})


def test_a_value_aside_is_computed_for_those_who_ask():
    def walk():
        given = yield Offer("aside", lambda: 1 / 0, aside=True)
        return given

    assert tape(walk()).end is None
    with pytest.raises(ZeroDivisionError):
        tape(within("layers.0", walk()), keep=["layers.0.aside"])
