"""BERT's vocabulary: the pieces of the published rule, the way back, files of both kinds, what is refused."""

import json
import sys

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.text.bpe import RobertaBPE
from attnlab_theory.language.text.vocabulary import VOCABULARIES, OfSentences, vocabulary_from_json
from attnlab_theory.language.text.wordpiece import WordPiece

PIECES = ["a", "b", "ab", "aba", "é", "e", ",", "!", "##a", "##b", "##ab", "##bb", "##e", "##é"]
TOKENS = ["[PAD]", "a1", "[UNK]", "[CLS]", *PIECES, "[SEP]", "[MASK]"]


def written(path, tokens=TOKENS):
    path.write_text("".join(token + "\n" for token in tokens), "utf-8")
    return path


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return WordPiece.of_vocabulary(written(tmp_path_factory.mktemp("bert") / "vocab.txt"), lower=True)


def longest_first(word):
    """The rule of Devlin et al. 2019, as their program has it: a word without a way through is unknown."""
    found = []
    while word:
        prefix = "##" if found else ""
        fitting = [end for end in range(len(word), 0, -1) if prefix + word[:end] in TOKENS]
        if not fitting:
            return [TOKENS.index("[UNK]")]
        found.append(TOKENS.index(prefix + word[: fitting[0]]))
        word = word[fitting[0] :]
    return found


WORDS = st.lists(st.text("abAe", min_size=1, max_size=6) | st.sampled_from([",", "!"]), max_size=5)


@given(words=WORDS)
def test_pieces_are_the_longest_from_the_left(text, words):
    expected = [number for word in words for number in longest_first(word.lower())]
    assert text.encode_text(" ".join(words)).tolist() == expected


def test_accents_and_cases_are_kept_where_they_mean_something(tmp_path, text):
    cased = WordPiece.of_vocabulary(written(tmp_path / "vocab.txt"), lower=False)
    assert text.pieces(text.encode_text("É ABÉ")) == ["e", "ab", "##e"]
    assert cased.pieces(cased.encode_text("é abé A")) == ["é", "ab", "##é", "[UNK]"]


def test_marks_have_the_numbers_of_the_file(text):
    assert (text.pad, text.unk, text.bos, text.eos, text.mask) == (0, 2, 3, 18, 19)
    assert len(text) == 20
    assert isinstance(text, OfSentences)


def test_a_decoded_text_ends_at_the_mark(text):
    row = [text.bos, *text.encode_text("abbb, a"), text.mask, text.eos, *text.encode_text("b"), text.pad]
    assert text.decode_text(row) == "abbb, a [MASK]"
    with pytest.raises(ValueError, match="no token has the number 20; the vocabulary ends at 19"):
        text.decode_text([20])
    with pytest.raises(ValueError, match="no token has the number -1"):
        text.pieces([-1])


@pytest.mark.parametrize("mark", WordPiece.marks)
def test_marks_do_not_come_out_of_a_text(text, mark):
    with pytest.raises(ValueError, match=r"a text holds \[.*\], which is a mark"):
        text.encode_text(f"a {mark} b")


def test_a_checkpoint_keeps_it(text):
    found = vocabulary_from_json(json.loads(json.dumps(text.as_json())), VOCABULARIES)
    assert found == text
    assert found.encode_text("ab").tolist() == text.encode_text("ab").tolist()


def with_ends(text, ends=("[CLS]", "[SEP]")):
    tokenizer = tokenizers.Tokenizer.from_str(text.table)
    numbers = [(mark, tokenizer.token_to_id(mark)) for mark in ends]
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{ends[0]} $A {ends[1]}", special_tokens=numbers
    )
    return tokenizer


def test_a_tokenizers_own_cutting_and_filling_is_left_out(tmp_path, text):
    tokenizer = with_ends(text)
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = WordPiece.of_file(tmp_path / "tokenizer.json")
    assert found == text
    assert len(found.encode_text("a " * 20)) == 20


def test_a_table_that_means_something_else_is_refused(tmp_path, text):
    path = tmp_path / "tokenizer.json"
    with_ends(text, ("[SEP]", "[CLS]")).save(str(path))
    refused(path, r"the table puts \[18, 3\] around a text, not \[CLS\] and \[SEP\]")
    table = json.loads(text.table)
    del table["model"]["vocab"]["##a"]
    path.write_text(json.dumps(table))
    refused(path, "no token has the number 12, though there are 19 tokens")
    path.write_text(text.table)
    with pytest.raises(ValueError, match="a vocabulary of kind roberta is cut by BPE, not by WordPiece"):
        RobertaBPE.of_file(path)
    bare = tokenizers.Tokenizer(tokenizers.models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    bare.save(str(path))
    refused(path, r"needs the mark \[PAD\]; the table lacks it")


def refused(path, message):
    with pytest.raises(ValueError, match=message) as raised:
        WordPiece.of_file(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_that_are_not_whole_are_refused(tmp_path, text):
    path = tmp_path / "tokenizer.json"
    refused(path, "cannot be read: No such file")
    for part in (text.table[:-5], "", "[1]", "{}"):
        path.write_text(part)
        refused(path, "tokenizers cannot read this table")
    path.write_bytes(b"\xff\xfe" + text.table.encode())
    refused(path, "is not UTF-8: byte 0xff at 0")


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([*TOKENS, "ab"], "line 21 is that of line 7 again, 'ab'"),
        ([*TOKENS[:3], "", *TOKENS[3:]], "line 4 is empty"),
        (TOKENS[:-1], r"lacks the mark \[MASK\]"),
        ([], "line 1 is empty"),
    ],
)
def test_other_lists_of_tokens_are_refused(tmp_path, tokens, message):
    with pytest.raises(ValueError, match=message):
        WordPiece.of_vocabulary(written(tmp_path / "vocab.txt", tokens), lower=True)


@pytest.mark.parametrize("record", [{}, {"tokenizer": "text"}, {"tokenizer": {}}])
def test_damaged_records_are_refused(record):
    with pytest.raises(ValueError, match=r"of kind wordpiece has a table|cannot read this table"):
        vocabulary_from_json({"kind": "wordpiece", **record}, VOCABULARIES)


def test_what_is_not_installed_is_named(monkeypatch, text):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ValueError, match=r"tokenizers, which is not installed: pip install 'attnlab\[bpe\]'"):
        WordPiece(text.table)
