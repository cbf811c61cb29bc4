"""Attention with a cache, in numpy, and a word for what is wrong with it."""

import numpy as np

LEFT_OVER: list[np.ndarray] = []


def softmax(scores):
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def rotary(x, positions, base=100.0):
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** -(np.arange(half) / half)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    one, two = x[..., :half], x[..., half:]
    return np.concatenate([one * cos - two * sin, one * sin + two * cos], -1)


def attend(q, k, v, past, bug="", window=0):
    """Queries that stand after `past` keys; what comes after them is hidden."""
    t, s = q.shape[-2], k.shape[-2]
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    back = np.arange(t)[:, None] + past - np.arange(s)
    seen = back >= (-1 if bug == "sees one token too many" else 0)
    if window:
        seen &= back < window
    if bug == "chunks see their own end" and past:
        seen = np.ones_like(seen)
    if bug == "steps hide the cache" and t == 1:
        seen = (np.arange(s) == 0) & seen
    return softmax(np.where(seen, scores, -np.inf)) @ v


def decode(bug="", window=0, rotated=True, grows=True):
    """f(q, k, v, cache=None) -> (out, cache)."""

    def target(q, k, v, cache=None):
        past = 0 if cache is None else cache[0].shape[-2]
        place = past
        if bug == "positions begin again in a step":
            place = 0
        if bug == "positions off by one after a chunk" and past:
            place = past + 1 if past % 5 == 0 else past
        if bug == "positions end at 64":
            place = min(past, 64)
        if rotated:
            at = place + np.arange(q.shape[-2])
            q, k = rotary(q, at), rotary(k, at)
        if cache is not None:
            old_k, old_v = cache
            if bug == "a full cache overwrites its last place" and past >= 10:
                old_k, old_v = old_k[..., :9, :], old_v[..., :9, :]
            if bug == "a full cache forgets the first" and past >= 10:
                old_k, old_v = old_k[..., 1:, :], old_v[..., 1:, :]
            if bug == "cache in half precision":
                old_k, old_v = (x.astype(np.float16).astype(x.dtype) for x in (old_k, old_v))
            if bug == "breaks after six" and past > 6:
                old_v = np.roll(old_v, 1, -2)
            if bug == "drops the newest of a chunk" and q.shape[-2] > 1:
                old_k, old_v = old_k[..., :-1, :], old_v[..., :-1, :]
            if bug == "batch mixed in the cache":
                old_k, old_v = np.roll(old_k, past == 3, 0), np.roll(old_v, past == 3, 0)
            if grows is not True and past + q.shape[-2] > grows:
                raise ValueError(f"the cache holds {grows} tokens")
            k, v = np.concatenate([old_k, k], -2), np.concatenate([old_v, v], -2)
        keep = k, v
        if (times := q.shape[1] // k.shape[1]) > 1:
            other = bug == "steps share keys in another order" and past
            k, v = (np.tile(x, (1, times, 1, 1)) if other else np.repeat(x, times, 1) for x in keep)
        out = attend(q, k, v, k.shape[-2] - q.shape[-2], bug, window)
        if bug == "whole pass leaks" and past == 0 and q.shape[-2] > 16:
            out = out + 1e-3 * v.mean(-2, keepdims=True)
        return out, keep

    return target


def caches_are_shared(q, k, v, cache=None):
    """What comes back is a number only; the arrays lie in one place for all callers."""
    past = None if cache is None else tuple(LEFT_OVER)
    out, LEFT_OVER[:] = decode()(q, k, v, past)
    return out, "the cache"


class Layer:
    """A layer with weights of its own: f(x, cache=None) -> (out, cache), by chunks as by steps."""

    made = 0

    def __init__(self, width=16):
        Layer.made += 1
        r = np.random.default_rng(Layer.made)
        self.w = [r.standard_normal((width, width)).astype("f4") * np.float32(width**-0.5) for _ in range(3)]

    def __call__(self, x, cache=None):
        q, k, v = (x @ w.astype(x.dtype) for w in self.w)
        return decode()(q, k, v, cache)


def projected(bug=""):
    """x -> token shift, then a cache of keys: the shift has a state of its own."""
    w = [np.random.default_rng(i).standard_normal((16, 16)).astype("f4") / 4 for i in range(3)]

    def target(x, cache=None):
        last, inner = (None, None) if cache is None else cache
        before = np.zeros_like(x[:, :1]) if last is None or bug == "the shifted token is lost" else last
        shifted = np.concatenate([before, x[:, :-1]], 1)
        mixed = np.concatenate([x[..., :8], shifted[..., 8:]], -1)
        out, inner = decode()(*(mixed @ each.astype(x.dtype) for each in w), inner)
        return out, (x[:, -1:], inner)

    return target


class Ring:
    """A cache of a size that is asked for, changed in place: init_cache and step."""

    bug = ""

    def __call__(self, x):
        return attend(x, x, x, 0)

    def init_cache(self, batch, max_len):
        return {"kv": np.zeros((batch, max_len, 8), "f4"), "n": 0}

    def step(self, x, cache):
        n, t = cache["n"], x.shape[1]
        most = cache["kv"].shape[1]
        if n + t > most and self.bug != "overwrites its last place":
            raise ValueError(f"the cache of {most} tokens is full")
        if self.bug == "counts before it refuses":
            cache["n"] += t
        if x.shape[-1] != 8:
            raise ValueError("width 8")
        cache["kv"] = cache["kv"].astype(x.dtype)
        first = min(n, most - t)
        cache["kv"][:, first : first + t] = x
        cache["n"] = n + t
        keys = cache["kv"][:, : min(n + t, most)]
        return attend(x, keys, keys, keys.shape[1] - t)


class Overwriting(Ring):
    bug = "overwrites its last place"


class Counting(Ring):
    bug = "counts before it refuses"


class Recurrent:
    """Keeps its state to itself, a token [b d] at a time."""

    shared = np.zeros((1, 8))

    def __call__(self, x):
        out, state = [], 0 * x[:, 0]
        for t in range(x.shape[1]):
            state = state * x.dtype.type(0.9) + x[:, t]
            out.append(np.tanh(state))
        return np.stack(out, 1)

    def reset(self):
        self.state = 0

    def step(self, x):
        assert x.ndim == 2
        self.state = self.state * x.dtype.type(0.9) + x
        return np.tanh(self.state)


class StepsAlone(Recurrent):
    """Can be called, as every module of torch can, and says then that it has no `forward`."""

    def __call__(self, *inputs):
        raise NotImplementedError('it is missing the required "forward" function')


class Shared(Recurrent):
    """Keeps its state with its class."""

    def reset(self):
        Shared.state = 0

    def step(self, x):
        Shared.state = Shared.state * x.dtype.type(0.9) + x
        return np.tanh(Shared.state)


def onnx(q, k, v, past_key=None, past_value=None, is_causal=False):
    """By two arrays and a flag, aligned to the end of the keys."""
    if past_key is not None:
        k, v = np.concatenate([past_key, k], -2), np.concatenate([past_value, v], -2)
    past = k.shape[-2] - q.shape[-2] if is_causal else k.shape[-2]
    return attend(q, k, v, past), k, v


def aligned_to_the_first_key(q, k, v, cache=None, is_causal=False):
    if cache is not None:
        k, v = np.concatenate([cache[0], k], -2), np.concatenate([cache[1], v], -2)
    return attend(q, k, v, 0 if is_causal else k.shape[-2]), (k, v)


def softmax_in_single_precision(q, k, v, cache=None):
    """Whatever comes in, as a well-known library does."""
    if cache is not None:
        k, v = np.concatenate([cache[0], k], -2), np.concatenate([cache[1], v], -2)
    t, s = q.shape[-2], k.shape[-2]
    scores = np.where(np.tri(t, s, s - t, dtype=bool), q @ k.swapaxes(-1, -2) * q.dtype.type(0.4), -np.inf)
    return softmax(scores.astype("f4")).astype(q.dtype) @ v, (k, v)


def by_mask(q, k, v, mask=None, cache=None):
    if cache is not None:
        k, v = np.concatenate([cache[0], k], -2), np.concatenate([cache[1], v], -2)
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ v, (k, v)


def by_added_mask(q, k, v, attention_mask=None, past_key_value=None):
    """As decoders of transformers: the mask has four axes, is added, and is cut to the number of keys."""
    bias = 0 if attention_mask is None else attention_mask[:, :, :, : attention_mask.shape[-1]].astype(q.dtype)
    if past_key_value is not None:
        k, v = (np.concatenate(each, -2) for each in zip(past_key_value, (k, v), strict=True))
    return softmax(q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5) + bias) @ v, (k, v)


