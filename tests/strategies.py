"""Hypothesis strategies: fixed small shapes, free values, the awkward ones often.

One shape per operator compiles once; values are what breaks operators. Every strategy draws 32-bit
numbers (the test runs with x64 off and on) and often the values that numerics trip over: zeros, ones, exact
ties, the ends of the range.
"""

import hypothesis.extra.numpy as hnp
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from attnlab_theory.identities import cases

SMALLEST = 2.0**-80
"""Nearer to zero than this is zero. A product below float32's smallest normal number, 2^-126, is flushed to
zero by some processors and not by others; no bound on rounding relative to the operands speaks of that."""


def reals(peak: float):
    """Numbers of at most `peak` in size, the special ones often."""
    special = st.sampled_from([0.0, 1.0, -1.0, 0.5, float(peak), -float(peak)])
    drawn = st.floats(-peak, peak, width=32, allow_subnormal=False)
    return st.one_of(drawn.map(lambda x: x if abs(x) >= SMALLEST else 0.0), special)


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
    return st.permutations(range(n)).map(jnp.array)


positions = st.integers(-4096, 4096)
"""In tokens; float32 still turns by an angle good to three decimals."""

scales = st.floats(0.125, 2.0, width=32)


def attending():
    """Queries, keys, values and what symmetries do to them (identities/cases.py)."""
    return st.builds(
        cases.Attending,
        q=arrays(4, 4),
        k=arrays(4, 4),
        v=arrays(4, 3),
        mask=masks(4, 4),
        scale=scales,
        order=orders(4),
        shift=arrays(4),
    )


def tokens():
    """Tokens and the projections of one head of self-attention."""
    return st.builds(
        cases.Tokens,
        x=arrays(4, 4),
        w_q=arrays(4, 4, peak=1.0),
        w_k=arrays(4, 4, peak=1.0),
        w_v=arrays(4, 4, peak=1.0),
        scale=st.floats(0.125, 1.0, width=32),
        order=orders(4),
        table=arrays(4, 4),
    )


def scores():
    """Scores of one query, and its strength."""
    return st.builds(cases.Scores, z=arrays(4), beta=st.floats(0.0625, 4.0, width=32))


def rotating():
    """A query and a key at two positions."""
    return st.builds(
        cases.Rotating,
        q=arrays(6),
        k=arrays(6),
        t=positions,
        s=positions,
        move=positions,
        base=st.sampled_from([10.0, 500.0, 10000.0]),
    )


STRATEGIES = {
    cases.attending: attending(),
    cases.tokens: tokens(),
    cases.scores: scores(),
    cases.rotating: rotating(),
}
"""Hypothesis draws what the key-driven function of the package draws at random."""
