"""Derived tolerances, one named function each. A literal rtol in a test is a review question."""

import numpy as np


def softmax_rtol(peak_score: float, n: int, dtype=np.float32) -> float:
    """Relative error of one softmax weight over n scores bounded by peak_score.

    A score carries absolute rounding eps * peak; exp turns that into relative error; numerator and
    normaliser both pay it (2x), each side of a comparison pays again (2x); the n-term sum adds n * eps.
    """
    eps = float(np.finfo(dtype).eps)
    return eps * (4 * peak_score + 2 * n + 4)