def tokens_first(q, k, v, cache=None):
    """[b t h d]."""
    out, cache = decode()(*(x.swapaxes(1, 2) for x in (q, k, v)), cache)
    return out.swapaxes(1, 2), cache


def cache_in_single_precision(q, k, v, cache=None):
    """The cache is float32, whatever comes in."""
    cache = None if cache is None else tuple(x.astype(q.dtype) for x in cache)
    out, cache = decode()(q, k, v, cache)
    return out, tuple(x.astype("f4") for x in cache)


def a_millionth_off_in_float64(q, k, v, cache=None):
    """All of it is float64; an old value is wrong by a millionth there."""
    if cache is not None and q.dtype == np.float64:
        cache = cache[0], cache[1] * (1 + 1e-6)
    return decode()(q, k, v, cache)


def in_place(x, cache=None):
    """A list that grows."""
    cache = [] if cache is None else cache
    cache.append(x)
    keys = np.concatenate(cache, 1)
    return attend(x, keys, keys, keys.shape[1] - x.shape[1]), cache


RIGHT = {
    "rotary": decode(),
    "window": decode(window=4),
    "limited": decode(grows=20),
    "Layer": Layer,
    "projected": projected(),
    "Ring": Ring,
    "Recurrent": Recurrent,
    "steps alone": StepsAlone,
    "onnx": onnx,
    "aligned to the first key": aligned_to_the_first_key,
    "softmax in single precision": softmax_in_single_precision,
    "cache in single precision": cache_in_single_precision,
    "by mask": by_mask,
    "by added mask": by_added_mask,
    "tokens first": tokens_first,
    "in place": in_place,
}

BUGS = {
    "sees one token too many": "causality",
    "chunks see their own end": "chunks",
    "steps hide the cache": "token by token",
    "positions begin again in a step": "token by token",
    "positions off by one after a chunk": "chunks",
    "positions end at 64": "many tokens",
    "a full cache overwrites its last place": "many tokens",
    "a full cache forgets the first": "many tokens",
    "cache in half precision": "token by token",
    "breaks after six": "token by token",
    "drops the newest of a chunk": "chunks",
    "batch mixed in the cache": "elements apart",
    "whole pass leaks": "causality",
    "steps share keys in another order": "shared keys",
}
"""What is wrong with `decode`, and the identity that must find it."""

OTHERS = {
    "a millionth off in float64": (a_millionth_off_in_float64, "float64"),
    "the shifted token is lost": (projected("the shifted token is lost"), "token by token"),
    "caches are shared": (caches_are_shared, "two caches"),
    "overwrites its last place": (Overwriting, "full cache"),
    "counts before it refuses": (Counting, "refused step"),
    "keeps its state with its class": (Shared, "two objects"),
}
