"""The law of the next token: which tokens each cut keeps, limits of the temperature, drawn frequencies."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.decode import Sampling, _first, drawn, log_law
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import proportion

TOKENS = 7
LOGITS = st.lists(st.integers(-6, 6).map(lambda n: n / 2), min_size=TOKENS, max_size=TOKENS)
"""Halves, so that ties are common."""
EPS = float(np.finfo(np.float32).eps)


def law_of(logits, **options) -> np.ndarray:
    return np.exp(np.asarray(log_law(jnp.asarray(logits, jnp.float32), Sampling(**options)), np.float64))


def tempered(logits, temperature: float = 1.0) -> np.ndarray:
    weights = np.exp((np.asarray(logits, np.float64) - max(logits)) / temperature)
    return weights / weights.sum()


def falling(probabilities: np.ndarray) -> list[int]:
    """Tokens from the likeliest on; of equally likely ones the lower number first."""
    return sorted(range(len(probabilities)), key=lambda i: (-probabilities[i], i))


@given(LOGITS, st.sampled_from([0.5, 0.7, 1.0, 2.0]))
def test_a_temperature_raises_probabilities_to_its_inverse(logits, temperature):
    np.testing.assert_allclose(
        law_of(logits, temperature=temperature), tempered(logits, temperature), atol=32 * EPS
    )


@given(LOGITS, st.integers(1, TOKENS + 2))
def test_top_k_keeps_the_k_likeliest(logits, k):
    """Compiles the program that cuts, and asks it about many laws."""
    wanted = tempered(logits)
    kept = falling(wanted)[:k]
    found = law_of(logits, top_k=k)
    assert set(np.flatnonzero(found)) == set(kept)
    np.testing.assert_allclose(found[kept], wanted[kept] / wanted[kept].sum(), rtol=64 * EPS)


@given(LOGITS, st.floats(0.0625, 0.984375, width=32))
def test_top_p_keeps_the_smallest_set_with_the_mass_and_what_the_homework_keeps(logits, p):
    """Hypothesis tries many cases, and the law of each is computed operation by operation."""
    wanted = tempered(logits)
    order = falling(wanted)
    before = np.cumsum(wanted[order]) - wanted[order]
    if np.min(np.abs(before - p)) < 1e-5:
        return  # At the boundary rounding decides.
    kept = [token for token, mass in zip(order, before, strict=True) if mass < p]
    found = law_of(logits, top_p=float(p))
    assert set(np.flatnonzero(found)) == set(kept)
    assert wanted[kept].sum() >= p - 1e-5
    assert wanted[kept[:-1]].sum() < p
    # The homework sorts upwards and drops what has a mass of at most 1 - p up to and with it.
    upwards = order[::-1]
    dropped = [t for t, mass in zip(upwards, np.cumsum(wanted[upwards]), strict=True) if mass <= 1 - p]
    assert set(kept) == set(range(TOKENS)) - set(dropped)


@given(LOGITS, st.floats(0.0625, 1.0, width=32))
def test_min_p_keeps_a_share_of_the_likeliest(logits, share):
    wanted = tempered(logits)
    limit = float(share) * wanted.max()
    if np.min(np.abs(wanted - limit)[wanted < wanted.max()], initial=1.0) < 1e-5:
        return
    assert set(np.flatnonzero(law_of(logits, min_p=float(share)))) == set(np.flatnonzero(wanted >= limit - 1e-9))


@given(LOGITS)
def test_at_a_temperature_near_zero_the_likeliest_share_everything(logits):
    top = np.flatnonzero(np.asarray(logits) == max(logits))
    found = law_of(logits, temperature=1e-4)
    np.testing.assert_allclose(found[top], 1 / len(top), rtol=32 * EPS)
    assert np.all(np.delete(found, top) == 0)


@given(LOGITS)
def test_cuts_that_cut_nothing_leave_the_model_alone(logits):
    """Compiles a program for every kind of cut."""
    np.testing.assert_array_equal(law_of(logits, top_p=1.0, min_p=0.0), law_of(logits))
    np.testing.assert_allclose(law_of(logits, top_k=TOKENS), law_of(logits), rtol=32 * EPS)


def test_cuts_follow_one_another_and_look_at_what_is_left():
    logits = np.log([0.5, 0.25, 0.15, 0.1])
    # Of the first two, renormalised to 2/3 and 1/3, the first alone has a mass of 0.6; of all four it has not.
    assert list(np.flatnonzero(law_of(logits, top_k=2, top_p=0.6))) == [0]
    assert list(np.flatnonzero(law_of(logits, top_p=0.6))) == [0, 1]


@pytest.mark.slow("that a chance draws the token at which the law passes it stays inside")
@pytest.mark.parametrize("options", [{}, {"temperature": 0.7}, {"top_p": 0.9}, {"temperature": 0.7, "top_k": 3}])
def test_drawn_tokens_have_the_frequencies_of_the_law(options):
    """Draws 20,000 tokens."""
    logits = jnp.asarray([1.0, 0.2, -0.3, 0.9, -1.5], jnp.float32)
    law = log_law(logits, Sampling(**options))
    chances = jax.random.uniform(key_for(0, "decode"), (20_000,))
    tokens = np.asarray(drawn(chances, jnp.broadcast_to(logits, (20_000, 5)), Sampling(**options)))
    # Twenty proportions in this file: together they raise a false alarm once in a million seeds.
    for token in range(5):
        interval = proportion().interval((tokens == token).astype(float), 1e-6 / 20)
        assert interval.low <= math.exp(float(law[token])) <= interval.high


WIDE = 700
"""More tokens than are looked at first."""
MANY = np.random.default_rng(0).integers(-8, 8, (5, WIDE)) / 4


@pytest.mark.slow("three of 14 members stay inside", but=3)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top_p": 0.5},
        {"top_p": 0.999},
        {"top_k": 40},
        {"top_k": 400},
        {"min_p": 0.2},
        {"top_k": 300, "top_p": 0.9},
    ],
)
@pytest.mark.parametrize("peak", [0.0, 6.0])
def test_a_chance_draws_the_token_at_which_the_summed_law_passes_it(options, peak):
    """Whether the likeliest tokens suffice or all must be looked at."""
    logits = jnp.asarray(MANY + peak * (np.arange(WIDE) == 600), jnp.float32)
    law = np.exp(np.asarray(log_law(logits, Sampling(**options)), np.float64))
    sums = np.cumsum(law, axis=1)
    draw = jax.jit(lambda chances: drawn(chances, logits, Sampling(**options)))
    for chance in (0.0, 0.1, 0.37, 0.8, 1 - 2**-24):
        found = np.asarray(draw(jnp.full(5, chance, jnp.float32)))
        assert np.all(law[np.arange(5), found] > 0)
        before = np.where(found > 0, sums[np.arange(5), found - 1], 0)
        assert np.all(before <= chance + 1e-5)
        assert np.all(sums[np.arange(5), found] >= chance - 1e-5)


@pytest.mark.parametrize("tokens", [128, 300])
def test_the_largest_chance_draws_the_last_token_that_is_not_cut(tokens):
    """In several of these rows the sum of all probabilities, term by term, is rounded to less than by blocks."""
    logits = np.random.default_rng(0).normal(size=(400, tokens))
    logits[:, -5:] = -np.inf
    found = drawn(jnp.full(400, 1 - 2**-24, jnp.float32), jnp.asarray(logits, jnp.float32), Sampling())
    assert np.all(np.asarray(found) == tokens - 6)


def test_where_nothing_holds_the_first_place_is_the_last():
    holds = jnp.array([[False, True, True, False], [False] * 4])
    assert _first(holds).tolist() == [1, 3]
    assert _first(holds, otherwise=9).tolist() == [1, 9]


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize("options", [{"top_p": 0.5}, {"top_k": 40}, {"top_k": 400, "top_p": 0.9}])
def test_an_accelerator_cuts_all_rows_at_once_and_draws_the_same_tokens(monkeypatch, options):
    """Compiles the cuts twice: row by row, and for all rows at once."""
    chances = jnp.linspace(0, 0.99, 5)
    logits = jnp.asarray(MANY, jnp.float32)
    by_processor = np.asarray(drawn(chances, logits, Sampling(**options)))
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax.lax, "map", None)  # which would take rows one after the other
    assert np.array_equal(np.asarray(drawn(chances, logits, Sampling(**options))), by_processor)


@pytest.mark.slow("three of four members stay inside", but=3)
@pytest.mark.parametrize("options", [{"top_p": 0.5}, {"top_p": 0.97}, {"top_k": 3}, {"top_k": 400}])
def test_cuts_of_many_tokens_are_those_of_sorting(options):
    """With ties at the cut: there are 64 different logits."""
    found = np.asarray(log_law(jnp.asarray(MANY, jnp.float32), Sampling(**options)))
    for row, logits in zip(found, MANY, strict=True):
        wanted = tempered(logits)
        order = falling(wanted)
        before = np.cumsum(wanted[order]) - wanted[order]
        if "top_p" in options:
            assert np.min(np.abs(before - options["top_p"])) > 1e-6
            kept = [token for token, mass in zip(order, before, strict=True) if mass < options["top_p"]]
        else:
            kept = order[: options["top_k"]]
        assert set(np.flatnonzero(np.isfinite(row))) == set(kept)


@pytest.mark.slow("two of three members stay inside", but=2)
@pytest.mark.parametrize("options", [{"top_p": 0.5}, {"top_k": 3}, {"top_k": 400}])
def test_cuts_in_double_precision_are_those_in_single(options):
    single = np.isfinite(np.asarray(log_law(jnp.asarray(MANY, jnp.float32), Sampling(**options))))
    with jax.enable_x64(True):
        double = log_law(jnp.asarray(MANY, jnp.float64), Sampling(**options))
        assert double.dtype == jnp.float64
        assert np.array_equal(np.isfinite(np.asarray(double)), single)


def test_nan_draws_no_token():
    """Compiles a program for every kind of cut."""
    logits = jnp.asarray(MANY, jnp.float32).at[1, 5].set(jnp.nan)
    for options in ({}, {"top_p": 0.5}, {"top_k": 2}, {"top_p": 0.999}):
        found = np.asarray(drawn(jnp.full(5, 0.5), logits, Sampling(**options)))
        assert np.all((found == WIDE) == (np.arange(5) == 1))


def test_other_numbers_need_no_other_program():
    """Only which cuts there are decides what is compiled."""
    run = jax.jit(lambda law: drawn(jnp.full(5, 0.5), jnp.asarray(MANY, jnp.float32), law))
    for options in ({"top_p": 0.5}, {"top_p": 0.9, "temperature": 0.7}, {"top_p": 0.1}):
        run(Sampling(**options).law())
    assert run._cache_size() == 1


def test_every_row_has_a_law_of_its_own_and_nan_stays_in_its_row():
    logits = jnp.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0], [0.0, math.nan, 1.0]], jnp.float32)
    found = np.asarray(log_law(logits, Sampling(top_k=2, top_p=0.9, min_p=0.1)))
    assert np.all(np.isfinite(found[:2]) == [[False, True, True], [True, True, False]])
    assert np.all(np.isnan(found[2]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"temperature": 0.0}, "above 0 and finite .greedy decoding has none., not 0.0"),
        ({"temperature": -1.0}, "above 0"),
        ({"temperature": math.nan}, "above 0"),
        ({"temperature": math.inf}, "finite"),
        ({"top_k": 0}, "top-k must be a whole number of at least 1, not 0"),
        ({"top_k": 1.5}, "top-k must be a whole number"),
        ({"top_p": 0.0}, "top-p must be above 0 and at most 1, not 0.0"),
        ({"top_p": 1.1}, "top-p"),
        ({"top_p": math.nan}, "top-p"),
        ({"min_p": -0.1}, "min-p must lie between 0 and 1"),
        ({"min_p": 1.5}, "min-p"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_numbers_out_of_range_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        Sampling(**options)


@pytest.mark.parametrize(("option", "value"), [("top_p", 1.5), ("top_p", 0.0), ("min_p", 1.5), ("min_p", -0.5)])
def test_a_share_of_probability_beyond_its_ends_is_refused(option, value):
    with pytest.raises(ValueError, match=option.replace("_", "-")):
        Sampling(**{option: value})
