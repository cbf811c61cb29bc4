"""What captions are like beside real ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.labs.captions.scores import openings, repeated, scores
from attnlab_theory.language.text.bleu import References, forward_backward

SENTENCES = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=8), min_size=1, max_size=6)


@pytest.mark.slow("forward and backward BLEU, against two other libraries, stays inside")
@given(SENTENCES, SENTENCES)
def test_bleu_is_forward_and_backward(generated, real):
    found, both = scores(generated, real, References(real)), forward_backward(generated, real)
    assert (found.forward, found.backward, found.harmonic) == (both.forward, both.backward, both.harmonic)


def test_sentences_are_counted():
    found = scores([(1, 2, 3), (1, 2, 4), (1, 2, 3), (5,)], [(1, 2)], References([(1, 2)]))
    assert (found.commonest_opening, found.openings, found.distinct, found.repeating) == (0.75, 2, 0.75, 0.0)
    assert openings([(1, 2, 3), (1, 2)]) == {(1, 2): 2}


def test_repeated_n_grams_are_marked_wherever_they_stand():
    assert repeated((1, 2, 3, 9, 1, 2, 3)) == {0, 1, 2, 4, 5, 6}
    assert repeated((1, 1, 1, 1)) == {0, 1, 2, 3}
    assert repeated((1, 2, 3)) == repeated(()) == set()


def test_nothing_to_score_is_refused():
    with pytest.raises(ValueError, match="at least one generated sentence"):
        scores([], [(1,)], References([(1,)]))
