"""Room 2: a PRNG key to a random problem. Nothing is judged here."""

from attnlab_theory.sampling.geometry import orthonormal
from attnlab_theory.sampling.hashed import hashed_bits, hashed_normal
from attnlab_theory.sampling.keys import gaussian_keys, many_noisy_keys, noise_factors, noisy_keys
from attnlab_theory.sampling.moments import Moments, moments
from attnlab_theory.sampling.scores import ScoreLaw, noisy_scores, score_law
from attnlab_theory.sampling.subspaces import principal_frames, subspace_pair

__all__ = [
    "Moments",
    "ScoreLaw",
    "gaussian_keys",
    "hashed_bits",
    "hashed_normal",
    "many_noisy_keys",
    "moments",
    "noise_factors",
    "noisy_keys",
    "noisy_scores",
    "orthonormal",
    "principal_frames",
    "score_law",
    "subspace_pair",
]
