"""Attention in float64 numpy: what is right. Slow, plain, and shared with no operator of the lab.

Axes: b batch, h heads of queries, g heads of keys, t queries, s keys, d width, e width of values.
"""

from typing import NamedTuple

import numpy as np


class Attended(NamedTuple):
    """What attention gives."""

    output: np.ndarray
    """[b h t e]; rows that see nothing are NaN."""
    weights: np.ndarray
    """[b h t s]; rows that see nothing are 0."""
    scores: np.ndarray
    """[b h t s], scaled, capped and with their bias, before anything is hidden."""


def shared(x: np.ndarray, heads: int, *, interleaved: bool = False) -> np.ndarray:
    """Keys or values [b g s d] as every head of queries gets them, [b h s d].

    Args:
        x: one row of heads.
        heads: of queries; a multiple of g.
        interleaved: whether head h reads h % g. Otherwise neighbours share: h // (heads / g).
    """
    groups = x.shape[1]
    order = np.arange(heads) % groups if interleaved else np.arange(heads) * groups // heads
    return x[:, order]


class Problem(NamedTuple):
    """What is asked of attention; keys and values have been given to every head of queries."""

    q: np.ndarray
    """[b h t d]."""
    k: np.ndarray
    """[b h s d]; see `shared` for grouped queries."""
    v: np.ndarray
    """[b h s e]."""
    scale: float
    """The factor of the scores."""
    visible: np.ndarray
    """True where a query may look, [b h t s] or what spreads to it."""
    bias: np.ndarray | None = None
    """Added to the scores, of the same shape."""
    softcap: float | None = None
    """Bound of the scores, in size; None is none."""

    def with_sinks(self, sinks: np.ndarray) -> "Problem":
        """The same with one more key, which every query sees. Its score is the sink of the head, its value 0.

        Args:
            sinks: of each head, [h].
        """
        b, h, t, s = (*self.q.shape[:3], self.k.shape[2])
        wide = ((0, 0), (0, 0), (0, 1), (0, 0))
        last = ((0, 0), (0, 0), (0, 0), (0, 1))
        seen = np.pad(np.broadcast_to(self.visible, (b, h, t, s)), last, constant_values=True)
        bias = np.pad(np.broadcast_to(0.0 if self.bias is None else self.bias, (b, h, t, s)), last)
        bias[..., -1] = sinks[:, None]
        return self._replace(k=np.pad(self.k, wide), v=np.pad(self.v, wide), visible=seen, bias=bias)


def attend(given: Problem) -> Attended:
    """Softmax attention, softmax(cap tanh(scale q k^T / cap) + bias) v.

    What is hidden has no influence, NaN and infinities included. What is visible has all of it.

    Source: Vaswani et al. 2017, eq. (1); for the cap Bello et al. 2016, as Gemma 2 has it before the mask.
    """
    q, k, v = (np.asarray(x, np.float64) for x in (given.q, given.k, given.v))
    with np.errstate(invalid="ignore", over="ignore"):
        scores = given.scale * np.einsum("bhtd,bhsd->bhts", q, k)
        if given.softcap is not None:
            scores = given.softcap * np.tanh(scores / given.softcap)
        if given.bias is not None:
            scores = scores + given.bias
    seen = np.broadcast_to(given.visible, scores.shape)
    weights = _softmax(np.where(seen, scores, -np.inf))
    # A hidden value has weight 0, and 0 times NaN is NaN: it is left out instead.
    finite = np.isfinite(v)
    output = np.einsum("bhts,bhse->bhte", np.nan_to_num(weights, nan=0.0), np.where(finite, v, 0.0))
    spoiled = np.einsum("bhts,bhse->bhte", seen.astype(float), (~finite).astype(float)) > 0
    spoiled |= np.isnan(weights).any(-1, keepdims=True) | ~seen.any(-1, keepdims=True)
    return Attended(np.where(spoiled, np.nan, output), weights, scores)


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Rows of weights; 0 where a whole row is -inf."""
    if not scores.size:
        return scores
    top = scores.max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        raised = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
        total = raised.sum(-1, keepdims=True)
    return raised / np.where(total == 0, 1.0, total)
