"""Rows of weights are probabilities, outputs lie among the values, and hidden positions have no effect."""

import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import attention
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Attending
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.operators import BLOCKED, ROTARY, SOFTMAX, ZERO_AFTER_SOFTMAX, Operator
from attnlab_theory.identities.rounding import epsilon, gap, host, peak

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


IDENTITIES = (
    probabilities(SOFTMAX),
    probabilities(ROTARY),
    probabilities(ZERO_AFTER_SOFTMAX, broken=True),
    in_hull(SOFTMAX),
    in_hull(ROTARY),
    in_hull(BLOCKED),
    in_hull(ZERO_AFTER_SOFTMAX, broken=True),
    hidden_is_absent(SOFTMAX),
    hidden_is_absent(ZERO_AFTER_SOFTMAX, broken=True),
)
