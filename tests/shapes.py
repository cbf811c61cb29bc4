"""Shapes are checked at run time where an annotation names one; other types are left to `make check`.

The import hook of jaxtyping wraps every function. That took a quarter of the time of a lab's tests, most of it for
functions of plain numbers and text.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import jaxtyping

T = TypeVar("T")
_always = jaxtyping.jaxtyped


def check_shapes(package: str) -> None:
    """From now on, whatever is imported of a package checks the shapes that it names."""
    jaxtyping.jaxtyped = where_named  # the hook writes a call of it above every function and every class
    jaxtyping.install_import_hook(package, "beartype.beartype")


def where_named(*, typechecker: Callable[..., Any]) -> Callable[[T], T]:
    """`jaxtyping.jaxtyped` for functions and dataclasses that name a shape; others stay as they are."""

    def checked(target: T) -> T:
        parts = inspect.getmro(target) if inspect.isclass(target) else (target,)
        annotations = [each for part in parts for each in getattr(part, "__annotations__", {}).values()]
        return _always(target, typechecker=typechecker) if any(map(names_a_shape, annotations)) else target

    return checked


def names_a_shape(annotation: Any) -> bool:
    """Whether a type of jaxtyping is part of an annotation; one that is still a string may hold one."""
    if isinstance(annotation, list):  # the arguments of a Callable
        return any(map(names_a_shape, annotation))
    if inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray | jaxtyping.PyTree):
        return True
    return isinstance(annotation, str) or any(map(names_a_shape, get_args(annotation)))
