"""Hypotheses about one number of a setting: how small and how large it may be."""

import operator
from collections.abc import Callable
from typing import Any


def at_least(**least: float) -> dict[str, Callable[[Any], bool]]:
    """The hypotheses that fields are no smaller than these numbers.

    Args:
        least: the smallest value of each field, by the field's name.

    Example:
        A claim about one key among others needs two keys.

        >>> from types import SimpleNamespace
        >>> some = at_least(n=2, d=1)
        >>> list(some), some["n >= 2"](SimpleNamespace(n=1, d=1))
        (['n >= 2', 'd >= 1'], False)
    """
    return _each(">=", operator.ge, least)


def at_most(**most: float) -> dict[str, Callable[[Any], bool]]:
    """The hypotheses that fields are no larger than these numbers.

    Args:
        most: the largest value of each field, by the field's name.

    Example:
        Exponentials of larger scores leave the range of float32.

        >>> from types import SimpleNamespace
        >>> weak = at_most(beta=80)
        >>> list(weak), weak["beta <= 80"](SimpleNamespace(beta=100.0))
        (['beta <= 80'], False)
    """
    return _each("<=", operator.le, most)


def more_than(**less: float) -> dict[str, Callable[[Any], bool]]:
    """The hypotheses that fields are larger than these numbers.

    Args:
        less: what each field is larger than, by the field's name.

    Example:
        A query without strength asks for nothing.

        >>> from types import SimpleNamespace
        >>> strong = more_than(beta=0)
        >>> list(strong), strong["beta > 0"](SimpleNamespace(beta=0.0))
        (['beta > 0'], False)
    """
    return _each(">", operator.gt, less)


def _each(sign: str, holds: Callable[[Any, Any], bool], ends: dict[str, float]) -> dict[str, Callable[[Any], bool]]:
    def of(name: str, end: float) -> Callable[[Any], bool]:
        return lambda setting: holds(getattr(setting, name), end)

    return {f"{name} {sign} {end}": of(name, end) for name, end in ends.items()}
