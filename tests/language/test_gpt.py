"""The GPT: its size, what each token sees, packed documents, dropout, and what it refuses."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.models.config import config_from_json
from attnlab_theory.language.models.gpt import GPT, GPTConfig, parameter_count
from attnlab_theory.language.models.layers import Linear, gelu, kept, product
from attnlab_theory.language.models.mixers import Additive, DenseSynthesizer, RandomSynthesizer, Softmax
from attnlab_theory.language.models.mixing import Shape
from attnlab_theory.language.models.model import refuse_too_large, untrained
from attnlab_theory.language.models.positions import Alibi, Learned, NoPositions, Rotary, Sinusoidal
from attnlab_theory.language.models.weighing import place, restarted
from tests.language.models import (
    BLOCK,
    FEATURES,
    PAIRS,
    TOKENS,
    compiled,
    config,
    gap,
    logits,
    name_of,
    rounding,
    stirred,
)

PACKED = jnp.array([3, 1, 4, 1, 5, 9, 0, 0])
SEGMENTS = jnp.array([1, 1, 1, 2, 2, 2, 0, 0])
NONE = {"embedding_dropout": 0.0, "residual_dropout": 0.0, "attention_dropout": 0.0}


@pytest.fixture(scope="module")
def fresh():
    return GPT(GPTConfig(layers=1, width=64), key=jax.random.key(0))


@pytest.mark.parametrize(
    ("positions", "count"),
    [(Learned(), 3_323_392), (Rotary(), 3_290_624), (Alibi(), 3_290_624), (Sinusoidal(), 3_290_624)],
    ids=name_of,
)
def test_homework_preset_has_the_published_number_of_parameters(positions, count):
    model = eqx.filter_eval_shape(lambda key: GPT(GPTConfig(positions=positions), key=key), jax.random.key(0))
    assert parameter_count(model) == count


@pytest.mark.slow("nothing inside asks this; a recurrent network's first loss stays inside")
def test_first_weights_are_the_same_bits_in_one_program_or_many():
    """Draws all weights twice: by one program, and by one for each array."""
    cfg = GPTConfig(vocabulary=7, block=3, layers=1, heads=1, width=4)
    ours, plain = untrained(GPT, cfg, key=jax.random.key(0)), GPT(cfg, key=jax.random.key(0))
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("attend", [Softmax(), Softmax(shared=True)], ids=name_of)
def test_a_model_that_fits_into_the_memory_is_made_and_a_larger_one_is_refused(attend, monkeypatch):
    cfg = GPTConfig(vocabulary=7, block=3, layers=2, heads=1, width=4, mixer=attend)
    model = eqx.filter_eval_shape(lambda key: GPT(cfg, key=key), jax.random.key(0))
    # Of every parameter four numbers of four bytes; the least is that of attention and of the tokens' table.
    least = 16 * (2 * 4 * 4**2 + 7 * 4)
    for bytes_, fits in ((16 * parameter_count(model), True), (least, True), (least - 1, False)):
        monkeypatch.setattr("attnlab_theory.language.models.model.memory", lambda bytes_=bytes_: float(bytes_))
        if fits:
            refuse_too_large(cfg)
        else:
            with pytest.raises(ValueError, match=r"2 layers of width 4 takes at least .* ask for fewer layers"):
                refuse_too_large(cfg)


def test_variants_differ_from_vanilla_by_their_own_parameters():
    def count(mixer, rate=0.1):
        cfg = GPTConfig(layers=1, mixer=mixer, attention_dropout=rate)
        return parameter_count(eqx.filter_eval_shape(lambda key: GPT(cfg, key=key), jax.random.key(0)))

    vanilla, projection = 3_323_392 - 3 * 789_760, 256 * 256 + 256
    assert count(Softmax(shared=True)) == vanilla - projection
    assert count(DenseSynthesizer()) == vanilla - projection + 32 * 128 + 128
    assert count(RandomSynthesizer()) == vanilla - 2 * projection + 8 * 128 * 128
    assert count(FEATURES, rate=0.0) == vanilla


def test_first_weights_are_the_homeworks(fresh):
    """The fixture makes a model, and compiles what draws its weights."""
    for path, x in jax.tree.leaves_with_path(fresh):
        *_, owner, name = jax.tree_util.keystr(path).split(".")
        if name in ("bias", "positions"):
            assert not jnp.any(x)
        elif owner.startswith("ln"):
            assert jnp.all(x == 1)
        else:
            # The deviation of n normals errs by one part in sqrt(2 n); five of those, 6e-7 each way.
            assert abs(float(jnp.std(x)) / 0.02 - 1) < 5 / np.sqrt(2 * x.size)
    assert fresh.head is not None
    assert fresh.head.bias is None
    assert not np.array_equal(fresh.head.weight, fresh.tokens.T)


def test_the_dense_synthesizer_starts_with_small_weights_of_either_sign():
    b = (
        DenseSynthesizer()
        .layer(jax.random.key(0), Shape(width=16, heads=2, block=64, dropout=0.0, positions=NoPositions()))
        .w_2
    )
    assert 9e-4 < np.max(b) <= 1e-3
    assert -1e-3 <= np.min(b) < -9e-4
    assert abs(np.mean(b)) < 2e-4  # 512 numbers of deviation 6e-4: seven deviations of their mean


def test_only_biases_and_random_projections_are_not_decayed(fresh):
    def spared(model):
        flags = jax.tree.leaves_with_path(model.decayed())
        return {jax.tree_util.keystr(path).rsplit(".", 1)[1] for path, flag in flags if not flag}

    assert spared(fresh) == {"bias"}
    assert spared(stirred(config(FEATURES, Learned()))) == {"bias", "projection"}
    flags = fresh.decayed()
    assert flags.tokens
    assert flags.positions
    assert flags.ln_f.weight


@pytest.mark.slow("two of ten members stay inside", but=2)
@pytest.mark.parametrize(("mixer", "positions"), [*PAIRS, (FEATURES, Rotary())], ids=name_of)
def test_no_logit_depends_on_a_later_token(mixer, positions):
    model = stirred(config(mixer, positions))
    before = logits(model, TOKENS)
    after = logits(model, TOKENS.at[5].set(0))
    assert np.array_equal(before[:5], after[:5])
    assert gap(before[5:], after[5:]) > 1e-3


@pytest.mark.slow("four of nine members stay inside", but=4)
@pytest.mark.parametrize(("mixer", "positions"), PAIRS, ids=name_of)
def test_packed_documents_are_as_if_alone(mixer, positions):
    model = stirred(config(mixer, positions))
    together = logits(model, PACKED, SEGMENTS)
    # Alone, they are followed by tokens that they do not see.
    alone = [logits(model, jnp.roll(PACKED, -start))[:3] for start in (0, 3)]
    assert gap(together[:6], jnp.concatenate(alone)) <= rounding(lambda m: logits(m, PACKED, SEGMENTS), model)


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(
    ("mixer", "positions"),
    [(Softmax(), Rotary()), (Additive(hidden=3), Alibi()), (DenseSynthesizer(), Learned())],
    ids=name_of,
)
def test_padding_gives_finite_gradients_and_takes_part_in_none(mixer, positions):
    """Compiles the gradient of a model."""

    @compiled
    def gradient(model, tokens):
        def loss(model):
            nats = -jax.nn.log_softmax(model(tokens, segments=SEGMENTS, key=jax.random.key(3)))[:, 0]
            return jnp.sum(jnp.where(SEGMENTS > 0, nats, 0))

        return eqx.filter_grad(loss)(model)

    model = stirred(config(mixer, positions))
    one, other = (gradient(model, PACKED.at[6].set(token)) for token in (0, 7))
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in jax.tree.leaves(one))
    assert jax.tree.all(jax.tree.map(np.array_equal, one, other))


def test_rows_of_no_weight_add_nothing_even_where_their_loss_is_no_number():
    """Runs the model twice, operation by operation."""
    model = stirred(config(Softmax(), Rotary()))
    spoilt = eqx.tree_at(lambda m: m.tokens, model, model.tokens.at[10].set(jnp.nan))
    rows = np.array([TOKENS, [10] * BLOCK])
    batch = Batch(rows, rows, weights=np.repeat(np.float32([[1], [0]]), BLOCK, axis=1))
    assert float(spoilt.summed_loss(batch)) == float(model.summed_loss(batch))


def test_positions_restart_with_each_document():
    assert restarted(SEGMENTS[None]).tolist() == [[0, 1, 2, 0, 1, 2, 0, 1]]
    assert restarted(jnp.array([[7, 7], [1, 2]])).tolist() == [[0, 1], [0, 0]]


def test_rows_of_a_batch_are_the_rows_one_by_one():
    model = stirred(config(Softmax(), Rotary()))
    batch, segments = jnp.stack([TOKENS, PACKED]), jnp.stack([jnp.ones_like(SEGMENTS), SEGMENTS])
    rows = compiled(lambda m: m.rows(batch, segments=segments))
    mapped = compiled(lambda m: jax.vmap(lambda x, s: m(x, segments=s))(batch, segments))
    assert gap(rows(model), mapped(model)) <= rounding(rows, model)


def test_dropout_is_a_function_of_its_key():
    model = stirred(config(Softmax(), Learned()))
    one, again, other = (logits(model, TOKENS, key=jax.random.key(seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert gap(one, other) > 1e-3
    still = stirred(config(Softmax(), Learned(), **NONE))
    assert np.array_equal(logits(still, TOKENS, key=jax.random.key(0)), logits(still, TOKENS))


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize("rate", ["embedding_dropout", "residual_dropout", "attention_dropout"])
def test_every_rate_drops_something(rate):
    model = stirred(config(Softmax(), Learned(), **(NONE | {rate: 0.5})))
    assert gap(*(logits(model, TOKENS, key=jax.random.key(seed)) for seed in (0, 1))) > 1e-2


@pytest.mark.slow("that one rate drops something stays inside")
def test_every_dropout_draws_for_itself():
    """Runs two wide layers, operation by operation."""
    halved = {"embedding_dropout": 0.5, "residual_dropout": 0.5, "attention_dropout": 0.0}
    model = stirred(config(Softmax(), NoPositions(), layers=2, width=64, **halved))
    # Matrices of zeros and biases of one: the embedding and both halves of both layers add a one each, which is
    # kept and doubled with probability 1/2.
    model = jax.tree.map(lambda x: jnp.full(x.shape, float(x.ndim == 1)), model)
    model = eqx.tree_at(lambda m: m.tokens, model, replace_fn=jnp.ones_like)
    x, _ = model._through(TOKENS[None], place(1, 8, None, None), jax.random.key(0))
    # Variances of independent draws add up to 5, two that share one make it 7. It is known to 0.31 from 512.
    assert abs(np.var(x) - 5) < 1


def test_dropped_share_is_the_rate():
    n, rate = 2**20, 0.1
    dropped = n - int(jnp.sum(kept(jax.random.key(0), (n,), rate)))
    # Six deviations of a binomial count: 2e-9.
    assert abs(dropped - rate * n) < 6 * np.sqrt(n * rate * (1 - rate))


@pytest.mark.parametrize("shape", [(8, 8), (3, 5), (5, 3)], ids=["square", "wide", "tall"])
def test_gradient_of_a_product_is_jaxs_own(shape):
    sizes = (7, shape[0]), shape, (7, shape[1])
    x, w, d_y = (jax.random.randint(jax.random.key(i), size, -4, 5).astype(float) for i, size in enumerate(sizes))
    # Small whole numbers: both ways are exact.
    ours, theirs = (jax.vjp(f, x, w)[1](d_y) for f in (product, jnp.matmul))
    assert jax.tree.all(jax.tree.map(np.array_equal, ours, theirs))


def test_gelu_is_x_times_the_distribution_function_of_x():
    x = np.linspace(-9, 9, 1001, dtype=np.float32)
    exact = x * scipy.special.ndtr(x.astype(np.float64))
    # erf is good to a few roundings of one, and the product with x keeps that.
    np.testing.assert_array_less(
        np.abs(gelu(jnp.asarray(x)) - exact), (1 + np.abs(x)) * 4 * np.finfo(np.float32).eps
    )


@pytest.mark.slow("that GELU is x times the normal distribution function stays inside")
@pytest.mark.parametrize("shape", [(3, 5), (5, 3)], ids=["wide", "tall"])
def test_a_layer_of_gelu_keeps_its_input_alone_and_has_jaxs_own_gradient(shape):
    """Differentiates a layer in two ways, operation by operation."""
    layer = stirred_linear(*shape)
    x, d_y = (jax.random.normal(jax.random.key(i), (2, 7, width)) for i, width in enumerate(shape))
    (y, pulled), (expected, other) = (
        jax.vjp(f, layer, x) for f in (Linear.of_gelu, lambda layer, x: layer(gelu(x)))
    )
    assert sum(kept.size for kept in jax.tree.leaves(pulled)) == x.size + layer.weight.size
    assert sum(kept.size for kept in jax.tree.leaves(other)) > 3 * x.size
    for ours, theirs in zip(
        jax.tree.leaves((y, pulled(d_y))), jax.tree.leaves((expected, other(d_y))), strict=True
    ):
        # Sums of at most 14 products of numbers of order one.
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=14 * 8 * float(np.finfo(np.float32).eps))


def stirred_linear(c, d):
    layer = Linear(jax.random.key(7), c, d)
    return jax.tree.map(lambda x: jax.random.normal(jax.random.key(x.ndim), x.shape), layer)


@pytest.mark.parametrize("positions", [Sinusoidal(), Alibi()], ids=name_of)
def test_schemes_without_a_table_go_beyond_the_block(positions):
    model = stirred(config(Softmax(), positions))
    longer = jnp.tile(TOKENS, 2)
    assert np.array_equal(logits(model, longer)[:8], logits(model, longer.at[8:].set(0))[:8])
    assert bool(jnp.all(jnp.isfinite(logits(model, longer))))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"heads": 3}, "width 256 cannot be cut into 3 heads"),
        ({"layers": 0}, "layers must be positive, not 0"),
        ({"block": 1.5}, "block must be a whole number, not 1.5"),
        ({"residual_dropout": 1.0}, "residual dropout must be at least 0 and less than 1, not 1.0"),
        ({"attention_dropout": float("nan")}, "attention dropout must be at least 0 and less than 1, not nan"),
        ({"epsilon": 0.0}, "epsilon must be positive, not 0.0"),
        ({"gelu": "relu"}, "gelu must be one of exact, tanh, not 'relu'"),
        ({"mixer": RandomSynthesizer(), "positions": Rotary()}, "rotary positions turn queries and keys, and the"),
        ({"heads": 256, "positions": Rotary()}, "turn pairs, but a head has width 1"),
        ({"width": 7, "heads": 1, "positions": Sinusoidal()}, "come in pairs, but the width is 7"),
        ({"mixer": FEATURES}, "attention_dropout must be 0, not 0.1: causal feature attention has no weights"),
        ({"mixer": FEATURES, "positions": Alibi(), "attention_dropout": 0.0}, "ALiBi biases scores, and causal"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_impossible_configurations_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        GPTConfig(**fields)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("tokens", "others", "message"),
    [
        (TOKENS[:0], {}, "at least 1 tokens, not 0"),
        (jnp.tile(TOKENS, 2), {}, "at most 8, the block of this model tokens, not 16"),
        (TOKENS.at[2].set(11), {}, "token 11 at 2 is outside the vocabulary: 0 to 10"),
        (TOKENS.at[2].set(-1), {}, "token -1 at 2 is outside the vocabulary"),
        (TOKENS.astype(float), {}, "tokens must be whole numbers, not float32"),
        (TOKENS, {"segments": SEGMENTS[:3]}, r"segments must have the tokens' shape \(1, 8\), not \(1, 3\)"),
        (TOKENS, {"positions": jnp.arange(1, 9)}, "position 8 at 7 is outside the block: 0 to 7"),
    ],
)
def test_bad_rows_are_refused(tokens, others, message):
    with pytest.raises(ValueError, match=message):
        stirred(config(Softmax(), Learned()))(tokens, **others)


@pytest.mark.slow("two of three members stay inside", but=2)
@pytest.mark.parametrize(
    ("tokens", "positions"),
    [(TOKENS.at[2].set(11), None), (TOKENS.at[2].set(-1), None), (TOKENS, jnp.arange(1, 9))],
)
def test_traced_numbers_without_a_row_give_nan(tokens, positions):
    wrong = logits(stirred(config(Softmax(), Learned())), tokens, positions=positions)
    assert bool(jnp.isnan(wrong[-1]).all())


def test_feature_attention_refuses_packed_documents():
    with pytest.raises(ValueError, match="cannot keep packed documents apart"):
        stirred(config(FEATURES, Learned()))(PACKED, segments=SEGMENTS)


def test_rows_that_share_a_table_drop_weights_each_for_itself():
    model = stirred(config(RandomSynthesizer(), Learned(), **(NONE | {"attention_dropout": 0.5})))
    rows = compiled(lambda m: m.rows(jnp.stack([TOKENS, TOKENS]), key=jax.random.key(0)))(model)
    assert gap(rows[0], rows[1]) > 1e-2


@pytest.mark.parametrize(("mixer", "positions"), PAIRS, ids=name_of)
def test_configurations_survive_json(mixer, positions):
    cfg = config(mixer, positions, hidden=12)
    assert config_from_json(json.loads(json.dumps(cfg.as_json()))) == cfg


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depth": 3}, "has an unknown field 'depth'"),
        ({"mixer": {"kind": "Magic"}}, "mixer must be one of Softmax, .*, not 'Magic'"),
        ({"mixer": "Softmax"}, "mixer must be a kind with its options, not 'Softmax'"),
        ({"positions": None}, "positions must be a kind with its options, not None"),
        ({"positions": {"kind": "Rotary", "speed": 2}}, "positions Rotary has other options than speed"),
        ({"heads": 3}, "width 256 cannot be cut into 3 heads"),
    ],
)
def test_other_records_are_no_configuration(change, message):
    with pytest.raises(ValueError, match=message):
        config_from_json(GPTConfig().as_json() | change)
    short = GPTConfig().as_json()
    del short["tied"]
    with pytest.raises(ValueError, match="lacks 'tied'"):
        config_from_json(short)
