"""Random problems, each from a PRNG key. Nothing is judged here."""

from attnlab_theory.sampling.geometry import orthonormal
from attnlab_theory.sampling.hashed_normals import hashed_bits, hashed_normal
from attnlab_theory.sampling.keys import gaussian_keys, many_noisy_keys, noise_factors, noisy_keys
from attnlab_theory.sampling.moments import Moments, moments
from attnlab_theory.sampling.projections import (
    Coupling,
    coupled_projection,
    gaussian_projection,
    orthogonal_projection,
    quasi_monte_carlo_projection,
)
from attnlab_theory.sampling.scores import ScoreLaw, noisy_scores, score_law
from attnlab_theory.sampling.sketches import gaussian_sketch
from attnlab_theory.sampling.subspaces import principal_frames, subspace_pair

__all__ = [
    "Coupling",
    "Moments",
    "ScoreLaw",
    "coupled_projection",
    "gaussian_keys",
    "gaussian_projection",
    "gaussian_sketch",
    "hashed_bits",
    "hashed_normal",
    "many_noisy_keys",
    "moments",
    "noise_factors",
    "noisy_keys",
    "noisy_scores",
    "orthogonal_projection",
    "orthonormal",
    "principal_frames",
    "quasi_monte_carlo_projection",
    "score_law",
    "subspace_pair",
]
