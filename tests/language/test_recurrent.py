"""The recurrent networks: their equations written out, gradients against differences, what is refused."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.models.gpt import parameter_count
from attnlab_theory.language.models.recurrent import Activation, Recurrent, RecurrentConfig, hidden_for

X = np.array([[1, 2, 3, 1], [2, 0, 1, 3]], np.int32)
Y = np.array([[2, 3, 1, 0], [3, 1, 2, 0]], np.int32)
F = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * np.vectorize(__import__("math").erf)(x / np.sqrt(2)) / 2 + x / 2,
}


BOTH = [*((f, f) for f in F), ("relu", "sigmoid"), ("swish", "tanh")]
"""f1 and f2: one for both layers, and two that differ."""


def network(cell, first="tanh", second="tanh", **changes):
    config = RecurrentConfig(vocabulary=4, hidden=3, cell=cell, first=Activation(first), second=Activation(second))
    model = Recurrent(dataclasses.replace(config, **changes), key=jax.random.key(1))
    # Biases that are not zero.
    return jax.tree.map(lambda x: x + 0.3 * jax.random.normal(jax.random.key(x.size), x.shape), model)


def by_hand(model, tokens, f1, f2):
    """The homework's equations, one place after another, in float64."""
    m = jax.tree.map(lambda x: np.asarray(x, np.float64), model)
    a, b, found = np.zeros(3), np.zeros(3), []
    for token in tokens:
        before, a = a, f1(np.eye(4)[token] @ m.u + a @ m.w + m.s1)
        if m.crossed is not None:
            b = f2(a @ m.crossed.v + before @ m.crossed.r + b @ m.crossed.t + m.crossed.s2)
        logits = (a if m.crossed is None else b) @ m.q + m.s3
        found.append(logits - np.log(np.sum(np.exp(logits))))
    return np.array(found)


def test_every_activation_is_tried():
    assert {first for first, _ in BOTH} == set(Activation)


@pytest.mark.slow("one of 14 members stays inside", but=1)
@pytest.mark.parametrize(("first", "second"), BOTH)
@pytest.mark.parametrize("cell", ["rnn", "w-rnn"])
def test_the_network_is_the_homeworks_equations(cell, first, second):
    """Compiles the network, and works every place out by hand."""
    model = network(cell, first, second)
    found = np.asarray(jax.nn.log_softmax(model.rows(jnp.asarray(X)), axis=2))
    for row, tokens in zip(found, X, strict=True):
        np.testing.assert_allclose(row, by_hand(model, tokens, F[first], F[second]), rtol=2e-5)
    lost = np.asarray(model.token_losses(Batch(X, Y)))
    np.testing.assert_allclose(lost[0], [-found[0, place, token] for place, token in enumerate(Y[0])], rtol=1e-5)


@pytest.mark.slow("five of 14 members stay inside", but=5)
@pytest.mark.parametrize(("first", "second"), BOTH)
@pytest.mark.parametrize("cell", ["rnn", "w-rnn"])
def test_gradients_are_those_of_differences(cell, first, second):
    """Along random directions, at all parameters together; by-hand losses in float64."""
    model = network(cell, first, second)

    def loss(model):
        rows = (by_hand(model, tokens, F[first], F[second]) for tokens in X)
        return -sum(
            row[place, token] for row, ys in zip(rows, Y, strict=True) for place, token in enumerate(ys) if token
        )

    gradient = jax.grad(lambda m: m.summed_loss(Batch(X, Y)))(model)
    rng = np.random.default_rng(0)
    wide = jax.tree.map(lambda x: np.asarray(x, np.float64), model)
    for _ in range(5):
        way = jax.tree.map(lambda x: rng.normal(size=x.shape), wide)
        ahead = loss(jax.tree.map(lambda x, d: x + 1e-6 * d, wide, way))
        behind = loss(jax.tree.map(lambda x, d: x - 1e-6 * d, wide, way))
        slope = sum(
            float(np.sum(np.asarray(g, np.float64) * d))
            for g, d in zip(*map(jax.tree.leaves, (gradient, way)), strict=True)
        )
        assert slope == pytest.approx((ahead - behind) / 2e-6, rel=2e-4, abs=2e-4)


