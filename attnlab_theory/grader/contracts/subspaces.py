"""cs224n 1b.i: the matrix that extracts v_a from v_a + v_b."""

import dataclasses

import numpy as np
from hypothesis import strategies as st

from attnlab_theory.grader.contract import Answer, Case, Contract, Measurement
from attnlab_theory.grader.contracts.frames import REFLECTIONS, Draw, Frame, numbers, refuse_unpromised


@dataclasses.dataclass(frozen=True)
class TwoSubspaces:
    """Orthonormal bases of two orthogonal subspaces: the first m rows of a frame, and the others."""

    frame: Frame
    m: int

    def __post_init__(self) -> None:
        n, d = self.frame.n, self.frame.d
        refuse_unpromised(
            {
                "A and B have 1 to 6 dimensions": 1 <= self.m <= 6 and 1 <= n - self.m <= 6,
                "d is at most 16": d <= 16,
            }
        )

    @property
    def arguments(self) -> tuple[np.ndarray | int, ...]:
        """The basis of A as columns."""
        return (np.ascontiguousarray(self.frame.rows[: self.m].T),)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """M."""
        return ((self.frame.d, self.frame.d),)

    def shown(self) -> dict[str, str]:
        """The givens."""
        return {
            "d, m, p": f"{self.frame.d}, {self.m}, {self.frame.n - self.m}",
            "a_1 … a_m, b_1 … b_p": self.frame.shown(),
        }

    def measure(self, answer: tuple[np.ndarray, ...]) -> Measurement:
        """The largest |M s - v_a| over v_a + v_b = s of norm at most 1.

        M s - v_a is linear in s. So its largest norm is the largest singular value of [M A - A, M B]. The right
        singular vector holds the coefficients of the worst s.
        """
        columns = self.frame.rows.T
        kept = columns * (np.arange(self.frame.n) < self.m)
        with np.errstate(over="ignore", invalid="ignore"):
            off = answer[0] @ columns - kept
        if not np.all(np.isfinite(off)):
            return Measurement(error=np.inf, seen={"M s": "overflows"})
        _, singular, right = np.linalg.svd(off)
        # A singular vector has no sign of its own: its largest entry is shown positive.
        worst = right[0] * np.sign(right[0][np.argmax(np.abs(right[0]))])
        s = columns @ worst
        return Measurement(
            error=float(singular[0]),
            seen={
                "worst s = v_a + v_b": numbers(s),
                "M s": numbers(answer[0] @ s),
                "v_a": numbers(kept @ worst),
            },
        )


@st.composite
def _subspaces(draw: Draw) -> TwoSubspaces:
    m, p = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    return TwoSubspaces(Frame(m + p, m + p + draw(st.integers(0, 4)), draw(REFLECTIONS)), m)


COORDINATES = (
    "M has one row for each basis vector, as Aᵀ has: M s are the coordinates of v_a in the basis, not v_a. The "
    "vector is the basis times its coordinates: M = A Aᵀ, of shape (d, d). The error is measured as if zeros "
    "followed them."
)


def _coordinates(case: Case, answer: Answer) -> tuple[Answer, str] | None:
    """An M of shape (m, d), filled up with rows of zeros. It gives the coordinates of v_a instead of v_a."""
    assert isinstance(case, TwoSubspaces)
    if answer[0].shape != (case.m, case.frame.d) or not np.all(np.isfinite(answer[0])):
        return None
    return (np.pad(answer[0], ((0, case.frame.d - case.m), (0, 0))),), COORDINATES


EXTRACT = Contract(
    question="cs224n/1b.i",
    asks="a matrix that extracts v_a from v_a + v_b.",
    function="matrix",
    parameters={"basis: np.ndarray": "an orthonormal basis a_1 … a_m of the subspace A as columns, shape (d, m)"},
    returns={"M": "the matrix, shape (d, d)"},
    quantified=(
        "all subspaces A and B orthogonal to each other, of dimensions 1 to 6 in up to 16; all v_a in A and "
        "v_b in B (the error is taken at the worst of them, which is known exactly)."
    ),
    measure="The error is |M(v_a + v_b) - v_a| for |v_a + v_b| <= 1. Rounding in float32 is allowed.",
    unit="times the norm of v_a + v_b",
    tolerance=1e-5,
    case=TwoSubspaces,
    misread=_coordinates,
    hints={"wrong": "M must leave each vector of A as it is, and send each vector of B to zero. Try both."},
    cases=_subspaces,
)

CONTRACTS = (EXTRACT,)
