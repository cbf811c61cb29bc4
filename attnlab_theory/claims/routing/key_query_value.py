"""What keys, queries and values can do that plain self-attention cannot (docs/mathematics/routing.md)."""

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.claims.claim import exact_claim, foil
from attnlab_theory.claims.routing.three_tokens import (
    BETAS,
    NEAR,
    POSITIVE,
    SEEN_BETA,
    SELF_COPY,
    SecondToken,
    attended,
    leak_rtol,
    output_atol,
)
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.routing import key_query_value as theory
from attnlab_theory.theory.routing.key_query_value import Direction, Head, Middle


class ConstructedRow(Setting):
    """Output `row` (1 or 2, as the homework counts) of the constructed head."""

    row: int
    beta: float


class HeadWeight(Setting):
    """One cell of the heat map of a head's weights; tokens count from 1."""

    head: Head
    row: int
    column: int
    beta: float


class OutputCoordinate(Setting):
    """The part of output `row` along one direction u, over beta, and what the homework wants it to be."""

    head: Head
    row: int
    direction: Direction
    wanted: float
    beta: float


def _constructed_error(key: PRNGKeyArray, setting: ConstructedRow) -> Float[Array, ""]:
    found = attended(key, setting.beta, middle=Middle.A, head=Head.CONSTRUCTED)
    wanted = {1: found.u[1] - found.u[2], 2: found.u[1]}[setting.row]
    return jnp.linalg.norm(found.outputs[setting.row - 1] - wanted)


def _identity_output(key: PRNGKeyArray, setting: SecondToken) -> Float[Array, ""]:
    return jnp.linalg.norm(attended(key, setting.beta, middle=Middle.A, head=Head.VALUES).outputs[1])


def _identity_miss(key: PRNGKeyArray, setting: SecondToken) -> Float[Array, ""]:
    found = attended(key, setting.beta, middle=Middle.A, head=Head.VALUES)
    return jnp.linalg.norm(found.outputs[1] - found.u[1])


def _weight(key: PRNGKeyArray, setting: HeadWeight) -> Float[Array, ""]:
    weights = attended(key, setting.beta, middle=Middle.A, head=setting.head).weights
    return weights[setting.row - 1, setting.column - 1]


def _coordinate(key: PRNGKeyArray, setting: OutputCoordinate) -> Float[Array, ""]:
    found = attended(key, setting.beta, middle=Middle.A, head=setting.head)
    return found.outputs[setting.row - 1] @ found.u[theory.DIRECTIONS.index(setting.direction)] / setting.beta**2


def _copy_atol(setting: SecondToken | ConstructedRow) -> float:
    return output_atol(setting.beta, theory.self_leak(Middle.A, setting.beta))


CONSTRUCTED_ERROR = exact_claim(
    name="constructed-error",
    statement=r"With $V=(u_bu_b^T-u_cu_c^T)/\beta^2$, $K=I$, $Q=(u_du_a^T+u_cu_d^T)/\beta^2$: $c_2$ misses $u_b$ "
    r"by $\beta\sqrt2/(e^{\beta^2}+2)$ and $c_1$ misses $u_b-u_c$ by $\beta\sqrt5/(e^{\beta^2}+2)$.",
    source="mathematics/routing.md#matrices-that-solve-the-homework; practical4/2e.2",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.point(theory.constructed_error(s.row, s.beta)),
    draw=_constructed_error,
    rounding=_copy_atol,
    settings=tuple(ConstructedRow(row=row, beta=beta) for row in (1, 2) for beta in BETAS),
    stream=SELF_COPY,
)

CONSTRUCTED_BOUND = dataclasses.replace(
    CONSTRUCTED_ERROR,
    name="constructed-error-bound",
    statement=r"The margin $\beta^2$ alone certifies that error: leak times the farthest value.",
    source="mathematics/routing.md#matrices-that-solve-the-homework; practical4/2e.2",
    predict=lambda s: Interval.at_most(theory.constructed_bound(s.row, s.beta)),
)

IDENTITY_OUTPUT = exact_claim(
    name="identity-queries-return-nothing",
    statement=r"With the same $V$ but $Q=K=I$, $c_2 \approx Vx_2 = 0$: only the leak is left.",
    source="mathematics/routing.md#values-alone-are-not-enough; practical4/2e.2",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.point(theory.identity_output(s.beta)),
    draw=_identity_output,
    rounding=_copy_atol,
    settings=tuple(SecondToken(middle=Middle.A, beta=beta) for beta in BETAS),
    stream=SELF_COPY,
)

IDENTITY_FOIL = foil(
    IDENTITY_OUTPUT,
    name="values-alone-suffice",
    statement=r"The right $V$ is enough: with $Q=K=I$, $c_2 \approx u_b$ (within a tenth of its norm).",
    source="mathematics/routing.md#values-alone-are-not-enough; practical4/2e.2, answered with V alone",
    predict=lambda s: Interval.at_most(NEAR * s.beta),
    draw=_identity_miss,
)

WEIGHTS = exact_claim(
    name="key-query-value-weights",
    statement=r"$x_2$ attends to itself with $Q=K=I$, and to $x_1$ with the constructed $Q$, whose scores are 0 or "
    r"$\beta^2$.",
    source="mathematics/routing.md#matrices-that-solve-the-homework; practical4/2e.1; practical4/2e.2",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.point(theory.weights(s.head, s.beta)[s.row - 1, s.column - 1]),
    draw=_weight,
    rounding=lambda s: leak_rtol(s.beta),
    settings=tuple(
        HeadWeight(head=head, row=row, column=column, beta=SEEN_BETA)
        for head in (Head.PLAIN, Head.CONSTRUCTED)
        for row in (1, 2, 3)
        for column in (1, 2, 3)
    ),
    stream=SELF_COPY,
)

OUTPUTS = exact_claim(
    name="key-query-value-outputs",
    statement=r"The constructed head returns $u_b - u_c$ and $u_b$ up to its leak, the plain one its inputs.",
    source="mathematics/routing.md#matrices-that-solve-the-homework; practical4/2e.1; practical4/2e.2",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.point(
        theory.outputs(s.head, s.beta)[s.row - 1, theory.DIRECTIONS.index(s.direction)]
    ),
    draw=_coordinate,
    rounding=lambda s: output_atol(s.beta, 1.0),
    settings=tuple(
        OutputCoordinate(
            head=head,
            row=row,
            direction=direction,
            wanted=float(theory.wanted_outputs()[row - 1, i]),
            beta=SEEN_BETA,
        )
        for head in (Head.PLAIN, Head.CONSTRUCTED)
        for row in (1, 2)
        for i, direction in enumerate(theory.DIRECTIONS)
    ),
    stream=SELF_COPY,
)

CLAIMS = (CONSTRUCTED_ERROR, CONSTRUCTED_BOUND, IDENTITY_OUTPUT, IDENTITY_FOIL, WEIGHTS, OUTPUTS)
