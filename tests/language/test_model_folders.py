"""Folders as people have them: tuned, distilled, in several files, of an old version, or of torch's format."""

import json
import shlex
import shutil
import sys
import types
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from attnlab_theory.language.models import distilbert, huggingface
from attnlab_theory.language.models.gpt import load_gpt2
from attnlab_theory.language.models.kinds import model_type
from attnlab_theory.language.models.pretrained_encoder import load_encoder

REFERENCE = Path(__file__).parent / "reference"


def copied(name, folder):
    """A folder to change: (folder, its arrays, its configuration)."""
    shutil.copytree(REFERENCE / name, folder, dirs_exist_ok=True)
    return folder, load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())


def written(folder, arrays, config):
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def same(one, other):
    return all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))


@pytest.mark.parametrize(
    "names", [("classifier.weight", "classifier.bias"), ("qa_outputs.weight", "my_layer.0.bias")]
)
def test_a_head_that_an_encoder_was_tuned_with_is_set_aside_and_told(tmp_path, names):
    folder, arrays, config = copied("bert_plain", tmp_path)
    plain, told = load_encoder(folder), []
    written(folder, arrays | dict.fromkeys(names, np.zeros((2, 8), np.float32)), config)
    assert same(load_encoder(folder, tell=told.append), plain)
    assert told == [
        f"{folder}/model.safetensors: set aside {', '.join(sorted(names))}: a head that the model was tuned with, "
        "and no part of its layers"
    ]


def test_a_head_that_gpt2_was_tuned_with_is_set_aside_and_told(tmp_path):
    folder, arrays, config = copied("gpt2_plain", tmp_path)
    plain, told = load_gpt2(folder), []
    written(folder, arrays | {"score.weight": np.zeros((2, 8), np.float32)}, config)
    assert same(load_gpt2(folder, tell=told.append), plain)
    assert len(told) == 1
    assert "set aside score.weight: a head" in told[0]


BERTS = {berts: theirs for theirs, berts in distilbert.FIELDS.items()}


def distilled(folder):
    """The plain BERT under DistilBERT's names: (folder, its arrays, its configuration)."""
    _, arrays, config = copied("bert_plain", folder)
    left_out = ("position_ids", "token_type_embeddings.weight")
    named = {
        "distilbert." + distilbert.name_of_distilbert(name.removeprefix("bert.")): array
        for name, array in arrays.items()
        if not name.startswith(("bert.pooler", "cls")) and not name.endswith(left_out)
    }
    fields = {BERTS[field]: value for field, value in config.items() if field in BERTS}
    return folder, named, fields | {"model_type": "distilbert"}


def test_a_distilbert_is_a_bert_without_types_of_tokens(tmp_path):
    """Writes and reads two encoders, and runs both."""
    berts, arrays, config = copied("bert_plain", tmp_path / "bert")
    arrays["bert.embeddings.token_type_embeddings.weight"][:] = 0
    bert = load_encoder(written(berts, arrays, config)).encoder
    folder, named, fields = distilled(tmp_path / "distilbert")
    assert "distilbert.transformer.layer.1.attention.q_lin.weight" in named
    named["pre_classifier.weight"] = named["vocab_transform.weight"] = np.zeros((8, 8), np.float32)
    told = []
    small = load_encoder(written(folder, named, fields), tell=told.append)
    assert small.pooler is None
    assert [remark.split("set aside ")[1].split(":")[0] for remark in told] == ["pre_classifier.weight"]
    rows = jnp.array([[2, 5, 6, 7, 3]]), jnp.ones((1, 5), bool)
    assert np.array_equal(small.encoder.hidden(*rows), bert.hidden(*rows))


def test_what_a_distilbert_lacks_is_named_as_its_own_file_has_it(tmp_path):
    folder, named, fields = distilled(tmp_path)
    for layer in range(2):
        del named[f"distilbert.transformer.layer.{layer}.ffn.lin1.bias"]
    written(folder, named, fields)
    refused(
        folder, "lacks 'transformer.layer.0.ffn.lin1.bias', 'transformer.layer.1.ffn.lin1.bias': it is not whole"
    )
    written(folder, named, {name: fields[name] for name in fields if name not in ("dim", "n_heads")})
    refused(folder, "does not say n_heads, dim, which the arrays alone do not tell")


