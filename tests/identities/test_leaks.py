"""The leak detector: what it catches, in whose arrays, and what it refuses."""

import dataclasses
import functools
import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import attention, causal_mask, zero_after_softmax
from attnlab_theory.identities import cases
from attnlab_theory.identities.causality import detached_maximum
from attnlab_theory.identities.leaks import (
    as_json,
    exit_code,
    jacobian_reach,
    leaks,
    other_numbers,
    picture,
    random_numbers,
    random_tokens,
    replacements,
)
from attnlab_theory.identities.prefixes import prefixes, sentence
from attnlab_theory.seeds import key_for

X = random_tokens(5, 4)


def causal_in_numpy(x):
    scores = np.where(np.tri(len(x), dtype=bool), x @ x.T, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ x


def causal_in_jax(x):
    return attention(x, x, x, causal_mask(x.shape[0]), scale=1.0)


def leaky_in_jax(x):
    return zero_after_softmax(x, x, x, causal_mask(x.shape[0]), scale=1.0)


@pytest.mark.slow("one running sum, which is causal, stays inside")
def test_causal_mixers_pass():
    """Calls four mixers for every input that is replaced, in six ways."""
    for mixer in (causal_in_numpy, causal_in_jax, jax.jit(causal_in_jax), lambda x: np.cumsum(x, axis=0)):
        found = leaks(mixer, X)
        assert found.causal
        assert exit_code(found) == 0
        assert np.array_equal(found.moved, np.tri(5, dtype=bool))


@pytest.mark.slow("a mask of zeros in one layer, which leaks, stays inside")
def test_zero_after_softmax_leaks_in_every_row_but_the_last():
    found = leaks(leaky_in_jax, X)
    assert exit_code(found) == 1
    assert np.array_equal(found.leaks, np.triu(np.ones((5, 5), bool), 1))
    assert found.worst[0] < 4


def test_the_column_of_a_leak_is_the_input_it_comes_from():
    def peeks_from_1_at_3(x):
        out = x.copy()
        out[1] += 1e-6 * x[3]
        return out

    found = leaks(peeks_from_1_at_3, X)
    assert np.argwhere(found.leaks).tolist() == [[1, 3]]
    assert found.worst[0] == 1


def test_a_detached_maximum_has_no_jacobian_towards_the_future_and_leaks():
    """Compiles a mixer and its Jacobian, operation by operation."""
    case = cases.tokens(key_for(0, "detached"))

    def mixer(x):
        return detached_maximum(dataclasses.replace(case, x=x))

    x = random_tokens(4, 4).astype(case.x.dtype)
    assert np.max(np.triu(jacobian_reach(mixer, x), 1)) == 0
    found = leaks(mixer, x)
    assert not found.causal
    assert found.worst[1] > 0.1


@pytest.mark.slow("a leak that no Jacobian shows stays inside")
def test_jacobian_shows_an_ordinary_leak():
    """Compiles the Jacobian of attention, operation by operation."""
    assert (np.triu(jacobian_reach(leaky_in_jax, X), 1) > 0).any()


def test_leaks_that_need_several_later_inputs_are_found():
    def moves_when_all_later_inputs_are_equal(x):
        later_equal = np.array([len(x) > t + 2 and np.ptp(x[t + 1 :], axis=0).max() == 0 for t in range(len(x))])
        return x + later_equal[:, None]

    found = leaks(moves_when_all_later_inputs_are_equal, X)
    assert not found.leaks.any()
    assert not found.causal
    assert "all later inputs change together" in picture(found)


def test_every_replacement_changes_the_chosen_rows_and_no_others():
    for replaced in replacements(X, 2, 4):
        assert np.array_equal(replaced[[0, 1, 4]], X[[0, 1, 4]])
        assert (replaced[2:4] != X[2:4]).any(axis=1).all()


def test_leak_that_only_large_norms_show_is_caught():
    def hides_with_a_finite_number(x):
        scores = x @ x.T - 1e4 * (1 - np.tri(len(x)))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True) @ x

    assert not leaks(hides_with_a_finite_number, X).causal


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_half_precision_outputs_are_read(dtype):
    assert leaks(lambda x: jnp.cumsum(jnp.tanh(jnp.asarray(x)).astype(dtype), axis=0), X).causal


