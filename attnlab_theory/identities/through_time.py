"""The gradient of a recurrent layer, which runs back through all earlier states."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention.recurrence import recurrent_layer
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.derivatives import EPS, STEP, in_double
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.rounding import gap, host, peak

Gradient = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
"""(x, w_in, w, dL/dh) to dL/dw_in and dL/dw, where the loss L is the sum of h times dL/dh."""


@dataclasses.dataclass(frozen=True)
class Activation:
    """The function from a sum to a state."""

    of: Callable[[Array], Array]
    """Entry by entry. It shrinks distances, and no value exceeds 1: `gradients_through_time` builds on both."""
    slope: Callable[[Array], Array]
    """The derivative, as a function of the value."""


TANH = Activation(jnp.tanh, lambda h: 1 - h**2)
SIGMOID = Activation(jax.nn.sigmoid, lambda h: h * (1 - h))


def by_hand(x: Array, w_in: Array, w: Array, d_states: Array, activation: Activation = TANH) -> tuple[Array, Array]:
    """Backpropagation through time, written out: each state hands its gradient on to the state before."""
    states = recurrent_layer(x, w_in, w, activation.of)
    d_in, d_w, later = jnp.zeros_like(w_in), jnp.zeros_like(w), jnp.zeros_like(w[0])
    for t in reversed(range(x.shape[0])):
        before = states[t - 1] if t else jnp.zeros_like(later)
        d_sum = (d_states[t] + later) * activation.slope(states[t])
        d_in, d_w, later = d_in + jnp.outer(d_sum, x[t]), d_w + jnp.outer(d_sum, before), w.T @ d_sum
    return d_in, d_w


def by_autodiff(
    x: Array, w_in: Array, w: Array, d_states: Array, activation: Activation = TANH
) -> tuple[Array, Array]:
    """By jax's reverse mode."""

    def loss(w_in: Array, w: Array) -> Array:
        return jnp.sum(recurrent_layer(x, w_in, w, activation.of) * d_states)

    return jax.grad(loss, argnums=(0, 1))(w_in, w)


def gradients_through_time(subject: str, gradient: Gradient, activation: Activation = TANH) -> Identity[Tokens]:
    """A gradient of a recurrent layer by both its matrices, against central differences."""

    def parts(x: Array, w_in: Array, w: Array) -> tuple[Array, Array, Array]:
        count = x.shape[0] * w.shape[0]
        # Weights that differ, so that no derivative cancels another.
        d_states = jnp.cos(1.0 + jnp.arange(count, dtype=x.dtype)).reshape(x.shape[0], w.shape[0])

        def loss(joined: Array) -> Array:
            return jnp.sum(recurrent_layer(x, joined[0], joined[1], activation.of) * d_states)

        joined = jnp.stack([w_in, w])
        directions = jnp.eye(joined.size, dtype=x.dtype).reshape(joined.size, *joined.shape)

        def difference(step: float) -> Array:
            ahead = jax.vmap(lambda e: loss(joined + step * e))(directions)
            behind = jax.vmap(lambda e: loss(joined - step * e))(directions)
            return (ahead - behind) / (2 * step)

        found = jnp.stack(gradient(x, w_in, w, d_states)).reshape(-1)
        return found, difference(STEP), difference(2 * STEP)

    evaluated = in_double(parts)

    def all_of(case: Tokens) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return evaluated(case.x, case.w_q, case.w_k)

    def tolerance(case: Tokens) -> float:
        """Truncation is read off the data, as in `derivatives.gradients`. Rounding is that of two sums of states.

        A state errs by the rounding of its 2d products and of the activation. To that comes w times the error of
        the state before: the activation shrinks distances, and no state exceeds 1.
        """
        _, fine, coarse = all_of(case)
        x, w_in, w = (host(each) for each in (case.x, case.w_q, case.w_k))
        reach = float(np.abs(w + 2 * STEP).sum(axis=1).max(initial=0.0))
        total = reach + float(np.abs(w_in + 2 * STEP).sum(axis=1).max(initial=0.0)) * peak(x)
        error, sum_of_errors = 0.0, 0.0
        for _ in range(len(x)):
            error = reach * error + EPS * ((w.shape[1] + 2) * total + 4)
            sum_of_errors += len(w) * (error + EPS * len(x) * len(w))
        return gap(fine, coarse) + 2 * sum_of_errors / STEP

    return Identity(
        family="gradients-through-time",
        subject=subject,
        statement="The gradient of a recurrent layer by its two matrices equals central differences in float64.",
        source="mathematics/identities.md#gradients-through-time; Werbos 1990",
        cases=cases.tokens,
        residual=lambda case: gap(*all_of(case)[:2]),
        tolerance=tolerance,
    )


def with_sigmoid(gradient: Callable[..., tuple[Array, Array]]) -> Gradient:
    """The same gradient of a layer whose activation is the sigmoid."""
    return lambda x, w_in, w, d_states: gradient(x, w_in, w, d_states, SIGMOID)


IDENTITIES = (
    gradients_through_time("recurrence", by_autodiff),
    gradients_through_time("recurrence, by hand", by_hand),
    gradients_through_time("recurrence with a sigmoid", with_sigmoid(by_autodiff), SIGMOID),
    gradients_through_time("recurrence with a sigmoid, by hand", with_sigmoid(by_hand), SIGMOID),
)
