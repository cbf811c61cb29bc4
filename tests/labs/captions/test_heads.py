"""What single heads do, and that features have no order."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.labs.captions import heads
from attnlab_theory.labs.perplexity import losses
from attnlab_theory.labs.sentences import encoded
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.models.mixers import DroppedHeads
from attnlab_theory.language.text.words import Words

TEXT = Words(("a", "cat", "runs"))
NONE = dict.fromkeys(("embedding_dropout", "residual_dropout", "attention_dropout"), 0.0)
CONFIG = GPTConfig(vocabulary=len(TEXT), block=6, layers=2, heads=3, width=12, **NONE)
SENTENCES = encoded(["a cat runs", "runs", "a a cat"], TEXT, 6)


def stirred(config=CONFIG):
    """A model with weights that make a difference."""
    model = GPT(config, key=jax.random.key(0))
    return jax.tree.map(lambda x: x + 0.5 * jax.random.normal(jax.random.key(x.size), x.shape), model)


@pytest.mark.slow("a recurrent network's losses, token by token, stay inside")
def test_losses_are_those_of_the_model_row_by_row():
    """Runs the model on every row by itself, operation by operation."""
    model, found = stirred(), losses(stirred(), SENTENCES)
    rows = SENTENCES.rows
    for row, length in enumerate(SENTENCES.lengths):
        law = jax.nn.log_softmax(model(jnp.asarray(rows.x[row])), axis=1)
        lost = [-law[place, rows.y[row, place]] for place in range(length)]
        assert found.total[row] == pytest.approx(float(sum(lost)), rel=1e-5)
    shares = found.total / found.targets
    assert found.perplexity_of_sentences == pytest.approx(np.exp(shares.mean()))
    assert found.perplexity_of_tokens == pytest.approx(np.exp(found.total.sum() / found.targets.sum()))


@pytest.mark.slow("values replaced in a pass, which move only what comes after, stay inside")
def test_a_head_that_gives_nothing_is_worth_nothing():
    model = stirred()
    silent = heads.without_head(model, 1, 2)
    worth = heads.worth(silent, SENTENCES)
    assert np.all(worth[1, 2] == 0)
    assert np.all(np.abs(worth[0]).max(axis=1) > 1e-4)
    with pytest.raises(ValueError, match="layer 2, head 0 is none of 2 layers and 3 heads"):
        heads.without_head(model, 2, 0)


@pytest.mark.slow("nothing inside asks for entropies; where given weights go stays inside")
def test_equal_weights_have_the_largest_entropy():
    model = stirred()
    still = eqx.tree_at(lambda m: [b.mixing.inputs.weight for b in m.blocks], model, replace_fn=jnp.zeros_like)
    assert heads.entropies(still, SENTENCES) == pytest.approx(np.ones((2, 3)), abs=1e-5)
    assert np.all(heads.entropies(model, SENTENCES) < 0.999)


def permuted_by_hand(layer, x, order):
    """Softmax attention whose queries, keys and values are permuted before they are cut into heads."""
    t, width = x.shape
    stacks = (x @ layer.inputs.weight + layer.inputs.bias).reshape(t, 3, width)[:, :, order]
    q, k, v = (stacks[:, number].reshape(t, 3, -1).swapaxes(0, 1) for number in range(3))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
    weights = np.exp(np.where(np.tri(t, dtype=bool), scores, -np.inf))
    mixed = (weights / weights.sum(axis=2, keepdims=True)) @ v
    return mixed.swapaxes(0, 1).reshape(t, width) @ layer.out.weight[order] + layer.out.bias


@pytest.mark.slow("that the permuted arm has a model stays inside")
def test_a_permutation_before_the_cut_is_absorbed_by_the_projections():
    """The exact half of a report's conjecture that a head sees neighbouring features only."""
    model, key = stirred(dataclasses.replace(CONFIG, layers=1)), jax.random.key(3)
    order = np.asarray(jax.random.permutation(jax.random.split(key, 1)[0], 12))
    layer = jax.tree.map(lambda x: np.asarray(x, np.float64), model.blocks[0].mixing)
    x = np.random.default_rng(0).normal(size=(5, 12))
    ordinary = heads.permuted(model, key).blocks[0].mixing
    same = jax.tree.map(lambda x: np.asarray(x, np.float64), ordinary)
    assert permuted_by_hand(same, x, np.arange(12)) == pytest.approx(permuted_by_hand(layer, x, order))
    assert not np.allclose(permuted_by_hand(layer, x, np.arange(12)), permuted_by_hand(layer, x, order))


@pytest.mark.slow("nothing inside asks this; rates of dropped heads that are refused stay inside")
def test_dropped_heads_are_whole_and_what_is_left_is_scaled():
    """Runs a layer twice on 200 rows, operation by operation."""
    config = dataclasses.replace(CONFIG, mixer=DroppedHeads(0.5), layers=1)
    layer = GPT(config, key=jax.random.key(0)).blocks[0].mixing
    from attnlab_theory.language.models.weighing import place

    x, where = jax.random.normal(jax.random.key(1), (200, 4, 12)), place(200, 4, None, None)
    parts = layer.parts(x, where.at)
    calm, noisy = layer.mixed(parts, where, None), layer.mixed(parts, where, jax.random.key(2))
    left = np.asarray(jnp.any(noisy != 0, axis=(2, 3)))
    assert np.allclose(noisy, np.where(left[:, :, None, None], 2 * calm, 0), atol=1e-6)
    assert abs(left.mean() - 0.5) < 0.1
    with pytest.raises(ValueError, match="rate of dropped heads must lie between 0 and 1, not 1"):
        DroppedHeads(1.0)