def test_functions_may_write_into_their_argument():
    def in_place(x):
        x *= 2
        return x

    assert leaks(in_place, X).causal
    assert np.array_equal(X, random_tokens(5, 4))


@pytest.mark.torch
def test_torch_functions_and_modules_are_read():
    torch = pytest.importorskip("torch")

    def leaky(x):
        return torch.softmax(x @ x.T, dim=-1).tril() @ x

    linear = torch.nn.Linear(4, 3)
    assert leaks(linear, X).causal
    assert leaks(linear.double(), X).causal
    assert leaks(linear.bfloat16().float(), X).causal
    assert not leaks(leaky, X).causal


@pytest.mark.slow("a movement to infinity in the JSON stays inside")
def test_picture_and_json_say_the_same():
    """Calls two mixers of jax for every input that is replaced, operation by operation."""
    found = leaks(leaky_in_jax, X)
    text, data = picture(found), json.loads(json.dumps(as_json(found)))
    assert text.count("█") - 1 == len(data["leaks"]) == 10
    assert "Leak: 4 of 5 outputs move with the future" in text
    assert data["causal"] is False
    assert data["worst"]["output"] == found.worst[0]
    found = leaks(causal_in_jax, X)
    assert f"No leak at length {len(X)}, values within ±{found.within:.3g}: " in picture(found)
    # Noise of norm 1e4 is among the replacements.
    assert 1e4 < found.within < 1e5
    assert as_json(found)["within"] == found.within


def test_movement_to_infinity_is_null_in_json():
    def explodes(x):
        return x + np.where(np.abs(x[-1]).max() > 100, np.inf, 0)

    assert as_json(leaks(explodes, X))["worst"]["movement"] is None


CALLS, LATE_CALLS = itertools.count(), itertools.count()


def ticking(x):
    return x + next(CALLS)


def ticking_after_a_while(x):
    return x + (next(LATE_CALLS) >= 5)


@pytest.mark.parametrize(
    ("mixer", "message"),
    [
        (ticking, "draws random numbers: two equal calls"),
        (ticking_after_a_while, "draws random numbers: two equal calls"),
        (lambda x: x[:3], r"must give shape \(5, v\), one row per position, not \(3, 4\)"),
        (lambda x: x.sum(), r"must give shape \(5, v\)"),
        (lambda x: x[:, :0], r"must give shape \(5, v\)"),
        (lambda x: x / 0 * 0, "output must be finite, but holds nan"),
        (lambda x: np.full(x.shape, 2**60) + int(x.sum() < 0), "numbers of int64 that float64 does not hold"),
        (lambda x: x + 1j, "real numbers, not of complex"),
        (lambda x: None, "real numbers, not of object"),
        (lambda x: x @ np.ones((3, 3)), r"fails on tokens of shape \(5, 4\): \w+Error: ."),
        (lambda x: x if x[0, 0] == X[0, 0] else x[:2], r"for some tokens, and \(2, 4\) for others"),
        (lambda x: x if x[0, 0] == X[0, 0] else x @ np.ones(3), r"fails on replaced tokens: \w+Error: ."),
    ],
)
def test_functions_that_are_no_mixers_are_refused(mixer, message):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        leaks(mixer, X)


def test_too_little_to_look_at_is_refused():
    with pytest.raises(ValueError, match="an earlier and a later position, but there is 1"):
        leaks(causal_in_numpy, X[:1])
    with pytest.raises(ValueError, match="length must be at least 2, not 1"):
        random_tokens(1, 4)
    with pytest.raises(ValueError, match="width must be positive, not 0"):
        random_tokens(4, 0)


def test_partial_functions_are_read():
    assert leaks(functools.partial(np.cumsum, axis=0), X).causal


def filtered(x, padded):
    """A long convolution by Fourier transforms; unpadded it wraps around."""
    size = (1 + padded) * len(x)
    decay = np.fft.rfft(0.9 ** np.arange(len(x)), size)[:, None]
    return np.fft.irfft(np.fft.rfft(x, size, axis=0) * decay, size, axis=0)[: len(x)]


