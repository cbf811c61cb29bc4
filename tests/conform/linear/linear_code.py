"""Linear attention, right in several styles, and with bugs planted in it."""

import numpy as np


def elu(x):
    return np.where(x > 0, x + 1, np.expm1(np.minimum(x, 0)) + 1).astype(x.dtype)


def relu(x):
    return np.maximum(x, 0)


def softmax(x, axis=-1):
    raised = np.exp(x - x.max(axis, keepdims=True))
    return raised / raised.sum(axis, keepdims=True)


def _turned(x):
    return np.swapaxes(x, -1, -2)


def parallel(q, k, v, causal=False):
    weights = elu(q) @ _turned(elu(k))
    weights = np.tril(weights) if causal else weights
    return weights @ v / (weights.sum(-1, keepdims=True) + q.dtype.type(1e-6))


def in_float32(q, k, v, causal=False):
    """In float32, whatever comes in."""
    return parallel(*(x.astype(np.float32) for x in (q, k, v)), causal).astype(q.dtype)


def states(q, k, v):
    """The sum over keys first: never a matrix of tokens by tokens."""
    f, g = elu(q), elu(k)
    return (f @ (_turned(g) @ v)) / (f * g.sum(-2, keepdims=True)).sum(-1, keepdims=True)


def running(q, k, v):
    """One token after the other, in the order [b t h d]."""
    state = np.zeros((q.shape[0], q.shape[2], q.shape[3], v.shape[3]), q.dtype)
    total, out = np.zeros_like(state[..., 0]), np.zeros((*q.shape[:3], v.shape[3]), q.dtype)
    for t in range(q.shape[1]):
        f, g = elu(q[:, t]), elu(k[:, t])
        state, total = state + g[..., None] * v[:, t, :, None, :], total + g
        out[:, t] = (f[..., None] * state).sum(-2) / (f * total).sum(-1, keepdims=True)
    return out


def cumulative(q, k, v):
    f, g = elu(q), elu(k)
    state = np.cumsum(g[..., None] * v[..., None, :], -3, dtype=q.dtype)
    total = (f * np.cumsum(g, -2, dtype=q.dtype)).sum(-1, keepdims=True)
    return (f[..., None] * state).sum(-2) / np.maximum(total, q.dtype.type(1e-6))


def in_blocks(q, k, v):
    """Blocks of 16: what is in the block by a matrix, what is before by a state; unnormalised, as ONNX has it."""
    q, out = q * q.dtype.type(q.shape[-1] ** -0.5), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    state = np.zeros((*q.shape[:-2], q.shape[-1], v.shape[-1]), q.dtype)
    for i in range(0, q.shape[-2], 16):
        a, b, c = (x[..., i : i + 16, :] for x in (q, k, v))
        out[..., i : i + 16, :] = a @ state + np.tril(a @ _turned(b)) @ c
        state = state + _turned(b) @ c
    return out


def efficient(q, k, v, mask=None):
    k = k if mask is None else np.where(mask[:, None, :, None], k, -np.inf).astype(k.dtype)
    return softmax(q) @ (_turned(softmax(k, -2)) @ v)


def of_ones(q, k, v, mask=None):
    """1 keeps a key; truth values are refused."""
    if mask is not None and mask.dtype != np.int64:
        raise TypeError("ones and zeros are wanted")
    return efficient(q, k, v, None if mask is None else mask == 1)


def masked_relu(q, k, v, key_padding_mask=None):
    g = relu(k) if key_padding_mask is None else relu(k) * ~key_padding_mask[:, None, :, None]
    f, g = relu(q) + q.dtype.type(1e-3), g + q.dtype.type(1e-3)
    if key_padding_mask is not None:
        g = g * ~key_padding_mask[:, None, :, None]
    return (f @ (_turned(g) @ v)) / (f * g.sum(-2, keepdims=True)).sum(-1, keepdims=True)


def one_head(q, k, v):
    assert q.ndim == 2
    f, g = np.exp(q), np.exp(k)
    return (f @ (g.T @ v)) / (f @ g.sum(0))[:, None]


RIGHT = (parallel, in_float32, states, running, cumulative, in_blocks, efficient, masked_relu, one_head)


def buggy(bug):
    """Linear attention by elu + 1, with a causal flag and a mask of keys; and a word for what is wrong."""
    calls = []

    def target(q, k, v, mask=None, causal=False):
        one, n = q.dtype.type, k.shape[-2]
        calls.append(n)
        f, g = elu(q), elu(k)
        if bug == "no plus one":
            f, g = f - one(1), g - one(1)
        if bug == "relu for keys":
            g = relu(k)
        if bug == "features in half precision":
            f, g = (x.astype(np.float16).astype(q.dtype) for x in (f, g))
        if bug == "features squared when long" and n > 16:
            g = g * g
        if bug == "maximum of all keys":
            g = g / g.max()
        if mask is not None and bug != "mask ignored":
            keep = mask[:1] if bug == "mask of the first element" else mask
            g = g * keep[:, None, :, None]
        weights = f @ _turned(g)
        if causal:
            shift = {"sees one more": 1, "strictly causal": -1}.get(bug, 0)
            seen = np.tri(q.shape[-2], n, shift, dtype=bool)
            if bug == "blocks of 64 leak":
                seen |= (np.arange(n) // 64 == np.arange(n)[:, None] // 64) & (np.arange(n)[:, None] >= 64)
            if bug == "last block forgotten":
                seen[:, n - n % 16 if n % 16 and n > 16 else n :] = False
            weights = np.where(seen, weights, one(0))
        norm = weights.sum(-1, keepdims=True)
        if bug == "normaliser of the whole" and causal:
            norm = (f @ _turned(g)).sum(-1, keepdims=True)
        if bug == "normaliser of the first head":
            norm = norm[:, :1] + 0 * norm
        if bug == "mask left in the normaliser" and mask is not None:
            norm = (f @ _turned(elu(k))).sum(-1, keepdims=True)
        if bug == "state kept over calls" and calls[-2:-1] == [n]:
            norm = norm + one(1e-3)
        out = weights @ v / (norm + one({"eps of 1": 1.0, "eps of .02": 0.02}.get(bug, 1e-6)))
        if bug == "divided by the number of keys":
            out = weights @ v / one(n)
        if bug == "batch mixed":
            out = out + one(1e-3) * out.mean(0, keepdims=True)
        if bug == "contiguous only" and not v.flags.c_contiguous:
            out = out * one(1.01)
        if bug == "clips large features":
            out = np.minimum(f, 20) @ _turned(np.minimum(g, 20)) @ v / norm if not causal else out
        if bug == "writes into v":
            v *= one(1)
            v += one(1e-3)
        if bug == "leak that no gradient sees" and causal:
            top = k.max(axis=(-1, -2), keepdims=True)
            weights = np.where(seen, f @ _turned(np.exp(k - top) + one(1e-4)), one(0))
            out = weights @ v / weights.sum(-1, keepdims=True)
        return out

    return target


BUGS = (
    "no plus one", "relu for keys", "features in half precision", "features squared when long",
    "maximum of all keys", "mask ignored", "mask of the first element", "sees one more", "strictly causal",
    "blocks of 64 leak", "last block forgotten", "normaliser of the whole", "normaliser of the first head",
    "mask left in the normaliser", "state kept over calls", "eps of 1", "eps of .02",
    "divided by the number of keys", "batch mixed", "contiguous only", "clips large features", "writes into v",
    "leak that no gradient sees",
)  # fmt: skip
