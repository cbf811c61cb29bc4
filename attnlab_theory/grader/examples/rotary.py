"""The reference of rotary.toml, typical wrong answers, and what must hold of every answer."""

import numpy as np


def draw_rows(rng, size):
    """Rows of an even width, at positions in no order."""
    return {"x": rng.normal(size=(size, 2 * int(rng.integers(1, 4)))), "positions": rng.integers(0, 50, size)}


def angles(x, positions, sign=1):
    """The angle of each token and pair."""
    d = x.shape[1]
    return sign * positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)


def turned(a, b, angle):
    """Both coordinates of a pair after a rotation."""
    return a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)


def rotate(x, positions):
    """Neighbours are a pair."""
    out = np.empty_like(x, dtype=float)
    out[:, 0::2], out[:, 1::2] = turned(x[:, 0::2], x[:, 1::2], angles(x, positions))
    return out


def halves(x, positions):
    """Pairs of the other convention."""
    half = x.shape[1] // 2
    return np.hstack(turned(x[:, :half], x[:, half:], angles(x, positions)))


def backwards(x, positions):
    """Rotated the other way."""
    return rotate(x, -positions)


def one_angle(x, positions):
    """All pairs have the first one's angle."""
    out = np.empty_like(x, dtype=float)
    out[:, 0::2], out[:, 1::2] = turned(x[:, 0::2], x[:, 1::2], positions[:, None])
    return out


def lengths_are_kept(answer, x):
    """Every row keeps its length."""
    return np.max(np.abs(np.linalg.norm(answer, axis=1) - np.linalg.norm(x, axis=1)))


def scores_depend_on_distance(f, x, positions):
    """Scores stay the same if all positions are moved by 3."""
    here, there = f(x, positions), f(x, positions + 3)
    return np.max(np.abs(here @ here.T - there @ there.T))
