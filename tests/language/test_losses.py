"""Cross-entropy in chunks: the loss and the gradient of the logits of a whole batch, which it never holds."""

import dataclasses

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.language.corpora.batches import Batch, pack
from attnlab_theory.language.models import losses
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixers import Softmax
from attnlab_theory.language.models.positions import Learned
from tests.language.models import BLOCK, VOCABULARY, config, stirred

WIDTH, CLASSES = 5, 23

REORDERED = 1e-4
"""The error of sums of some hundred numbers around one in another order: 1,000 times float32's rounding."""


def problem(n):
    rng = np.random.default_rng(n)
    x, head = rng.normal(size=(n, WIDTH)), rng.normal(size=(WIDTH, CLASSES))
    weights = rng.uniform(0.1, 2, n) * (rng.random(n) < 0.6)
    return jnp.float32(x), jnp.float32(head), jnp.int32(rng.integers(0, CLASSES, n)), jnp.float32(weights)


def plain(x, head, y, weights):
    log_law = jax.nn.log_softmax(x @ head, axis=1)
    return -jnp.sum(weights * jnp.take_along_axis(log_law, y[:, None], axis=1)[:, 0])


@pytest.mark.slow("two of five members stay inside", but=2)
@pytest.mark.parametrize("n", [1, 7, 8, 9, 30])
def test_loss_and_gradient_are_those_of_the_whole_batch(n, monkeypatch):
    """Compiles two losses and their gradients for each number of rows."""
    monkeypatch.setattr(losses, "CHUNK", 8)
    args = problem(n)
    ours = jax.value_and_grad(lambda x, head: 3 * losses.summed_cross_entropy(x, head, *args[2:]), (0, 1))
    theirs = jax.value_and_grad(lambda x, head: 3 * plain(x, head, *args[2:]), (0, 1))
    for got, wanted in zip(
        jax.tree.leaves(jax.jit(ours)(*args[:2])), jax.tree.leaves(theirs(*args[:2])), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=REORDERED, atol=REORDERED)
    np.testing.assert_allclose(losses.summed_cross_entropy(*args), plain(*args), rtol=REORDERED, atol=REORDERED)


def test_no_array_holds_the_logits_of_all_tokens(monkeypatch):
    monkeypatch.setattr(losses, "CHUNK", 8)
    args = problem(100)
    gradient = jax.make_jaxpr(jax.grad(losses.summed_cross_entropy, (0, 1)))(*args)
    assert not [shape for shape in _shapes(gradient.jaxpr) if np.prod(shape) >= 100 * CLASSES]


def _shapes(jaxpr):
    for equation in jaxpr.eqns:
        yield from (variable.aval.shape for variable in equation.outvars)
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            yield from _shapes(inner)


def test_tokens_that_do_not_count_may_be_anything():
    x, head, y, _ = problem(9)
    counts = jnp.float32([1, 0, 1, 0, 0, 0, 0, 0, 0])
    spoilt = x.at[1].set(jnp.inf)
    value, slope = jax.value_and_grad(losses.summed_cross_entropy)(spoilt, head, y, counts)
    np.testing.assert_allclose(value, losses.summed_cross_entropy(x, head, y, counts), rtol=REORDERED)
    assert np.all(np.isfinite(slope))


@pytest.mark.slow("losses in chunks, without a model before them, stay inside")
@pytest.mark.parametrize("tied", [False, True])
def test_a_gpt_has_the_same_loss_and_gradient_either_way(tied, monkeypatch):
    """Compiles six gradients: of three batches, whole and in chunks."""
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, VOCABULARY, (2, 3, BLOCK), np.int32)
    weights = np.float32(rng.uniform(0.1, 1, y.shape) * (np.arange(BLOCK)[None] < rng.integers(2, BLOCK, (3, 1))))
    model = stirred(dataclasses.replace(config(Softmax(), Learned()), tied=tied))
    loss = jax.jit(jax.value_and_grad(GPT.summed_loss))
    for batch in (Batch(x, y), Batch(x, y, weights=weights), pack(Batch(x, y, weights=weights), width=BLOCK)):
        monkeypatch.setattr(losses, "MANY", VOCABULARY + 1)
        whole = loss(model, batch)
        monkeypatch.setattr(losses, "MANY", 1)
        chunked = jax.jit(jax.value_and_grad(lambda model, batch: GPT.summed_loss(model, batch)))(model, batch)
        for got, wanted in zip(jax.tree.leaves(chunked), jax.tree.leaves(whole), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=REORDERED, atol=REORDERED)
        lost = np.asarray(model.token_losses(batch), np.float64)
        counts = np.where(batch.is_target, 1 if batch.weights is None else batch.weights, 0)
        np.testing.assert_allclose(np.sum(lost * counts), whole[0], rtol=REORDERED)
