"""Attention with dropout: right in several styles, and with bugs planted in it."""

import numpy as np


def _weights(q, k, hidden=None):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    scores = scores if hidden is None else np.where(hidden, -np.inf, scores)
    with np.errstate(invalid="ignore"):
        top = scores.max(-1, keepdims=True)
        raised = np.exp(scores - np.where(np.isneginf(top), 0, top))
        return (raised / np.maximum(raised.sum(-1, keepdims=True), 1e-30)).astype(q.dtype)


def _scaled(weights, keep, p):
    return np.where(keep, weights / max(1 - p, 1e-30), 0).astype(weights.dtype)


def by_seed(q, k, v, p=0.0, seed=0):
    weights = _weights(q, k)
    return _scaled(weights, np.random.default_rng(seed).random(weights.shape) >= p, p) @ v


def by_generator(q, k, v, dropout_rate, rng, deterministic=False):
    """In the order [b t h d], as flax has it."""
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    weights = _weights(q, k)
    if not deterministic and dropout_rate > 0:
        weights = _scaled(weights, rng.random(weights.shape) >= dropout_rate, dropout_rate)
    return (weights @ v).transpose(0, 2, 1, 3)


def by_what_is_shared(q, k, v, dropout_p=0.0, training=True):
    """From the generator that all share, as torch and old numpy have it."""
    weights = _weights(q, k)
    keep = np.ones(weights.shape)
    if training:
        keep = np.random.binomial(1, 1 - dropout_p, weights.shape)  # noqa: NPY002, for this is what people write
    return (weights * keep / max(1 - dropout_p * training, 1e-30)).astype(q.dtype) @ v


def before_the_softmax(q, k, v, p, seed):
    hidden = np.random.default_rng(seed).random((*q.shape[:-1], k.shape[-2])) < p
    return _weights(q, k, hidden) @ v


def one_mask(q, k, v, rate, key, broadcast_dropout=True):
    weights = _weights(q, k)
    keep = np.random.default_rng(key).random(weights.shape[-2:]) >= rate
    return _scaled(weights, np.broadcast_to(keep, weights.shape), rate) @ v


RIGHT = (by_seed, by_generator, by_what_is_shared, before_the_softmax, one_mask)


def buggy(bug):
    """Attention with dropout, and a word for what is wrong."""
    kept = {}

    def target(q, k, v, p=0.0, seed=0, training=True):
        if bug == "drops in evaluation":
            training = True
        if not training:
            return _weights(q, k) @ v
        r = np.random.default_rng(
            None if bug == "ignores the seed" else seed // 2 if bug == "half a seed" else seed
        )
        weights = _weights(q, k)
        draws = r.random(weights.shape)
        if bug == "one mask for ever":
            draws = kept.setdefault(draws.shape, draws)
        if bug == "one mask for all heads":
            draws = np.broadcast_to(draws[:, :1], draws.shape)
        if bug == "one mask for the batch":
            draws = np.broadcast_to(draws[:1], draws.shape)
        if bug == "one mask for all queries":
            draws = np.broadcast_to(draws[..., :1, :], draws.shape)
        if bug == "draws used twice":
            half = draws.shape[-1] // 2
            draws = np.concatenate([draws[..., :half], draws[..., : draws.shape[-1] - half]], -1)
        rate = {"rate in eighths": np.ceil(8 * p) / 8, "rate twice": 1 - (1 - p) ** 2}.get(bug, p)
        keep = draws >= rate
        if bug == "keeps what it drops":
            keep = draws < p if p else np.ones_like(keep)
        if bug == "nothing is dropped":
            keep = np.ones_like(keep)
        if bug == "no key after 64 is dropped":
            keep[..., 64:] = True
        if bug == "large weights stay":
            keep |= weights > 0.3
        if bug == "drops what is large":
            keep &= ~((weights > 0.3) & (draws < min(1.3 * p, 1)))
        factor = 1 / max(1 - rate, 1e-30)
        if bug == "keeps what it drops":
            factor = 1 / max(p, 1e-30) if p else 1
        if bug == "not raised":
            factor = 1.0
        if bug == "raised by 1 + p":
            factor = 1 + p
        if bug == "raised at rate 0" and p == 0:
            factor = 1.001
        if bug == "nothing is dropped":
            factor = 1.0
        if bug == "scores set to 0":
            scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
            raised = np.exp(np.where(keep, scores * factor, 0))
            return (raised / raised.sum(-1, keepdims=True)).astype(q.dtype) @ v
        if bug == "outputs are dropped":
            out = weights @ v
            return np.where(r.random(out.shape) >= p, out * factor, 0).astype(q.dtype)
        if bug == "values are dropped":
            lost = r.random(v.shape) < p
            return weights @ np.where(lost, 0, v * factor).astype(v.dtype)
        if bug == "writes into q":
            q *= q.dtype.type(2)
        if bug == "dropped twice":
            keep &= r.random(weights.shape) >= p
        return np.where(keep, weights * factor, 0).astype(q.dtype) @ v

    return target


BUGS = (
    "drops in evaluation", "ignores the seed", "half a seed", "one mask for ever", "one mask for all heads",
    "one mask for the batch", "one mask for all queries", "draws used twice", "rate in eighths", "rate twice",
    "keeps what it drops", "nothing is dropped", "no key after 64 is dropped", "large weights stay",
    "drops what is large", "not raised", "raised by 1 + p", "raised at rate 0", "scores set to 0",
    "outputs are dropped", "values are dropped", "writes into q", "dropped twice",
)  # fmt: skip
