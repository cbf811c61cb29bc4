"""uw 1.2.1, 1.2.2, 1.3.1 and 1.3.2: queries for the homework's four keys."""

import dataclasses
from typing import Any

import numpy as np
from hypothesis import strategies as st

from attnlab_theory.grader.contract import Contract, Measurement
from attnlab_theory.grader.contracts.frames import numbers, refuse_unpromised
from attnlab_theory.grader.contracts.worst_values import worst_error

KEYS = ((0.47, 0.65, 0.60), (0.64, 0.50, -0.59), (-0.03, -0.48, -0.88), (0.43, -0.83, 0.35))
"""The homework's keys, one row each, rounded as it prints them: their norms are not quite 1."""

PARAMETERS = {"keys: np.ndarray": f"the homework's four keys, shape (4, 3): {' '.join(str(list(k)) for k in KEYS)}"}
QUANTIFIED = "all values of norm at most 1 (the error is taken at the worst of them, which are known exactly)."
SCALE = "The query may be of any length: put the homework's large scalar S into it where you want one."


@dataclasses.dataclass(frozen=True)
class FourKeys:
    """The homework's keys, and the weights that each output should have."""

    wanted: tuple[tuple[float, ...], ...]

    @property
    def arguments(self) -> tuple[np.ndarray | int, ...]:
        """The keys."""
        return (np.asarray(KEYS),)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """A query, or a row of queries."""
        return ((3,),) if len(self.wanted) == 1 else ((len(self.wanted), 3),)

    def shown(self) -> dict[str, str]:
        """The givens."""
        return {"keys": numbers(np.asarray(KEYS))}

    def measure(self, answer: tuple[np.ndarray, ...]) -> Measurement:
        """The largest error over the outputs and over values of norm at most 1."""
        queries = answer[0].reshape(-1, 3)
        return worst_error(queries, np.asarray(KEYS), np.asarray(self.wanted), present=4)


def _described(fields: dict[str, Any], wanted: tuple[tuple[float, ...], ...]) -> FourKeys:
    """The only case there is, by its fields."""
    case = FourKeys(tuple(map(tuple, fields["wanted"])))
    refuse_unpromised({f"the weights {wanted} are wanted": case.wanted == wanted})
    return case


def _contract(
    question: str, asks: str, wanted: tuple[tuple[float, ...], ...], returns: dict[str, str], measure: str
) -> Contract:
    return Contract(
        question=question,
        asks=asks,
        function="query" if len(wanted) == 1 else "queries",
        parameters=PARAMETERS,
        returns=returns,
        quantified=QUANTIFIED,
        measure=measure,
        unit="times the largest norm of a value",
        tolerance=1e-3,
        case=lambda **fields: _described(fields, wanted),
        cases=lambda: st.just(FourKeys(wanted)),
        remarks=(SCALE,),
        hints={"wrong": "Compute the dot products of your query with the four keys: their differences count."},
        examples=1,
    )


QUERY = {"q": "the query, shape (3,)"}
OUTPUT = "c being the output of softmax attention with scale 1, judged in float64."

FIRST = _contract(
    "uw/1.2.1",
    "a query whose output is the first value.",
    ((1.0, 0.0, 0.0, 0.0),),
    QUERY,
    f"The error is |c - v_1|, {OUTPUT}",
)
EACH = _contract(
    "uw/1.2.2",
    "four queries, each of whose outputs is its own value.",
    tuple(tuple(float(i == j) for j in range(4)) for i in range(4)),
    {"q": "the queries, one row each, shape (4, 3)"},
    f"The error is the largest |c_i - v_i|, {OUTPUT}",
)
ALL = _contract(
    "uw/1.3.1",
    "a query whose output is the average of all four values.",
    ((0.25,) * 4,),
    QUERY,
    f"The error is |c - (v_1 + v_2 + v_3 + v_4)/4|, {OUTPUT}",
)
FIRST_TWO = _contract(
    "uw/1.3.2",
    "a query whose output is the average of the first two values.",
    ((0.5, 0.5, 0.0, 0.0),),
    QUERY,
    f"The error is |c - (v_1 + v_2)/2|, {OUTPUT}",
)

CONTRACTS = (FIRST, EACH, ALL, FIRST_TWO)
