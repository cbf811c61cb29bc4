"""Mutants of our operators as black boxes: every change of some files that `tests.mutants` knows, one at a time.

Functions get other code where they lie, as in `tests.mutants.in_place`.
"""

import contextlib
import functools
import gc
import sys
import types
from collections.abc import Iterator
from unittest import mock

import jax

from attnlab_theory.attention import blocked
from tests.conform.calibration import other_ways, ways
from tests.mutants.changes import PACKAGE, ROOT, Change, changes_of
from tests.mutants.in_place import as_imported, changed, changed_codes

WAYS = {**ways.WAYS, **other_ways.WAYS}
"""What is asked about the changes of a file."""

LOOPS = ("blocked", "linear", "caching")
"""Files whose programs jax keeps, because a loop is compiled even where nothing else is."""


OF_BIGBIRD = ("bigbird_links", "linked_mask", "bigbird_attention", "gathered", "_seen", "_blocks", "_linked_blocks")
"""Functions of `sparse.py` that only BigBird uses: no kind promises what it computes."""

UNSEEN = {
    ("_pair_that_turns", "2 * math.pi -> math.pi"): (
        "a convention: frequencies of another width than that of the profile move, and are printed nowhere"
    ),
    (
        "share_scale",
        "jnp.sqrt(jnp.asarray(refuse.nan_unless_positive(scale), q.dtype)) -> "
        "jnp.asarray(refuse.nan_unless_positive(scale), q.dtype) ** 0.525",
    ): ("the scale is wrong by 3 %, and the row says that one which is wrong by 10 % could pass"),
    ("_log_quadratic", "jnp.sqrt(spread) -> spread ** 0.525"): (
        "the kernel is wrong by a few per cent, and the row says that a tenth of it would be seen"
    ),
    (
        "_log_quadratic",
        "(projection ** 2 @ a)[None] + x * jnp.sqrt(spread)[None] @ projection.T -> "
        "(projection ** 2 @ a)[None] - x * jnp.sqrt(spread)[None] @ projection.T",
    ): ("right: -w has the law of w"),
}
"""Why a change that moves outputs is not found, by its function and its text."""


def changes() -> list[Change]:
    """All of them, file after file."""
    return [change for name in WAYS for change in changes_of(PACKAGE / "attention" / f"{name}.py")]


def stem(change: Change) -> str:
    """The name of the file without its ending."""
    return change.file.rpartition("/")[2].removesuffix(".py")


def function(change: Change) -> str:
    """The name of the function that is changed."""
    return change.function.rpartition(":")[2]


@functools.cache
def functions() -> list[types.FunctionType]:
    """The functions of the attention room that live."""
    here = str(PACKAGE / "attention")
    gc.unfreeze()  # the tests hide from the collector what they have imported
    return [
        f for f in gc.get_objects() if type(f) is types.FunctionType and f.__code__.co_filename.startswith(here)
    ]


def forget(change: Change) -> None:
    """Forget programs and numbers that functions of the changed file have kept."""
    for name, module in list(sys.modules.items()):
        if name.startswith("attnlab_theory.attention"):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
    if stem(change) in LOOPS:
        jax.clear_caches()


@contextlib.contextmanager
def small_blocks(name: str) -> Iterator[None]:
    """Blocked attention, where that file is asked, with as many blocks for few positions as it has for many."""
    if name != "blocked":
        yield
        return
    jax.clear_caches()
    blocked._one_by_one.cache_clear()
    with mock.patch.multiple(blocked, ROWS=2, UNROLLED=2):
        yield
    jax.clear_caches()
    blocked._one_by_one.cache_clear()


@contextlib.contextmanager
def mutated(change: Change) -> Iterator[bool]:
    """Our operators with one change; whether the changed function was found."""
    path = ROOT / change.file
    before = path.read_bytes()
    pairs = changed_codes(before.decode(), change.source(before).decode(), str(path), as_imported(str(path)))
    forget(change)
    try:
        with changed([f for f in functions() if f.__code__.co_filename == str(path)], pairs) as found:
            yield bool(found)
    finally:
        forget(change)