def test_arrays_in_several_files_with_an_index_are_read(tmp_path):
    folder, arrays, _ = copied("bert_plain", tmp_path)
    whole, places = load_encoder(folder), {}
    for number, name in enumerate(sorted(arrays)):
        places[name] = f"model-{number % 3 + 1:05}-of-00003.safetensors"
    for place in set(places.values()):
        save_file({name: arrays[name] for name in arrays if places[name] == place}, folder / place)
    (folder / "model.safetensors").unlink()
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    assert same(load_encoder(folder), whole)
    for place, said in (
        ("../model.safetensors", "must lie in a file beside the index, not in '../mod"),
        (1, "not in 1"),
    ):
        index.write_text(json.dumps({"weight_map": places | {sorted(arrays)[0]: place}}))
        refused(folder, said)
    index.write_text(json.dumps({"weight_map": places | {"more": "model-00001-of-00003.safetensors"}}))
    refused(folder, "places arrays in files that lack them: more")
    index.write_text(json.dumps({"weight_map": places}))
    for number in (2, 3):
        (folder / f"model-0000{number}-of-00003.safetensors").unlink()
    refused(
        folder, "not there: model-00002-of-00003.safetensors, model-00003-of-00003.safetensors; put them beside"
    )
    index.write_text("{}")
    refused(folder, "must say in its weight_map")


def test_a_bin_file_is_refused_with_the_line_that_converts_it(tmp_path, monkeypatch):
    folder, arrays, _ = copied("bert_plain", tmp_path / "a 'quoted' folder")
    whole = load_encoder(folder)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"holds pytorch_model.bin, and load_encoder reads safetensors") as raised:
        load_encoder(folder)
    *_, option, code = shlex.split(str(raised.value))
    assert option == "-c"
    # torch is no dependency: the line runs with modules that stand for it.
    tensors = {
        name: types.SimpleNamespace(clone=lambda x=x: types.SimpleNamespace(contiguous=lambda: x))
        for name, x in arrays.items()
    }
    torch, beside = types.ModuleType("torch"), types.ModuleType("safetensors.torch")
    monkeypatch.setattr(torch, "load", lambda path, map_location, weights_only: tensors, raising=False)
    monkeypatch.setattr(
        beside, "save_file", lambda found, path, metadata: save_file(found, path, metadata), raising=False
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "safetensors.torch", beside)
    exec(code, {})
    assert same(load_encoder(folder), whole)


@pytest.mark.parametrize("name", ["tf_model.h5", "flax_model.msgpack", "pytorch_model-00001-of-00002.bin"])
def test_other_formats_are_refused_with_a_line_that_converts_them(tmp_path, name):
    folder, _, _ = copied("gpt2_plain", tmp_path)
    (folder / "model.safetensors").rename(folder / name)
    with pytest.raises(ValueError, match=f"holds {name}, and load_gpt2 reads safetensors: convert it with python"):
        load_gpt2(folder)


@pytest.mark.parametrize("name", ["bert_plain", "bert_bare", "roberta_plain", "gpt2_plain"])
def test_a_configuration_that_does_not_say_the_kind_is_understood(tmp_path, name):
    folder, _, config = copied(name, tmp_path)
    wanted = config.pop("model_type")
    if name == "bert_bare":
        (folder / "vocab.txt").write_text("")
    (folder / "config.json").write_text(json.dumps(config))
    assert model_type(folder) == wanted
    classes = {"architectures": ["DistilBertForMaskedLM"]}
    (folder / "config.json").write_text(json.dumps(config | classes))
    assert model_type(folder) == "distilbert"


def test_an_old_configuration_of_berts_says_neither_kind_nor_epsilon(tmp_path):
    folder, arrays, config = copied("bert_plain", tmp_path)
    whole = load_encoder(folder)
    old = {
        field: config[field] for field in config if field not in ("model_type", "layer_norm_eps", "type_vocab_size")
    }
    assert same(load_encoder(written(folder, arrays, old)), whole)
    assert load_encoder(folder).encoder.config.epsilon == 1e-12


def test_an_old_configuration_of_gpt2s_is_read(tmp_path):
    folder, arrays, config = copied("gpt2_plain", tmp_path)
    fields = ("n_head", "n_layer", "n_embd", "n_positions", "vocab_size", "layer_norm_epsilon", "n_ctx")
    whole = load_gpt2(folder)
    assert same(load_gpt2(written(folder, arrays, {f: config[f] for f in fields if f in config})), whole)
    assert model_type(folder) == "gpt2"


