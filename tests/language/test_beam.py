"""Beam search, against all continuations one by one; and what a narrow beam loses."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.language.beam import beam
from attnlab_theory.language.decode import Beam
from attnlab_theory.language.generate import greedy
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixers import Softmax
from attnlab_theory.language.models.positions import Learned
from attnlab_theory.language.prompts import Stop
from tests.language.models import FEATURES, VOCABULARY, config, lively, logits, rounding
from tests.tolerances import log_probability_atol

PROMPTS = np.array([[3, 1, 4], [1, 0, 0], [5, 9, 2]])
LENGTHS = np.array([3, 1, 3])
SOFTMAX = lively(config(Softmax(), Learned()))
ATOL = log_probability_atol(VOCABULARY, rounding(lambda m: logits(m, jnp.arange(m.config.block) % 7), SOFTMAX))


def chain(transitions):
    """A model whose next token depends on the last one alone, by these probabilities."""
    size = len(transitions)
    none = dict.fromkeys(("embedding_dropout", "residual_dropout", "attention_dropout"), 0.0)
    sizes = {"vocabulary": size, "width": size + 1, "heads": 1}
    model = jax.tree.map(jnp.zeros_like, GPT(config(Softmax(), Learned(), **sizes, **none), key=jax.random.key(0)))
    embedded = np.eye(size, size + 1)
    normal = (embedded - embedded.mean(axis=1, keepdims=True)) / embedded.std(axis=1, keepdims=True)
    head = np.linalg.pinv(normal) @ np.log(np.maximum(transitions, 1e-9))
    return eqx.tree_at(
        lambda m: (m.tokens, m.ln_f.weight, m.head.weight),
        model,
        (jnp.asarray(embedded, jnp.float32), jnp.ones(size + 1), jnp.asarray(head, jnp.float32)),
    )


def of_all(model, prompt, steps, *, stop=None, penalty=0.0):
    """Every continuation of a prompt with its score, from whole passes."""
    found = {}
    for tokens in itertools.product(range(model.config.vocabulary), repeat=steps):
        length = tokens.index(stop) + 1 if stop in tokens else steps
        kept = tokens[:length]
        row = [*prompt, *kept]
        law = np.asarray(jax.nn.log_softmax(logits(model, jnp.asarray(row)), axis=1), np.float64)
        total = sum(law[len(prompt) - 1 + place, token] for place, token in enumerate(kept))
        found[kept] = total / length**penalty
    return found


def test_a_beam_of_one_is_greedy():
    one = beam(SOFTMAX, PROMPTS, LENGTHS, search=Beam(width=1), steps=5, stop=Stop(7))
    likeliest = greedy(SOFTMAX, PROMPTS, LENGTHS, steps=5, stop=Stop(7))
    np.testing.assert_array_equal(one.tokens[:, 0], likeliest.tokens)
    np.testing.assert_allclose(one.log_probability[:, 0], likeliest.log_probability, atol=2 * ATOL)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_score_is_the_sum_of_log_probabilities_over_the_penalised_length(penalty):
    found = beam(SOFTMAX, PROMPTS, LENGTHS, search=Beam(width=4, length_penalty=penalty), steps=5, stop=Stop(2))
    ended = found.tokens == 2
    length = np.where(ended.any(axis=2), ended.argmax(axis=2) + 1, 5)
    np.testing.assert_allclose(found.score, found.log_probability.sum(axis=2) / length**penalty, rtol=1e-6)
    assert np.all(np.diff(found.score, axis=1) <= 0)
    for row, kept in enumerate(found.tokens):
        assert len({tuple(tokens) for tokens in kept.tolist()}) == 4
        for place, tokens in enumerate(kept):
            text = jnp.asarray([*PROMPTS[row, : LENGTHS[row]], *tokens[: length[row, place]]])
            law = np.asarray(jax.nn.log_softmax(logits(SOFTMAX, text), axis=1), np.float64)
            own = [law[LENGTHS[row] - 1 + at, tokens[at]] for at in range(length[row, place])]
            assert abs(found.log_probability[row, place].sum() - sum(own)) <= 5 * ATOL


@pytest.mark.parametrize(("stop", "penalty"), [(None, 0.0), (7, 0.0), (7, 1.0)])
def test_an_exhaustive_beam_finds_the_best_of_all(stop, penalty):
    """With two steps and a beam as wide as the vocabulary nothing is thrown away before it is looked at."""
    wide = Beam(width=VOCABULARY, length_penalty=penalty)
    found = beam(SOFTMAX, PROMPTS, LENGTHS, search=wide, steps=2, stop=None if stop is None else Stop(stop))
    likeliest = greedy(SOFTMAX, PROMPTS, LENGTHS, steps=2, stop=None if stop is None else Stop(stop))
    for row in range(3):
        every = of_all(SOFTMAX, PROMPTS[row, : LENGTHS[row]].tolist(), 2, stop=stop, penalty=penalty)
        best = sorted(every.values(), reverse=True)[:VOCABULARY]
        np.testing.assert_allclose(found.score[row], best, atol=2 * ATOL)
        if not penalty:
            assert found.score[row, 0] >= likeliest.log_probability[row].sum() - 2 * ATOL


def test_a_narrow_beam_can_be_worse_than_greedy():
    """Token 1 is likelier at first, but its continuations are many: two of token 2 push them out, and end badly."""
    even = [0.125] * 8
    transitions = np.array(
        [
            [0.0, 0.4, 0.35, 0.0, 0.0, 0.0, 0.25, 0.0],
            [0.13, 0.13, 0.13, 0.22, 0.13, 0.13, 0.13, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            *[even] * 4,
        ]
    )
    model, begin = chain(transitions), (np.array([[0]]), np.array([1]))
    likeliest = greedy(model, *begin, steps=3)
    assert likeliest.tokens.tolist() == [[1, 3, 3]]
    assert np.exp(likeliest.log_probability.sum()) == pytest.approx(0.4 * 0.22, rel=1e-3)
    scores = {width: beam(model, *begin, search=Beam(width=width), steps=3).score[0, 0] for width in (1, 2, 4)}
    assert np.exp(scores[2]) == pytest.approx(0.35 * 0.5 * 0.125, rel=1e-3)
    assert scores[2] < scores[1] == pytest.approx(likeliest.log_probability.sum())
    assert scores[4] == pytest.approx(scores[1])


def test_a_length_penalty_lets_longer_continuations_win():
    transitions = np.array([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.4, 0.6]])
    model, begin = chain(transitions), (np.array([[0]]), np.array([1]))
    short, long = (
        beam(model, *begin, search=Beam(width=3, length_penalty=penalty), steps=3, stop=Stop(1)).tokens[0, 0]
        for penalty in (0.0, 2.0)
    )
    assert short.tolist() == [1, 1, 1]
    assert long.tolist() == [2, 2, 2]


def test_prompts_do_not_influence_each_other():
    together = beam(SOFTMAX, PROMPTS, LENGTHS, search=Beam(width=3), steps=4, stop=Stop(2))
    alone = beam(SOFTMAX, PROMPTS[1:2], LENGTHS[1:2], search=Beam(width=3), steps=4, stop=Stop(2))
    np.testing.assert_array_equal(together.tokens[1], alone.tokens[0])


@pytest.mark.parametrize(
    ("model", "search", "options", "told"),
    [
        (SOFTMAX, Beam(width=12), {"steps": 2}, "a beam of 12 is wider than the vocabulary of 11"),
        (SOFTMAX, Beam(width=2), {"steps": 7}, "do not fit into a block of 8"),
        (
            SOFTMAX,
            Beam(width=2),
            {"steps": 2, "stop": Stop(2, times=2)},
            "ends with the first stop token, not after 2",
        ),
        (lively(config(FEATURES, Learned())), Beam(width=2), {"steps": 2}, "beam search needs keys and values"),
        (jax.tree.map(lambda x: x * jnp.nan, SOFTMAX), Beam(width=2), {"steps": 2}, "NaN"),
    ],
)
def test_what_cannot_be_searched_is_refused(model, search, options, told):
    with pytest.raises(ValueError, match=told):
        beam(model, PROMPTS, LENGTHS, search=search, **options)


@pytest.mark.parametrize(
    ("options", "told"),
    [({"width": 0}, "at least 1, not 0"), ({"width": 2, "length_penalty": float("nan")}, "finite, not nan")],
)
def test_numbers_out_of_range_are_refused(options, told):
    with pytest.raises(ValueError, match=told):
        Beam(**options)
