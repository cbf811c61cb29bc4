"""GPT-2 checkpoints: equal to transformers in float64, and refused where they are of another kind.

The references are made by reference/make_gpt2.py.
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

from attnlab_theory.language.models.gpt import load_gpt2
from attnlab_theory.language.models.gpt2 import leaf_of
from tests.language.models import compiled, gap, rounding

REFERENCE = Path(__file__).parent / "reference"
NAMES = ("gpt2_plain", "gpt2_narrow", "gpt2_exact")


@compiled
def logits_and_gradient(model, tokens):
    def loss(model):
        logits = model.rows(tokens)
        nats = -jax.nn.log_softmax(logits[:, :-1])
        return jnp.mean(jnp.take_along_axis(nats, tokens[:, 1:, None], axis=2)), logits

    gradient, logits = eqx.filter_grad(loss, has_aux=True)(model)
    return logits, gradient


@pytest.mark.slow("nothing inside asks this of GPT-2; MiniLM's hidden states stay inside")
@pytest.mark.parametrize("name", NAMES)
def test_logits_and_gradients_are_those_of_transformers(name):
    """Compiles each model with its gradient."""
    model = load_gpt2(REFERENCE / name)
    expected = load_file(REFERENCE / name / "expected.safetensors")
    tokens = jnp.asarray(expected["tokens"])
    logits, gradient = logits_and_gradient(model, tokens)
    assert gap(logits, expected["logits"]) <= rounding(lambda m: logits_and_gradient(m, tokens)[0], model)

    atol = rounding(lambda m: logits_and_gradient(m, tokens)[1], model)
    wanted = {leaf_of(k[2:]): v for k, v in expected.items() if k.startswith("d ")}
    for path, ours in jax.tree.leaves_with_path(gradient):
        assert gap(ours, wanted[jax.tree_util.keystr(path)]) <= atol


def test_configuration_is_that_of_the_file():
    config = load_gpt2(REFERENCE / "gpt2_exact" / "model.safetensors").config
    assert (config.layers, config.heads, config.width, config.hidden, config.block) == (1, 4, 8, 32, 6)
    assert (config.vocabulary, config.gelu, config.epsilon, config.tied) == (9, "exact", 1e-3, True)


@pytest.fixture
def copy(tmp_path):
    """A checkpoint to spoil: (folder, its arrays, its configuration)."""
    for file in ("model.safetensors", "config.json"):
        shutil.copyfile(REFERENCE / "gpt2_plain" / file, tmp_path / file)
    arrays = load_file(tmp_path / "model.safetensors")
    return tmp_path, arrays, json.loads((tmp_path / "config.json").read_text())


def test_tied_head_may_be_written_too_but_must_be_tied(copy):
    folder, arrays, _ = copy
    arrays["lm_head.weight"] = arrays["transformer.wte.weight"]
    save_file(arrays, folder / "model.safetensors")
    load_gpt2(folder)
    arrays["lm_head.weight"] = 2 * arrays["lm_head.weight"]
    save_file(arrays, folder / "model.safetensors")
    refused(folder, r"lm_head.weight differs from wte.weight")


def test_scores_that_are_divided_by_the_number_of_the_layer_are_those_of_smaller_queries(copy):
    """Reads three models, and runs each."""
    folder, arrays, config = copy
    tokens = jnp.arange(6)[None] % config["vocab_size"]
    (folder / "config.json").write_text(json.dumps(config | {"scale_attn_by_inverse_layer_idx": True}))
    found = load_gpt2(folder).rows(tokens)
    (folder / "config.json").write_text(json.dumps(config))
    assert gap(found, load_gpt2(folder).rows(tokens)) > 1e-3
    for name in ("weight", "bias"):
        arrays[f"transformer.h.1.attn.c_attn.{name}"][..., : config["n_embd"]] /= 2
    save_file(arrays, folder / "model.safetensors")
    model = load_gpt2(folder)
    assert gap(found, model.rows(tokens)) <= rounding(lambda m: m.rows(tokens), model)


def test_number_of_heads_must_be_known(copy):
    folder, _, _ = copy
    refused(folder, "n_head is 2 in config.json, but heads=4 was asked for", heads=4)
    (folder / "config.json").unlink()
    refused(folder, "does not say how many heads")
    config = load_gpt2(folder, heads=2).config
    assert (config.heads, config.gelu, config.epsilon) == (2, "tanh", 1e-5)
    assert config.embedding_dropout == config.residual_dropout == config.attention_dropout == 0.1
    refused(folder, "width 8 cannot be cut into 3 heads", heads=3)


def test_files_that_are_not_whole_are_refused(copy):
    folder, _, _ = copy
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    for part in (whole[:-1], whole[:100], whole[:4], b"", b"PK" + whole):
        file.write_bytes(part)
        refused(folder, "is not a whole safetensors file")
    file.unlink()
    refused(folder, "no such file")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("transformer.wte.weight"), "lacks 'wte.weight'"),
        (lambda a: a.pop("transformer.h.1.ln_2.bias"), "lacks 'h.1.ln_2.bias': it is not whole"),
        (lambda a: a.update({"encoder.weight": np.zeros(2, np.float32)}), "holds 'encoder.weight', which GPT-2"),
        (lambda a: a.update({"h.0.attn.c_attn.scale": np.zeros(2, np.float32)}), "holds 'h.0.attn.c_attn.scale'"),
        (lambda a: a.update({"transformer.ln_f.bias": np.zeros(3, np.float32)}), r"shape \(8,\), not \(3,\)"),
        (lambda a: a.update({"transformer.ln_f.bias": np.zeros(8, np.int32)}), "floating-point numbers, not int32"),
        (
            lambda a: a.update({"ln_f.bias": np.ones(8, np.float32)}),
            r"'(transformer\.)?ln_f.bias' with and without",
        ),
        (
            lambda a: a.update({f"h.{10**8}.ln_1.bias": np.ones(8, np.float32)}),
            "has layer 100000000 but lacks layer 2: it is not whole",
        ),
        (lambda a: a.update({f"h.{10**12}.ln_1.bias": np.ones(8, np.float32)}), "ln_1.bias', which GPT-2 does not"),
        (lambda a: a.update({f"h.{'9' * 5000}.ln_1.bias": np.ones(8, np.float32)}), "which GPT-2 does not have"),
        (lambda a: a.update({"h.00.ln_1.bias": np.ones(8, np.float32)}), "holds 'h.00.ln_1.bias', which GPT-2"),
        (lambda a: a["transformer.ln_f.bias"].fill(np.nan), "ln_f.bias must be finite, but holds nan"),
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
        ({"n_embd": 16}, "n_embd is 16 in config.json, but 8 in"),
        ({"n_embd": "8"}, "n_embd is '8' in config.json, but 8 in"),
        ({"resid_pdrop": "0.1"}, "resid_pdrop must be a number, not '0.1'"),
        ({"embd_pdrop": [0.1]}, r"embd_pdrop must be a number, not \[0.1\]"),
        ({"layer_norm_epsilon": float("inf")}, "epsilon must be at most 1, not inf"),
        ({"n_layer": 12}, "n_layer is 12 in config.json, but 2 in"),
        ({"vocab_size": 50257}, "vocab_size is 50257 in config.json, but 11 in"),
        ({"activation_function": "relu"}, "activation_function is 'relu', not one of gelu_new"),
        ({"activation_function": ["gelu"]}, "not one of gelu_new"),
        ({"scale_attn_by_inverse_layer_idx": 2}, "layer_idx is 2, but only False or True"),
        ({"tie_word_embeddings": False}, "lacks 'lm_head.weight': is it another model's"),
        ({"n_embd": 16, "n_layer": 3}, "n_embd is 16 .*, but 8, and n_layer is 3 in config.json, but 2"),
        ({"model_type": "llama"}, "model_type is 'llama', but only 'gpt2' can be loaded"),
    ],
)
def test_other_configurations_are_refused(copy, fields, message):
    folder, _, config = copy
    (folder / "config.json").write_text(json.dumps(config | fields))
    refused(folder, message)


@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E5M2"])
def test_numbers_of_eight_bits_are_refused(copy, kind):
    folder, _, _ = copy
    header = json.dumps({"wte.weight": {"dtype": kind, "shape": [4, 4], "data_offsets": [0, 16]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
    refused(folder, "holds numbers of a kind that is not read .*float8.*: save it in float32")


def test_configurations_that_are_no_json_are_refused(copy):
    folder, _, _ = copy
    for text, message in (
        ("{", "is not JSON"),
        ("[" * 200_000, "is not JSON"),
        ("[]", "must hold a JSON object, not list"),
    ):
        (folder / "config.json").write_text(text)
        refused(folder, message)


def refused(folder, message, **options):
    with pytest.raises(ValueError, match=message) as raised:
        load_gpt2(folder, **options)
    assert "\n" not in str(raised.value)
