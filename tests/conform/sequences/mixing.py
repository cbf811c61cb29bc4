"""Mixers in numpy, as people write them, and with bugs planted in them."""

import numpy as np

CHANCE = np.random.default_rng(0)

calls: list[np.ndarray] = []

W = [np.random.default_rng(i).standard_normal((8, 8)) / 8**0.5 for i in range(6)]


def w(i, x):
    return W[i].astype(x.dtype)


def running_mean(x):
    return np.cumsum(x, 1) / np.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]


def recurrence(x):
    state, out = 0 * x[:, 0], []
    for t in range(x.shape[1]):
        state = state * x.dtype.type(0.9) + np.tanh(x[:, t] @ w(0, x))
        out.append(state @ w(1, x)[:, :5])
    return np.stack(out, 1)


def convolution(x):
    past = np.concatenate([np.zeros((len(x), 3, x.shape[2]), x.dtype), x], 1)
    return sum(past[:, i : i + x.shape[1]] * x.dtype.type(0.5**i) for i in range(4))


def fourier(x, size=2):
    """A long filter by a Fourier transform; padded to `size` lengths."""
    t = x.shape[1]
    n = int(size * t)
    filter = (0.9 ** np.arange(t)).astype(x.dtype)
    spectrum = np.fft.rfft(x, n, axis=1) * np.fft.rfft(filter, n)[:, None]
    return np.fft.irfft(spectrum, n, axis=1)[:, :t].astype(x.dtype)


FILTER = 0.9 ** np.arange(256, dtype=np.float32)


def fourier_in_part(x):
    """The filter is float32, whatever comes in: its spectrum rounds, so the future leaks by a little."""
    t = x.shape[1]
    spectrum = np.fft.rfft(x, 2 * t, axis=1) * np.fft.rfft(FILTER[:t], 2 * t)[:, None]
    return np.fft.irfft(spectrum, 2 * t, axis=1)[:, :t].astype(x.dtype)


def leak_in_part(x):
    """The same, and in float64 a leak of far more than float32 rounds."""
    leak = 1e-2 if x.dtype == np.float64 else 0
    return (fourier_in_part(x) + leak * x.mean(1, keepdims=True)).astype(x.dtype)


def unpadded(x):
    return fourier(x, 1)


def barely_padded(x):
    return fourier(x, 1.5)


def attention(x, seen=None):
    q, k, v = (x @ w(i, x) for i in range(3))
    t = x.shape[1]
    scores = q @ k.swapaxes(-1, -2) * x.dtype.type(8**-0.5)
    scores = np.where(np.tri(t, dtype=bool) if seen is None else seen(t), scores, -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


def everywhere(x):
    return attention(x, lambda t: np.ones((t, t), bool))


def neighbours(x):
    return attention(x, lambda t: abs(np.arange(t) - np.arange(t)[:, None]) < 3)


def normalised(x):
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + x.dtype.type(1e-5))


def block(x):
    """Two layers of a transformer."""
    for _ in range(2):
        x = x + attention(normalised(x))
        x = x + np.maximum(normalised(x) @ w(3, x), 0) @ w(4, x)
    return x


def linear(x, future=False):
    """Linear attention by prefix sums, with positive features."""
    q, k, v = (x @ w(i, x) for i in range(3))
    top = k.max((1, 2), keepdims=True) if future else 0
    q, k = np.exp(q - q.max(-1, keepdims=True)), np.exp(np.minimum(k - top, 30))
    sums = np.cumsum(k[..., None] * v[:, :, None, :], 1)
    total = np.cumsum(k, 1)
    eps = x.dtype.type(1e-4)
    return np.einsum("btd,btde->bte", q, sums) / ((q * total).sum(-1, keepdims=True) + eps)


def performer(x):
    """The maximum of the keys is taken over the future too."""
    return linear(x, future=True)


def tokens_first(x):
    """[t b d]."""
    return np.cumsum(x, 0)


def one_sequence(x):
    """[t d]."""
    assert x.ndim == 2
    return np.cumsum(x @ w(0, x), 0)


class Layer:
    """With parameters of its own."""

    made = 0

    def __init__(self):
        Layer.made += 1
        self.w = np.random.default_rng(Layer.made).standard_normal((8, 8))

    def __call__(self, x):
        return running_mean(x @ self.w.astype(x.dtype))


class Shared(Layer):
    """Parameters of the class, which each call of an object changes."""

    def __call__(self, x):
        Shared.last = getattr(Shared, "last", self)
        same, Shared.last = Shared.last is self, self
        return running_mean(x) * x.dtype.type(1 if same else 2)


