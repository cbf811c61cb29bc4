"""The layers that the labs train are mixers: what is true of mixers is tried on them, and on those that leak."""

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from attnlab_theory.attention.mixers import Mixer
from attnlab_theory.identities import cases, check_identity, mixers
from attnlab_theory.identities.layers import LAYERS
from attnlab_theory.identities.rounding import gap
from attnlab_theory.labs.mixers.leaky import OneProjection, ZeroMask
from attnlab_theory.language.models.mixers import MIXERS, DroppedHeads
from attnlab_theory.seeds import key_for

CASE = cases.tokens(jax.random.key(0))
SOFTMAX, *_, FEATURES, BIDIRECTIONAL = LAYERS


def test_every_mixer_of_a_gpt_has_a_layer_that_the_identities_are_tried_on():
    tried = {type(layer.choice) for layer in LAYERS if layer.choice is not None}
    # It is softmax attention but for training.
    assert tried == set(MIXERS) - {DroppedHeads}


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_a_layer_is_a_mixer(layer):
    assert isinstance(layer.of(CASE), Mixer)


def test_a_layer_honours_a_mask_or_refuses_it():
    """Compiles layers of a GPT."""
    alone = jnp.eye(4, dtype=bool)
    values = CASE.x @ CASE.w_v
    for layer in (SOFTMAX, BIDIRECTIONAL):
        mixing = layer.of(CASE)
        assert gap(mixing(CASE.x, alone), mixing.out(values[None])[0]) <= layer.rounding(CASE)
    with pytest.raises(ValueError, match="FeatureLayer cannot honour a mask"):
        FEATURES.of(CASE)(CASE.x, alone)


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("when", ["after", "before"])
def test_a_mask_of_zeros_is_seen_to_leak_on_the_layer_that_the_lab_trains(when):
    """Compiles a layer of a GPT."""
    leaky = dataclasses.replace(SOFTMAX, name=f"zeros {when}", choice=ZeroMask(when=when))
    assert leaky.of(CASE).causal
    assert not check_identity(mixers.past_only(leaky.subject), key_for(0, leaky.name), cases=2).holds


def test_one_projection_is_causal():
    def weights(case):
        return {"inputs.weight": case.w_v, "inputs.bias": case.table[2]}

    layer = dataclasses.replace(SOFTMAX, name="one projection", choice=OneProjection(), weights=weights)
    assert check_identity(mixers.past_only(layer.subject), key_for(0, layer.name), cases=2).holds
