"""Bugs in the gradient of a recurrent layer."""

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid

from attnlab_theory.attention.recurrence import recurrent_layer
from attnlab_theory.identities.through_time import SIGMOID, by_hand, gradients_through_time, with_sigmoid
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import Bug


def stops_at_each_state(x, w_in, w, d_states):
    states = recurrent_layer(x, w_in, w)
    d_in, d_w = jnp.zeros_like(w_in), jnp.zeros_like(w)
    for t in reversed(range(x.shape[0])):
        before = states[t - 1] if t else jnp.zeros_like(states[0])
        d_sum = d_states[t] * (1 - states[t] ** 2)
        d_in, d_w = d_in + jnp.outer(d_sum, x[-1]), d_w + jnp.outer(d_sum, before)
    return d_in, d_w


def slope_of_tanh(x, w_in, w, d_states):
    states = recurrent_layer(x, w_in, w, sigmoid)
    d_in, d_w, later = jnp.zeros_like(w_in), jnp.zeros_like(w), jnp.zeros_like(w[0])
    for t in reversed(range(x.shape[0])):
        before = states[t - 1] if t else jnp.zeros_like(later)
        d_sum = (d_states[t] + later) * (1 - states[t] ** 2)
        d_in, d_w, later = d_in + jnp.outer(d_sum, x[t]), d_w + jnp.outer(d_sum, before), w.T @ d_sum
    return d_in, d_w


def _exhibit(right, wrong):
    case = exhibit.tokens()
    d_states = jnp.ones_like(case.x)
    right, wrong = (
        np.concatenate(gradient(case.x, case.w_q, case.w_k, d_states), axis=1) for gradient in (right, wrong)
    )
    return exhibit.Exhibit(
        title="Gradient of the sum of six states by the matrix of the tokens (left half) and of the states (right)",
        rows="row of both matrices",
        columns="column",
        right=right,
        wrong=wrong,
    )


_HOMEWORK = "folklore; so written in a homework of 2023: https://github.com/npukujui11/AI_2023, RNN_assignment"

STOPS = Bug(
    name="gradient-stops-at-each-state",
    story="In a homework's recurrent network, the gradient of a state never reaches the state before it. Tokens "
    "are not stored either, so every step multiplies by the last one. The loss still falls.",
    where=_HOMEWORK,
    code=(stops_at_each_state,),
    checks=tuple(
        gradients_through_time(subject, stops_at_each_state) for subject in ("recurrence", "recurrence, by hand")
    ),
    exhibit=lambda: _exhibit(by_hand, stops_at_each_state),
)

SLOPE = Bug(
    name="slope-of-another-activation",
    story="The same homework makes its states with the sigmoid. Its gradient takes the slope of tanh, 1 - h^2, "
    "instead of h(1 - h). Every slope has the right sign, so that the loss still falls. The gradient is too "
    "long, and each state has its own factor.",
    where=_HOMEWORK,
    code=(slope_of_tanh,),
    checks=tuple(
        gradients_through_time(subject, slope_of_tanh, SIGMOID)
        for subject in ("recurrence with a sigmoid", "recurrence with a sigmoid, by hand")
    ),
    exhibit=lambda: _exhibit(with_sigmoid(by_hand), slope_of_tanh),
)

BUGS = (STOPS, SLOPE)
