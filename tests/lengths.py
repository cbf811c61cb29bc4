"""Plain integrals over the length of a stretched key, another road to the numbers of theory/noisy_keys."""

import math

import numpy as np
from scipy import integrate

N, BETA = 16, 30.0


def over_lengths(function, low=-10.0, high=10.0):
    """E[function(g)] over g standard normal between two ends, by Simpson's rule on a fine grid."""
    g = np.linspace(low, high, 200_001)
    values = np.array(function(g)) * np.exp(-g * g / 2) / math.sqrt(2 * math.pi)
    return integrate.simpson(values, x=g)


def softmax_of_stretched(g, scores_a, others):
    """Weights when key a scores scores_a(g) and the others score as listed."""
    scores = np.stack([scores_a(g), *(np.full_like(g, other) for other in others)])
    scores -= scores.max(axis=0)
    return np.exp(scores) / np.exp(scores).sum(axis=0)


def one_head_weights(g, beta=BETA):
    return softmax_of_stretched(g, lambda g: beta * (1 + g / math.sqrt(2)), [beta, *[0.0] * (N - 2)])


def two_heads_weights(g, beta=BETA):
    first = softmax_of_stretched(g, lambda g: beta * (1 + g / math.sqrt(2)), [0.0] * (N - 1))
    second = softmax_of_stretched(g, lambda g: 0 * g, [beta, *[0.0] * (N - 2)])
    return (first + second) / 2


def squared_error(weights):
    half = np.where(np.arange(N) < 2, 0.5, 0.0)
    return ((weights - half[:, None]) ** 2).sum(axis=0)


def simpson_atol():
    """Simpson's rule of step h on a bump of width w = 1 / (BETA / sqrt(2)) errs by about (h / w)^4 of its share."""
    return (1e-4 * BETA / math.sqrt(2)) ** 4
