"""A statement about numbers that a lab measures on trained models: declared as a value, before any run."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attnlab_theory.claims.claim import Verdict
from attnlab_theory.stats import Interval

FINE = 0.001
"""The resolution of a statement, if it has no other: support must show it, or be as narrow as this."""

LEAST = 3
"""Fewer runs decide nothing. With two, Student's t is Cauchy's law, which has not even a mean."""


class Measured(Protocol):
    """What a statement needs to know of a number."""

    @property
    def quantity(self) -> str:
        """What was measured."""
        ...

    @property
    def setting(self) -> Mapping[str, Any]:
        """On what."""
        ...

    @property
    def value(self) -> float:
        """The best guess."""
        ...


Predict = Callable[[Any, Sequence[Any]], Interval | None]
"""The prediction for a number among all that were measured; None where the statement says nothing of it."""


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
    """One sentence whose negation can be imagined. LaTeX allowed."""
    source: str
    """Who says so: homework questions by their ids in the answer sheet, or papers."""
    quantity: str
    """What is measured."""
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Fields of the setting, and their value; a tuple lists several values."""
    predicted: Interval | Predict
    resolution: float = FINE
    """The widest measured interval that may count as support without lying inside."""
    expect: Verdict | None = Verdict.SUPPORTED
    """None: nobody knows what to expect."""
    of_training: bool = True
    """Whether it is about runs that nobody has made yet. Else it is about every model, or about no training."""
    least: int = LEAST
    """Training runs that it needs in any case."""

    def asks(self, measured: Measured) -> bool:
        """Whether it is about this number."""
        if measured.quantity != self.quantity:
            return False
        missing = object()
        return all(
            measured.setting.get(name, missing) in (wanted if isinstance(wanted, tuple) else (wanted,))
            for name, wanted in self.where.items()
        )

    def predicts(self, measured: Measured, every: Sequence[Measured]) -> Interval | None:
        """What it predicts of a number that it is about.

        Args:
            measured: the number.
            every: all numbers of the run, this one among them.

        Returns:
            The prediction; None where it says nothing.
        """
        return self.predicted(measured, every) if callable(self.predicted) else self.predicted
