"""What a claim is judged at: named numbers and choices, whose types say how each of them is used.

    class Copying(Setting):
        n: int                 # a shape: known while the draw is compiled
        coupling: Coupling     # a choice, an enumeration: known while the draw is compiled
        beta: Traced[float]    # compiled once for all its values

Settings are built by keyword. A value of another type is converted where nothing is lost, else refused.
"""

import dataclasses
import difflib
import enum
import math
import types
import typing
from typing import Annotated, Any, TypeVar, dataclass_transform

import numpy as np

N = TypeVar("N", int, float)
S = TypeVar("S", bound="Setting")

_TRACED = "traced"

Traced = Annotated[N, _TRACED]
"""`Traced[float]` or `Traced[int]`: a number that is an argument of the compiled draw.

A sweep over it costs one compilation, and all its values share their random keys. Inside a compiled draw it is a
jax scalar of the default floating type, even if it is a `Traced[int]`.
"""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Setting:
    """The base of all settings: every subclass is a frozen dataclass with keyword-only fields.

    A field is `int`, `float`, `bool`, an enumeration of strings, a tuple of numbers or of such tuples
    (`tuple[int, ...]`), or `Traced` of a number.

    Raises:
        TypeError: if a class has a field of another type.
        ValueError: if a field's type cannot hold its value. The message names class and field.

    Example:
        A shape, and a number that is an argument of the compiled draw.

        >>> class Copying(Setting):
        ...     n: int
        ...     beta: Traced[float]
        >>> setting = Copying(n=4, beta=1)
        >>> setting.fields()
        {'n': 4, 'beta': 1.0}
        >>> setting.static(), setting.traced()
        ((('n', 4),), {'beta': 1.0})

        A value that its type cannot hold is refused.

        >>> Copying(n=4.5, beta=1.0)
        Traceback (most recent call last):
            ...
        ValueError: Copying.n must be a whole number, not 4.5
    """

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)
        # Values are checked and converted below. A type checker at run time must not refuse what is converted.
        cls.__init__.__annotations__.clear()
        for name, kind in field_types(cls).items():
            if not _is_allowed(kind):
                raise TypeError(
                    f"{cls.__name__}.{name}: a field of a setting is int, float, bool, an enumeration of strings, "
                    f"a tuple of numbers (tuple[int, ...]) or Traced of a number, not {kind}"
                )

    def __post_init__(self) -> None:
        for name, kind in field_types(type(self)).items():
            try:
                value = _converted(_plain(kind), getattr(self, name))
            except ValueError as error:
                raise ValueError(f"{type(self).__name__}.{name} {error}") from None
            object.__setattr__(self, name, value)

    @classmethod
    def with_traced(cls: "type[S]", fields: dict[str, Any]) -> "S":
        """A setting inside a compiled draw: its traced fields hold jax's tracers, which nothing checks."""
        setting = object.__new__(cls)
        for name, value in fields.items():
            object.__setattr__(setting, name, value)
        return setting

    def as_json(self) -> dict[str, Any]:
        """The value of each field by its name, as a file holds it: choices are strings."""
        return {name: v.value if isinstance(v, enum.Enum) else v for name, v in self.fields().items()}

    def fields(self) -> dict[str, Any]:
        """The value of each field by its name, in the order of declaration."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(typing.cast(Any, self))}

    def traced(self) -> dict[str, float]:
        """The values of the `Traced` fields, which are the arguments of the compiled draw."""
        kinds = field_types(type(self))
        return {name: float(value) for name, value in self.fields().items() if is_traced(kinds[name])}

    def static(self) -> tuple[tuple[str, Any], ...]:
        """The fields that are known while the draw is compiled. Settings that agree in all of them share one
        program."""
        kinds = field_types(type(self))
        return tuple((name, value) for name, value in self.fields().items() if not is_traced(kinds[name]))


def built(kind: type[S], fields: dict[str, Any]) -> S:
    """A setting made from names and values, for example those of a finding or a file.

    Args:
        kind: the class of the setting.
        fields: a value for each of its fields.

    Raises:
        ValueError: if a field is unknown or missing, or its value does not fit. The message names the field.

    Example:
        A whole number is converted where a real one is wanted; a misspelt name is refused.

        >>> class Copying(Setting):
        ...     n: int
        ...     beta: Traced[float]
        >>> built(Copying, {"n": 4, "beta": 1}).fields()
        {'n': 4, 'beta': 1.0}
        >>> built(Copying, {"n": 4, "bet": 1})
        Traceback (most recent call last):
            ...
        ValueError: Copying has no field 'bet'; did you mean beta?
    """
    known = [field.name for field in dataclasses.fields(typing.cast(Any, kind))]
    for name in fields:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(known)}"
            raise ValueError(f"{kind.__name__} has no field {name!r}; {hint}")
    missing = [name for name in known if name not in fields]
    if missing:
        raise ValueError(f"{kind.__name__} lacks a value for {', '.join(missing)}")
    return kind(**fields)


def field_types(kind: type[Setting]) -> dict[str, Any]:
    """The declared type of each field. `Traced` stays part of the type.

    Args:
        kind: the class of a setting.

    Example:
        `Traced` is kept, so `is_traced` can tell.

        >>> class Copying(Setting):
        ...     n: int
        ...     beta: Traced[float]
        >>> {name: is_traced(kind) for name, kind in field_types(Copying).items()}
        {'n': False, 'beta': True}
    """
    return typing.get_type_hints(kind, include_extras=True)


def is_traced(kind: Any) -> bool:
    """Whether a field of this declared type is an argument of the compiled draw.

    Args:
        kind: the declared type of a field.

    Example:
        A plain type is known while the draw is compiled.

        >>> is_traced(int), is_traced(Traced[int])
        (False, True)
    """
    return typing.get_origin(kind) is Annotated and _TRACED in kind.__metadata__


def _plain(kind: Any) -> Any:
    return kind.__origin__ if is_traced(kind) else kind


def _is_allowed(kind: Any) -> bool:
    if is_traced(kind):
        return _plain(kind) in (int, float)
    inner = _inside(kind)
    if inner is not None:
        return inner in (int, float) or (_inside(inner) is not None and _is_allowed(inner))
    return kind in (int, float, bool) or _is_choice(kind)


def _inside(kind: Any) -> Any:
    """What a tuple of any length holds; None of any other type."""
    arguments = typing.get_args(kind)
    return arguments[0] if typing.get_origin(kind) is tuple and arguments[1:] == (Ellipsis,) else None


def _is_choice(kind: Any) -> bool:
    return isinstance(kind, type) and not isinstance(kind, types.GenericAlias) and issubclass(kind, enum.StrEnum)


def _converted(kind: Any, value: Any) -> Any:
    """The value, converted to this type.

    Raises:
        ValueError: if the conversion would lose something.
    """
    if kind is bool:
        if isinstance(value, bool | np.bool_):
            return bool(value)
        raise ValueError(f"must be True or False, not {value!r}")
    if kind is int:
        return _whole(value)
    if kind is float:
        return _real(value)
    inner = _inside(kind)
    if inner is not None:
        if isinstance(value, tuple | list):
            return tuple(_converted(inner, each) for each in value)
        raise ValueError(f"must be a tuple, not {value!r}")
    if isinstance(value, str):
        choices = [str(choice) for choice in kind]
        if str(value) in choices and (type(value) is str or isinstance(value, kind)):
            return kind(str(value))
        near = difflib.get_close_matches(str(value), choices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"must be one of {', '.join(map(repr, choices))}, not {str(value)!r}{hint}")
    raise ValueError(f"must be one of {', '.join(repr(str(choice)) for choice in kind)}, not {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _whole(value: Any) -> int:
    if not _is_number(value) or not math.isfinite(value) or int(value) != value:
        raise ValueError(f"must be a whole number, not {value!r}")
    return int(value)


def _real(value: Any) -> float:
    if not _is_number(value) or math.isnan(value) or (isinstance(value, int) and int(float(value)) != value):
        raise ValueError(f"must be a number, not {value!r}")
    return float(value)
