"""Recurrences: right in several styles, and with bugs planted in them. [b h t d] unless another order is said."""

import numpy as np


def _turned(x):
    return np.swapaxes(x, -1, -2)


def _empty(q, v):
    return np.zeros((*q.shape[:-2], q.shape[-1], v.shape[-1]), q.dtype)


def linear(q, k, v, state=None):
    """Parallel within a call, with the state of what was before."""
    state = _empty(q, v) if state is None else state
    return q @ state + np.tril(q @ _turned(k)) @ v, state + _turned(k) @ v


def state_in_float32(q, k, v, state=None):
    """Sums in the type of the inputs; the state is handed over in float32."""
    out, state = linear(q, k, v, None if state is None else state.astype(q.dtype))
    return out, state.astype(np.float32)


def a_millionth_off_in_float64(q, k, v, state=None):
    """All of it is float64, and a state is wrong by a millionth there."""
    return linear(q, k, v, state if state is None or q.dtype != np.float64 else state * (1 + 1e-6))


def blocks_in_float32(q, k, v, state=None):
    """What is before a block of 64 is handed on in float32."""
    out = []
    for i in range(0, q.shape[-2], 64):
        o, state = state_in_float32(*(x[..., i : i + 64, :] for x in (q, k, v)), state)
        out.append(o)
    return np.concatenate(out, -2), state


def linear_chunked(q, k, v, chunk_size=16):
    out, state = [], None
    for i in range(0, q.shape[-2], chunk_size):
        o, state = linear(*(x[..., i : i + chunk_size, :] for x in (q, k, v)), state)
        out.append(o)
    return np.concatenate(out, -2)


def retention(q, k, v, gamma, state=None):
    """gamma [h], in the order [b t h d], token by token; the state is an object of its own."""
    state = {"s": np.zeros((q.shape[0], q.shape[2], q.shape[3], v.shape[3]), q.dtype)} if state is None else state
    s, out = state["s"], []
    for t in range(q.shape[1]):
        s = gamma[:, None, None] * s + k[:, t, :, :, None] * v[:, t, :, None, :]
        out.append((q[:, t, :, :, None] * s).sum(-2))
    return np.stack(out, 1), {"s": s}


def gated(q, k, v, g, initial_state=None, output_final_state=False, chunk_size=None):
    """A log decay for each channel [b h t d]; chunks, each token by token."""
    del chunk_size
    s, out = (_empty(q, v) if initial_state is None else initial_state), []
    for t in range(q.shape[-2]):
        s = np.exp(g[..., t, :, None]) * s + k[..., t, :, None] * v[..., t, None, :]
        out.append((q[..., t, :, None] * s).sum(-2))
    out = np.stack(out, -2)
    return (out, s) if output_final_state else out


def gated_parallel(q, k, v, g):
    """A log decay for each head [b h t]: exponents are differences, and never positive."""
    total = np.cumsum(g, -1, dtype=q.dtype)
    apart = total[..., :, None] - total[..., None, :]
    seen = np.tri(q.shape[-2], dtype=bool)
    return (q @ _turned(k) * np.where(seen, np.exp(np.where(seen, apart, 0)), 0)).astype(q.dtype) @ v


def gated_recurrent(q, k, v, g):
    return gated(q, k, v, np.broadcast_to(g[..., None], q.shape))


def delta(q, k, v, beta, state=None):
    s, out = (_empty(q, v) if state is None else state), []
    for t in range(q.shape[-2]):
        kt, vt = k[..., t, :], v[..., t, :]
        new = beta[..., t, None] * (vt - (kt[..., :, None] * s).sum(-2))
        s = s + kt[..., :, None] * new[..., None, :]
        out.append((q[..., t, :, None] * s).sum(-2))
    return np.stack(out, -2), s


def delta_chunked(q, k, v, beta, chunk_size=8, state=None):
    """By the WY form: a triangular system for each chunk. Refuses what does not divide the length."""
    n = q.shape[-2]
    if n % chunk_size:
        raise ValueError(f"{n} tokens are no chunks of {chunk_size}")
    s, out = (_empty(q, v) if state is None else state), []
    for i in range(0, n, chunk_size):
        a, b, c = (x[..., i : i + chunk_size, :] for x in (q, k, v))
        w = beta[..., i : i + chunk_size, None]
        system = np.eye(chunk_size, dtype=q.dtype) + np.tril(w * (b @ _turned(b)), -1)
        new = np.linalg.solve(system, w * (c - b @ s))
        out.append(a @ s + np.tril(a @ _turned(b)) @ new)
        s = s + _turned(b) @ new
    return np.concatenate(out, -2), s


