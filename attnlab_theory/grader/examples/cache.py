"""The reference of cache.toml, typical wrong answers, and what must hold of every answer."""

import numpy as np


def draw_step(rng, size):
    """A cache of up to size - 1 tokens, empty at size 1."""
    d, m = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    return {
        **{"q": rng.normal(size=d), "k": rng.normal(size=d), "v": rng.normal(size=m)},
        **{"keys": rng.normal(size=(size - 1, d)), "values": rng.normal(size=(size - 1, m))},
    }


def attend(q, keys, values, scale):
    """One query over some keys."""
    scores = scale * (keys @ q)
    weights = np.exp(scores - np.max(scores, initial=-np.inf))
    return weights @ values / np.sum(weights)


def step(q, k, v, keys, values):
    """Keep, then attend."""
    keys, values = np.vstack([keys, k]), np.vstack([values, v])
    return attend(q, keys, values, len(q) ** -0.5), keys, values


def attends_before_it_keeps(q, k, v, keys, values):
    """The token does not see itself."""
    output = attend(q, keys, values, len(q) ** -0.5) if len(keys) else v
    return output, np.vstack([keys, k]), np.vstack([values, v])


def newest_first(q, k, v, keys, values):
    """The new row stands above the old ones."""
    keys, values = np.vstack([k, keys]), np.vstack([v, values])
    return attend(q, keys, values, len(q) ** -0.5), keys, values


def no_scale(q, k, v, keys, values):
    """The softmax of plain dot products."""
    keys, values = np.vstack([keys, k]), np.vstack([values, v])
    return attend(q, keys, values, 1.0), keys, values


def the_cache_grows_by_one(answer, keys, values):
    """The keys and the values have one row more."""
    return len(answer[1]) == len(keys) + 1 and len(answer[2]) == len(values) + 1
