"""An identity: what is true of every input, so that any counterexample fails it."""

import dataclasses
from collections.abc import Callable
from typing import Generic, TypeVar

import jax
from jaxtyping import PRNGKeyArray

C = TypeVar("C")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Identity(Generic[C]):
    """residual(case) <= tolerance(case) for every case.

    The residual is zero in exact arithmetic; for an inequality it is at most zero. The tolerance is what rounding
    may make of it. The docstring of the function that computes the tolerance derives it. Hypothesis draws the
    cases in the tests, a PRNG key draws them for the answer sheet.
    """

    family: str
    """What is asserted: a row of the table of identities by operators."""
    subject: str
    """The operator or mixer of which it is asserted: a column of that table."""
    statement: str
    source: str
    cases: Callable[[PRNGKeyArray], C]
    """One random case; awkward ones (ties, zeros, large values) often."""
    residual: Callable[[C], float]
    tolerance: Callable[[C], float]
    broken: bool = False
    """True for an exhibit: the subject must violate the identity, and the lab shows a counterexample."""
    lengths: tuple[int, ...] = ()
    """The lengths at which each case is tried. If there are none, it is tried at its own length."""

    @property
    def name(self) -> str:
        """`family/subject`, unique."""
        return f"{self.family}/{self.subject}"

    def holds(self, case: C) -> bool:
        """Whether the case is not a counterexample. A residual of NaN is one."""
        return self.residual(case) <= self.tolerance(case)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trial:
    """What became of an identity on a number of cases."""

    identity: str
    cases: int
    counterexamples: int
    residual: float
    """The residual of the case that came nearest to the tolerance, or overstepped it furthest."""
    tolerance: float
    """The tolerance of the same case."""
    broken: bool
    """Whether a counterexample was expected."""
    lengths: tuple[int, ...] = ()
    """The lengths at which each case was tried, if there were several."""

    @property
    def holds(self) -> bool:
        """Whether no case was a counterexample."""
        return self.counterexamples == 0

    @property
    def as_expected(self) -> bool:
        """Whether the identity holds, or fails where it is shown for failing."""
        return self.holds != self.broken


def check_identity(identity: Identity, key: PRNGKeyArray, *, cases: int = 32) -> Trial:
    """Try an identity on random cases.

    Args:
        identity: what is asserted.
        key: a PRNG key. Each case gets a part of it.
        cases: how many to try.

    Raises:
        ValueError: if `cases` is not positive.
    """
    if not cases > 0:
        raise ValueError(f"an identity must be tried on at least one case, not {cases}")
    tried = []
    for part in jax.random.split(key, cases):
        case = identity.cases(part)
        tried.append((identity.residual(case), identity.tolerance(case)))
    residual, tolerance = max(tried, key=lambda pair: _excess(*pair))
    return Trial(
        identity=identity.name,
        cases=cases,
        counterexamples=sum(not r <= t for r, t in tried),
        residual=residual,
        tolerance=tolerance,
        broken=identity.broken,
        lengths=identity.lengths,
    )


def _excess(residual: float, tolerance: float) -> tuple[bool, float]:
    """Orders cases by how badly they fail; a residual that is NaN is the worst."""
    return residual != residual, residual - tolerance
