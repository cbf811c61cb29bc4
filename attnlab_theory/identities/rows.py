"""Rows of weights are probabilities, outputs lie among the values, and hidden positions have no effect."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention import attention
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Attending
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.operators import (
    BLOCKED,
    CAPPED,
    DIFFERENTIAL,
    GROUPED,
    HEADS,
    LAMBDA,
    ROTARY,
    SOFTMAX,
    ZERO_AFTER_SOFTMAX,
    Operator,
)
from attnlab_theory.identities.rounding import attention_rounding, epsilon, gap, host, peak

DIRECTIONS = np.concatenate((np.eye(3), -np.eye(3), np.array([[1, 1, 1], [1, -2, 1], [-1, 0, 2], [2, -1, -1.0]])))
"""Half-spaces in which a convex hull in three dimensions is looked for: its box, and some slanted ones."""


def probabilities(operator: Operator, *, broken: bool = False) -> Identity[Attending]:
    """Weights are not negative and sum to one."""

    def residual(case: Attending) -> float:
        assert operator.weights is not None
        weights = host(operator.weights(case.q, case.k, case.mask, scale=case.scale))
        return float(np.max([np.max(np.abs(weights.sum(axis=1) - 1)), np.max(-weights)]))

    def tolerance(case: Attending) -> float:
        """Errors of the scores and of exp cancel. Those of n - 1 sums and n divisions do not: eps/2 each."""
        return epsilon(case.q) * (case.k.shape[0] + 1)

    return Identity(
        family="probabilities",
        subject=operator.name,
        statement=r"Weights are not negative and every row sums to one: $\alpha_i \ge 0$, $\sum_i \alpha_i = 1$.",
        source="mathematics/identities.md#rows-are-probabilities-and-outputs-stay-in-the-hull; cs224n/1a.i",
        cases=cases.attending,
        residual=residual,
        tolerance=tolerance,
        broken=broken,
    )


def difference_sums(operator: Operator) -> Identity[Attending]:
    """Weights of a difference of two maps sum to what the second map leaves of the first."""

    def residual(case: Attending) -> float:
        assert operator.weights is not None
        weights = host(operator.weights(case.q, case.k, case.mask, scale=case.scale))
        return float(np.max(np.abs(weights.sum(axis=1) - (1 - LAMBDA))))

    return Identity(
        family="difference-sums",
        subject=operator.name,
        statement=r"A row of $\alpha - \lambda\alpha'$ sums to $1 - \lambda$.",
        source="mathematics/identities.md#rows-are-probabilities-and-outputs-stay-in-the-hull; Ye et al. 2024",
        cases=cases.attending,
        residual=residual,
        # Those of `probabilities`, twice, and a product and a difference of weights of at most one.
        tolerance=lambda case: epsilon(case.q) * 2 * (case.k.shape[0] + 3),
    )


def in_hull(operator: Operator, *, broken: bool = False) -> Identity[Attending]:
    """Outputs lie in the convex hull of the values that the query sees."""

    def residual(case: Attending) -> float:
        mask = case.mask if operator.masked else None
        seen = np.asarray(case.mask) if operator.masked else np.ones(case.mask.shape, bool)
        outputs = host(operator.mix(case.q, case.k, case.v, mask, scale=case.scale)) @ DIRECTIONS.T
        reach = np.where(seen[:, :, None], (host(case.v) @ DIRECTIONS.T)[None], -np.inf).max(axis=1)
        return float(np.max(outputs - reach))

    def tolerance(case: Attending) -> float:
        """Weights sum to one within (n+1) eps; n products and sums; at most four coordinates' worth."""
        return 4 * peak(case.v) * epsilon(case.v) * (2 * case.k.shape[0] + 2)

    return Identity(
        family="in-hull",
        subject=operator.name,
        statement=r"$c$ lies in the convex hull (so in the box) of the values: $u^T c \le \max_i u^T v_i$.",
        source="mathematics/identities.md#rows-are-probabilities-and-outputs-stay-in-the-hull; cs224n/1a.i",
        cases=cases.attending,
        residual=residual,
        tolerance=tolerance,
        broken=broken,
    )