def test_rounding_that_travels_back_in_time_is_no_leak():
    found = leaks(lambda x: filtered(x, padded=True), X)
    assert not found.causal
    assert found.to_rounding
    assert found.relative <= found.rounding < 1e-5
    assert exit_code(found) == 0
    assert "No leak at length 5 but for rounding: " in picture(found)
    told = as_json(found)
    assert (told["causal"], told["bit_for_bit"]) == (True, False)
    wrapped = leaks(lambda x: filtered(x, padded=False), X)
    assert not wrapped.clean
    assert exit_code(wrapped) == 1


def test_a_leak_as_small_as_rounding_stays_in_a_finer_type():
    def peeks(x):
        return np.cumsum(x, axis=0) + 1e-7 * x[-1]

    found = leaks(peeks, X)
    assert 0 < found.relative < 10 * np.finfo(np.float32).eps
    assert found.rounding == 0
    assert exit_code(found) == 1


def test_whole_numbers_know_no_rounding():
    found = leaks(lambda x: np.sign(x).astype(int) + (x[-1] > 0), X)
    assert (found.rounding, found.clean) == (0, False)


def test_numbers_of_tokens_are_replaced_by_other_numbers():
    table = np.random.default_rng(0).normal(size=(7, 3))
    ids, replacing = random_numbers(5, 7), other_numbers(7)
    assert leaks(lambda ids: np.cumsum(table[ids], axis=0), ids, replacing).causal
    found = leaks(lambda ids: table[ids] + table[ids].sum(axis=0), ids, replacing)
    assert np.array_equal(found.leaks, np.triu(np.ones((5, 5), bool), 1))
    for each in replacing(ids, 2, 4):
        assert each.min() >= 0
        assert each.max() < 7
        assert np.array_equal(each[[0, 1, 4]], ids[[0, 1, 4]])
    with pytest.raises(ValueError, match="number of tokens must be at least 2, not 1"):
        random_numbers(5, 1)


def test_outputs_come_before_weights():
    assert leaks(lambda x: (causal_in_numpy(x), x @ x.T), X).causal


def positions_over_length(x):
    return causal_in_numpy(x) + (np.arange(len(x)) / len(x))[:, None]


def of_five_alone(x):
    return x + np.arange(5)[:, None]


@pytest.mark.slow("the same for a length past a block stays inside")
def test_what_depends_on_the_length_of_the_whole_is_found_by_prefixes():
    found = prefixes(positions_over_length, X)
    assert found.depends
    assert leaks(positions_over_length, X).causal
    assert found.worst == (2, pytest.approx(1 / 2 - 1 / 5, rel=1e-5))
    assert sentence(found).startswith(
        "Outputs depend on the length of the whole: of the first 2 positions alone they"
    )


@pytest.mark.slow("a function of one length, without prefixes, stays inside")
@pytest.mark.parametrize("mixer", [causal_in_numpy, causal_in_jax])
def test_prefixes_of_causal_mixers_agree_to_rounding(mixer):
    """Every prefix has another shape, for which jax compiles again."""
    found = prefixes(mixer, random_tokens(12, 8))
    assert not found.depends
    assert found.tried.all()
    assert (
        sentence(found) == "11 of 11 prefixes alone give the outputs that they give within the whole, to rounding."
    )


def test_a_function_of_one_length_is_not_tried_with_prefixes():
    found = prefixes(of_five_alone, X)
    assert not found.depends
    assert not found.tried.any()
    assert sentence(found) == "Prefixes were not tried: the function takes 5 positions and no fewer."


@pytest.mark.parametrize(("size", "taken"), [(2, "2 of 5 prefixes alone give"), (3, "1 of 5 prefix alone gives")])
def test_prefixes_that_a_function_does_not_take_are_not_counted_against_it(size, taken):
    found = prefixes(lambda x: x.reshape(-1, size, x.shape[1]).cumsum(1).reshape(x.shape), random_tokens(6, 8))
    assert not found.depends
    assert sentence(found).startswith(taken)
    assert sentence(found).endswith("to rounding; it takes no others of the 5.")
