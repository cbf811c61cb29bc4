"""The reference of smoothing.toml, typical wrong answers, and what must hold of every answer."""

import numpy as np


def draw_logits(rng, size):
    """Logits of two classes or more; a quarter of the cases has large ones."""
    n = size + 1
    scale = 1000 if rng.integers(4) == 0 else 1
    return {
        "logits": scale * rng.normal(size=n),
        "target": int(rng.integers(n)),
        "epsilon": float(rng.integers(1, 10) / 10),
    }


def log_softmax(logits):
    """Logarithms of probabilities, without overflow."""
    shifted = logits - np.max(logits)
    return shifted - np.log(np.sum(np.exp(shifted)))


def smoothed_loss(logits, target, epsilon):
    """Labels of all classes."""
    labels = np.full(len(logits), epsilon / len(logits))
    labels[target] += 1 - epsilon
    return -labels @ log_softmax(logits)


def no_smoothing(logits, target, epsilon):
    """The target alone."""
    return -log_softmax(logits)[target]


def others_only(logits, target, epsilon):
    """The smoothing goes to the other classes."""
    labels = np.full(len(logits), epsilon / (len(logits) - 1))
    labels[target] = 1 - epsilon
    return -labels @ log_softmax(logits)


def base_two(logits, target, epsilon):
    """In bits."""
    return smoothed_loss(logits, target, epsilon) / np.log(2)


def a_constant_changes_nothing(f, logits, target, epsilon):
    """The loss stays the same if 5 is added to all logits."""
    return abs(f(logits, target, epsilon) - f(logits + 5, target, epsilon))
