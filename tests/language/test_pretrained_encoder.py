"""BERT's and RoBERTa's checkpoints: equal to transformers in float64, and refused where they are of another kind.

The references are made by reference/make_encoders.py.
"""

import json
import shutil
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from attnlab_theory.language.models.encoder_config import Layout
from attnlab_theory.language.models.pretrained_encoder import leaves_of, load_encoder
from attnlab_theory.language.models.tape import tape
from tests.language.models import compiled, gap, rounding

REFERENCE = Path(__file__).parent / "reference"
NAMES = ("bert_plain", "bert_bare", "roberta_plain", "roberta_wide")


def reference(name):
    expected = load_file(REFERENCE / name / "expected.safetensors")
    rows = (jnp.asarray(expected.pop(part)) for part in ("tokens", "mask", "types"))
    return load_encoder(REFERENCE / name), tuple(rows), expected


@compiled
def states_and_weights(model, rows):
    found = tape(model.walk(*rows), keep=["layers.*.out", "layers.*.weights"])
    return [model.embedded(*rows), *found.layers("out")], found.layers("weights")


@pytest.mark.slow("MiniLM's hidden states, against those of transformers, stay inside")
@pytest.mark.parametrize("name", NAMES)
def test_hidden_states_of_every_layer_and_weights_are_those_of_transformers(name):
    """Compiles each encoder twice: with its hidden states and weights, and alone."""
    (model, _), rows, expected = reference(name)
    mask = rows[1]
    found = states_and_weights(model, rows)
    atol = rounding(lambda m: states_and_weights(m, rows), model)
    for number, ours in enumerate(found[0]):
        assert gap(ours[mask], expected[f"hidden {number}"][mask]) <= atol
    for number, ours in enumerate(found[1]):
        ours, theirs = (np.swapaxes(x, 1, 2)[mask] for x in (ours, expected[f"weights {number}"]))
        assert gap(ours, theirs) <= atol
    # Far enough from rounding to tell one position, token or layer from another.
    assert atol < 1e-3
    last = compiled(lambda m: m.hidden(*rows))(model)
    assert gap(last[mask], expected[f"hidden {len(found[1])}"][mask]) <= atol


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_transformers(name):
    """Compiles the gradient of each encoder."""
    (model, _), rows, expected = reference(name)

    @compiled
    def gradient(model):
        def squares(model):
            return jnp.sum(jnp.where(rows[1][:, :, None], model.hidden(*rows) ** 2, 0))

        return eqx.filter_grad(squares)(model)

    wanted = leaves_of({k[2:]: v for k, v in expected.items() if k.startswith("d ")}, model.config)
    atol = rounding(gradient, model)
    for path, ours in jax.tree.leaves_with_path(gradient(model)):
        assert gap(ours, wanted[jax.tree_util.keystr(path)]) <= atol


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize("name", NAMES)
def test_the_pooler_is_that_of_transformers_where_there_is_one(name):
    (model, pooler), rows, expected = reference(name)
    if name == "bert_bare":
        assert pooler is None
        return
    run = compiled(lambda m: jnp.tanh(pooler(m.hidden(*rows)[:, :1]))[:, 0])
    assert gap(run(model), expected["pooled"]) <= rounding(run, model)


def test_configuration_is_that_of_the_file():
    config = load_encoder(REFERENCE / "roberta_wide" / "model.safetensors").encoder.config
    assert (config.layers, config.heads, config.width, config.hidden, config.block) == (1, 4, 8, 32, 6)
    assert (config.vocabulary, config.gelu, config.epsilon, config.pad) == (9, "exact", 1e-2, 4)
    assert (config.layout, config.positions, config.types) == (Layout.ROBERTA, 11, 2)
    assert load_encoder(REFERENCE / "bert_bare").encoder.config.gelu == "tanh"


@pytest.fixture
def copy(tmp_path):
    """A checkpoint to spoil: (folder, its arrays, its configuration)."""
    for file in ("model.safetensors", "config.json"):
        shutil.copyfile(REFERENCE / "bert_plain" / file, tmp_path / file)
    arrays = load_file(tmp_path / "model.safetensors")
    return tmp_path, arrays, json.loads((tmp_path / "config.json").read_text())


def test_files_that_are_not_whole_are_refused(copy):
    folder, _, _ = copy
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    for part in (whole[:-1], whole[:100], whole[:4], b"", b"PK" + whole):
        file.write_bytes(part)
        refused(folder, "is not a whole safetensors file")
    file.unlink()
    refused(folder, "no such file: .*safetensors; load_encoder needs a local")
    (folder / "config.json").unlink()
    refused(folder, "no such file: .*config.json")


