"""Room 2: a PRNG key to a random problem. Nothing is judged here."""

from attnlab_theory.sampling.geometry import orthonormal
from attnlab_theory.sampling.keys import noisy_keys

__all__ = ["noisy_keys", "orthonormal"]
