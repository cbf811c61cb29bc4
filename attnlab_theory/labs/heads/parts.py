"""The parts of the lab. Nothing here imports jax, because the command line reads it first."""

from typing import Literal

PartName = Literal["premises", "collapse", "approximations", "ablations"]
"""premises: what heads do, noisy lengths, gambles, predicted weights.
collapse: whether tokens become alike with depth, without skip connections and MLPs.
approximations: what each head's output loses to random features, sketches and sparse masks.
ablations: what a classifier's accuracy loses without each head."""

OF_LABELS: tuple[PartName, ...] = ("ablations",)
"""Parts that ask how often labels are right."""
