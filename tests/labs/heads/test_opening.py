"""Folders of models before a text: whose tokens they are read with, and what is told."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.labs.heads import opening
from attnlab_theory.labs.heads.opening import opened
from attnlab_theory.labs.heads.texts import text_of
from attnlab_theory.language.text.own_tokens import OwnTokens
from attnlab_theory.language.text.vocabulary import VOCABULARIES, vocabulary_from_json
from attnlab_theory.language.text.words import Words

REFERENCE = Path(__file__).parents[2] / "language" / "reference"
SPACE = "\u0120"
"""How byte pairs write a space."""

LETTERS = ("a", "l", "s", "u", SPACE, "al", "ala", SPACE + "s", SPACE + "su")
MARK = "<|endoftext|>"
PAIRS = "#version: 0.2\na l\nal a\n\u0120 s\n\u0120s u\n"


@pytest.fixture
def folder(tmp_path):
    """A GPT-2 of 11 tokens and 7 places with a table of its own, of 10 tokens."""
    for name in ("model.safetensors", "config.json"):
        shutil.copyfile(REFERENCE / "gpt2_plain" / name, tmp_path / name)
    (tmp_path / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate([*LETTERS, MARK])}), "utf-8")
    (tmp_path / "merges.txt").write_text(PAIRS, "utf-8")
    return tmp_path


def ids(folder, *sentences, told=None):
    reading = opened(folder, sentences, tell=(told if told is not None else []).append)
    return [tokens.ids.tolist() for tokens in reading.tokens]


@pytest.mark.slow("tokens of a folder that a checkpoint keeps stay inside")
def test_a_folder_of_gpt2s_is_read_with_the_tokens_that_lie_in_it(folder):
    told = []
    assert ids(folder, "alala su", told=told) == [[9, 5, 6, 8]]
    assert told == []
    whole = OwnTokens.of_folder(folder)
    (folder / "tokenizer.json").write_text(whole.table, "utf-8")
    (folder / "vocab.json").unlink()
    assert ids(folder, "alala su") == [[9, 5, 6, 8]]
    (folder / "tokenizer.json").write_text("{}")
    refused(folder, "tokenizer.json: tokenizers cannot read this table")


@pytest.mark.slow("sentences that hold the mark, which are named, stay inside")
def test_the_mark_before_a_text_is_that_of_the_folder(folder):
    (folder / "special_tokens_map.json").write_text('{"bos_token": {"content": "u"}}')
    assert ids(folder, "al") == [[3, 5]]
    (folder / "tokenizer_config.json").write_text('{"bos_token": "s", "add_prefix_space": true}')
    assert ids(folder, "ul") == [[2, 4, 3, 1]]
    (folder / "tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"bos_token_id": 5}))
    assert ids(folder, "l") == [[5, 1]]
    (folder / "config.json").write_text(json.dumps(config | {"bos_token_id": None}))
    refused(folder, "the table lacks the mark <s>, which stands before a text")


@pytest.mark.slow("tokens of a folder that a checkpoint keeps stay inside")
def test_tokens_that_were_added_later_have_the_numbers_that_the_file_says(folder):
    (folder / "added_tokens.json").write_text('{"<pad>": 10}')
    assert len(OwnTokens.of_folder(folder)) == 11
    assert ids(folder, "a<pad>") == [[9, 0, 10]]
    (folder / "added_tokens.json").write_text('{"<pad>": 12}')
    refused(folder, "<pad> has the number 12, but .*vocab.json ends at 9")


@pytest.mark.slow("tables of RoBERTa's tokens that are refused stay inside")
def test_tables_of_another_size_are_refused(folder, monkeypatch):
    (folder / "added_tokens.json").write_text('{"<pad>": 10, "<cls>": 11}')
    refused(folder, "knows 11 tokens, and the table beside it has 12: they are of different models")
    (folder / "vocab.json").unlink()
    refused(
        folder, "knows 11 tokens, and GPT-2's vocabulary has 50,257: put the tokenizer.json of the model beside"
    )
    monkeypatch.setattr(opening, "BPE", lambda: Words(tuple("abcdefg")))
    told = []
    ids(folder, "a", told=told)
    assert told == [f"{folder} has no table of tokens: texts are read with GPT-2's own vocabulary"]


def test_a_checkpoint_keeps_tokens_of_a_folder(folder):
    text = OwnTokens.of_folder(folder)
    kept = vocabulary_from_json(json.loads(json.dumps(text.as_json())), VOCABULARIES)
    assert kept == text
    assert kept.decode_text(kept.encode_text("alala su")) == "alala su"
    with pytest.raises(ValueError, match="no token has the number 10; the vocabulary ends at 9"):
        kept.decode_text([10])


def test_sentences_that_hold_the_mark_are_named_by_their_number(folder):
    with pytest.raises(ValueError, match=r"sentence 2: a text holds <\|endoftext\|>, which marks"):
        ids(folder, "a", f"a{MARK}")


@pytest.mark.slow("reviews that are cut, counted and told stay inside")
def test_cut_sentences_are_counted_and_told(folder):
    told = []
    reading = opened(folder, ["a", "aaaaaa", "aaaaaaa", "aaaaaaaa"], tell=told.append)
    assert [len(tokens.ids) for tokens in reading.tokens] == [2, 7, 7, 7]
    assert reading.cut == 2
    assert told == [f"2 of 4 sentences are longer than {folder} takes, 7 tokens: cut"]


def test_an_encoder_that_is_named_by_one_of_its_files_is_its_folder(tmp_path):
    shutil.copytree(REFERENCE / "bert_plain", tmp_path, dirs_exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    told = []
    reading = opened(tmp_path / "model.safetensors", ["a b", "a b c d e f"], tell=told.append)
    assert [tokens.ids.tolist() for tokens in reading.tokens] == [[2, 5, 6, 3], [2, 5, 6, 7, 8, 9, 3]]
    assert np.array_equal(reading.tokens[1].special, [True, *[False] * 5, True])
    assert told == [f"1 of 2 sentences is longer than {tmp_path / 'model.safetensors'} takes, 7 tokens: cut"]


def refused(folder, message):
    with pytest.raises(ValueError, match=message) as raised:
        opened(folder, ["a"])
    assert "\n" not in str(raised.value)


def test_of_a_table_the_texts_are_read_and_the_rest_is_told(tmp_path):
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\na good film \t1\na bad one \t0\n")
    told, asked = [], {"labelled": False, "sentences": 9, "seed": 0}
    found = text_of(tmp_path / "dev.tsv", **asked, tell=told.append)
    assert (found.sentences, found.labels) == (("a good film", "a bad one"), None)
    assert told == [
        f"{tmp_path}/dev.tsv is a table with tabs: its texts are sentence, and the rest was left out; "
        "--labelled reads labels"
    ]
    found = text_of(tmp_path / "dev.tsv", **asked | {"labelled": True})
    assert (found.sentences, found.labels.tolist()) == (("a good film", "a bad one"), [1, 0])
