"""The encoder: padding changes nothing, gradients are slopes, traces are what was computed, what is refused."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.models.encoder_config import EncoderConfig, Layout
from attnlab_theory.language.models.tape import tape
from tests.language.models import compiled, gap, rounding, stirred
from tests.tolerances import difference_atol, host_sum_atol

N, T, WIDER = 11, 5, 8
SIZES = {"vocabulary": N, "block": WIDER, "layers": 2, "heads": 2, "width": 8, "hidden": 12, "epsilon": 1e-5}
MODELS = {
    Layout.BERT: stirred(EncoderConfig(**SIZES, types=3, pad=2), Encoder),
    Layout.ROBERTA: stirred(EncoderConfig(**SIZES, types=3, layout=Layout.ROBERTA, pad=4), Encoder),
}
LAYOUTS = st.sampled_from(list(Layout))
ROWS = st.lists(st.integers(0, N - 1), min_size=2 * T, max_size=2 * T).map(lambda x: np.reshape(x, (2, T)))
LENGTHS = st.tuples(st.integers(1, T), st.integers(1, T)).map(lambda ends: np.arange(T) < np.array(ends)[:, None])
ANYTHING = st.lists(st.integers(-100, 100), min_size=2 * T, max_size=2 * T).map(lambda x: np.reshape(x, (2, T)))


@compiled
def hidden(model, tokens, mask, types=None):
    return model.hidden(tokens, mask, types)


def laid(tokens, mask):
    return jnp.asarray(tokens, jnp.int32), jnp.asarray(mask)


@pytest.mark.slow("a classifier's rows that only fill up stay inside")
@given(LAYOUTS, ROWS, LENGTHS, ANYTHING, ANYTHING)
def test_what_stands_in_the_padding_changes_no_bit(layout, rows, mask, tokens, types):
    """Compiles both layouts, and asks them about many rows."""
    kinds = rows % 3
    plain = hidden(MODELS[layout], *laid(rows, mask), jnp.asarray(kinds, jnp.int32))
    other = np.where(mask, rows, tokens), np.where(mask, kinds, types)
    found = hidden(MODELS[layout], *laid(other[0], mask), jnp.asarray(other[1], jnp.int32))
    assert np.array_equal(plain[mask], found[mask])


@pytest.mark.slow("a classifier's rows that only fill up stay inside")
@given(LAYOUTS, ROWS, LENGTHS)
def test_more_padding_behind_the_tokens_changes_nothing(layout, rows, mask):
    """Compiles both layouts for two widths."""
    model, behind = MODELS[layout], ((0, 0), (0, WIDER - T))
    short = hidden(model, *laid(rows, mask))
    long = hidden(model, *laid(np.pad(rows, behind), np.pad(mask, behind)))
    assert gap(short[mask], long[:, :T][mask]) <= rounding(lambda m: hidden(m, *laid(rows, mask))[mask], model)


@pytest.mark.slow("generated rows that do not influence each other stay inside")
@given(LAYOUTS, ROWS, LENGTHS)
def test_a_row_does_not_see_its_neighbours(layout, rows, mask):
    """Compiles two encoders, and runs one four times in every drawn case."""
    model = MODELS[layout]
    both = hidden(model, *laid(rows, mask))
    twice = hidden(model, *laid(rows[[0, 0]], mask[[0, 0]]))
    atol = rounding(lambda m: hidden(m, *laid(rows, mask))[mask], model)
    assert gap(both[0][mask[0]], twice[1][mask[0]]) <= atol


@given(ROWS, st.sampled_from([[0, 1, 2, 3, 4], [1, 2, 4, 6, 7], [3, 4, 5, 6, 7]]))
def test_roberta_does_not_mind_where_the_padding_stands(rows, places):
    """Compiles the encoder at two lengths, and Hypothesis tries many rows."""
    model, everywhere = MODELS[Layout.ROBERTA], np.ones((2, T), bool)
    spread, mask = np.full((2, WIDER), 7), np.zeros((2, WIDER), bool)
    spread[:, places], mask[:, places] = rows, True
    short, long = hidden(model, *laid(rows, everywhere)), hidden(model, *laid(spread, mask))
    assert gap(short, long[:, np.array(places)]) <= rounding(lambda m: hidden(m, *laid(rows, everywhere)), model)


@pytest.mark.parametrize("layout", Layout)
def test_every_token_sees_all_others_and_knows_where_it_stands(layout):
    """Compiles the encoder twice: with types of tokens and without."""
    model, everywhere = MODELS[layout], np.ones((2, T), bool)
    rows = np.array([[3, 1, 5, 1, 6], [9, 1, 5, 1, 6]])
    x = hidden(model, *laid(rows, everywhere))
    assert all(gap(x[0, at], x[1, at]) > 1e-3 for at in range(T))
    assert gap(x[0, 1], x[0, 3]) > 1e-3
    types = jnp.asarray([[0] * T, [0] * (T - 1) + [2]], jnp.int32)
    x = hidden(model, *laid(rows[[0, 0]], everywhere), types)
    assert all(gap(x[0, at], x[1, at]) > 1e-3 for at in range(T))


@pytest.mark.slow("the mean over padding alone, which is zero, stays inside")
@pytest.mark.parametrize("layout", Layout)
def test_rows_of_nothing_but_padding_are_finite_and_so_is_their_gradient(layout):
    """Compiles the gradient of an encoder."""
    tokens, mask = laid(np.ones((2, T)), np.array([[True] * T, [False] * T]))

    @compiled
    def gradient(model):
        return eqx.filter_grad(lambda m: jnp.sum(m.hidden(tokens, mask) ** 2))(model)

    for part in jax.tree.leaves((hidden(MODELS[layout], tokens, mask), gradient(MODELS[layout]))):
        assert bool(jnp.all(jnp.isfinite(part)))


@pytest.mark.parametrize("layout", Layout)
def test_a_tape_keeps_what_was_computed(layout):
    model, mask = MODELS[layout], np.array([[True] * T, [True] * 2 + [False] * 3])
    tokens, mask = laid(np.arange(2 * T).reshape(2, T), mask)
    places = [f"layers.*.{name}" for name in ("q", "k", "v", "weights", "out")]
    found = compiled(lambda m: tape(m.walk(tokens, mask), keep=places).kept)(model)
    assert len(found) == 2 * len(places)
    atol = rounding(lambda m: hidden(m, tokens, mask), model)
    assert gap(found["layers.1.out"], hidden(model, tokens, mask)) <= atol
    for layer in range(2):
        q, k, v, weights = (found[f"layers.{layer}.{name}"] for name in ("q", "k", "v", "weights"))
        assert q.shape == k.shape == v.shape == (2, 2, T, 4)
        assert not np.any(weights[1, :, :, 2:])
        scores = np.einsum("bhtd,bhsd->bhts", np.float64(q), np.float64(k)) / 2
        powers = np.exp(np.where(mask[:, None, None], scores, -np.inf))
        expected = powers / powers.sum(axis=3, keepdims=True)
        # Scores of 4 products, each rounded 4 + 2 times, and a softmax over T of them.
        peak = float(np.abs(scores).max())
        assert gap(weights, expected) <= (6 * peak + 2 * T + 8) * np.finfo(np.float32).eps


@pytest.mark.slow("gradients of feature maps, against slopes, stay inside")
@pytest.mark.parametrize("layout", Layout)
def test_gradients_are_slopes(layout):
    """Along a random direction in all parameters, in float64, against central differences."""
    with jax.enable_x64(True):
        rng, step = np.random.default_rng(3), 1e-4
        model = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), MODELS[layout])
        direction = jax.tree.map(lambda x: jnp.asarray(rng.standard_normal(x.shape)), model)
        tokens = jnp.asarray(rng.integers(0, N, (2, T)), jnp.int32)
        mask = jnp.asarray([[True] * T, [True] * 3 + [False] * 2])
        wanted = jnp.asarray(rng.standard_normal((2, T, 8)))

        def measured(model):
            return jnp.sum(jnp.where(mask[:, :, None], wanted * model.hidden(tokens, mask), 0))

        loss, gradient = compiled(measured), compiled(lambda model: eqx.filter_grad(measured)(model))

        def difference(step):
            up, down = (jax.tree.map(lambda x, d, s=s: x + s * d, model, direction) for s in (step, -step))
            return (float(loss(up)) - float(loss(down))) / (2 * step)

        parts = jax.tree.map(lambda g, d: float(jnp.sum(g * d)), gradient(model), direction)
        slope, fine, coarse = sum(jax.tree.leaves(parts)), difference(step), difference(2 * step)
        atol = difference_atol(fine, coarse, rounding(loss, model, np.float64), step)
        assert abs(slope - fine) <= atol < 1e-3 * abs(slope)


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("rate", ["dropout", "attention_dropout"])
def test_every_rate_drops_something_and_only_with_a_key(rate):
    """Compiles the encoder with dropout and without."""
    rates = {"dropout": 0.0, "attention_dropout": 0.0} | {rate: 0.5}
    model = stirred(EncoderConfig(**SIZES, **rates), Encoder)
    tokens, mask = laid(np.ones((2, T)), np.ones((2, T), bool))
    run = compiled(lambda m, key: m.hidden(tokens, mask, key=key))
    one, again, other = (run(model, jax.random.key(seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert gap(one, other) > 1e-2
    still = run(stirred(EncoderConfig(**SIZES, dropout=0.0, attention_dropout=0.0), Encoder), jax.random.key(0))
    assert gap(still, hidden(model, tokens, mask)) <= rounding(lambda m: hidden(m, tokens, mask), model)


@pytest.mark.slow("that a recurrent network starts at the uniform loss stays inside")
def test_first_weights_are_berts():
    """Draws every array of weights by a program of its own."""
    model = Encoder(EncoderConfig(vocabulary=500, layers=1, width=64, heads=4), key=jax.random.key(0))
    for path, x in jax.tree.leaves_with_path(model):
        *_, owner, name = jax.tree_util.keystr(path).split(".")
        if name == "bias":
            assert not jnp.any(x)
        elif owner.startswith("ln"):
            assert jnp.all(x == 1)
        else:
            # The deviation of n normals errs by one part in sqrt(2 n); five of those, 6e-7 each way.
            assert abs(float(jnp.std(x)) / 0.02 - 1) < 5 / np.sqrt(2 * x.size) + host_sum_atol(x.size)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"heads": 3}, "width 8 cannot be cut into 3 heads"),
        ({"layers": 0}, "layers must be positive, not 0"),
        ({"types": True}, "types must be a whole number, not True"),
        ({"hidden": 0}, "hidden must be positive, not 0"),
        ({"pad": 11}, "pad must be a token of the vocabulary, 0 to 10, not 11"),
        ({"dropout": 1.0}, "dropout must be at least 0 and less than 1, not 1.0"),
        ({"attention_dropout": float("nan")}, "attention dropout must be at least 0 and less than 1, not nan"),
        ({"dropout": "0.1"}, "dropout must be one real number, not '0.1'"),
        ({"epsilon": 0.0}, "epsilon must be positive, not 0.0"),
        ({"gelu": "relu"}, "gelu must be one of exact, tanh, not 'relu'"),
        ({"layout": "albert"}, "layout must be one of bert, roberta, not 'albert'"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_impossible_configurations_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**(SIZES | fields))
    with pytest.raises(ValueError, match=message):
        EncoderConfig.from_json(EncoderConfig(**SIZES).as_json() | fields)


def test_the_feed_forward_network_is_four_times_as_wide_as_the_tokens_unless_it_is_said():
    assert EncoderConfig(**SIZES).hidden_width == SIZES["hidden"]
    config = EncoderConfig(**(SIZES | {"hidden": None}))
    assert config.hidden_width == 4 * SIZES["width"]
    model = eqx.filter_eval_shape(lambda key: Encoder(config, key=key), jax.random.key(0))
    assert {(32, 8), (8, 32)} <= {leaf.shape for leaf in jax.tree.leaves(model)}


@pytest.mark.parametrize("layout", Layout)
def test_configurations_survive_json(layout):
    config = MODELS[layout].config
    assert EncoderConfig.from_json(json.loads(json.dumps(config.as_json()))) == config


def test_other_records_are_no_configuration():
    record = EncoderConfig(**SIZES).as_json()
    with pytest.raises(ValueError, match="has an unknown field 'depth'"):
        EncoderConfig.from_json(record | {"depth": 3})
    del record["pad"]
    with pytest.raises(ValueError, match="lacks 'pad'"):
        EncoderConfig.from_json(record)


ONES, EVERYWHERE = jnp.ones((2, T), jnp.int32), jnp.ones((2, T), bool)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("tokens", "mask", "types", "message"),
    [
        (ONES[:, :0], EVERYWHERE[:, :0], None, "a row must have 1 to 8 places, the block of this encoder, not 0"),
        (jnp.tile(ONES, 2), jnp.tile(EVERYWHERE, 2), None, "must have 1 to 8 places, .*, not 10"),
        (ONES[0], EVERYWHERE[0], None, r"tokens must have 2 axes, but has shape \(5,\)"),
        (ONES, EVERYWHERE[:1], None, r"mask must have .* shape \(2, 5\), not bool of \(1, 5\)"),
        (ONES, ONES, None, r"mask must have True or False .*, not int32 of \(2, 5\)"),
        (ONES, EVERYWHERE, ONES[:, :2], r"types must have the tokens' shape \(2, 5\), not \(2, 2\)"),
        (ONES.at[1, 2].set(11), EVERYWHERE, None, "token 11 at 2 of row 1 is out of range: 0 to 10"),
        (ONES.at[0, 4].set(-1), EVERYWHERE, None, "token -1 at 4 of row 0 is out of range"),
        (ONES.astype(float), EVERYWHERE, None, "tokens must be whole numbers, not float32"),
        (ONES, EVERYWHERE, ONES.at[0, 0].set(3), "type 3 at 0 of row 0 is out of range: 0 to 2"),
    ],
)
def test_bad_rows_are_refused(tokens, mask, types, message):
    with pytest.raises(ValueError, match=message):
        MODELS[Layout.BERT].hidden(tokens, mask, types)


def test_a_row_of_one_token_is_a_row():
    alone = hidden(MODELS[Layout.BERT], ONES[:, :1], EVERYWHERE[:, :1])
    assert alone.shape[1] == 1
    assert bool(jnp.isfinite(alone).all())


@pytest.mark.parametrize(("tokens", "types"), [(ONES.at[1, 2].set(-1), None), (ONES, ONES.at[1, 2].set(3))])
def test_traced_numbers_without_a_row_give_nan(tokens, types):
    x = hidden(MODELS[Layout.BERT], tokens, EVERYWHERE, types)
    assert bool(jnp.isnan(x[1]).all())
    assert bool(jnp.isfinite(x[0]).all())