LAYER = "bert.encoder.layer.1."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda a: a.pop("bert.embeddings.word_embeddings.weight"),
            "lacks 'embeddings.word_embeddings.weight': it is not whole",
        ),
        (
            lambda a: a.pop(LAYER + "output.LayerNorm.bias"),
            "lacks 'encoder.layer.1.output.LayerNorm.bias': it is not whole",
        ),
        (lambda a: a.pop("bert.pooler.dense.bias"), "lacks 'pooler.dense.bias': it is not whole"),
        (
            lambda a: [a.pop(f"{LAYER}output.LayerNorm.{kind}") for kind in ("weight", "bias")],
            "lacks 'encoder.layer.1.output.LayerNorm.weight', 'encoder.layer.1.output.LayerNorm.bias': it is not",
        ),
        (
            lambda a: a.update({"bert.encoder.layer.2.output.dense.bias": np.zeros(8, np.float32)}),
            "holds 'encoder.layer.2.output.dense.bias', which a bert encoder of 2 layers does not have",
        ),
        (
            lambda a: a.update({LAYER + "intermediate.dense.weight": np.zeros((8, 12), np.float32)}),
            r"encoder.layer.1.intermediate.dense.weight must have shape \(12, 8\), not \(8, 12\)",
        ),
        (
            lambda a: a.update({LAYER + "output.dense.bias": np.zeros(8, np.int32)}),
            "output.dense.bias must hold floating-point numbers, not int32",
        ),
        (
            lambda a: a.update({"embeddings.LayerNorm.bias": np.ones(8, np.float32)}),
            r"'(bert\.)?embeddings.LayerNorm.bias' with and without 'bert.'",
        ),
        (
            lambda a: a.update({"bert.embeddings.LayerNorm.beta": np.ones(8, np.float32)}),
            "'embeddings.LayerNorm.bias' twice, also as an old name",
        ),
        (lambda a: a[LAYER + "output.dense.bias"].fill(np.nan), "output.dense.bias must be finite, but holds nan"),
    ],
)
def test_foreign_files_are_refused(copy, change, message):
    folder, arrays, _ = copy
    change(arrays)
    save_file(arrays, folder / "model.safetensors")
    refused(folder, message)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_type": "llama"}, "'llama', but only 'gpt2', 'bert', 'roberta' or 'distilbert' can be loaded"),
        ({"model_type": "gpt2"}, "model_type is 'gpt2', which is not an encoder: load_gpt2 reads it"),
        (
            {"model_type": "roberta"},
            "holds 'bert.embeddings.position_ids', .* and 36 more, which a roberta",
        ),
        ({"hidden_size": 16}, r"word_embeddings.weight must have shape \(11, 16\), not \(11, 8\)"),
        ({"vocab_size": 12}, r"word_embeddings.weight must have shape \(12, 8\), not \(11, 8\)"),
        ({"max_position_embeddings": 8}, r"position_embeddings.weight must have shape \(8, 8\), not \(7, 8\)"),
        ({"type_vocab_size": 1}, r"token_type_embeddings.weight must have shape \(1, 8\), not \(2, 8\)"),
        ({"num_hidden_layers": 3}, "lacks 'encoder.layer.2.attention.self.query.weight'"),
        ({"num_attention_heads": 3}, "describes no encoder: width 8 cannot be cut into 3 heads"),
        ({"num_attention_heads": "2"}, "num_attention_heads must be a whole number, not '2'"),
        ({"num_attention_heads": None}, "does not say num_attention_heads"),
        ({"num_attention_heads": None, "vocab_size": None}, "does not say vocab_size, num_attention_heads, which"),
        ({"hidden_act": "relu", "is_decoder": True}, "is_decoder is True, .*; hidden_act is 'relu', not one of"),
        ({"layer_norm_eps": "1e-5"}, "layer_norm_eps must be a number, not '1e-5'"),
        ({"max_position_embeddings": 7.0}, "max_position_embeddings must be a whole number, not 7.0"),
        ({"pad_token_id": True}, "pad_token_id must be a whole number, not True"),
        ({"hidden_dropout_prob": [0.1]}, r"hidden_dropout_prob must be a number, not \[0.1\]"),
        ({"hidden_act": "relu"}, "hidden_act is 'relu', not one of gelu"),
        ({"position_embedding_type": "relative_key"}, "is 'relative_key', but only 'absolute' can be loaded"),
        ({"is_decoder": True}, "is_decoder is True, but only False"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads is {'0': .*}, but only {} can"),
    ],
)
def test_other_configurations_are_refused(copy, fields, message):
    folder, _, config = copy
    (folder / "config.json").write_text(json.dumps(config | fields))
    refused(folder, message)


def test_configurations_that_are_no_json_are_refused(copy):
    folder, _, _ = copy
    for text, message in (
        ("{", "is not JSON"),
        ("[" * 200_000, "is not JSON"),
        ("[]", "must hold a JSON object, not list"),
    ):
        (folder / "config.json").write_text(text)
        refused(folder, message)


def refused(folder, message):
    with pytest.raises(ValueError, match=message) as raised:
        load_encoder(folder)
    assert "\n" not in str(raised.value)
