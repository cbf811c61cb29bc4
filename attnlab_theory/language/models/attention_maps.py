"""Attention maps: the attention weights of all heads of a model."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixing import ScoredLayer
from attnlab_theory.language.models.tape import tape


@eqx.filter_jit
def attention_maps(model: GPT, tokens: Int[Array, "b t"]) -> Float[Array, "b layers h t t"]:
    """The weights of every head in every layer, without dropout: [..., i, j] is what token i gives to token j.

    Raises:
        ValueError: if the mixer has no weights to look at, or the model cannot take the tokens.
    """
    walk = model.walk(tokens)
    if not all(isinstance(block.mixing, ScoredLayer) for block in model.blocks):
        raise ValueError(f"{model.config.mixer.name} has no weights to look at")
    found = tape(walk, keep=["layers.*.weights"]).layers("weights")
    return jnp.stack([jnp.broadcast_to(each, (len(tokens), *each.shape[1:])) for each in found], axis=1)
