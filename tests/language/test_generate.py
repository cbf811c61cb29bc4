"""Greedy generation over a cache, against the homework's loop: the whole context again for every token."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.language import generate, prompts
from attnlab_theory.language.decode import Sampling, log_law
from attnlab_theory.language.generate import greedy, greedy_uncached, sample, sample_uncached
from attnlab_theory.language.models.mixers import DenseSynthesizer, Softmax
from attnlab_theory.language.models.positions import Alibi, Learned, Rotary
from attnlab_theory.language.prompts import Stop
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import proportion
from tests.language.models import BLOCK, FEATURES, PAIRS, VOCABULARY, config, lively, logits, name_of, rounding
from tests.tolerances import log_probability_atol

PROMPTS = np.array([[3, 1, 4, 0], [1, 0, 0, 0], [5, 9, 2, 6]])
LENGTHS = np.array([3, 1, 4])
STEPS = 1 + BLOCK - PROMPTS.shape[1]
"""As many as the cache can take."""
TOO_MANY = STEPS + 3
SOFTMAX = lively(config(Softmax(), Learned()))


def homework(model, prompt, steps):
    """Tokens and log-probabilities in float64 from one row's loop; every choice must be clear of rounding."""
    block = model.config.block
    known, log_probability = [int(token) for token in prompt], []
    for _ in range(steps):
        context = known[-block:]
        row = jnp.array(context + [0] * (block - len(context)))
        last = np.asarray(logits(model, row), np.float64)[len(context) - 1]
        second, first = np.sort(last)[-2:]
        assert first - second > 2 * rounding(lambda m, row=row: logits(m, row), model)
        known.append(int(np.argmax(last)))
        log_probability.append(first - np.log(np.sum(np.exp(last))))
    return known[len(prompt) :], log_probability


def assert_is_homework(found, model, steps, prompts=PROMPTS, lengths=LENGTHS):
    rows = [homework(model, prompt[:length], steps) for prompt, length in zip(prompts, lengths, strict=True)]
    np.testing.assert_array_equal(found.tokens, [tokens for tokens, _ in rows])
    atol = log_probability_atol(VOCABULARY, rounding(lambda m: logits(m, jnp.arange(m.config.block) % 7), model))
    assert np.max(np.abs(found.log_probability - [values for _, values in rows])) <= atol


@pytest.mark.slow("the homework's loop for one mixer, without a cache, stays inside")
@pytest.mark.parametrize(
    ("mixer", "positions"), [*PAIRS, (DenseSynthesizer(), Alibi()), (FEATURES, Rotary())], ids=name_of
)
def test_tokens_are_those_of_the_homeworks_loop(mixer, positions):
    """Compiles the loop of a mixer, and runs the homework's beside it."""
    model = lively(config(mixer, positions))
    assert_is_homework(greedy(model, PROMPTS, LENGTHS, steps=STEPS), model, STEPS)


def test_the_uncached_loop_is_the_homeworks():
    found = greedy_uncached(SOFTMAX, PROMPTS, LENGTHS, steps=STEPS)
    assert_is_homework(found, SOFTMAX, STEPS)
    assert np.unique(found.tokens).size > 3


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(
    ("positions", "steps"), [(Learned(), STEPS + 1), (Learned(), TOO_MANY), (Rotary(), TOO_MANY)], ids=name_of
)
def test_a_context_beyond_the_block_slides(positions, steps):
    """Compiles a model, its generation and the homework's loop for each scheme of positions."""
    model = lively(config(Softmax(), positions))
    assert_is_homework(greedy(model, PROMPTS, LENGTHS, steps=steps), model, steps)


def test_prompts_longer_than_the_block_lose_their_beginning():
    long = np.concatenate([[[7, 8, 10]], PROMPTS[:1, :3], PROMPTS[2:]], axis=1)
    found = greedy(SOFTMAX, long, np.array([10]), steps=2)
    assert_is_homework(found, SOFTMAX, 2, long, [10])


