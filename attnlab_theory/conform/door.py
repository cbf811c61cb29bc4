"""The door for pytest: one test for each identity that a kind implies.

    from attnlab_theory.conformance import conforms, suite

    test_mine = suite(attention, kind="causal")

    @conforms("causal", exclude=("float16",))
    def test_another(q, k, v, mask=None):
        return another(q, k, v, attn_mask=mask)

Calls of a function are made in the process of the tests, and those that take too long are interrupted. A target
that is named, as `suite("mine.py::attention", kind="causal")`, is called in a child with the limits of
`attnlab conform`.
"""

import atexit
import contextlib
import functools
import inspect
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

try:
    import pytest
except ModuleNotFoundError:
    raise ImportError(
        "attnlab_theory.conformance makes tests for pytest, which is missing: pip install pytest"
    ) from None

from attnlab_theory.conform.finding import Verdict

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Caller
    from attnlab_theory.conform.suite import Suite


def suite(
    target: Callable[..., Any] | str,
    *,
    kind: str,
    include: Collection[str] = (),
    exclude: Collection[str] = (),
    accumulate: str | None = None,
    seconds: float | None = None,
    **declared: Any,
) -> "_Test":
    """A test function with a case for each identity, to be given a name that begins with `test`.

    Args:
        target: a function of q, k, v, called as `attnlab conform` calls it. Or its name, FILE.py::FUNCTION or
            PACKAGE.MODULE:FUNCTION: then it is called in a child with limits.
        kind: what it promises, a name of `--as`.
        include: the identities to try; all if none is named.
        exclude: those that are left out.
        accumulate: the type in which the target adds up.
        seconds: how long one call may take; by default 5, and at least 30 where it may be compiled. 0 is no limit.
        declared: conventions that need not be guessed, as the profile names them: layout="bthd".

    Raises:
        ValueError: if there is no such kind, identity or convention.
    """
    from attnlab_theory.conform.suite import suite_class

    judge = suite_class(kind)
    for what, given, known in (
        ("identity", {*include, *exclude}, judge.IDENTITIES),
        ("convention", declared, judge.CONVENTIONS),
    ):
        if unknown := set(given) - set(known):
            raise ValueError(f"there is no {what} {sorted(unknown)[0]!r}; there are {', '.join(known)}")
    names = [name for name in judge.IDENTITIES if (not include or name in include) and name not in exclude]

    opened: "list[Suite | ValueError]" = []

    def judged() -> "Suite":
        if not opened:
            try:
                opened.append(judge(_caller(target, seconds), kind, declared, accumulate))
            except ValueError as error:
                opened.append(error)
        if isinstance(opened[0], ValueError):
            raise opened[0]
        return opened[0]

    @pytest.mark.parametrize("identity", names)
    def test(identity: str) -> None:
        try:
            row = next(judged().rows([identity]), None)
        except ValueError as error:
            pytest.fail(str(error), pytrace=False)
        if row is None:
            pytest.skip("there is nothing to try")
        if row.verdict is Verdict.FAILS:
            pytest.fail(row.line, pytrace=False)
        if row.verdict is Verdict.NOT_JUDGED:
            pytest.skip(row.line)

    test.__doc__ = f"{getattr(target, '__name__', target)} as {kind}."
    return _Test(test)


class _Test(staticmethod):  # In a class, too, nothing but the identity is handed over.
    owner: type | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner

    @property
    def pytestmark(self) -> list[Any]:
        """The marks of the function: pytest writes them there, and reads them here."""
        return vars(self.__func__)["pytestmark"]


def _caller(target: Callable[..., Any] | str, seconds: float | None) -> "Caller":
    """A caller in this process of a function; of a name in a child, which ends with this process."""
    from attnlab_theory.conform.callers import USUAL, Direct, Fenced

    limit = USUAL if seconds is None else seconds
    if not isinstance(target, str):
        return Direct(target, seconds=limit)
    block = contextlib.ExitStack()
    atexit.register(block.close)
    return block.enter_context(Fenced(target, seconds=limit))


def conforms(kind: str, **options: Any) -> Callable[[Callable[..., Any]], "_Test"]:
    """Make tests of the decorated function of q, k, v, or of a method, which gets an object of its class.

    Args:
        kind: what it promises.
        options: options of `suite`, such as `include`, `exclude` and the layout.
    """

    def decorated(target: Callable[..., Any]) -> _Test:
        signature = inspect.signature(target)
        is_method = next(iter(signature.parameters), "") == "self"

        @functools.wraps(target)
        def method(*arguments: Any, **named: Any) -> Any:
            assert test.owner is not None
            return target(test.owner(), *arguments, **named)

        method.__signature__ = signature.replace(  # pyright: ignore[reportAttributeAccessIssue]
            parameters=[*signature.parameters.values()][is_method:]
        )
        test = suite(method if is_method else target, kind=kind, **options)
        test.__name__, test.__module__ = target.__name__, target.__module__
        return test

    return decorated
