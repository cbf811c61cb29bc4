"""The reference of masks.toml, typical wrong answers, and what must hold of every answer."""

import numpy as np


def draw_sizes(rng, size):
    """The number of tokens and the width of the window."""
    return {"n": size, "w": int(rng.integers(1, size + 1))}


def window_mask(n, w):
    """Query i sees keys i - w + 1 to i."""
    i, j = np.arange(n)[:, None], np.arange(n)
    return (j <= i) & (j > i - w)


def one_too_many(n, w):
    """The window does not count the query's own key."""
    return window_mask(n, w + 1)


def no_window(n, w):
    """All of the past is seen."""
    return np.tri(n)


def transposed(n, w):
    """Rows and columns are exchanged."""
    return window_mask(n, w).T


def every_query_sees_itself(answer):
    """The diagonal of the mask is 1."""
    return bool(np.all(np.diagonal(answer) == 1))