def test_what_fills_a_row_up_changes_nothing():
    """Compiles the network for batches of two shapes."""
    model = network("w-rnn")
    longer = Batch(np.pad(X, ((0, 2), (0, 3))), np.pad(Y, ((0, 2), (0, 3))))
    assert float(model.summed_loss(longer)) == pytest.approx(float(model.summed_loss(Batch(X, Y))))
    weights = np.array([[1, 0, 0.5, 0], [0, 0, 0, 0]], np.float32)
    lost = np.asarray(model.token_losses(Batch(X, Y)))
    assert float(model.summed_loss(Batch(X, Y, weights=weights))) == pytest.approx(lost[0, 0] + lost[0, 2] / 2)


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("cell", ["rnn", "w-rnn"])
def test_a_place_of_no_weight_adds_nothing_even_where_its_loss_is_no_number(cell):
    model = network(cell)
    spoilt = eqx.tree_at(lambda m: m.u, model, model.u.at[3].set(jnp.nan))
    weights = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], np.float32)
    # Token 3 comes third in the first row and last in the second: no place before it reads it.
    assert float(spoilt.summed_loss(Batch(X, Y, weights=weights))) == float(
        model.summed_loss(Batch(X, Y, weights=weights))
    )


def test_first_weights_keep_what_arrives_at_one_whatever_the_width():
    """Each matrix of a W-RNN has the deviation of one over the root of the inputs of its layer."""
    hidden, vocabulary = 150, 60
    model = Recurrent(RecurrentConfig(vocabulary=vocabulary, hidden=hidden, cell="w-rnn"), key=jax.random.key(0))
    assert model.crossed is not None
    three = jnp.stack([model.crossed.v, model.crossed.r, model.crossed.t])
    for weights, inputs in ((model.u, 1), (model.w, hidden), (model.q, hidden), (three, 3 * hidden)):
        # The mean square of N normal numbers is off by more than four of its deviations once in 16,000.
        assert abs(inputs * float(jnp.mean(weights**2)) - 1) < 4 * (2 / weights.size) ** 0.5
    small = dataclasses.replace(model.config, scale=0.01)
    assert float(jnp.max(jnp.abs(Recurrent(small, key=jax.random.key(0)).w))) < 0.1


def test_a_configuration_comes_back_and_bad_ones_are_refused():
    config = RecurrentConfig(vocabulary=4, hidden=3, cell="w-rnn", first=Activation.GELU, scale=0.01)
    assert RecurrentConfig.from_json(config.as_json()) == config
    with pytest.raises(ValueError, match="lacks 'hidden'"):
        RecurrentConfig.from_json({k: v for k, v in config.as_json().items() if k != "hidden"})
    with pytest.raises(ValueError, match="hidden must be"):
        dataclasses.replace(config, hidden=0)
    with pytest.raises(ValueError, match="cannot keep apart"):
        network("rnn").token_losses(Batch(X, Y, segments=X))


@pytest.mark.slow("one size that is found again from its parameters stays inside")
@pytest.mark.parametrize("cell", ["rnn", "w-rnn"])
def test_sizes_are_chosen_by_the_number_of_parameters(cell):
    """Draws the weights of three networks, and compiles for each of their shapes."""
    hidden = hidden_for(30_000, 100, cell)
    counts = [
        parameter_count(Recurrent(RecurrentConfig(vocabulary=100, hidden=h, cell=cell), key=jax.random.key(0)))
        for h in (hidden - 1, hidden, hidden + 1)
    ]
    assert min(abs(count - 30_000) for count in counts) == abs(counts[1] - 30_000) < 300


@pytest.mark.slow("one of eight members stays inside", but=1)
@pytest.mark.parametrize("cell", ["rnn", "w-rnn"])
@pytest.mark.parametrize("hidden", [1, 2, 9, 60])
def test_a_size_is_found_again_from_its_number_of_parameters(cell, hidden):
    config = RecurrentConfig(vocabulary=3, hidden=hidden, cell=cell)
    count = parameter_count(Recurrent(config, key=jax.random.key(0)))
    assert hidden_for(count, 3, cell) == hidden
    assert hidden_for(1, 3, cell) == 1
