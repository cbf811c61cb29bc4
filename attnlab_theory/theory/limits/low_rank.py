"""Which weights a head of width d can have at all, its queries and keys free (docs/mathematics/limits.md).

Log weights are scores minus one normalizer for each row. Centring every row removes the normalizers and leaves a
matrix of rank at most d. Every matrix of rank d is some queries times some keys. Hence weights P > 0 are reachable
if and only if the row-centred log P has rank at most d. It maps ones to zero, so that width n - 1 is always enough.
"""

import numpy as np


def centred_logarithm(weights: np.ndarray) -> np.ndarray:
    """log P with every row's mean taken off. [t s]"""
    logarithm = np.log(weights)
    return logarithm - np.mean(logarithm, axis=1, keepdims=True)


def width_needed(weights: np.ndarray, tolerance: float) -> int:
    """min over c of rank(log P + c 1^T): how many singular values of the centred logarithm exceed the tolerance.

    Centring is a projection, which raises no rank, and c = minus the means attains it.

    Source: docs/mathematics/limits.md#which-weights-a-narrow-head-can-have; Bhojanapalli et al. 2020, theorem 1.
    """
    return int(np.sum(np.linalg.svd(centred_logarithm(weights), compute_uv=False) > tolerance))


def least_error(weights: np.ndarray, d: int) -> float:
    """The least Frobenius distance of centred log weights of width d from the wanted: singular values left over.

    Source: Eckart and Young 1936.
    """
    left = np.linalg.svd(centred_logarithm(weights), compute_uv=False)[d:]
    return float(np.sqrt(np.sum(left**2)))


def error_at_least(weights: np.ndarray, d: int) -> float:
    """No head of width d brings all weights nearer than this: P_min s / (n + s), s the (d + 1)-th singular value.

    If all weights were within e < P_min, their logarithms would be within e / (P_min - e), and the centred matrices
    within n times that in spectral norm. But they are s apart at least (Eckart and Young). Solved for e.

    Args:
        weights: [n n], positive, rows that add up to one.
        d: less than n.

    Source: docs/mathematics/limits.md#which-weights-a-narrow-head-can-have.
    """
    beyond = float(np.linalg.svd(centred_logarithm(weights), compute_uv=False)[d])
    return float(np.min(weights)) * beyond / (len(weights) + beyond)


def circle_leak(n: int, strength: float) -> float:
    """What a query along one of n keys spread over a circle gives to the others, scores being up to `strength`."""
    gaps = strength * (1 - np.cos(2 * np.pi * np.arange(1, n) / n))
    others = float(np.sum(np.exp(-gaps)))
    return others / (1 + others)
