"""The references of heads.toml, and typical wrong answers."""

import numpy as np


def draw_rows(rng, size):
    """Rows of a width that the number of heads divides."""
    h = int(rng.integers(1, 4))
    return {"x": rng.normal(size=(size, h * int(rng.integers(1, 4)))), "h": h}


def split_heads(x, h):
    """Columns that stand side by side belong to one head."""
    return x.reshape(len(x), h, -1).swapaxes(0, 1)


def only_reshaped(x, h):
    """The right shape, and tokens are mixed."""
    return x.reshape(h, len(x), -1)


def every_other_column(x, h):
    """The columns are dealt out like cards."""
    return x.reshape(len(x), -1, h).transpose(2, 0, 1)


def draw_heads(rng, size):
    """Outputs of one to three heads."""
    return {"heads": rng.normal(size=(int(rng.integers(1, 4)), size, int(rng.integers(1, 4))))}


def merge_heads(heads):
    """Every token gets its rows of all heads."""
    return heads.swapaxes(0, 1).reshape(heads.shape[1], -1)


def flattened(heads):
    """The right shape, and tokens are mixed."""
    return heads.reshape(heads.shape[1], -1)


def norms_are_kept(answer, heads):
    """The sum of squares of all numbers stays the same."""
    return abs(np.sum(answer**2) - np.sum(heads**2))
