"""Identities of whole mixers, seen from outside: rows of weights, hulls, order, causality.

From outside there are no weights to look at. But a mixer is linear in its values: if all values are one, an output
is the sum of its row of weights.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np

from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.causality import causal
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.rounding import epsilon, gap, host, peak
from attnlab_theory.identities.subject import Subject
from attnlab_theory.identities.symmetry import permuted_tokens
from attnlab_theory.identities.zoo import SUBJECTS

SLANTED = np.array([[1, 1, 1, 1], [1, -2, 1, 0], [-1, 0, 2, 1], [2, -1, -1, 1.0]])
DIRECTIONS = np.concatenate((np.eye(4), -np.eye(4), SLANTED))
"""Half-spaces in which a convex hull in four dimensions is looked for: its box, and some slanted ones."""


def _sum_rounding(case: Tokens) -> float:
    """Relative error of a mean of n values, or of a ratio of sums of n products of 2 width features."""
    n, width = case.x.shape
    return epsilon(case.x) * 2 * (n + 2 * width + 4)


def with_equal_values(case: Tokens) -> Tokens:
    """The case with a first coordinate of one in every token, and values made of that coordinate alone."""
    return dataclasses.replace(case, x=case.x.at[:, 0].set(1), w_v=jnp.zeros_like(case.w_v).at[0].set(1))


def rows_sum_to_one(subject: Subject, *, broken: bool = False) -> Identity[Tokens]:
    """Equal values come out as they went in."""
    return Identity(
        family="rows-sum-to-one",
        subject=subject.name,
        statement=r"With all values equal, outputs are that value: $\sum_s \alpha_{ts} = 1$, seen from outside.",
        source="mathematics/identities.md#rows-are-probabilities-and-outputs-stay-in-the-hull",
        cases=cases.tokens,
        residual=lambda case: float(np.max(np.abs(host(subject.mix(with_equal_values(case))) - 1))),
        tolerance=_sum_rounding,
        broken=broken,
    )


def outputs_in_hull(subject: Subject, *, broken: bool = False) -> Identity[Tokens]:
    """Outputs lie in the convex hull of the values, of past ones if the mixer is causal."""

    def residual(case: Tokens) -> float:
        n = case.x.shape[0]
        seen = np.tri(n, dtype=bool) if subject.build(case).causal else np.ones((n, n), bool)
        values = host(case.x) @ host(case.w_v) @ DIRECTIONS.T
        reach = np.where(seen[:, :, None], values[None], -np.inf).max(axis=1)
        return float(np.max(host(subject.mix(case)) @ DIRECTIONS.T - reach))

    def tolerance(case: Tokens) -> float:
        """Weights and means as in `_sum_rounding`; values sum d products; at most five coordinates' worth."""
        bound = peak(np.abs(host(case.x)) @ np.abs(host(case.w_v)))
        return 5 * bound * (_sum_rounding(case) + epsilon(case.x) * (case.x.shape[1] / 2 + 1))

    return Identity(
        family="in-hull",
        subject=subject.name,
        statement=r"$c$ lies in the convex hull (so in the box) of the values: $u^T c \le \max_i u^T v_i$.",
        source="mathematics/identities.md#rows-are-probabilities-and-outputs-stay-in-the-hull; cs224n/1a.i",
        cases=cases.tokens,
        residual=residual,
        tolerance=tolerance,
        broken=broken,
    )


def permuted_rows(subject: Subject, *, broken: bool = False) -> Identity[Tokens]:
    """Permuting tokens permutes outputs, if positions play no part."""
    return permuted_tokens(subject.name, subject.mix, broken=broken, rounding=subject.rounding)


def past_only(subject: Subject, *, broken: bool = False) -> Identity[Tokens]:
    """No output moves with a later token, bit for bit."""
    return causal(subject.name, subject.mix, broken=broken, lengths=subject.lengths)


PREFIX = 3
"""Tokens of a case of four that are given alone."""


def prefix_is_within(subject: Subject, *, broken: bool = False) -> Identity[Tokens]:
    """The first tokens alone, against the same tokens with one more after them."""

    def residual(case: Tokens) -> float:
        alone = dataclasses.replace(case, x=case.x[:PREFIX], order=jnp.arange(PREFIX))
        return gap(subject.mix(alone), subject.mix(case)[:PREFIX])

    return Identity(
        family="prefix-is-within",
        subject=subject.name,
        statement="The outputs of a prefix alone are those of the same tokens within the whole.",
        source="mathematics/identities.md#causality",
        cases=cases.tokens,
        residual=residual,
        # Of a sum over fewer tokens rounding is no larger.
        tolerance=lambda case: 2 * subject.rounding(case),
        broken=broken,
    )


def _kept_by(subject: Subject) -> list[Identity[Tokens]]:
    """The identities of one mixer: its column in the table."""
    statements = (
        (subject.sums_to_one, rows_sum_to_one),
        (subject.in_hull, outputs_in_hull),
        (subject.permutes, permuted_rows),
        (subject.causal, past_only),
        (subject.prefixes, prefix_is_within),
    )
    return [state(subject, broken=not kept) for kept, state in statements if kept is not None]


IDENTITIES = tuple(identity for subject in SUBJECTS for identity in _kept_by(subject))
