"""How many matrix products must wait for one another: the work that no number of processors makes shorter."""

from collections.abc import Callable, Iterable
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

from attnlab_theory.counting import primitives

PRODUCTS = frozenset(("dot_general", "conv_general_dilated"))


def longest_chain(f: Callable[..., Any], *args: Any) -> int:
    """The length of the longest chain of matrix products in `f(*args)`, each of which needs the one before.

    If the turns of a loop do not need one another, the loop counts as its longest turn. If each turn needs the one
    before, their lengths add up. A `cond` counts as its longer branch. Primitives other than matrix products count
    nothing.

    Args:
        f: traceable by jax. Bind options with `functools.partial`.
        args: arrays, pytrees of them, or `jax.ShapeDtypeStruct`s for arrays that are not at hand.

    Raises:
        ValueError: if the program holds a `while` of unknown length.
    """
    closed = jax.make_jaxpr(f)(*args)
    return max(_ends(closed, [0] * len(closed.jaxpr.invars)), default=0)


def _ends(jaxpr: Jaxpr | ClosedJaxpr, starts: list[int]) -> list[int]:
    """The length of the chain that ends in each result, given the lengths that lead to each argument."""
    opened = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    behind = dict(zip(opened.invars, starts, strict=True))
    for equation in opened.eqns:
        ends = _ends_of_equation(equation, _lengths(equation.invars, behind))
        behind.update(zip(equation.outvars, ends, strict=True))
    return _lengths(opened.outvars, behind)


def _lengths(variables: Iterable[Any], behind: dict[Any, int]) -> list[int]:
    # Literals and constants wait for nothing.
    return [0 if isinstance(variable, Literal) else behind.get(variable, 0) for variable in variables]


def _ends_of_equation(equation: JaxprEqn, starts: list[int]) -> list[int]:
    name, parameters = equation.primitive.name, equation.params
    if name in primitives.CALLS:
        return _ends(parameters[primitives.CALLS[name]], starts)
    if name == "scan":
        return _ends_of_scan(parameters, starts)
    if name == "cond":
        branches = [_ends(branch, starts[1:]) for branch in parameters["branches"]]
        return [max(starts[0], *ends) for ends in zip(*branches, strict=True)]
    if name == "while":
        raise ValueError("cannot follow a while loop: how often it runs is not known; use lax.scan")
    return [max(starts, default=0) + (name in PRODUCTS)] * len(equation.outvars)


def _ends_of_scan(parameters: dict[str, Any], starts: list[int]) -> list[int]:
    constants, carries = parameters["num_consts"], parameters["num_carry"]
    fixed, carry, rows = starts[:constants], starts[constants : constants + carries], starts[constants + carries :]
    stacked = [0] * (len(parameters["jaxpr"].jaxpr.outvars) - carries)
    for _ in range(parameters["length"]):
        ends = _ends(parameters["jaxpr"], fixed + carry + rows)
        carry = ends[:carries]
        stacked = [max(pair) for pair in zip(stacked, ends[carries:], strict=True)]
    return carry + stacked
