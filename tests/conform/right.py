"""Right attention, written as people write it: each rounds in its own way."""

import numpy as np


def _hidden(scores, mask):
    return scores if mask is None else np.where(mask, scores, -np.inf)


def _scale(q):
    return q.dtype.type(q.shape[-1] ** -0.5)


def plain(q, k, v, mask=None):
    scores = _hidden(q @ np.swapaxes(k, -1, -2) * _scale(q), mask)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v


def divided_last(q, k, v, mask=None):
    scores = _hidden((q * _scale(q)) @ np.swapaxes(k, -1, -2), mask)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised @ v) / raised.sum(-1, keepdims=True)


def powers_of_two(q, k, v, mask=None):
    scores = _hidden(q @ np.swapaxes(k, -1, -2) * (_scale(q) * q.dtype.type(np.log2(np.e))), mask)
    raised = np.exp2(scores - scores.max(-1, keepdims=True))
    return (raised @ v) / raised.sum(-1, keepdims=True)


def one_key_after_the_other(q, k, v, mask=None):
    """Online: a running maximum, and all that was before rescaled at each key."""
    most = np.full((*q.shape[:-1], 1), -np.inf, q.dtype)
    total, mean = np.zeros_like(most), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    for j in range(k.shape[-2]):
        score = (q * k[..., j : j + 1, :]).sum(-1, keepdims=True) * _scale(q)
        score = score if mask is None else np.where(mask[..., j : j + 1], score, -np.inf).astype(q.dtype)
        new = np.maximum(most, score)
        safe = np.where(np.isneginf(new), 0, new)
        shrink, raised = np.exp(most - safe), np.exp(score - safe)
        total, mean, most = shrink * total + raised, shrink * mean + raised * v[..., j : j + 1, :], new
    return mean / total


def log_sum_exp(q, k, v, mask=None):
    scores = _hidden(q @ np.swapaxes(k, -1, -2) * _scale(q), mask)
    top = scores.max(-1, keepdims=True)
    return np.exp(scores - (top + np.log(np.exp(scores - top).sum(-1, keepdims=True)))) @ v


RIGHT = (plain, divided_last, powers_of_two, one_key_after_the_other, log_sum_exp)
