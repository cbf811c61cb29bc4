"""The only place where an integer becomes a PRNG key."""

import operator
import zlib

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray, UInt32

from attnlab_theory import refuse


def key_for(seed: int, *names: str) -> PRNGKeyArray:
    """A PRNG key that depends on the seed and on the names alone.

    Names are folded in, and no list of keys is split. So a new claim changes no other claim's draws.

    Args:
        seed: the run's seed, 0 <= seed < 2**63.
        names: what the key is for, from general to particular: experiment, claim, purpose.

    Raises:
        ValueError: if `seed` is not a whole number, is negative or does not fit in 63 bits.
    """
    refuse.not_a_seed(seed)
    seed = operator.index(seed)
    # Without x64, jax keeps the low 32 bits of a seed only: fold the rest in, or seeds 0 and 2**32 would agree.
    high = [seed // 2**32] if seed >= 2**32 else []
    folded = [*high, *(zlib.crc32(name.encode()) for name in names)]
    return _key(np.asarray(seed % 2**32, np.uint32), np.asarray(folded, np.uint32))


@jax.jit
def _key(seed: UInt32[Array | np.ndarray, ""], folded: UInt32[Array | np.ndarray, " n"]) -> PRNGKeyArray:
    """All foldings in one program. One program for each would take a twentieth of a second to load."""
    key = jax.random.key(seed)
    for number in folded:
        key = jax.random.fold_in(key, number)
    return key
