"""A statement about numbers that a lab measures on trained models: declared as a value, before any run."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attnlab_theory.claims.claim import Verdict
from attnlab_theory.stats import Interval

FINE = 0.001
"""The default resolution of a statement. A wider measured interval supports a statement only if it lies inside
the prediction."""

LEAST = 3
"""Fewer runs decide nothing. With two runs, Student's t distribution is Cauchy's, which has no mean."""


class Measured(Protocol):
    """A measured number, as far as a statement needs to know it."""

    @property
    def quantity(self) -> str:
        """What was measured."""
        ...

    @property
    def setting(self) -> Mapping[str, Any]:
        """The setting at which it was measured."""
        ...

    @property
    def value(self) -> float:
        """The measured value, without its interval."""
        ...


Predict = Callable[[Any, Sequence[Any]], Interval | None]
"""A function of one measured number and of all numbers of the run. It returns the prediction for the one number, or
None if the statement says nothing about it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Statement:
    """A quantity lies in the predicted interval, wherever its setting has the given fields.

    Example:
        Attention with positions has a lower loss than attention without: the difference lies above 0, for words.

        >>> import types
        >>> statement = Statement(
        ...     name="positions-help",
        ...     statement="Positions lower the loss.",
        ...     source="",
        ...     quantity="loss saved",
        ...     where={"text": "words"},
        ...     predicted=Interval.at_least(0.0),
        ... )
        >>> saved = types.SimpleNamespace(quantity="loss saved", setting={"text": "words"}, value=0.5)
        >>> other = types.SimpleNamespace(quantity="loss saved", setting={"text": "digits"}, value=0.5)
        >>> statement.asks(saved), statement.asks(other)
        (True, False)
        >>> statement.predicts(saved, [saved, other])
        Interval(low=0.0, high=inf)
    """

    name: str
    statement: str
    """One sentence that could be false. LaTeX is allowed."""
    source: str
    """Who says so: homework questions by their ids in the answer sheet, or papers."""
    quantity: str
    """What is measured."""
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The values that fields of the setting must have. A tuple lists several values for one field."""
    predicted: Interval | Predict
    resolution: float = FINE
    """The widest measured interval that may count as support without lying inside."""
    expect: Verdict | None = Verdict.SUPPORTED
    """The verdict that is expected; None if nobody knows what to expect."""
    of_training: bool = True
    """Whether it is also about training runs that nobody has made yet. If not, it is about each model by itself, or
    about no training at all."""
    least: int = LEAST
    """With fewer training runs the statement is not judged."""

    def asks(self, measured: Measured) -> bool:
        """Whether the statement is about this number."""
        if measured.quantity != self.quantity:
            return False
        missing = object()
        return all(
            measured.setting.get(name, missing) in (wanted if isinstance(wanted, tuple) else (wanted,))
            for name, wanted in self.where.items()
        )

    def predicts(self, measured: Measured, every: Sequence[Measured]) -> Interval | None:
        """The prediction for a number that the statement is about.

        Args:
            measured: the number.
            every: all numbers of the run, this one among them.

        Returns:
            The prediction; None if the statement says nothing about this number.
        """
        return self.predicted(measured, every) if callable(self.predicted) else self.predicted
