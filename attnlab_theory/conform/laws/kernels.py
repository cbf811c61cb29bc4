"""Kernels that random features estimate, and the variance of an estimate by independent features.

One row of q and one of k give an estimate phi(q) . phi(k). Its variance for F features is known:

positive, exp(w.x - |x|^2 / 2): K^2 (exp(|q + k|^2) - 1) / F, with K = exp(q.k). Source: Choromanski et al. 2021,
lemma 2. Orthogonal w lower it, and so do pairs exp(w.x), exp(-w.x).

pairs of cos and sin, for F / 2 frequencies: E (1 - exp(-|q - k|^2))^2 / F times exp(|q|^2 + |k|^2), or 1 for the
Gaussian kernel. Source: the same lemma; Sutherland and Schneider 2015.

cos(w.x + b), phases b: (1 + exp(-2 |q - k|^2) / 2 - exp(-|q - k|^2)) / F. Source: the latter.
"""

from collections.abc import Callable, Mapping

import numpy as np

from attnlab_theory.conform import scales

KERNELS: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "softmax": lambda q, k: np.exp((q * k).sum(-1)),
    "gaussian": lambda q, k: np.exp(-((q - k) ** 2).sum(-1) / 2),
}
"""exp(q.k), and exp(-|q - k|^2 / 2), of rows that have been scaled."""

SCALES = ("one", "rsqrt")
"""The scale of the product q.k: 1, or 1/sqrt(width)."""


def scaled(x: np.ndarray, scale: str) -> np.ndarray:
    """Rows whose products have the scale."""
    return x * scales.factor(scale, x.shape[-1]) ** 0.5


def variance(kernel: str, family: str, q: np.ndarray, k: np.ndarray, count: int) -> np.ndarray:
    """The variance of an estimate by independent features, of each pair of rows.

    Args:
        kernel: a key of `KERNELS`.
        family: positive, pairs or phases.
        q: rows, scaled.
        k: rows, scaled.
        count: how many features there are.
    """
    apart = ((q - k) ** 2).sum(-1)
    size = np.exp((q**2).sum(-1) + (k**2).sum(-1)) if kernel == "softmax" else 1.0
    match family:
        case "positive":
            # Times exp(-|x|^2 / 2) once more they estimate the Gaussian kernel.
            return KERNELS[kernel](q, k) ** 2 * np.expm1(((q + k) ** 2).sum(-1)) / count
        case "pairs":
            return size * (1 - np.exp(-apart)) ** 2 / count
        case "phases":
            return size * (1 + np.exp(-2 * apart) / 2 - np.exp(-apart)) / count
    raise ValueError(f"unknown family {family!r}")