def in_float32(q, k, v, state=None):
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    return linear(q, k, v, state)


class Cell:
    """A layer whose state is written into."""

    def __call__(self, q, k, v, cache=None):
        cache = [_empty(q, v)] if cache is None else cache
        out = q @ cache[0] + np.tril(q @ _turned(k)) @ v
        cache[0] = cache[0] + _turned(k) @ v
        return out, cache


RIGHT = (linear, linear_chunked, retention, gated, delta, in_float32, state_in_float32, blocks_in_float32, Cell)
AGAINST = ((gated_parallel, gated_recurrent), (gated_recurrent, gated_parallel), (delta_chunked, delta))


def buggy(bug):
    """A gated recurrence in chunks, with a state; and a word for what is wrong."""
    kept = []

    def target(q, k, v, g, state=None, chunk_size=16):
        n, one = q.shape[-2], q.dtype.type
        s, out = (_empty(q, v) if state is None else state), []
        if bug == "state forgotten":
            s = _empty(q, v)
        if bug == "state of an earlier call" and state is None and kept:
            s = kept[-1] if kept[-1].shape == s.shape else s
        if bug == "state in half precision":
            s = s.astype(np.float16).astype(q.dtype)
        if bug == "state shared by heads" and state is not None:
            s = np.broadcast_to(s.mean(1, keepdims=True), s.shape)
        if bug == "rest dropped" and n > chunk_size:
            n = n - n % chunk_size
        for i in range(0, n, chunk_size):
            a, b, c, d = (
                q[..., i : i + chunk_size, :],
                k[..., i : i + chunk_size, :],
                v[..., i : i + chunk_size, :],
                (g[..., i : i + chunk_size]),
            )
            total = np.cumsum(d, -1)
            if bug == "decay starts anew" and i:
                total = total - total[..., :1]
            m = a.shape[-2]
            apart = total[..., :, None] - total[..., None, :]
            seen = np.tri(m, k=1 if bug == "sees one more" and m > 8 else 0, dtype=bool)
            with np.errstate(all="ignore"):
                factor = np.where(seen, np.exp(np.where(seen, apart, 0)), 0)
                if bug == "exponent splits":
                    factor = np.where(seen, np.exp(total)[..., :, None] * np.exp(-total)[..., None, :], 0)
            into = np.exp(total)[..., None]
            if bug == "no decay of the state":
                into = np.ones_like(into)
            if bug == "decay one step late":
                into = np.exp(total - d)[..., None]
            inner = (a @ _turned(b) * factor.astype(q.dtype)) @ c
            out.append((into * a).astype(q.dtype) @ s + inner)
            left = np.exp(total[..., -1:] - total)[..., None]
            if bug == "keys not decayed":
                left = np.ones_like(left)
            decay = np.exp(total[..., -1])[..., None, None]
            if bug == "last token not stored":
                b = np.concatenate([b[..., :-1, :], 0 * b[..., -1:, :]], -2)
            if bug == "last token not stored when one" and m == 1:
                b = 0 * b
            s = (decay * s + _turned(left * b) @ c).astype(q.dtype)
            if bug == "clipped decay":
                s = s + one(1e-4)
        out = np.concatenate(out, -2)
        if bug == "rest dropped" and n < q.shape[-2]:
            out = np.concatenate([out, np.zeros_like(v[..., n:, :])], -2)
        if bug == "wrong at 64" and q.shape[-2] > 64:
            out[..., 64, :] = out[..., 63, :]
        if bug == "normalised by the length":
            out = out / one(q.shape[-2])
        if bug == "batch mixed":
            out = out + one(1e-3) * out[:1]
        if bug == "writes into v":
            v += one(1e-3)
        if bug == "contiguous only" and not v.flags.c_contiguous:
            out = out * one(1.1)
        kept.append(s)
        return out, s

    return target


BUGS = (
    "state forgotten", "state of an earlier call", "state in half precision", "state shared by heads",
    "rest dropped", "decay starts anew", "sees one more", "exponent splits", "no decay of the state",
    "decay one step late", "keys not decayed", "last token not stored", "last token not stored when one",
    "clipped decay", "wrong at 64", "normalised by the length", "batch mixed", "writes into v", "contiguous only",
)  # fmt: skip
