"""The classifier: its loss and its heads, rows that only fill up, training, its checkpoint, what it refuses."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.language.checkpoint import load_model, save_model
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
from attnlab_theory.language.models.classifier import Classifier, ClassifierConfig, Pooling, mean_of_tokens
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.models.encoder_config import EncoderConfig
from attnlab_theory.language.models.layers import Linear
from attnlab_theory.language.models.model import Config, Examples, Model
from attnlab_theory.language.optimizers import AdamW
from attnlab_theory.language.schedules import Cosine
from attnlab_theory.language.text.words import Words
from attnlab_theory.language.train import Training, started, train
from tests.language.models import compiled, gap, rounding, stirred
from tests.tolerances import log_probability_atol

ENCODER = EncoderConfig(vocabulary=11, block=6, layers=1, heads=2, width=8, hidden=12, epsilon=1e-5)
CONFIGS = {pooling: ClassifierConfig(encoder=ENCODER, classes=3, pooling=pooling) for pooling in Pooling}
MODELS = {pooling: stirred(config, Classifier) for pooling, config in CONFIGS.items()}
ALL = pytest.mark.parametrize("pooling", Pooling)


def batch_of(seed, rows=4, classes=3):
    rng = np.random.default_rng(seed)
    mask = np.arange(5) < rng.integers(2, 6, rows)[:, None]
    tokens = np.where(mask, rng.integers(1, 11, (rows, 5)), 0).astype(np.int32)
    labels = rng.integers(0, classes, rows).astype(np.int32)
    return LabelledBatch(tokens, mask, labels, np.ones(rows, np.float32))


BATCH = batch_of(1)


@compiled
def logits(model, batch):
    return model.logits(batch)


@compiled
def loss(model, batch):
    return model.summed_loss(batch)


@compiled
def gradient(model, batch):
    return eqx.filter_grad(lambda m: m.summed_loss(batch))(model)


@ALL
def test_models_and_batches_meet_the_protocols(pooling):
    assert isinstance(MODELS[pooling], Model)
    assert isinstance(CONFIGS[pooling], Config)
    assert isinstance(BATCH, Examples)


@pytest.mark.slow("one of three members stays inside", but=1)
@ALL
def test_loss_is_the_cross_entropy_of_the_labels(pooling):
    found = np.float64(logits(MODELS[pooling], BATCH))
    nats = np.log(np.exp(found).sum(axis=1)) - found[np.arange(4), BATCH.labels]
    peak = float(np.abs(found).max())
    atol = 4 * log_probability_atol(3, 4 * np.finfo(np.float32).eps * peak)
    assert abs(float(loss(MODELS[pooling], BATCH)) - nats.sum()) <= atol
    halved = BATCH._replace(weights=np.array([1, 0.5, 0, 2], np.float32))
    assert abs(float(loss(MODELS[pooling], halved)) - nats @ [1, 0.5, 0, 2]) <= atol
    assert (halved.targets, halved.weight, halved.documents, halved.places) == (3, 3.5, 4, 20)


def by_hand(model, hidden):
    match model.config.pooling:
        case Pooling.MEAN:
            pooled = np.stack([x[: mask.sum()].mean(axis=0) for x, mask in zip(hidden, BATCH.mask, strict=True)])
        case Pooling.BERT | Pooling.ROBERTA:
            pooled = np.tanh(hidden[:, 0] @ np.float64(model.dense.weight) + np.float64(model.dense.bias))
    return pooled @ np.float64(model.out.weight) + np.float64(model.out.bias)


@pytest.mark.slow("one of three members stays inside", but=1)
@ALL
def test_logits_are_those_of_the_pooled_tokens(pooling):
    """Runs the encoder operation by operation, and compiles the classifier."""
    model = MODELS[pooling]
    hidden = model.encoder.hidden(jnp.asarray(BATCH.tokens), jnp.asarray(BATCH.mask))
    found = by_hand(model, np.float64(hidden))
    assert gap(logits(model, BATCH), found) <= rounding(lambda m: logits(m, BATCH), model)


@pytest.mark.slow("one of three members stays inside", but=1)
@ALL
def test_rows_that_only_fill_up_change_neither_loss_nor_gradient(pooling):
    """Compiles loss and gradient for batches of two shapes."""
    model, filled = MODELS[pooling], BATCH.filled(7)
    assert filled.tokens.shape == (7, 5)
    assert (filled.targets, filled.documents, filled.weight) == (4, 4, 4.0)
    filled = filled._replace(labels=np.where(filled.weights > 0, filled.labels, -1).astype(np.int32))
    assert abs(float(loss(model, filled) - loss(model, BATCH))) <= rounding(lambda m: loss(m, BATCH), model)
    atol = rounding(lambda m: gradient(m, BATCH), model)
    assert gap(gradient(model, filled), gradient(model, BATCH)) <= atol


@pytest.mark.slow("one of three members stays inside", but=1)
@ALL
def test_dropout_of_the_head_is_a_function_of_its_key(pooling):
    rates = {"dropout": 0.0, "attention_dropout": 0.0}
    encoder = EncoderConfig(**(ENCODER.as_json() | rates | {"layout": ENCODER.layout}))
    model = stirred(ClassifierConfig(encoder=encoder, pooling=pooling, dropout=0.5), Classifier)
    run = compiled(lambda m, key: m.logits(BATCH, key))
    one, again, other = (run(model, jax.random.key(seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert gap(one, other) > 1e-2


def test_robertas_head_drops_before_its_dense_layer_too():
    """The dense layer is an identity, so the output layer reads tanh of doubled numbers and of zeros."""
    rates = {"dropout": 0.0, "attention_dropout": 0.0}
    encoder = EncoderConfig(**(ENCODER.as_json() | rates | {"layout": ENCODER.layout}))

    def zeros(pooling):
        config = ClassifierConfig(encoder=encoder, pooling=pooling, dropout=0.5)
        model = stirred(config, Classifier)
        ends = jnp.eye(8), jnp.zeros(8), jnp.eye(8), jnp.zeros(8)
        parts = lambda m: (m.dense.weight, m.dense.bias, m.out.weight, m.out.bias)  # noqa: E731
        found = compiled(lambda m, key: m.logits(BATCH, key))(eqx.tree_at(parts, model, ends), jax.random.key(2))
        return np.count_nonzero(found == 0) / found.size

    # A half, and three quarters: 32 numbers tell them apart by three deviations, and the key is fixed.
    assert zeros(Pooling.BERT) < 0.62 < zeros(Pooling.ROBERTA)


def test_only_biases_and_gains_of_layer_norm_are_not_decayed():
    for pooling in Pooling:
        flags = jax.tree.leaves_with_path(MODELS[pooling].decayed())
        spared = {jax.tree_util.keystr(path) for path, flag in flags if not flag}
        assert all(path.endswith(".bias") or ".ln" in path for path in spared)
        assert all(flag == (jax.tree_util.keystr(path) not in spared) for path, flag in flags)
        named = {jax.tree_util.keystr(path) for path, _ in flags}
        assert spared == {path for path in named if path.endswith(".bias") or ".ln" in path}


def test_a_mean_over_padding_alone_is_zero():
    hidden, mask = jnp.ones((2, 3, 4)), jnp.array([[True, True, False], [False] * 3])
    assert mean_of_tokens(hidden, mask).tolist() == [[1.0] * 4, [0.0] * 4]


TEXT = Words(tuple("abcdefg"))


@ALL
def test_a_checkpoint_brings_it_back_bit_for_bit(tmp_path, pooling):
    save_model(tmp_path / "model", MODELS[pooling], TEXT, {"seed": 1})
    saved = load_model(tmp_path / "model")
    assert (type(saved.model), saved.model.config, saved.text) == (Classifier, CONFIGS[pooling], TEXT)
    assert jax.tree.structure(saved.model) == jax.tree.structure(MODELS[pooling])
    for ours, theirs in zip(jax.tree.leaves(saved.model), jax.tree.leaves(MODELS[pooling]), strict=True):
        assert np.array_equal(ours, theirs)


def test_a_checkpoint_of_other_layers_names_the_first_array_that_does_not_fit(tmp_path):
    path = tmp_path / "model"
    save_model(path, MODELS[Pooling.MEAN], Words(tuple("abc")), {})
    with pytest.raises(ValueError, match="7 tokens for a vocabulary of 11"):
        load_model(path)


@pytest.mark.slow("another kind of model, whose loss falls in the same loop, stays inside")
def test_it_is_trained_by_the_loop_that_trains_all():
    """Whether the first token is above 5, which one layer learns."""

    def epochs(epoch):
        for number in range(3):
            batch = batch_of(10 * epoch + number, rows=16, classes=2)
            yield batch._replace(labels=(batch.tokens[:, 0] > 5).astype(np.int32))

    model = Classifier(ClassifierConfig(encoder=ENCODER, pooling=Pooling.BERT), key=jax.random.key(0))
    training = Training(schedule=Cosine(peak=0.03, steps=45, warmup=1), epochs=15, optimizer=AdamW())
    losses = [metrics.loss for _, metrics in train(started(model, training), epochs, training)]
    assert abs(losses[0] - np.log(2)) < 0.1
    assert np.mean(losses[-5:]) < 0.35


def test_a_head_is_put_on_a_trained_encoder():
    encoder, pooler = stirred(ENCODER, Encoder), Linear(jax.random.key(5), 8, 8)
    model = Classifier.on(encoder, key=jax.random.key(1), classes=4, pooling=Pooling.BERT, pooler=pooler)
    assert jax.tree.all(jax.tree.map(np.array_equal, model.encoder, encoder))
    assert np.array_equal(model.dense.weight, pooler.weight)
    assert logits(model, BATCH).shape == (4, 4)
    with pytest.raises(ValueError, match="a pooler belongs to the pooling bert, not to mean"):
        Classifier.on(encoder, key=jax.random.key(1), pooler=pooler)
    with pytest.raises(ValueError, match=r"the pooler must have weights \(8, 8\), not \(8, 4\)"):
        Classifier.on(encoder, key=jax.random.key(1), pooling=Pooling.BERT, pooler=Linear(jax.random.key(5), 8, 4))
    other = ClassifierConfig(encoder=EncoderConfig(vocabulary=12, width=8, heads=2))
    with pytest.raises(ValueError, match="of another configuration"):
        Classifier(other, key=jax.random.key(1), encoder=encoder)


@ALL
def test_half_precision_gives_a_loss_in_float32_and_gradients_of_its_own(pooling):
    """Compiles loss and gradient in bfloat16."""
    narrow = jax.tree.map(lambda x: x.astype(jnp.bfloat16), MODELS[pooling])
    assert loss(narrow, BATCH).dtype == jnp.float32
    assert bool(jnp.isfinite(loss(narrow, BATCH)))
    assert all(part.dtype == jnp.bfloat16 for part in jax.tree.leaves(gradient(narrow, BATCH)))


def test_labels_that_are_no_class_are_refused_or_traced_give_nan():
    wrong = BATCH._replace(labels=np.array([0, 1, 3, -1], np.int32))
    with pytest.raises(ValueError, match="label 3 of row 2 is no class: there are 3, from 0"):
        MODELS[Pooling.MEAN].summed_loss(wrong)
    assert np.isnan(loss(MODELS[Pooling.MEAN], wrong))


@ALL
def test_configurations_survive_json(pooling):
    assert ClassifierConfig.from_json(json.loads(json.dumps(CONFIGS[pooling].as_json()))) == CONFIGS[pooling]


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"depth": 3}, "has an unknown field 'depth'"),
        ({"classes": 1}, "classes must be at least 2, not 1"),
        ({"pooling": "max"}, "pooling must be one of bert, roberta, mean, not 'max'"),
        ({"dropout": 1.0}, "dropout must be at least 0 and less than 1, not 1.0"),
        ({"dropout": "no"}, "dropout must be one real number, not 'no'"),
        ({"encoder": 3}, "encoder must be a configuration of its own, not 3"),
        ({"encoder": {"width": 8}}, "the configuration lacks 'attention_dropout'"),
    ],
)
def test_other_records_are_no_configuration(fields, message):
    with pytest.raises(ValueError, match=message):
        ClassifierConfig.from_json(CONFIGS[Pooling.MEAN].as_json() | fields)


def test_of_several_unknown_fields_the_first_by_name_is_told():
    unknown = {f"a{number:02}": 0 for number in range(20)}
    with pytest.raises(ValueError, match="unknown field 'a00'"):
        ClassifierConfig.from_json(CONFIGS[Pooling.MEAN].as_json() | unknown)


def test_some_rows_of_a_batch_cut_to_a_width():
    part = BATCH.take(np.array([2, 0]), 3)
    assert part.tokens.tolist() == BATCH.tokens[[2, 0], :3].tolist()
    assert part.labels.tolist() == BATCH.labels[[2, 0]].tolist()
    assert part.weight == 2
