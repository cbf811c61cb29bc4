"""A bug in the gradient of a recurrent layer."""

import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention.recurrence import recurrent_layer
from attnlab_theory.identities.through_time import by_hand, gradients_through_time
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


def _exhibit():
    case = exhibit.tokens()
    d_states = jnp.ones_like(case.x)
    right, wrong = (
        np.concatenate(gradient(case.x, case.w_q, case.w_k, d_states), axis=1)
        for gradient in (by_hand, stops_at_each_state)
    )
    return exhibit.Exhibit(
        title="Gradient of the sum of six states by the matrix of the tokens (left half) and of the states (right)",
        rows="row of both matrices",
        columns="column",
        right=right,
        wrong=wrong,
    )


STOPS = Bug(
    name="gradient-stops-at-each-state",
    story="A homework's recurrent network: what a state is told is never passed on to the state before, and tokens "
    "are not stored, so that every step multiplies by the last one. The loss still falls.",
    where="folklore; so written in a homework of 2023: https://github.com/npukujui11/AI_2023, RNN_assignment",
    code=(stops_at_each_state,),
    checks=tuple(
        gradients_through_time(subject, stops_at_each_state) for subject in ("recurrence", "recurrence, by hand")
    ),
    exhibit=_exhibit,
)

BUGS = (STOPS,)