@pytest.mark.parametrize(
    ("fields", "factors"),
    [
        ({"scale_attn_by_inverse_layer_idx": True}, (1, 1 / 2)),
        ({"scale_attn_weights": False}, (2, 2)),
        ({"scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False}, (2, 1)),
    ],
)
def test_factors_of_the_scores_are_in_the_queries_and_nowhere_else(tmp_path, fields, factors):
    # Heads are 4 numbers wide: without the root of 4 scores are twice as large.
    folder, arrays, config = copied("gpt2_plain", tmp_path)
    plain, width = load_gpt2(folder), config["n_embd"]
    scaled = load_gpt2(written(folder, arrays, config | fields))
    for one, other, factor in zip(plain.blocks, scaled.blocks, factors, strict=True):
        for kind in ("weight", "bias"):
            before, after = (getattr(block.mixing.inputs, kind) for block in (one, other))
            assert np.array_equal(factor * before[..., :width], after[..., :width])
            assert np.array_equal(before[..., width:], after[..., width:])
    assert np.array_equal(plain.tokens, scaled.tokens)


def test_a_head_that_is_not_tied_is_read(tmp_path):
    folder, arrays, config = copied("gpt2_plain", tmp_path)
    head = 2 * arrays["transformer.wte.weight"]
    written(folder, arrays | {"lm_head.weight": head}, config | {"tie_word_embeddings": False})
    plain, ids = load_gpt2(REFERENCE / "gpt2_plain"), jnp.arange(4)
    assert np.array_equal(eqx.filter_jit(load_gpt2(folder))(ids), 2 * eqx.filter_jit(plain)(ids))


def test_what_a_folder_says_that_is_not_understood_is_named_at_once(tmp_path):
    folder, arrays, config = copied("gpt2_plain", tmp_path)
    written(folder, arrays, config | {"add_cross_attention": True, "activation_function": "relu", "n_head": "2"})
    with pytest.raises(
        ValueError, match=r"add_cross_attention is True, .*; n_head must .*; activation_function is 'relu'"
    ):
        load_gpt2(folder)


def test_long_lists_of_names_are_cut():
    assert huggingface.listed("abcd") == "a, b, c, d"
    assert huggingface.listed("abcdef") == "a, b, c, d and 2 more"


def refused(folder, message, *, read=load_encoder):
    with pytest.raises(ValueError, match=message) as raised:
        read(folder)
    assert "\n" not in str(raised.value)


def test_all_that_is_missing_is_named_once_for_all_layers():
    names = ["embeddings.weight", "layer.0.q.weight", "layer.1.q.weight", "layer.1.k.weight"]
    assert huggingface._by_layer(names) == ["embeddings.weight", "layer.*.q.weight", "layer.1.k.weight"]


def moved(name, folder):
    shutil.copytree(REFERENCE / name, folder)
    return folder


@pytest.mark.parametrize(
    "place",
    [
        "0_Transformer",
        "models--me--mine/snapshots/abc",
        "models--me--mine/snapshots/abc/0_Transformer",
    ],
)
def test_a_model_is_found_inside_the_folder_that_its_owner_names(tmp_path, place):
    moved("bert_plain", tmp_path / "it" / place)
    named = tmp_path / "it" / ("models--me--mine" if "models" in place else "")
    assert huggingface.folder_of(named) == tmp_path / "it" / place
    assert model_type(named) == "bert"
    assert same(load_encoder(named).encoder, load_encoder(REFERENCE / "bert_plain").encoder)


def test_modules_of_sentence_transformers_say_where_and_never_outside(tmp_path):
    moved("bert_plain", tmp_path / "it" / "1_Words")
    kind = "sentence_transformers.models.Transformer"
    for path, found in (("1_Words", "1_Words"), ("../it/1_Words", ""), ("", "")):
        (tmp_path / "it" / "modules.json").write_text(json.dumps([{"idx": 0, "path": path, "type": kind}]))
        assert huggingface.folder_of(tmp_path / "it") == tmp_path / "it" / found
    (tmp_path / "it" / "modules.json").write_text("[1]")
    with pytest.raises(ValueError, match=r"modules\.json does not list the modules of sentence-transformers"):
        huggingface.folder_of(tmp_path / "it")


def test_of_several_snapshots_main_counts_or_one_is_named(tmp_path):
    hub = tmp_path / "hub" / "models--me--mine"
    for commit in ("abc", "def"):
        moved("gpt2_plain", hub / "snapshots" / commit)
    with pytest.raises(ValueError, match="snapshots holds 2 snapshots; name one: abc, def"):
        huggingface.folder_of(hub)
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text("def\n")
    assert huggingface.folder_of(hub) == huggingface.folder_of(hub / "snapshots") == hub / "snapshots" / "def"
    with pytest.raises(ValueError, match="is a hub cache of several models: name one of models--me--mine in it"):
        huggingface.folder_of(tmp_path / "hub")
    shutil.rmtree(hub / "snapshots" / "abc")
    shutil.rmtree(hub / "snapshots" / "def")
    with pytest.raises(ValueError, match="is empty: download the model again"):
        huggingface.folder_of(hub)


def test_checkpoints_of_a_run_are_listed_unless_the_model_lies_beside_them(tmp_path):
    for step in ("checkpoint-10", "checkpoint-20"):
        moved("gpt2_plain", tmp_path / "run" / step)
    with pytest.raises(
        ValueError, match="run is a run of transformers: name one of checkpoint-10, checkpoint-20 in"
    ):
        load_gpt2(tmp_path / "run")
    for file in (REFERENCE / "gpt2_plain").iterdir():
        shutil.copy(file, tmp_path / "run")
    assert huggingface.folder_of(tmp_path / "run") == tmp_path / "run"


@pytest.mark.parametrize("add", ["_orig_mod.", "module.", "module._orig_mod."])
def test_what_torch_adds_to_names_is_no_part_of_them(tmp_path, add):
    for name, read in (("gpt2_plain", load_gpt2), ("bert_plain", lambda folder: load_encoder(folder).encoder)):
        folder, arrays, config = copied(name, tmp_path / name)
        plain = read(folder)
        config.pop("model_type", None)
        config.pop("architectures", None)
        written(folder, {add + key: array for key, array in arrays.items()}, config)
        assert same(read(folder), plain)
        assert model_type(folder) == name.partition("_")[0]


def test_a_name_that_torch_compiled_is_no_second_array(tmp_path):
    folder, arrays, config = copied("gpt2_plain", tmp_path)
    name = next(iter(arrays))
    written(folder, arrays | {f"_orig_mod.{name}": arrays[name]}, config)
    with pytest.raises(ValueError, match="which one counts"):
        load_gpt2(folder)


@pytest.mark.parametrize("beside", ["alone", "beside a model", "as a file", "by its arrays"])
def test_an_adapter_is_named_with_its_model_and_the_line_that_merges_them(tmp_path, beside):
    folder, _, config = copied("gpt2_plain", tmp_path / "lora")
    said = {"base_model_name_or_path": "me/mine", "task_type": "CAUSAL_LM"}
    path = folder
    if beside == "by its arrays":
        written(folder, {"base_model.model.h.0.attn.c_attn.lora_A.weight": np.zeros((2, 2), np.float32)}, config)
        of, kind = "", "ForFeatureExtraction"
    else:
        (folder / "adapter_config.json").write_text(json.dumps(said))
        of, kind = " of me/mine", "ForCausalLM"
        if beside != "beside a model":
            (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    if beside == "as a file":
        path = folder / "adapter_model.safetensors"
    with pytest.raises(ValueError, match=rf"lora holds an adapter{of} \(LoRA\), which changes a model") as refused:
        load_gpt2(path)
    assert f"from peft import AutoPeftModel{kind} as A" in str(refused.value)
    assert str(refused.value).endswith(f"and name {tmp_path}/lora-merged")
    assert "\n" not in str(refused.value)


def test_a_model_of_llama_cpp_is_named_with_the_line_that_converts_it(tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    for path in (tmp_path, tmp_path / "m.gguf"):
        with pytest.raises(
            ValueError, match=r"m\.gguf is a model of llama\.cpp, and its numbers are rounded"
        ) as refused:
            load_encoder(path)
        assert "gguf_file=" in str(refused.value)
    # Beside files that are read, it is left alone.
    moved("bert_plain", tmp_path / "both")
    (tmp_path / "both" / "m.gguf").write_bytes(b"GGUF")
    assert huggingface.folder_of(tmp_path / "both") == tmp_path / "both"


def test_what_lies_in_the_place_of_a_model_is_named(tmp_path, monkeypatch):
    folder, _, _ = copied("gpt2_plain", tmp_path / "one" / "mine")
    file = folder / "model.safetensors"
    (folder / "expected.safetensors").unlink(missing_ok=True)
    refused(folder.parent, "one holds no model, but folders of models: name mine in it", read=load_gpt2)
    refused(folder / "config.json", "config.json holds no arrays: name the folder in which it lies", read=load_gpt2)
    for name, said in (
        ("tuned.safetensors", "has no model.safetensors: name the file itself, tuned.safetensors"),
        ("epoch=3.ckpt", "mine holds epoch=3.ckpt, and no safetensors: convert it with python -c"),
    ):
        file.rename(folder / name)
        refused(folder, said, read=load_gpt2)
        (folder / name).rename(file)
    for content, said in (
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            "is a pointer of Git LFS, and not the file itself: run git",
        ),
        (b"PK\x03\x04", "is an archive: unpack it, or, if it is of torch, convert it"),
    ):
        file.write_bytes(content)
        refused(folder, said, read=load_gpt2)
    file.unlink()
    file.symlink_to("gone")
    refused(folder, "is a link to a file that is gone: download the model again", read=load_gpt2)
    monkeypatch.chdir(tmp_path)
    refused(Path("me/mine"), "hf download me/mine --local-dir FOLDER", read=load_gpt2)
