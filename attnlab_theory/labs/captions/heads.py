"""Single heads: the entropy of their weights, their worth, and a model whose features are permuted."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.labs.estimates import Estimates, mean
from attnlab_theory.labs.perplexity import OVER_SENTENCES, losses
from attnlab_theory.labs.sentences import Encoded
from attnlab_theory.labs.verdicts import ERROR_RATE
from attnlab_theory.language.models.attention_maps import attention_maps
from attnlab_theory.language.models.gpt import GPT


def without_head(model: GPT, layer: int, head: int) -> GPT:
    """The model with the output of one head set to zero.

    Raises:
        ValueError: if there is no such head.
    """
    config = model.config
    if not (0 <= layer < config.layers and 0 <= head < config.heads):
        raise ValueError(f"layer {layer}, head {head} is none of {config.layers} layers and {config.heads} heads")
    width = config.width // config.heads
    own = slice(head * width, (head + 1) * width)
    weight = model.blocks[layer].mixing.out.weight
    return eqx.tree_at(lambda m: m.blocks[layer].mixing.out.weight, model, weight.at[own].set(0.0))


def worth(model: GPT, sentences: Encoded) -> Float[np.ndarray, "layers heads sentences"]:
    """The worth of each head: the growth of each sentence's loss without it, in nats per token."""
    whole, config = losses(model, sentences), model.config
    found = np.zeros((config.layers, config.heads, len(sentences)))
    for layer in range(config.layers):
        for head in range(config.heads):
            lost = losses(without_head(model, layer, head), sentences)
            found[layer, head] = (lost.total - whole.total) / whole.targets
    return found


def entropies(model: GPT, sentences: Encoded) -> Float[np.ndarray, "layers heads"]:
    """The mean entropy of each head's weights, divided by that of equal weights.

    The first place of a sentence is left out, because it sees one token only.
    """
    weights = np.asarray(attention_maps(model, jnp.asarray(sentences.rows.x)), np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.sum(np.where(weights > 0, weights * np.log(weights), 0.0), axis=4)
    places = np.arange(weights.shape[3])
    share = entropy[..., 1:] / np.log(places[1:] + 1)
    real = (places[None, 1:] < sentences.lengths[:, None])[:, None, None, :]
    return np.sum(np.where(real, share, 0.0), axis=(0, 3)) / np.sum(real)


def permuted(model: GPT, key: PRNGKeyArray) -> GPT:
    """A network whose features are permuted before they are cut into heads, as an ordinary network.

    A permutation after a projection is a projection with permuted columns. The same holds before the last
    projection, with its rows. So an ordinary network with permuted weights computes what the permuted one does.
    Adam treats every number by itself, so it trains both alike.

    Args:
        model: with softmax attention.
        key: of the permutations, another one in every layer.
    """
    width = model.config.width
    for layer, own in enumerate(jax.random.split(key, model.config.layers)):
        order = jax.random.permutation(own, width)
        mixing = model.blocks[layer].mixing
        stacks = mixing.inputs.weight.shape[1] // width
        columns = (jnp.arange(stacks, dtype=order.dtype)[:, None] * width + order[None, :]).reshape(-1)
        inputs = jax.tree.map(lambda x, columns=columns: x[..., columns], mixing.inputs)
        model = eqx.tree_at(
            lambda m, at=layer: (m.blocks[at].mixing.inputs, m.blocks[at].mixing.out.weight),
            model,
            (inputs, mixing.out.weight[order]),
        )
    return model


def worths(model: GPT, sentences: Encoded, *, arm: str, seed: int) -> Estimates:
    """The worth of each head of a model, and the entropy of its weights."""
    worth_of, spread = worth(model, sentences), entropies(model, sentences)
    return Estimates(
        mean(
            "worth of a head",
            worth_of[layer, head],
            OVER_SENTENCES,
            ERROR_RATE,
            arm=arm,
            seed=seed,
            layer=layer,
            head=head,
            entropy=round(float(spread[layer, head]), 4),
        )
        for layer, head in np.ndindex(spread.shape)
    )
