"""The one interface: a claim, and what was found."""

import dataclasses
import enum
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from jaxtyping import PRNGKeyArray

from attnlab_theory.axes import Scalar
from attnlab_theory.stats.bounds import Bound
from attnlab_theory.stats.interval import Interval

P = TypeVar("P")


class Verdict(enum.StrEnum):
    """What the judge says of a claim at a setting."""

    SUPPORTED = "SUPPORTED"
    REFUTED = "REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Claim(Generic[P]):
    """E[draw] lies in predict(setting) wherever the hypotheses hold.

    A setting is a frozen dataclass of plain numbers. Its integers and strings are shapes and choices,
    known while compiling; its floats are traced, so that a sweep over them costs one compilation and
    shares its random keys. Draws of an `exact` claim are computed once, eagerly, at the plain setting.
    """

    name: str
    statement: str
    """LaTeX allowed; one sentence whose negation can be imagined."""
    source: str
    """Paper, theorem, page; or the homework question."""
    hypotheses: dict[str, Callable[[P], bool]]
    predict: Callable[[P], Interval]
    draw: Callable[[PRNGKeyArray, P], Scalar]
    bound: Callable[[P], Bound]
    resolution: Callable[[P], float]
    """The widest measured interval that may count as support."""
    settings: tuple[P, ...]
    expect: Verdict = Verdict.SUPPORTED
    """REFUTED for a claim the lab exists to knock down."""
    stream: str = ""
    """Claims of one stream see the same random keys; empty: the claim's own name."""
    chunk: int = 1024
    """Draws per device step."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One claim at one setting, judged. The fields are those of the result files."""

    experiment: str
    claim: str
    statement: str
    source: str
    setting: dict[str, Any]
    predicted: Interval
    measured: Interval
    draws: int
    error_rate: float
    resolution: float
    bound: str
    verdict: Verdict
    expect: Verdict

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one the claim is kept for."""
        return self.verdict == self.expect

    def times(self, factor: float) -> "Finding":
        """The same in another unit, for a figure: predicted and measured multiplied by a positive factor."""
        predicted, measured = (Interval(factor * i.low, factor * i.high) for i in (self.predicted, self.measured))
        return dataclasses.replace(self, predicted=predicted, measured=measured)


class Findings(tuple[Finding, ...]):
    """Findings in the order in which they were made; all that a figure is drawn from."""

    def of(self, claim: str, **setting: Any) -> "Findings":
        """The findings of one claim, at the settings whose fields have the given values.

        Raises:
            KeyError: if there is none: a figure must not silently lack a curve.
        """
        chosen = Findings(
            f for f in self if f.claim == claim and all(f.setting[name] == value for name, value in setting.items())
        )
        if not chosen:
            raise KeyError(f"no finding of {claim} at {setting}")
        return chosen

    def values(self, field: str) -> list[Any]:
        """One field of every setting, in order."""
        return [f.setting[field] for f in self]
