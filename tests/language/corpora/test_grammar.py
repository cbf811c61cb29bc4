"""Grammars of known entropy: probabilities add up, derivations are unique, and what is ambiguous is refused."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.corpora.grammar import Choice, Grammar, embedded

FINITE = """
S -> 1: A B | 3: two C
A -> 1: one | 1: the D
B -> 3: | 1: more
C -> 1: cats | 1: dogs
D -> 1: cat | 2: dog
"""
LONG = """
LINE -> 1: WORD REST
REST -> 3: | 1: and WORD REST
WORD -> 2: up | 1: down | 1: ( LINE )
"""


def derivations(grammar: Grammar, symbol: str, depth: int):
    """Every text of a symbol within a depth, with the probability of one derivation of it."""
    if symbol not in grammar.rules:
        yield (symbol,), 1.0
        return
    if not depth:
        return
    for choice in grammar.rules[symbol]:
        parts = [list(derivations(grammar, part, depth - 1)) for part in choice.symbols]
        for combination in itertools.product(*parts):
            words = tuple(word for text, _ in combination for word in text)
            yield words, choice.probability * math.prod(p for _, p in combination)


def test_the_sentences_of_a_finite_language_add_up_to_one_and_to_its_entropy():
    grammar = Grammar.from_text(FINITE)
    found = list(derivations(grammar, "S", 4))
    texts = [text for text, _ in found]
    assert len(set(texts)) == len(texts)
    assert sum(p for _, p in found) == pytest.approx(1.0)
    assert [math.exp(grammar.log_probability(text)) for text in texts] == pytest.approx([p for _, p in found])
    logs = np.log([p for _, p in found])
    chances = np.exp(logs)
    assert grammar.entropy == pytest.approx(-chances @ logs)
    assert grammar.mean_length == pytest.approx(chances @ [len(text) for text in texts])
    assert grammar.log_probability_variance == pytest.approx(chances @ logs**2 - (chances @ logs) ** 2)


@pytest.mark.parametrize("stop", [0.2, 0.5, 0.9])
def test_a_geometric_language_has_the_entropy_of_its_law(stop):
    grammar = Grammar({"S": [Choice(1 - stop, ("go", "S")), Choice(stop, ())]})
    assert grammar.mean_length == pytest.approx((1 - stop) / stop)
    assert grammar.entropy == pytest.approx(-(stop * math.log(stop) + (1 - stop) * math.log(1 - stop)) / stop)
    # The number of words has variance (1 - stop) / stop^2, and each adds log(1 - stop).
    assert grammar.log_probability_variance == pytest.approx((1 - stop) / stop**2 * math.log(1 - stop) ** 2)
    assert grammar.entropy_per_token == pytest.approx(grammar.entropy * stop)


@pytest.mark.parametrize("grammar", [Grammar.from_text(LONG), embedded()], ids=["recursive", "embedded"])
def test_no_text_has_two_derivations(grammar):
    rng = random.Random(0)
    for _ in range(1000):
        sentence, chosen = grammar.derive(rng)
        # The parser finds the one derivation that there is; of another one it would tell another probability.
        assert grammar.log_probability(sentence) == pytest.approx(chosen, rel=1e-12)
        assert grammar.log_probability(sentence[:-1]) == -math.inf or grammar.start == "LINE"


def test_texts_of_a_recursive_language_are_derived_once():
    grammar = Grammar.from_text(LONG)
    found = [text for text, _ in derivations(grammar, grammar.start, 5)]
    assert len(set(found)) == len(found) > 100


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize("seed", range(3))
def test_sampled_captions_have_the_stated_log_probability_on_average(seed):
    grammar, rng = embedded(), random.Random(seed)
    logs = np.array([grammar.log_probability(grammar.sample(rng)) for _ in range(4000)])
    deviation = math.sqrt(grammar.log_probability_variance / logs.size)
    assert abs(logs.mean() + grammar.entropy) <= 6 * deviation
    assert logs.var() == pytest.approx(grammar.log_probability_variance, rel=0.25)


@given(st.lists(st.sampled_from(embedded().words), max_size=12))
def test_random_words_are_hardly_ever_a_caption_and_never_an_error(words):
    value = embedded().log_probability(words)
    assert value <= 0.0
    assert value == -math.inf or words[-1] == "."


@given(st.lists(st.sampled_from(Grammar.from_text(LONG).words), max_size=9))
def test_a_bracket_that_is_not_closed_or_not_opened_has_no_probability(words):
    value = Grammar.from_text(LONG).log_probability(words)
    assert value < 0
    assert value == -math.inf or words.count("(") == words.count(")")
    assert Grammar.from_text(LONG).log_probability(["(", *words]) == -math.inf or ")" in words
    assert Grammar.from_text(LONG).log_probability(["(", "up"]) == -math.inf


def test_words_beyond_the_sentence_and_unknown_ones_have_no_probability():
    grammar = Grammar.from_text(FINITE)
    assert math.isfinite(grammar.log_probability(["two", "cats"]))
    for sentence in (["two"], ["two", "cats", "cats"], ["two", "birds"], [], ["S"]):
        assert grammar.log_probability(sentence) == -math.inf


def test_captions_are_written_in_lower_case_and_the_verb_agrees_with_who_does_it():
    grammar = embedded()
    assert all(word == "." or word.isalpha() for word in grammar.words)
    rest = ["riding", "a", "bike", "on", "the", "street", "."]
    assert grammar.log_probability(["a", "man", "is", *rest]) > -20
    assert grammar.log_probability(["a", "man", "are", *rest]) == -math.inf


def test_what_is_ambiguous_endless_or_misspelt_is_refused_in_one_line(subtests):
    for text, said in [
        ("", "at least one rule"),
        ("S -> 1: a | 1: a b", "the word 'a' fits two choices of S"),
        ("S -> 1: A | 1: B\nA -> 1: x\nB -> 1: x y", "the word 'x' fits two choices of S"),
        ("S -> 1: A A\nA -> 1: | 1: a", "the word 'a' fits two choices of A"),
        ("S -> 1: A\nA -> 1: | 1: B\nB -> 1: | 1: b", "the end of the sentence fits two choices of A"),
        ("S -> 1: S a | 1: b", "the word 'b' fits two choices of S"),
        ("S -> 1: ( S ) S | 1: end", "expected length of a sentence is not finite"),
        ("S -> 1: a S", "expected length of a sentence is not finite"),
        ("S -> 1: a\nT -> 1: b", "no sentence uses T"),
        ("S -> 1: a NOUN", "uses NOUN, which has no rule"),
        ("S -> 1: a\nS -> 1: b", "line 2 of the grammar gives S a second rule"),
        ("S -> 0: a | 1: b", "line 1 of the grammar: a choice is weight: words"),
        ("S -> nan: a", "weight above 0"),
        ("S -> a", "a choice is weight: words"),
        ("s -> 1: a", "is not a rule"),
        ("S: a", "is not a rule"),
    ]:
        with subtests.test(text=text, said=said):
            with pytest.raises(ValueError, match=said.replace("(", r"\(")) as caught:
                Grammar.from_text(text)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "choices", [[], [Choice(0.5, ("a",))], [Choice(-1.0, ("a",)), Choice(2.0, ("b",))], [Choice(math.nan, ("a",))]]
)
def test_probabilities_that_are_none_are_refused(choices):
    with pytest.raises(ValueError, match=r"probabilities"):
        Grammar({"S": choices})
