"""What keys, queries and values can do that plain self-attention cannot (docs/mathematics/routing.md)."""

import dataclasses
import math

import numpy as np
from jaxtyping import PRNGKeyArray

from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.routing.three_tokens import (
    BETAS,
    NEAR,
    POSITIVE,
    SEEN_BETA,
    SELF_COPY,
    SecondToken,
    attended,
    output_atol,
    returned,
)
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.routing import key_query_value as theory
from attnlab_theory.theory.routing.key_query_value import Direction, Head, Middle


class HomeworkRow(Setting):
    """Output `row` (1 or 2, as the homework counts)."""

    row: int
    beta: float


class HeadWeight(Setting):
    """How far output `row` of a head moves with the value of token `column`; tokens count from 1."""

    head: Head
    row: int
    column: int
    beta: float


class OutputCoordinate(Setting):
    """The part of output `row` along one direction u, divided by beta, and what the homework wants it to be."""

    head: Head
    row: int
    direction: Direction
    wanted: float
    beta: float


def _error(key: PRNGKeyArray, setting: HomeworkRow, head: Head) -> float:
    found = attended(key, setting.beta, middle=Middle.A, head=head)
    wanted = {1: found.u[1] - found.u[2], 2: found.u[1]}[setting.row]
    return float(np.linalg.norm(found.outputs[setting.row - 1] - wanted))


def _identity_output(key: PRNGKeyArray, setting: SecondToken) -> float:
    return float(np.linalg.norm(attended(key, setting.beta, middle=Middle.A, head=Head.VALUES).outputs[1]))


def _influence(key: PRNGKeyArray, setting: HeadWeight) -> float:
    """How far one output moves if one value moves by a unit."""
    found = attended(key, setting.beta, middle=Middle.A, head=setting.head)
    moved = found.values.copy()
    moved[setting.column - 1, 0] += 1.0
    change = returned(found.queries, found.x, moved) - found.outputs
    return float(np.linalg.norm(change[setting.row - 1]))


def _coordinate(key: PRNGKeyArray, setting: OutputCoordinate) -> float:
    found = attended(key, setting.beta, middle=Middle.A, head=setting.head)
    direction = found.u[theory.DIRECTIONS.index(setting.direction)]
    return float(found.outputs[setting.row - 1] @ direction) / setting.beta**2


def _copy_atol(setting: SecondToken | HomeworkRow) -> float:
    return output_atol(setting.beta, theory.self_leak(Middle.A, setting.beta))


def _half_of_the_bound(setting: HomeworkRow) -> Interval:
    return Interval.at_most(theory.constructed_bound(setting.row, setting.beta) / 2)


def _without_leak(setting: HeadWeight) -> float:
    """The influence if the largest score got all of the weight; of equal scores, the first."""
    row = theory.weights(setting.head, setting.beta)[setting.row - 1]
    return float(setting.column - 1 == row.argmax())


def _whole_token(setting: OutputCoordinate) -> float:
    """The coordinate without a leak: the wanted one for the constructed head, the token's for the plain head."""
    if setting.head is Head.CONSTRUCTED:
        return setting.wanted
    return float(theory.tokens(Middle.A)[setting.row - 1, theory.DIRECTIONS.index(setting.direction)])


def _with_whole_values(setting: OutputCoordinate) -> float:
    """The coordinate if the values were the tokens themselves."""
    weights = theory.weights(setting.head, setting.beta)[setting.row - 1]
    return float(weights @ theory.tokens(Middle.A)[:, theory.DIRECTIONS.index(setting.direction)])


def _coordinates(head: Head, directions: tuple[Direction, ...]) -> tuple[OutputCoordinate, ...]:
    wanted = theory.wanted_outputs()
    return tuple(
        OutputCoordinate(
            head=head,
            row=row,
            direction=direction,
            wanted=float(wanted[row - 1, theory.DIRECTIONS.index(direction)]),
            beta=beta,
        )
        for row in (1, 2)
        for direction in directions
        for beta in SEEN_BETAS
    )


