"""The primitives of jax by what they cost: arithmetic, reductions, or moving data about.

A primitive that stands in no table is refused, so that no work goes uncounted.
"""

import math
from typing import Any


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


ARITHMETIC = _names(
    """
    abs acos acosh add add_any and asin asinh atan atan2 atanh cbrt ceil clamp cos cosh digamma div eq erf erf_inv
    erfc exp exp2 expm1 floor ge gt integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg
    nextafter not or population_count pow rem round rsqrt select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh sqrt square sub tan tanh xor
    """
)
"""One operation for every element of the result."""

REDUCTIONS = _names(
    """
    argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce_and reduce_max reduce_min reduce_or reduce_prod
    reduce_sum
    """
)
"""One operation for every element of the argument. Running sums count as if taken one after the other."""

SCATTERS = _names("scatter-add scatter-mul scatter-sub")
"""One operation for every element of the updates, which are the third argument."""

MOVES = _names(
    """
    bitcast_convert_type broadcast_in_dim concatenate convert_element_type copy device_put dynamic_slice
    dynamic_update_slice empty gather imag iota name optimization_barrier pad pvary random_bits random_clone
    random_fold_in random_seed random_split random_unwrap random_wrap real reduce_precision reshape rev scatter
    select_and_gather_add slice split squeeze stack stop_gradient threefry2x32 tile transpose unstack
    """
)
"""No floating-point operation at all. Random bits are integers; what turns them into normals is counted."""

CALLS: dict[str, str] = {
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
    "jit": "jaxpr",
    "remat2": "jaxpr",
}
"""Primitives that run another jaxpr once, and the parameter that holds it."""


def dot_general_flops(left: tuple[int, ...], right: tuple[int, ...], dimension_numbers: Any) -> int:
    """Operations of a general product: two for every pair of elements that meet."""
    (_, right_contracted), (_, right_batch) = dimension_numbers
    free = math.prod(n for axis, n in enumerate(right) if axis not in (*right_contracted, *right_batch))
    return 2 * math.prod(left) * free


def convolution_flops(kernel: tuple[int, ...], result: tuple[int, ...], dimension_numbers: Any) -> int:
    """Operations of a convolution: every element of the result meets one output channel's kernel.

    The kernel's input channels are already those of one group. Padding counts as if it were data.
    """
    per_result = math.prod(kernel) // kernel[dimension_numbers.rhs_spec[0]]
    return 2 * math.prod(result) * per_result
