"""A statement about numbers that a lab measures on trained models: declared as a value, before any run."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

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


M = TypeVar("M", bound=Measured)

Predict = Callable[[Any, Sequence[Any]], Interval | None]
"""A function of one measured number and of all numbers of the run. It returns the prediction for the one number, or
None if the statement says nothing about it."""


@dataclasses.dataclass(frozen=True)
class Paired:
    """The statement's own number is the difference from the control, on the same data or with the same seed.

    A control that differs from itself by 0 must not pass, so 0 may lie at an end of the prediction and not inside.
    """

    what: str
    """The control, a noun."""


@dataclasses.dataclass(frozen=True)
class Instead:
    """The control has a number of its own: the measured number has to differ from it."""

    what: str
    """The control, a noun."""
    predicted: Interval | Predict
    """Where the control's number lies."""


@dataclasses.dataclass(frozen=True)
class Beyond:
    """Another number of the same run says how far the model is beyond the control: it has to lie above a level.

    Numbers count whose setting has the given fields, and agrees with that of the statement's number in all other
    fields that both have. The least of them decides.
    """

    what: str
    """The control, a noun."""
    quantity: str
    where: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """The values that fields of its setting must have, or a function from the statement's number to them. A tuple
    lists several values for one field."""
    above: float = 0.0
    """What the control reaches."""


@dataclasses.dataclass(frozen=True)
class Identity:
    """There is no control: whatever is put in the model's place passes, by algebra."""

    why: str


Control = Paired | Instead | Beyond | Identity
"""What lacks that which a statement is about, such as an untrained model. If it passes, nothing is supported."""


def has_fields(setting: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether a setting has the given fields. A tuple lists several values for one field.

    Example:
        >>> has_fields({"arm": "rnn", "seed": 0}, {"arm": ("rnn", "gpt")}), has_fields({"seed": 0}, {"arm": "rnn"})
        (True, False)
    """
    missing = object()
    return all(
        setting.get(name, missing) in (wanted if isinstance(wanted, tuple) else (wanted,))
        for name, wanted in where.items()
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Statement:
    """A quantity lies in the predicted interval, wherever its setting has the given fields.

    Raises:
        ValueError: if there is no control, if nothing says what it is, or if it is `Paired` and a difference of 0
            lies inside the prediction.

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
        ...     control=Paired("the same model without positions"),
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
    control: Control
    """What would pass if the statement were trivial. The statement is supported only beyond it."""
    resolution: float = FINE
    """The widest measured interval that may count as support without lying inside."""
    expect: Verdict | None = Verdict.SUPPORTED
    """The verdict that is expected; None if nobody knows what to expect."""
    of_training: bool = True
    """Whether it is also about training runs that nobody has made yet. If not, it is about each model by itself, or
    about no training at all."""
    least: int = LEAST
    """With fewer training runs the statement is not judged."""

    def __post_init__(self) -> None:
        if not isinstance(self.control, Paired | Instead | Beyond | Identity):
            raise ValueError(f"{self.name}: control is Paired, Instead, Beyond or Identity, not {self.control!r}")
        told = self.control.why if isinstance(self.control, Identity) else self.control.what
        if not told.strip():
            raise ValueError(
                f"{self.name}: {type(self.control).__name__} does not say what the control is, or why none"
            )
        if (
            isinstance(self.control, Paired)
            and isinstance(self.predicted, Interval)
            and self.predicted.low < 0 < self.predicted.high
        ):
            raise ValueError(
                f"{self.name}: a difference of 0 from {self.control.what} lies inside the prediction "
                f"[{self.predicted.low:g}, {self.predicted.high:g}]: name a control that would not pass"
            )

    def asks(self, measured: Measured) -> bool:
        """Whether the statement is about this number."""
        return measured.quantity == self.quantity and has_fields(measured.setting, self.where)

    def predicts(self, measured: Measured, every: Sequence[Measured]) -> Interval | None:
        """The prediction for a number that the statement is about.

        Args:
            measured: the number.
            every: all numbers of the run, this one among them.

        Returns:
            The prediction; None if the statement says nothing about this number.
        """
        return _at(self.predicted, measured, every)

    def of_control(self, measured: Measured, every: Sequence[Measured]) -> Interval | None:
        """The number that an `Instead` has in the place of a measured one; None for other controls."""
        return _at(self.control.predicted, measured, every) if isinstance(self.control, Instead) else None

    def beyond(self, measured: M, every: Sequence[M]) -> tuple[M, ...]:
        """The numbers that say how far a measured one is beyond a `Beyond`; none for other controls."""
        control = self.control
        if not isinstance(control, Beyond):
            return ()
        where = control.where(measured) if callable(control.where) else control.where
        return tuple(
            each
            for each in every
            if each.quantity == control.quantity
            and has_fields(each.setting, where)
            and all(
                measured.setting[name] == value
                for name, value in each.setting.items()
                if name in measured.setting and name not in where
            )
        )


def _at(predicted: Interval | Predict, measured: Measured, every: Sequence[Measured]) -> Interval | None:
    return predicted(measured, every) if callable(predicted) else predicted
