"""Hypothesis strategies: fixed small shapes, free values, the awkward ones often.

One shape per operator compiles once; values are what breaks operators. Every strategy draws 32-bit
numbers (the test runs with x64 off and on), no subnormals (XLA flushes them), and often the values that
numerics trip over: zeros, ones, exact ties, the ends of the range.
"""

import hypothesis.extra.numpy as hnp
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st


def reals(peak: float):
    """Numbers of at most `peak` in size, the special ones often."""
    special = st.sampled_from([0.0, 1.0, -1.0, 0.5, float(peak), -float(peak)])
    return st.one_of(st.floats(-peak, peak, width=32, allow_subnormal=False), special)


def host_arrays(*shape: int, peak: float = 4.0):
    """float64 numpy arrays; hypothesis likes to fill them with one repeated value, which makes ties."""
    return hnp.arrays(np.float64, shape, elements=reals(peak))


def arrays(*shape: int, peak: float = 4.0):
    """JAX arrays in JAX's float."""
    return host_arrays(*shape, peak=peak).map(lambda a: jnp.asarray(a, jax.dtypes.canonicalize_dtype(float)))


def masks(t: int, s: int):
    """Masks that let every query see at least one key."""
    chosen = st.lists(st.integers(0, s - 1), min_size=t, max_size=t)

    def opened(drawn):
        mask, columns = drawn
        mask[np.arange(t), columns] = True
        return jnp.asarray(mask)

    return st.tuples(hnp.arrays(np.bool_, (t, s)), chosen).map(opened)


def orders(n: int):
    """Permutations of n things."""
    return st.permutations(range(n)).map(tuple)


positions = st.integers(-4096, 4096)
"""In tokens; float32 still turns by an angle good to three decimals."""

scales = st.floats(0.125, 2.0, width=32)