@pytest.mark.slow("continuations that end within the first segment stay inside")
def test_the_cache_grows_on_the_way():
    """Generates more tokens than a segment holds, and checks each by the homework's loop."""
    steps = prompts.SEGMENT + 3
    model = lively(config(Softmax(), Rotary(), block=steps + 3))
    found = greedy(model, PROMPTS[:2], LENGTHS[:2], steps=steps)
    assert_is_homework(found, model, steps, PROMPTS[:2], LENGTHS[:2])


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("run", [greedy, greedy_uncached])
def test_stopping_changes_nothing_before_the_end(run, times):
    """Compiles generation with a stop and without."""
    free = run(SOFTMAX, PROMPTS, LENGTHS, steps=STEPS)
    token = int(free.tokens[0, 1])
    stopped = run(SOFTMAX, PROMPTS, LENGTHS, steps=STEPS, stop=Stop(token, times))
    ended = np.cumsum(free.tokens == token, axis=1) - (free.tokens == token) >= times
    assert np.any(ended)
    np.testing.assert_array_equal(stopped.tokens, np.where(ended, token, free.tokens))
    np.testing.assert_array_equal(stopped.log_probability, np.where(ended, 0, free.log_probability))


@pytest.mark.parametrize("run", [greedy, greedy_uncached])
def test_generation_ends_with_its_last_row(run, monkeypatch):
    """Compiles generation that counts its steps."""
    calls = itertools.count()
    choose = generate._chosen

    def counted(*arguments):
        jax.debug.callback(lambda: next(calls))
        return choose(*arguments)

    one = PROMPTS[:1], LENGTHS[:1]
    token = int(greedy(SOFTMAX, *one, steps=STEPS).tokens[0, 1])
    monkeypatch.setattr(generate, "_chosen", counted)
    # No other test asks for so many rows: what was compiled before does not count.
    found = run(SOFTMAX, *(np.repeat(x, 7, axis=0) for x in one), steps=STEPS, stop=Stop(token))
    jax.effects_barrier()
    assert next(calls) == 1 + np.argmax(found.tokens[0] == token) < STEPS


def test_rows_do_not_influence_each_other():
    order = [2, 0, 1]
    together = greedy(SOFTMAX, PROMPTS, LENGTHS, steps=STEPS)
    turned = greedy(SOFTMAX, PROMPTS[order], LENGTHS[order], steps=STEPS)
    alone = greedy(SOFTMAX, PROMPTS[:1], LENGTHS[:1], steps=STEPS)
    for found, expected in ((turned.tokens, together.tokens[order]), (alone.tokens, together.tokens[:1])):
        np.testing.assert_array_equal(found, expected)


def test_a_mesh_with_other_axes_is_refused():
    with pytest.raises(ValueError, match=r'must have one axis, "data", not \(\'model\',\)'):
        greedy(SOFTMAX, PROMPTS, LENGTHS, steps=STEPS, mesh=jax.make_mesh((1,), ("model",)))