SEEN_BETAS = (1.0, SEEN_BETA, 3.0)

WANTED = at_least(row=1) | at_most(row=2)
"""The rows of which the homework wants something."""

CONSTRUCTED_ERROR = exact_claim(
    name="constructed-error",
    statement=r"With $V=(u_bu_b^T-u_cu_c^T)/\beta^2$, $K=I$, $Q=(u_du_a^T+u_cu_d^T)/\beta^2$: $c_2$ misses $u_b$ "
    r"by $\beta\sqrt2/(e^{\beta^2}+2)$ and $c_1$ misses $u_b-u_c$ by $\beta\sqrt5/(e^{\beta^2}+2)$.",
    source="mathematics/routing.md#matrices-that-solve-the-homework; practical4/2e.2",
    hypotheses=POSITIVE | WANTED,
    predict=lambda s: Interval.point(theory.constructed_error(s.row, s.beta)),
    draw=lambda key, s: _error(key, s, Head.CONSTRUCTED),
    rounding=_copy_atol,
    settings=tuple(HomeworkRow(row=row, beta=beta) for row in (1, 2) for beta in BETAS),
    rival=Rival(
        statement="The errors are what the copy bound allows: the leak times the farthest value.",
        source="the bound taken for the error, as if all that leaks came from the farthest value",
        predict=lambda s: Interval.point(theory.constructed_bound(s.row, s.beta)),
    ),
    stream=SELF_COPY,
)

CONSTRUCTED_BOUND = dataclasses.replace(
    CONSTRUCTED_ERROR,
    name="constructed-error-bound",
    statement=r"The margin $\beta^2$ alone bounds the errors of $c_1$ and $c_2$ under the constructed head: by the "
    "weight on unwanted keys, times the largest distance of a value from the wanted one.",
    source="mathematics/routing.md#matrices-that-solve-the-homework; practical4/2e.2",
    predict=lambda s: Interval.at_most(theory.constructed_bound(s.row, s.beta)),
    rival=Rival(
        statement="Half of the bound suffices.",
        source="the leak of one of the two other tokens in the place of both",
        predict=_half_of_the_bound,
    ),
)

IDENTITY_OUTPUT = exact_claim(
    name="identity-queries-return-nothing",
    statement=r"With $V=(u_bu_b^T-u_cu_c^T)/\beta^2$ but $Q=K=I$, $c_2 \approx Vx_2 = 0$: only what other tokens "
    "give is left.",
    source="mathematics/routing.md#values-alone-are-enough-if-they-are-others; practical4/2e.2",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.point(theory.identity_output(s.beta)),
    draw=_identity_output,
    rounding=_copy_atol,
    settings=tuple(SecondToken(middle=Middle.A, beta=beta) for beta in BETAS),
    rival=Rival(statement="$c_2 = Vx_2 = 0$.", source="the leak left out", predict=Interval.point(0.0)),
    stream=SELF_COPY,
)

OTHER_VALUES = exact_claim(
    name="other-values-need-no-queries",
    statement=r"With $Q=K=I$ and $V=((u_b-u_c)u_d^T+u_bu_a^T)/\beta^2$ a token's value is what is wanted of it: "
    r"$c_2$ misses $u_b$ by $\beta\sqrt2/(e^{\beta^2}+2)$, no more than under the constructed head.",
    source="mathematics/routing.md#values-alone-are-enough-if-they-are-others; practical4/2e.2",
    hypotheses=POSITIVE | WANTED,
    predict=lambda s: Interval.point(theory.other_values_error(s.row, s.beta)),
    draw=lambda key, s: _error(key, s, Head.OTHER_VALUES),
    rounding=_copy_atol,
    settings=CONSTRUCTED_ERROR.settings,
    rival=Rival(
        statement=r"Either output misses by $\sqrt2\beta e^{-\beta^2}$.",
        source="the other tokens left out of the normaliser",
        predict=lambda s: Interval.point(math.sqrt(2) * s.beta * math.exp(-(s.beta**2))),
    ),
    stream=SELF_COPY,
)

