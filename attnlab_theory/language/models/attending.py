"""What a model looks at: the attention weights of all its heads."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixing import ScoredLayer
from attnlab_theory.language.models.weighing import place


@eqx.filter_jit
def attending(model: GPT, tokens: Int[Array, "b t"]) -> Float[Array, "b layers h t t"]:
    """The weights of every head in every layer, as in evaluation: [..., i, j] is what token i takes of token j.

    Raises:
        ValueError: if the mixer has no weights to look at, or as `GPT.rows`.
    """
    model.refuse_unfit(tokens)
    b, t = tokens.shape
    where = place(b, t, None, None)
    x = model.embedded(tokens, where.at)
    found = []
    for block in model.blocks:
        if not isinstance(block.mixing, ScoredLayer):
            raise ValueError(f"{model.config.mixer.name} has no weights to look at")
        weights = block.mixing.weights(block.ln_1(x), where)
        found.append(jnp.broadcast_to(weights, (b, *weights.shape[1:])))
        x, _ = block.whole(x, where, None)
    return jnp.stack(found, axis=1)
