"""BLEU equals nltk's for sentences and sacrebleu's for a corpus; where the two differ is shown."""

import statistics
import warnings

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction
from nltk.translate.bleu_score import sentence_bleu as sentence_bleu_of_nltk

from attnlab_theory.language.text.bleu import (
    ForwardBackward,
    References,
    corpus_bleu,
    forward_backward,
    self_bleu,
    sentence_bleu,
)

ATOL = 1e-12
SENTENCES = st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=5)
"""Few tokens, so that n-grams repeat and match; empty sentences too."""


def by_nltk(hypothesis, references) -> float:
    return float(sentence_bleu_of_nltk(references, hypothesis, smoothing_function=SmoothingFunction().method1))


def by_sacrebleu(hypotheses, references) -> float:
    def text(sentence):
        return " ".join(map(str, sentence))

    streams = [[text(reference)] * len(hypotheses) for reference in references]
    score = sacrebleu.corpus_bleu(
        [text(hypothesis) for hypothesis in hypotheses],
        streams,
        tokenize="none",
        force=True,
    )
    return score.score / 100


@given(SENTENCES, SENTENCES)
def test_of_sentences_it_is_that_of_nltk(hypotheses, references):
    found = sentence_bleu(hypotheses, References(references))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = [by_nltk(hypothesis, references) for hypothesis in hypotheses]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=ATOL)


@given(st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=2, max_size=5))
def test_of_each_sentence_against_the_others_it_is_that_of_nltk(sentences):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = [by_nltk(each, sentences[:at] + sentences[at + 1 :]) for at, each in enumerate(sentences)]
    np.testing.assert_allclose(self_bleu(sentences), wanted, rtol=0, atol=ATOL)


def test_a_single_sentence_has_no_others():
    with pytest.raises(ValueError, match="needs at least two sentences, each a reference of the other"):
        self_bleu([[1, 2, 3]])
    with pytest.raises(ValueError, match="make them with apart=True"):
        References([[1], [2]]).matches_of_others()


@given(SENTENCES, SENTENCES)
def test_of_a_corpus_it_is_that_of_sacrebleu(hypotheses, references):
    found = corpus_bleu(hypotheses, References(references))
    assert found == pytest.approx(by_sacrebleu(hypotheses, references), rel=0, abs=ATOL)


def test_the_two_libraries_differ_on_a_short_sentence():
    # Three right tokens: no four of them match, since there are none. nltk smooths that, sacrebleu gives up.
    short, references = [1, 2, 3], [[1, 2, 3, 4, 5]]
    assert by_nltk(short, references) == pytest.approx(0.2887, abs=1e-4)
    assert by_sacrebleu([short], references) == 0.0
    assert sentence_bleu([short], References(references))[0] == pytest.approx(0.2887, abs=1e-4)
    assert corpus_bleu([short], References(references)) == 0.0


def test_words_count_like_numbers():
    words, numbers = [["a", "cat", "sat", "on", "a", "mat"]], [[0, 1, 2, 3, 0, 4]]
    others_in_words, others = [["a", "cat", "sat", "on", "it"]], [[0, 1, 2, 3, 5]]
    assert sentence_bleu(words, References(others_in_words)) == sentence_bleu(numbers, References(others))


def test_a_sentence_among_the_references_scores_one_and_a_stranger_nothing():
    references = References([[1, 2, 3, 4, 5], [6, 7, 8, 9]])
    np.testing.assert_allclose(
        sentence_bleu([[6, 7, 8, 9], [10, 11, 12, 13], []], references), [1, 0, 0], atol=ATOL
    )


def test_copies_of_one_sentence_go_forward_and_not_backward():
    real = [[i, i + 1, i + 2, i + 3, i + 4] for i in range(10)]
    found = forward_backward([real[0]] * 10, real)
    assert found.forward == pytest.approx(1.0)
    assert found.backward < 0.5
    assert min(found.forward, found.backward) < found.harmonic < max(found.forward, found.backward)
    assert forward_backward([[-1]], real).harmonic == 0.0


@given(st.floats(1e-6, 1), st.floats(1e-6, 1))
def test_the_harmonic_mean_is_that_of_the_standard_library(forward, backward):
    found = ForwardBackward(forward=forward, backward=backward)
    assert found.harmonic == pytest.approx(statistics.harmonic_mean([forward, backward]), rel=1e-12)


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (lambda: References([]), "at least one reference"),
        (lambda: corpus_bleu([], References([[1]])), "at least one hypothesis"),
        (lambda: forward_backward([], [[1]]), "at least one generated sentence"),
        (lambda: forward_backward([[1]], []), "at least one real sentence"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_nothing_to_compare_is_refused(score, said):
    with pytest.raises(ValueError, match=said):
        score()
