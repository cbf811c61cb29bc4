"""Vocabularies of words: the homework's rule for rare ones, the way to numbers and back, what is refused."""

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.text.vocabulary import VOCABULARIES, vocabulary_from_json
from attnlab_theory.language.text.words import BOS_ID, EOS_ID, MARKS, UNK, UNK_ID, Words
from tests.shared_data import shared_data

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=5)


def test_the_homeworks_rule_gives_the_homeworks_vocabulary():
    """26,602: its words seen three times or more, UNK and STOP; the counts have START besides."""
    text = (shared_data("lm1b_uw") / "train_unigram_counts_unk3.txt").read_text("utf-8")
    seen = ast.literal_eval(text.split("\n", 1)[1])
    own = {"<UNK>", "<START>", "<STOP>"}
    words = Words.from_counts({word: n for word, n in seen.items() if word not in own})
    assert len(words) - len(MARKS) + len(own - {"<START>"}) == 26_602
    assert min(n for word, n in seen.items() if word not in own) == 3


def test_rare_words_are_unknown():
    words = Words.of([["a", "cat", "a", "dog"], ["a", "cat"]], least=2)
    assert words.words == ("a", "cat")
    assert words.decode(words.encode(["a", "dog", "cat"])) == ["a", UNK, "cat"]
    assert "dog" not in words
    assert len(words) == 6


@given(st.lists(st.lists(WORDS.filter(lambda word: word not in MARKS), max_size=6), max_size=4))
def test_known_sentences_come_back(sentences):
    words = Words.of(sentences, least=1)
    for sentence in sentences:
        ids = words.encode_sentence(sentence)
        assert (ids[0], ids[-1]) == (BOS_ID, EOS_ID)
        assert UNK_ID not in ids
        assert words.decode_sentence(np.append(ids, [0, 0])) == list(sentence)
        assert words.decode_sentence(ids[:-1]) == list(sentence)
    assert vocabulary_from_json(words.as_json(), VOCABULARIES) == words


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Words(("a", "a")), "'a' twice"),
        (lambda: Words(("a", UNK)), "cannot be a word"),
        (lambda: Words(("",)), "cannot be a word"),
        (lambda: Words(("two words",)), "cannot be a word"),
        (lambda: Words.of([["a"]], least=0), "at least once, not 0 times"),
        (lambda: Words(("a",)).encode("a"), "split it"),
        (lambda: Words(("a",)).decode([5]), "no word has the number 5; the vocabulary ends at 4"),
        (lambda: Words(("a",)).decode([-1]), "no word has the number -1"),
        (lambda: Words.from_json({"kind": "words"}), "a list of words"),
        (lambda: Words.from_json({"kind": "words", "words": [1]}), "a list of words"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_is_no_vocabulary_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()
