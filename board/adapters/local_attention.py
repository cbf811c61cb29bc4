"""local-attention."""

import functools

from local_attention import LocalAttention


@functools.cache
def _module(window):
    options = {"causal": True, "exact_windowsize": True, "autopad": True, "use_rotary_pos_emb": False}
    return LocalAttention(window, **options).eval()


def windowed(q, k, v, window=4):
    """[b h t d], causal, exact windows, without rotations."""
    if q.shape != k.shape:
        raise ValueError("self-attention: as many queries as keys")
    return _module(window)(q, k, v)
