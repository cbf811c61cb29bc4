"""An interval of real numbers: what is predicted, and what a measurement allows."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Interval:
    """All numbers from `low` to `high`, ends included; an end may be infinite.

    A point is an equality, a half-line is a bound, a band is an approximation with a known error.

    Raises:
        ValueError: if an end is NaN, the ends are the wrong way round, or no real number lies between them.

    Example:
        An equality, a bound, and a measurement that agrees with both.

        >>> Interval.point(0.25)
        Interval(low=0.25, high=0.25)
        >>> Interval.at_most(0.3)
        Interval(low=-inf, high=0.3)
        >>> measured = Interval.around(0.25, 0.125)
        >>> measured.low, measured.high, measured.width, measured.centre
        (0.125, 0.375, 0.25, 0.25)
        >>> measured.contains(Interval.point(0.25)), measured.overlaps(Interval.at_most(0.3))
        (True, True)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"an interval needs low <= high, not [{self.low}, {self.high}]")
        if self.low == math.inf or self.high == -math.inf:
            raise ValueError(f"an interval holds real numbers, but [{self.low}, {self.high}] has none")

    @classmethod
    def point(cls, value: float) -> "Interval":
        """The single number `value`."""
        return cls(float(value), float(value))

    @classmethod
    def at_most(cls, value: float) -> "Interval":
        """Everything up to `value`."""
        return cls(-math.inf, float(value))

    @classmethod
    def at_least(cls, value: float) -> "Interval":
        """Everything from `value` on."""
        return cls(float(value), math.inf)

    @classmethod
    def around(cls, centre: float, radius: float) -> "Interval":
        """`centre` plus or minus `radius`."""
        return cls(float(centre - radius), float(centre + radius))

    @property
    def width(self) -> float:
        """high - low, possibly infinite."""
        return self.high - self.low

    @property
    def centre(self) -> float:
        """The midpoint; meaningful for finite intervals only."""
        return (self.low + self.high) / 2

    def contains(self, other: "Interval") -> bool:
        """Whether `other` lies wholly inside this interval."""
        return self.low <= other.low and other.high <= self.high

    def overlaps(self, other: "Interval") -> bool:
        """Whether the two share at least one number."""
        return self.low <= other.high and other.low <= self.high