def hidden_is_absent(operator: Operator, *, broken: bool = False) -> Identity[Attending]:
    """A masked key and value do what they would do if they did not exist."""

    def residual(case: Attending) -> float:
        masked = operator.mix(case.q, case.k, case.v, case.mask, scale=case.scale)
        alone = []
        for row, seen in enumerate(np.asarray(case.mask)):
            visible = jnp.asarray(np.flatnonzero(seen))
            q = case.q[row : row + 1]
            # The reference is plain attention over the visible keys: no mask, so nothing to get wrong in one.
            alone.append(attention(q, case.k[visible], case.v[visible], scale=case.scale)[0])
        return gap(masked, jnp.stack(alone))

    return Identity(
        family="hidden-is-absent",
        subject=operator.name,
        statement="Attention under a mask equals attention over the visible keys alone.",
        source="mathematics/identities.md#hidden-keys-are-absent",
        cases=cases.attending,
        residual=residual,
        tolerance=lambda case: 2 * operator.rounding(case),
        broken=broken,
    )


def hidden_is_harmless(operator: Operator) -> Identity[Attending]:
    """NaN in a key and infinity in its value, where some queries see it and others do not."""
    compiled = jax.jit(lambda case: operator.mix(case.q, case.k, case.v, case.mask, scale=case.scale))

    def residual(case: Attending) -> float:
        key = case.order[0]
        poisoned = dataclasses.replace(case, k=case.k.at[key, 0].set(jnp.nan), v=case.v.at[key].set(jnp.inf))
        sees = np.asarray(case.mask)[:, int(key)]
        found = host(compiled(poisoned))
        if not np.isnan(found[sees]).all():
            return np.inf
        return gap(found[~sees], host(compiled(case))[~sees])

    return Identity(
        family="hidden-is-harmless",
        subject=operator.name,
        statement="A hidden key and value may be anything, NaN too: no bit changes. A visible one gives NaN.",
        source="mathematics/identities.md#hidden-keys-are-absent",
        cases=cases.attending,
        residual=residual,
        tolerance=lambda case: 0.0,
    )


def bias_as_keys(mix: Callable[..., Array] = attention) -> Identity[Attending]:
    """A bias, and one more coordinate for each query that says it to the keys."""

    def parts(case: Attending) -> tuple[Array, Array, Array]:
        bias = case.q @ jnp.diag(case.shift)
        q = jnp.concatenate([case.q, jnp.eye(len(bias), dtype=bias.dtype)], axis=1)
        return bias, q, jnp.concatenate([case.k, bias.T / jnp.asarray(case.scale, bias.dtype)], axis=1)

    def told(case: Attending) -> Array:
        _, q, k = parts(case)
        return attention(q, k, case.v, case.mask, scale=case.scale)

    def biased(case: Attending) -> Array:
        return mix(case.q, case.k, case.v, case.mask, scale=case.scale, bias=parts(case)[0])

    here, there = jax.jit(biased), jax.jit(told)

    def tolerance(case: Attending) -> float:
        """The rounding of wider queries and keys, either way: a bias is one more term of a score."""
        _, q, k = parts(case)
        return 2 * attention_rounding(q, k, case.v, case.scale)

    return Identity(
        family="bias-is-a-key",
        subject="softmax",
        statement=r"A bias $b_{ts}$ is what a unit vector in $q_t$ reads off $k_s$: $[q_t, e_t] \cdot [k_s, b_s / "
        r"\beta]$.",
        source="mathematics/identities.md#a-bias-is-part-of-the-keys",
        cases=cases.attending,
        residual=lambda case: gap(here(case), there(case)),
        tolerance=tolerance,
    )


IDENTITIES = (
    hidden_is_harmless(SOFTMAX),
    hidden_is_harmless(HEADS),
    hidden_is_harmless(GROUPED),
    hidden_is_harmless(CAPPED),
    bias_as_keys(),
    probabilities(SOFTMAX),
    difference_sums(DIFFERENTIAL),
    probabilities(ROTARY),
    probabilities(ZERO_AFTER_SOFTMAX, broken=True),
    in_hull(SOFTMAX),
    in_hull(ROTARY),
    in_hull(BLOCKED),
    in_hull(ZERO_AFTER_SOFTMAX, broken=True),
    hidden_is_absent(SOFTMAX),
    hidden_is_absent(ZERO_AFTER_SOFTMAX, broken=True),
)
