"""Differential attention, right in several styles, and with bugs planted in it."""

import numpy as np

from tests.conform.kinds.stick_code import past, scored

KIND = "differential"


def softmax(x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def normed(x, eps):
    return (x / np.sqrt((x**2).mean(-1, keepdims=True) + x.dtype.type(eps))).astype(x.dtype)


def hidden(x, q, k, mask=None, causal=False):
    x = np.where(past(q, k, own=True), x, -np.inf) if causal else x
    return (x if mask is None else np.where(mask, x, -np.inf)).astype(q.dtype)


def two_outputs(q1, k1, q2, k2, v, lambda_full, mask=None, causal=False, scale=None):
    """As the paper's code by FlashAttention: two outputs, and their difference."""
    first, second = (
        softmax(hidden(scored(q, k, scale), q, k, mask, causal)).astype(v.dtype) @ v
        for q, k in ((q1, k1), (q2, k2))
    )
    return first - v.dtype.type(lambda_full) * second


def by_halves(q, k, v, lambda_full, lambda_init=0.8, key_padding_mask=None):
    """[b t h d]; the maps lie beside each other in the channels, and each head is normed. lambda_full is [h]."""
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    shown = None if key_padding_mask is None else ~key_padding_mask[:, None, None]
    one, two = (
        softmax(hidden(scored(*each), q, k, shown))
        for each in zip(np.split(q, 2, -1), np.split(k, 2, -1), strict=True)
    )
    x = (one - np.asarray(lambda_full, q.dtype)[:, None, None] * two).astype(q.dtype) @ v
    return (normed(x, 1e-5) * q.dtype.type(1 - lambda_init)).swapaxes(1, 2)


def shared_keys(q1, q2, k, v, lam, is_causal=True):
    """One head at a time, keys for both maps; normed without an eps."""
    assert q1.ndim == 3
    one, two = (softmax(hidden(scored(q, k), q, k, causal=is_causal)) for q in (q1, q2))
    return normed((one - q1.dtype.type(lam) * two).astype(v.dtype) @ v, 0.0)


def in_float32(q, k, v, lambda_full, mask=None):
    """In float32, whatever comes in; without a norm."""
    q1, q2, k1, k2 = (x.astype(np.float32) for pair in (q, k) for x in np.split(pair, 2, -1))
    return two_outputs(q1, k1, q2, k2, v.astype(np.float32), lambda_full, mask).astype(q.dtype)


RIGHT = (two_outputs, by_halves, shared_keys, in_float32)


def buggy(bug):
    """Normed differential attention with a mask, a flag and a scale; and a word for what is wrong."""

    def target(q1, k1, q2, k2, v, lam, lambda_init, mask=None, causal=False, scale=None, key_padding_mask=None):
        one = v.dtype.type
        lams = {
            "lambda of the first head": np.full(len(lam), lam[0]),
            "lambda is never used": 1 + 0 * lam,
            "lambda of the wrong sign": -lam,
            "lambda squared": lam**2,
            "lambda at most one": np.minimum(lam, 1),
        }
        lam = np.asarray(lams.get(bug, lam), v.dtype)[:, None, None]
        outputs = []
        for i, (q, k) in enumerate(((q1, k1), (q2, k1 if bug == "keys of the first map" else k2))):
            is_wrong = i == 1 and bug == "the second map sees the future"
            shown = None if mask is None or bug == "mask ignored" or (i and bug == "one map is masked") else mask
            if key_padding_mask is not None:
                padding = key_padding_mask[:, None, None]
                shown = padding if shown is None else shown & padding
            x = scored(q, k, None if bug == "scale ignored" or (i and bug == "scale of one map") else scale)
            if bug == "lambda multiplies scores" and i:
                outputs.append(softmax(hidden(x * lam, q, k, shown, causal)))
                lam = 0 * lam + 1
                continue
            x = hidden(x, q, k, shown, causal and not is_wrong)
            outputs.append(softmax(x) if bug != "no maximum" else np.exp(x) / np.exp(x).sum(-1, keepdims=True))
        weights = outputs[0] - lam * outputs[1]
        weights = np.maximum(weights, 0) if bug == "negative weights are cut" else weights
        weights = weights / (1 - lam) if bug == "rows sum to one" else weights
        weights = weights.astype(np.float16) if bug == "weights in half precision" else weights
        x = weights.astype(v.dtype) @ v
        if bug == "one norm for all heads":
            x = x / np.sqrt((x**2).mean((1, 3), keepdims=True) + one(1e-5))
        elif bug == "a mean is subtracted":
            x = normed(x - x.mean(-1, keepdims=True), 1e-5)
        elif bug != "no norm of one token" or x.shape[-2] > 1:
            x = normed(x, 1e-5)
        rest = {"the factor 1 - lambda_init is missing": 1, "the factor is lambda_init": lambda_init}.get(
            bug, 1 - lambda_init
        )
        return x.astype(v.dtype) * one(rest)

    return target


BUGS = (
    "lambda of the first head", "lambda is never used", "lambda of the wrong sign", "lambda squared",
    "lambda at most one", "keys of the first map", "the second map sees the future", "mask ignored",
    "one map is masked", "scale ignored", "scale of one map", "lambda multiplies scores", "no maximum",
    "negative weights are cut", "weights in half precision", "one norm for all heads", "a mean is subtracted",
    "no norm of one token", "the factor 1 - lambda_init is missing", "the factor is lambda_init",
)  # fmt: skip
