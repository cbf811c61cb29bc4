"""The cost of a jaxpr: of the program as jax traces it, before the compiler sees it.

XLA's own cost analysis counts a loop body once, however often it runs (claims/cost/recurrence.py). This one
multiplies by the length of a scan. It refuses a `while` whose length nobody knows.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

from attnlab_theory.counting import primitives
from attnlab_theory.counting.cost import Cost


def count(f: Callable[..., Any], *args: Any) -> Cost:
    """The cost of `f(*args)`, from the shapes alone: nothing is computed or compiled.

    A `cond` costs the larger of its branches, in each field separately. That is a bound, and exact if the branches
    cost the same. Under `vmap` both branches run, and both are counted. Code that is traced and then not used
    counts too.

    Args:
        f: traceable by jax. Bind options with `functools.partial`.
        args: arrays, pytrees of them, or `jax.ShapeDtypeStruct`s for arrays that are not at hand.

    Raises:
        ValueError: if the program holds a `while` of unknown length or a primitive whose work is not known
            (factorisations, sorts, kernels), with the primitive's name.
    """
    return _cost_of(jax.make_jaxpr(f)(*args).jaxpr)


def _cost_of(jaxpr: Jaxpr | ClosedJaxpr) -> Cost:
    opened = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    return sum((_cost_of_equation(equation) for equation in opened.eqns), Cost())


def _cost_of_equation(equation: JaxprEqn) -> Cost:
    name, parameters = equation.primitive.name, equation.params
    if name in primitives.CALLS:
        return _cost_of(parameters[primitives.CALLS[name]])
    if name == "scan":
        # What a loop stacks up is larger than anything its body sees.
        return parameters["length"] * _cost_of(parameters["jaxpr"]) + Cost(largest=_largest(equation))
    if name == "cond":
        return functools.reduce(Cost.dearest, (_cost_of(branch) for branch in parameters["branches"]))
    if name == "while":
        raise ValueError(
            "cannot count a while loop: how often it runs is not known; use lax.scan, or lax.fori_loop with "
            "bounds that are plain integers"
        )
    return _cost_of_leaf(equation) + Cost(largest=_largest(equation))


def _cost_of_leaf(equation: JaxprEqn) -> Cost:
    """The cost of a primitive that runs no other jaxpr."""
    name, parameters = equation.primitive.name, equation.params
    arguments, results = _arrays(equation.invars), _arrays(equation.outvars)
    traffic = sum(map(_bytes, (*arguments, *results)))
    if name == "dot_general":
        numbers = parameters["dimension_numbers"]
        flops = primitives.dot_general_flops(arguments[0].shape, arguments[1].shape, numbers)
        return Cost(matrix_products=flops, bytes=traffic)
    if name == "conv_general_dilated":
        numbers = parameters["dimension_numbers"]
        flops = primitives.convolution_flops(arguments[1].shape, results[0].shape, numbers)
        return Cost(matrix_products=flops, bytes=traffic)
    if name in primitives.MOVES:
        return Cost()
    if name in primitives.ARITHMETIC:
        return Cost(elementwise=_operations(results[0], equation))
    if name in primitives.REDUCTIONS:
        return Cost(elementwise=_operations(arguments[0], equation))
    if name in primitives.SCATTERS:
        return Cost(elementwise=_operations(arguments[2], equation))
    raise ValueError(f"cannot count {name}: its work is not known; add it to attnlab_theory/counting/primitives.py")


def _arrays(variables: Sequence[Any]) -> list[Any]:
    """The shapes and types of an equation's variables and literals."""
    return [variable.aval for variable in variables]


def _operations(array: Any, equation: JaxprEqn) -> int:
    """One operation per element. Work on positions and masks alone counts as none."""
    involved = _arrays([*equation.invars, *equation.outvars])
    floating = any(jnp.issubdtype(other.dtype, jnp.inexact) for other in involved)
    return math.prod(array.shape) if floating else 0


def _largest(equation: JaxprEqn) -> int:
    return max(map(_bytes, _arrays(equation.outvars)), default=0)


def _bytes(array: Any) -> int:
    return math.prod(array.shape) * array.dtype.itemsize