def blocks_of_16(x):
    """Beyond the first 16 tokens, a block sees itself whole."""

    def seen(t):
        n = np.arange(t)
        return (n <= n[:, None]) | ((n // 16 == n[:, None] // 16) & (t > 16))

    return attention(x, seen)


def last_of_128(x):
    """In sequences of more than 128 tokens the mask is shifted by one."""
    return attention(x, lambda t: np.tri(t, t, int(t > 128), dtype=bool))


def tiny_leak(x):
    """A millionth of the mean of everything."""
    return running_mean(x) + x.dtype.type(1e-6) * x.mean(1, keepdims=True)


def by_the_length(x):
    """The sum so far over the length of the whole."""
    return np.cumsum(x, 1) / x.dtype.type(x.shape[1])


def positions_from_the_end(x):
    return running_mean(x * (1 + np.arange(x.shape[1])[::-1, None] / 100).astype(x.dtype))


def normalised_over_the_batch(x):
    return running_mean((x - x.mean(0)) / (x.std(0) + x.dtype.type(1e-3)))


def remembers(x):
    calls.append(x[:1, -1:])
    return running_mean(x) + (calls[-2].mean().astype(x.dtype) if len(calls) > 1 else 0)


def writes(x):
    x -= x.mean(-1, keepdims=True)
    return running_mean(x)


def contiguous_only(x):
    return running_mean(x if x.flags.c_contiguous else x[..., ::-1])


def no_single_token(x):
    return running_mean(x) / np.float32(x.shape[1] > 1)


def mixes_rows_when_long(x):
    return running_mean(np.roll(x, 1, 0) if x.shape[1] > 16 else x)


def wrong_in_float64(x):
    return running_mean(x) * x.dtype.type(1.001 if x.dtype == np.float64 else 1)


def drops_a_rest(x):
    """Blocks of 64, and what is left over is not answered."""
    t = x.shape[1]
    return running_mean(x)[:, : t if t < 64 else t - t % 64]


def random(x):
    return running_mean(x) * CHANCE.random(x.shape).astype(x.dtype)


class ShortOnce:
    """After one short input it sees everything for good."""

    def __init__(self):
        self.short = False

    def __call__(self, x):
        self.short |= x.shape[1] < 3
        return everywhere(x) if self.short else neighbours(x)


RIGHT = {
    "running mean": (running_mean, "hidden"),
    "recurrence": (recurrence, "hidden"),
    "convolution": (convolution, "hidden"),
    "fourier": (fourier, "hidden"),
    "fourier in part": (fourier_in_part, "hidden"),
    "attention": (attention, "hidden"),
    "everywhere": (everywhere, "seen"),
    "neighbours": (neighbours, "seen"),
    "normalised": (normalised, "hidden"),
    "block": (block, "hidden"),
    "linear": (linear, "hidden"),
    "tokens first": (tokens_first, "hidden"),
    "one sequence": (one_sequence, "hidden"),
    "Layer": (Layer, "hidden"),
    "unpadded": (unpadded, "seen"),
}
"""Right code, and whether it hides the future."""

BUGS = {
    "blocks of 16": (blocks_of_16, "causality", {}),
    "last of 128": (last_of_128, "causality", {}),
    "wraps around": (unpadded, "causality", {"hides_future": True}),
    "barely padded": (barely_padded, "causality", {"hides_future": True}),
    "performer": (performer, "causality", {"hides_future": True}),
    "leak in part": (leak_in_part, "causality", {"hides_future": True}),
    "tiny leak": (tiny_leak, "causality", {"hides_future": True}),
    "by the length": (by_the_length, "prefixes", {}),
    "positions from the end": (positions_from_the_end, "prefixes", {}),
    "normalised over the batch": (normalised_over_the_batch, "elements apart", {}),
    "remembers": (remembers, "same result", {}),
    "writes": (writes, "inputs unchanged", {}),
    "contiguous only": (contiguous_only, "non-contiguous", {}),
    "no single token": (no_single_token, "lengths", {}),
    "mixes rows when long": (mixes_rows_when_long, "elements apart", {}),
    "wrong in float64": (wrong_in_float64, "float64", {}),
    "drops a rest": (drops_a_rest, "lengths", {}),
    "Shared": (Shared, "two objects", {}),
    "ShortOnce": (ShortOnce, "same result", {}),
    "random": (random, "same result", {}),
}
"""What is wrong, the identity that must find it, and what is declared."""