@pytest.mark.parametrize("filling", [9, -5, VOCABULARY])
def test_what_fills_prompts_up_does_not_matter(filling):
    wide = np.pad(PROMPTS, ((0, 0), (0, 2)))
    filled = np.where(np.arange(wide.shape[1]) < LENGTHS[:, None], wide, filling)
    for one, other in zip(
        greedy(SOFTMAX, filled, LENGTHS, steps=STEPS), greedy(SOFTMAX, PROMPTS, LENGTHS, steps=STEPS), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_of_equally_likely_tokens_the_first_is_taken():
    nothing = jax.tree.map(jnp.zeros_like, SOFTMAX)
    found = greedy(nothing, PROMPTS, LENGTHS, steps=STEPS)
    np.testing.assert_array_equal(found.tokens, 0)
    atol = log_probability_atol(VOCABULARY, 0)
    assert np.max(np.abs(found.log_probability + np.log(VOCABULARY))) <= atol


def test_logits_that_are_no_numbers_are_refused():
    spoilt = jax.tree.map(lambda x: x * jnp.nan, SOFTMAX)
    with pytest.raises(ValueError, match="the logits of token 0 after prompt 0 are NaN"):
        greedy(spoilt, PROMPTS, LENGTHS, steps=STEPS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompts": PROMPTS[0]}, r"prompts must have 2 axes"),
        ({"prompts": PROMPTS[:0], "lengths": LENGTHS[:0]}, "prompts must hold a token"),
        ({"prompts": PROMPTS / 2}, "prompts must hold whole numbers, not float64"),
        ({"prompts": PROMPTS + 2}, "token 11 of prompt 2 is outside the vocabulary: 0 to 10"),
        ({"prompts": PROMPTS - 2}, "token -1 of prompt 0 is outside the vocabulary"),
        ({"lengths": LENGTHS[:2]}, "rows must agree: prompts has 3, lengths has 2"),
        ({"lengths": LENGTHS - 1}, "the length of prompt 1 must be from 1 to 4, not 0"),
        ({"lengths": LENGTHS + 1}, "the length of prompt 2 must be from 1 to 4, not 5"),
        ({"steps": 0}, "steps must be positive, not 0"),
        ({"stop": Stop(11)}, "stop token 11 is outside the vocabulary: 0 to 10"),
        ({"stop": Stop(1, 0)}, "times must be positive, not 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_requests_are_refused(changes, message, unchecked_shapes):
    wanted = {"prompts": PROMPTS, "lengths": LENGTHS, "steps": STEPS} | changes
    for run in (greedy, greedy_uncached):
        with pytest.raises(ValueError, match=message):
            run(SOFTMAX, **wanted)


WARM = Sampling(temperature=0.8, top_p=0.9)


def drawn_atol() -> float:
    """Absolute error of the log-probabilities of one model by two programs."""
    each = log_probability_atol(VOCABULARY, rounding(lambda m: logits(m, jnp.arange(m.config.block) % 7), SOFTMAX))
    return 2 * each


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize("sampling", [Sampling(), WARM, Sampling(top_k=2)])
def test_drawn_tokens_are_the_same_with_a_cache_and_without_alone_and_in_a_batch(sampling):
    """Compiles the loop with a cache, without one, and for a single row."""
    key = key_for(3, "sample")
    cached = sample(key, SOFTMAX, PROMPTS, LENGTHS, sampling=sampling, steps=STEPS)
    whole = sample_uncached(key, SOFTMAX, PROMPTS, LENGTHS, sampling=sampling, steps=STEPS)
    np.testing.assert_array_equal(cached.tokens, whole.tokens)
    assert np.max(np.abs(cached.log_probability - whole.log_probability)) <= drawn_atol()
    alone = sample(key, SOFTMAX, PROMPTS[:1], LENGTHS[:1], sampling=sampling, steps=STEPS)
    np.testing.assert_array_equal(alone.tokens[0], cached.tokens[0])


@pytest.mark.slow("tokens that one key draws, with a cache and without, stay inside")
def test_other_keys_and_other_rows_draw_other_tokens_and_a_cold_law_the_likeliest():
    """Compiles the loop for six equal rows, for a cold law, and for the likeliest tokens."""
    same = np.repeat(PROMPTS[:1], 6, axis=0), np.repeat(LENGTHS[:1], 6)
    found = sample(key_for(0, "sample"), SOFTMAX, *same, steps=STEPS)
    assert len({tuple(row) for row in found.tokens.tolist()}) > 1
    again = sample(key_for(1, "sample"), SOFTMAX, *same, steps=STEPS)
    assert np.any(again.tokens != found.tokens)
    cold = sample(key_for(0, "sample"), SOFTMAX, PROMPTS, LENGTHS, sampling=Sampling(top_k=1), steps=STEPS)
    likeliest = greedy(SOFTMAX, PROMPTS, LENGTHS, steps=STEPS)
    np.testing.assert_array_equal(cold.tokens, likeliest.tokens)
    assert np.max(np.abs(cold.log_probability - likeliest.log_probability)) <= drawn_atol()


@pytest.mark.slow("that a chance draws the token at which the law passes it stays inside")
def test_first_tokens_have_the_frequencies_of_the_models_law():
    """Runs the model on 4,000 rows."""
    rows = 4000
    prompts, lengths = np.repeat(PROMPTS[:1], rows, axis=0), np.repeat(LENGTHS[:1], rows)
    found = sample(key_for(0, "first"), SOFTMAX, prompts, lengths, sampling=WARM, steps=1)
    logits, _ = SOFTMAX.prefill_rows(jnp.asarray(PROMPTS[:1], jnp.int32), jnp.asarray(LENGTHS[:1], jnp.int32))
    law = np.exp(np.asarray(log_law(logits, WARM)))[0]
    for token, chance in enumerate(law):
        interval = proportion().interval((found.tokens[:, 0] == token).astype(float), 1e-6 / len(law))
        assert interval.low <= chance <= interval.high


def test_log_probabilities_of_nan_are_refused_when_drawing_too():
    spoilt = jax.tree.map(lambda x: jnp.full_like(x, jnp.nan), SOFTMAX)
    with pytest.raises(ValueError, match="are NaN"):
        sample(key_for(0), spoilt, PROMPTS, LENGTHS, steps=2)