QUERIES_ARE_NEEDED = foil(
    OTHER_VALUES,
    name="no-values-do-without-queries",
    statement=r"With $Q=K=I$ no $V$ makes the outputs $c_1$ and $c_2$ of the homework right: each misses what is "
    r"wanted by a tenth of $\beta$ or more, $\beta$ the length of the tokens' directions.",
    source="mathematics/routing.md#values-alone-are-enough-if-they-are-others; practical4/2e.2, answered with: "
    "values alone are not enough, queries must say who reads whom",
    predict=lambda s: Interval.at_least(NEAR * s.beta),
    settings=tuple(HomeworkRow(row=row, beta=beta) for row in (1, 2) for beta in (2.0, 2.5, 3.0)),
)

WEIGHTS = exact_claim(
    name="key-query-value-weights",
    statement=r"Outputs move with values as the scores $0$, $\beta^2$ and $2\beta^2$ say: $x_2$ reads itself "
    "with $Q=K=I$, and $x_1$ reads itself with the constructed $Q$.",
    source="mathematics/routing.md#matrices-that-solve-the-homework; practical4/2e.1; practical4/2e.2",
    hypotheses=POSITIVE | at_least(row=1, column=1) | at_most(row=3, column=3),
    predict=lambda s: Interval.point(theory.weights(s.head, s.beta)[s.row - 1, s.column - 1]),
    draw=_influence,
    # A change of an output by at most one.
    rounding=lambda s: output_atol(s.beta, 1.0),
    settings=tuple(
        HeadWeight(head=head, row=row, column=column, beta=beta)
        for head in (Head.PLAIN, Head.CONSTRUCTED)
        for row in (1, 2, 3)
        for column in (1, 2, 3)
        for beta in SEEN_BETAS
    ),
    rival=Rival(
        statement="A row reads the token with its largest score and no other, the first one if they tie.",
        source="hard attention, the limit of large scores",
        predict=lambda s: Interval.point(_without_leak(s)),
    ),
    stream=SELF_COPY,
)

OUTPUTS = exact_claim(
    name="key-query-value-outputs",
    statement=r"Along $u_b$ and $u_c$ the constructed head returns $u_b - u_c$ and $u_b$ up to its leak; the plain "
    "one returns its inputs up to its own.",
    source="mathematics/routing.md#matrices-that-solve-the-homework; practical4/2e.1; practical4/2e.2",
    hypotheses=POSITIVE | WANTED,
    predict=lambda s: Interval.point(
        theory.outputs(s.head, s.beta)[s.row - 1, theory.DIRECTIONS.index(s.direction)]
    ),
    draw=_coordinate,
    rounding=lambda s: output_atol(s.beta, 1.0),
    settings=(
        *_coordinates(Head.PLAIN, theory.DIRECTIONS),
        *_coordinates(Head.CONSTRUCTED, (Direction.B, Direction.C)),
    ),
    rival=Rival(
        statement="They do so without a leak.",
        source="the homework's sign for about, read as an equality",
        predict=lambda s: Interval.point(_whole_token(s)),
    ),
    stream=SELF_COPY,
)

NOTHING_ELSE = dataclasses.replace(
    OUTPUTS,
    name="constructed-values-hand-nothing-else-on",
    statement=r"The head that is built for the homework's three tokens returns nothing along the directions $u_a$ "
    r"and $u_d$, although it reads tokens with them.",
    settings=_coordinates(Head.CONSTRUCTED, (Direction.A, Direction.D)),
    rival=Rival[OutputCoordinate](
        statement="What is read is handed on whole, $u_a$ and $u_d$ too.",
        source="$V = I$: queries and keys alone taken for enough",
        predict=lambda s: Interval.point(_with_whole_values(s)),
    ),
)

CLAIMS = (
    CONSTRUCTED_ERROR,
    CONSTRUCTED_BOUND,
    IDENTITY_OUTPUT,
    OTHER_VALUES,
    QUERIES_ARE_NEEDED,
    WEIGHTS,
    OUTPUTS,
    NOTHING_ELSE,
)
