"""Fast weights in three forms, and forget gates: what they refuse, and what nobody may see."""

import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import Rule, alibi_bias, fast_weight_attention, fast_weights, forget_gate_bias

N, D, V = 7, 4, 3


def problem(rule):
    """Queries, keys no longer than one, values and gates, and the outputs of a plain loop in float64."""
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((N, D)), rng.standard_normal((N, D)) / D, rng.standard_normal((N, V))
    decay, beta = rng.uniform(size=N), rng.uniform(size=N)
    decay[3] = 0.0
    state, rows = np.zeros((V, D)), []
    for t in range(N):
        state = decay[t] * state
        written = v[t] - state @ k[t] if rule == Rule.DELTA else v[t]
        state = state + beta[t] * np.outer(written, k[t])
        rows.append(state @ q[t])
    return [jnp.asarray(x, float) for x in (q, k, v, decay, beta)], np.array(rows), state


@pytest.mark.parametrize("rule", Rule)
def test_recurrence_chunks_and_the_parallel_form_are_a_loop_over_positions(rule):
    """A decay of 0 forgets all. Every number is a sum of at most N products of D products, of numbers near 1."""
    (q, k, v, decay, beta), rows, state = problem(rule)
    tolerance = 16 * N * D * np.finfo(q.dtype).eps
    for chunk in (None, 1, 3, N, 2 * N):
        found = fast_weight_attention(q, k, v, rule=rule, decay=decay, beta=beta, chunk=chunk)
        np.testing.assert_allclose(found, rows, atol=tolerance)
    np.testing.assert_allclose(fast_weights(k, v, rule=rule, decay=decay, beta=beta), state, atol=tolerance)


@pytest.mark.parametrize(("rule", "chunk"), [*itertools.product(Rule, (None, 4))])
def test_what_is_not_finite_spoils_its_own_and_later_rows_alone(rule, chunk):
    (q, k, v, decay, beta), _, _ = problem(rule)

    @jax.jit
    def outputs(v):
        return fast_weight_attention(q, k, v, rule=rule, decay=decay, beta=beta, chunk=chunk)

    before, spoilt = outputs(v), outputs(v.at[5, 0].set(jnp.inf))
    np.testing.assert_array_equal(spoilt[:5], before[:5])
    assert not np.isfinite(spoilt[5, 0])


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"decay": 1.5}, "decay must lie in [0, 1], not 1.5"),
        ({"decay": -0.5}, "decay must lie in [0, 1], not -0.5"),
        ({"beta": -1.0}, "beta must not be negative, not -1.0"),
        ({"beta": jnp.ones(3)}, "beta is one number, or one for each of 7 keys, not (3,)"),
        ({"rule": "hebb"}, "rule is one of sum, delta, not 'hebb'"),
        ({"chunk": 0}, "chunk"),
        ({"decay": jnp.nan}, "decay"),
    ],
)
def test_what_makes_no_memory_is_refused(changed, line, unchecked_shapes):
    (q, k, v, _, _), _, _ = problem(Rule.SUM)
    with pytest.raises(ValueError, match=re.escape(line)):
        fast_weight_attention(q, k, v, **{"rule": Rule.SUM} | changed)


def test_equal_forget_gates_are_the_bias_of_alibi():
    at = jnp.arange(6)
    found = jnp.tril(forget_gate_bias(jnp.full(6, -0.25)))
    np.testing.assert_array_equal(found, jnp.tril(alibi_bias(at, at, slope=0.25)))


def test_a_gate_near_nothing_drowns_no_later_one():
    """A difference of two cumulative sums would lose the last bit of -1e-3 beside 1e6."""
    bias = forget_gate_bias(jnp.array([0.0, -1e6, -1e-3, -1e-3]))
    np.testing.assert_allclose(bias[3, 1:3], [-2e-3, -1e-3], rtol=1e-6)


def test_a_gate_that_adds_is_refused():
    with pytest.raises(ValueError, match=r"a log gate must not be positive, not 0\.5"):
        forget_gate_bias(jnp.array([0.0, 0.5]))
