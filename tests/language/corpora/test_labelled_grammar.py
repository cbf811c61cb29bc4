"""Two languages of one form: the posterior is Bayes's, and the accuracies are exact sums."""

import math
import random
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats

from attnlab_theory.language.corpora.grammar import Grammar
from attnlab_theory.language.corpora.labelled_grammar import LabelledGrammar, embedded
from tests.language.corpora.test_grammar import derivations

FALSE_ALARM = 1e-6

ORDERED = """
S -> 2/1: good GOOD | 1/2: bad BAD
GOOD -> 3/1: END | 1/3: but bad END
BAD -> 1/3: END | 3/1: but good END
END -> 1: . | 2: indeed .
"""


def every_sentence(language: LabelledGrammar) -> dict[tuple[str, ...], tuple[float, float]]:
    zero, one = (dict(derivations(grammar, "S", 5)) for grammar in language.languages)
    assert zero.keys() == one.keys()
    return {sentence: (zero[sentence], one[sentence]) for sentence in zero}


def test_the_posterior_is_the_share_of_label_one_among_the_sentences():
    language = LabelledGrammar.from_text(ORDERED)
    for sentence, (zero, one) in every_sentence(language).items():
        assert language.posterior(sentence) == pytest.approx(one / (zero + one))


def test_the_accuracies_are_those_of_the_best_rules_over_all_sentences():
    language = LabelledGrammar.from_text(ORDERED)
    chances = every_sentence(language)
    by_counts = defaultdict(lambda: np.zeros(2))
    for sentence, pair in chances.items():
        by_counts[tuple(sorted(sentence))] += pair
    assert language.bayes_accuracy == pytest.approx(sum(max(pair) for pair in chances.values()) / 2)
    counting = sum(max(pair) for pair in by_counts.values()) / 2
    assert counting == pytest.approx(language.counting_accuracy)
    assert counting < language.bayes_accuracy


def test_weights_are_read_for_each_label():
    language = LabelledGrammar.from_text("S -> 3/1: a | 2: b")
    assert [choice.probability for choice in language.favourable.rules["S"]] == pytest.approx([3 / 5, 2 / 5])
    assert [choice.probability for choice in language.unfavourable.rules["S"]] == pytest.approx([1 / 3, 2 / 3])


def test_a_symbol_without_bearing_on_the_label_may_repeat_itself_and_one_with_may_not():
    language = LabelledGrammar.from_text("S -> 3/1: a T | 1/3: b T\nT -> 2: | 1: c T")
    assert language.bayes_accuracy == language.counting_accuracy == pytest.approx(3 / 4)
    with pytest.raises(ValueError, match="S is written with itself and favours a label"):
        _ = LabelledGrammar.from_text("S -> 3/1: a | 1/3: b S").bayes_accuracy


def test_languages_of_other_forms_are_refused():
    one, other = (Grammar.from_text(text) for text in ("S -> 1: a | 1: b", "S -> 1: a | 1: c"))
    with pytest.raises(ValueError, match="the same rules"):
        LabelledGrammar(one, other)


def test_a_sentence_outside_the_language_has_no_posterior():
    with pytest.raises(ValueError, match="no sentence 'a film'"):
        embedded().posterior(["a", "film"])


def drawn(number: int, seed: int) -> list[tuple[int, list[str]]]:
    rng = random.Random(seed)
    return [embedded().sample(rng) for _ in range(number)]


def test_bayes_rule_is_right_as_often_as_the_sum_says():
    right = sum((embedded().posterior(words) > 0.5) == label for label, words in drawn(4000, 1))
    low, high = stats.binomtest(right, 4000).proportion_ci(1 - FALSE_ALARM / 2)
    assert low < embedded().bayes_accuracy < high


def test_the_posterior_is_calibrated():
    """Labels less posteriors have mean zero, against any function of the posterior; each is at most one."""
    found = drawn(4000, 2)
    posteriors = np.array([embedded().posterior(words) for _, words in found])
    rest = np.array([label for label, _ in found]) - posteriors
    reach = math.sqrt(math.log(4 / (FALSE_ALARM / 2)) / (2 * len(rest)))  # Hoeffding, for two functions, two sides
    for weight in (np.ones_like(posteriors), np.where(posteriors > 0.5, 1.0, -1.0)):
        assert abs(np.mean(weight * rest)) < 2 * reach


def test_words_alone_do_not_tell_the_label_of_the_embedded_reviews():
    """Negation and opposing clauses: the best rule that counts words loses 15 of 100."""
    assert embedded().bayes_accuracy == pytest.approx(0.92, abs=0.01)
    assert embedded().counting_accuracy < embedded().bayes_accuracy - 0.1


def test_counting_words_by_logistic_regression_does_no_better_than_the_bound():
    from scipy.optimize import minimize

    words = {word: place for place, word in enumerate(embedded().words)}

    def counts(reviews):
        x = np.zeros((len(reviews), len(words) + 1))
        x[:, -1] = 1
        for row, (_, review) in enumerate(reviews):
            for word in review:
                x[row, words[word]] += 1
        return x, np.array([2 * label - 1 for label, _ in reviews])

    (x, y), (asked, answers) = counts(drawn(4000, 3)), counts(drawn(4000, 4))

    def loss(w):
        margins = y * (x @ w)
        return np.logaddexp(0, -margins).sum() + w @ w, -(x.T @ (y / (1 + np.exp(margins)))) + 2 * w

    fitted = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x
    right = int(np.sum((asked @ fitted) * answers > 0))
    low, _ = stats.binomtest(right, len(answers)).proportion_ci(1 - FALSE_ALARM)
    assert low < embedded().counting_accuracy
    assert right / len(answers) > 0.65
