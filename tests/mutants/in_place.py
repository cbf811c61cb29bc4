"""A change made in a process that has imported the package: functions get other code where they lie.

A change costs no import that way. What is not changed: what a function returned while modules were imported.
"""

import contextlib
import functools
import itertools
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import jax

Compiled = Callable[[str, str], types.CodeType]
"""From a source and its path; as the importer does that decorates functions, those inside others too."""


def plainly(source: str, path: str) -> types.CodeType:
    """As Python itself compiles a module."""
    return compile(source, path, "exec", dont_inherit=True)


def as_imported(path: str) -> Compiled:
    """As the importer of this module did."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == path:
            loader = module.__spec__.loader if module.__spec__ else None
            if hasattr(loader, "source_to_code"):
                return lambda source, path: loader.source_to_code(source.encode(), path)  # pyright: ignore
    return plainly


def codes(source: str, path: str, compiled: Compiled) -> list[types.CodeType]:
    """The code of all functions and lambdas of a source, in their order."""
    found: list[types.CodeType] = []

    def walk(code: types.CodeType) -> None:
        for part in code.co_consts:
            if isinstance(part, types.CodeType):
                found.append(part)
                walk(part)

    walk(compiled(source, path))
    return found


def changed_codes(
    before: str, after: str, path: str, compiled: Compiled = plainly
) -> list[tuple[types.CodeType, types.CodeType]]:
    """The codes that differ, old and new; none where the change took away a function inside another."""
    old, new = codes(before, path, compiled), codes(after, path, compiled)
    return [(a, b) for a, b in zip(old, new, strict=True) if a != b] if len(old) == len(new) else []


def _is_of(function: types.FunctionType, code: types.CodeType) -> bool:
    """Whether the function was made of this code, by an importer that decorates functions and leaves them alone."""
    own = function.__code__
    if own.co_qualname != code.co_qualname or own.co_code != code.co_code or own.co_names != code.co_names:
        return False
    return own.co_name != "<lambda>" or own.co_firstlineno == code.co_firstlineno


@contextlib.contextmanager
def changed(
    functions: list[types.FunctionType], pairs: list[tuple[types.CodeType, types.CodeType]]
) -> Iterator[int]:
    """Functions with other code for as long as the block lasts; how many there are."""
    kept = [(f, f.__code__, new) for f in functions for old, new in pairs if _is_of(f, old)]
    try:
        for function, _, new in kept:
            function.__code__ = new
        yield len(kept)
    finally:
        for function, old, _ in kept:
            function.__code__ = old


_times = itertools.count(1000 * os.getpid())
"""Every file that is written gets a time of its own: no bytecode of another source is taken for its own."""


@contextlib.contextmanager
def written(path: str, before: str, after: str) -> Iterator[None]:
    """Another source on disk for as long as the block lasts."""
    try:
        _write(path, after)
        yield
    finally:
        _write(path, before)


def _write(path: str, source: str) -> None:
    Path(path).write_text(source, "utf-8")
    now = next(_times)
    os.utime(path, (now, now))


def is_imported(path: str) -> bool:
    """Whether a module of this process came from the file."""
    return any(getattr(module, "__file__", None) == path for module in list(sys.modules.values()))


def forget() -> None:
    """Forget programs, and what functions of the package and of the tests keep."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("attnlab_theory", "tests"):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
    jax.clear_caches()
