"""The only place where an integer becomes a PRNG key."""

import operator
import zlib

import jax
from jaxtyping import PRNGKeyArray

from attnlab_theory import refuse


def key_for(seed: int, *names: str) -> PRNGKeyArray:
    """A PRNG key that depends on the seed and on the names alone.

    Folding names in, rather than splitting a list of keys, means that adding a claim moves no other
    claim's draws.

    Args:
        seed: the run's seed, 0 <= seed < 2**63.
        names: what the key is for, from general to particular: experiment, claim, purpose.

    Raises:
        ValueError: if `seed` is not a whole number, is negative or does not fit in 63 bits.
    """
    refuse.not_whole(seed=seed)
    seed = operator.index(seed)
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed must be between 0 and 2**63 - 1, not {seed}")
    key = jax.random.key(seed % 2**32)
    # Without x64, jax keeps the low 32 bits of a seed only: fold the rest in, or seeds 0 and 2**32 would agree.
    if seed >= 2**32:
        key = jax.random.fold_in(key, seed // 2**32)
    for name in names:
        key = jax.random.fold_in(key, zlib.crc32(name.encode()))
    return key
