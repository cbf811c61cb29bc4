"""Right positions, written as people write them: rotations, sinusoids and biases by distance, in numpy."""

import numpy as np


def frequencies(width, base=10000.0, kind=np.float32):
    return (1.0 / base ** (np.arange(0, width, 2).astype(kind) / kind(width))).astype(kind)


def tables(positions, width, base=10000.0):
    angles = np.asarray(positions).astype(np.float32)[..., None] * frequencies(width, base)
    return np.cos(angles), np.sin(angles)


def interleaved(x, positions):
    cos, sin = tables(positions, x.shape[-1])
    out = np.empty_like(x)
    even, odd = x[..., ::2], x[..., 1::2]
    out[..., ::2], out[..., 1::2] = even * cos - odd * sin, even * sin + odd * cos
    return out


def half_turned(x):
    half = x.shape[-1] // 2
    return np.concatenate((-x[..., half:], x[..., :half]), -1)


def halves(q, k, position_ids, base=10000.0):
    """q [b h t d], k [b g t d], positions [t] or [b t]."""
    cos, sin = tables(position_ids, q.shape[-1], base)
    cos, sin = (np.concatenate((x, x), -1).astype(q.dtype) for x in (cos, sin))
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]
    return q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    """As transformers has it: q [b h t d], tables [b t d]."""
    cos, sin = np.expand_dims(cos, unsqueeze_dim), np.expand_dims(sin, unsqueeze_dim)
    return q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin


def half_table(x, cos, sin):
    """x [b t h d], tables [t d/2]."""
    assert x.ndim == 4
    cos, sin = cos[:, None], sin[:, None]
    a, b = np.split(x, 2, -1)
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


def complex_numbers(x, start_pos=0):
    """x [b t h d]; row t stands at start_pos + t."""
    t, d = x.shape[1], x.shape[-1]
    powers = np.float32(10000.0) ** (-np.arange(0, d, 2, dtype=np.float32) / np.float32(d))
    turn = np.exp(1j * np.outer(np.arange(start_pos, start_pos + t, dtype=np.float32), powers))[:, None]
    pairs = (x[..., ::2] + 1j * x[..., 1::2]) * turn
    return np.stack((pairs.real, pairs.imag), -1).reshape(x.shape).astype(x.dtype)


def in_float64(x, positions):
    """One matrix for each position, x [t d]."""
    t, d = x.shape
    out = np.zeros((t, d))
    for row, p in enumerate(positions):
        for i in range(d // 2):
            a = p * 10000.0 ** (-2 * i / d)
            block = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
            out[row, 2 * i : 2 * i + 2] = block @ x[row, 2 * i : 2 * i + 2]
    return out


def partial(x, positions):
    """The first half of the channels turns, the rest stays."""
    part = x.shape[-1] // 2
    return np.concatenate((interleaved(x[..., :part], positions), x[..., part:]), -1)


def backwards(x, positions):
    return interleaved(x, -np.asarray(positions))


def from_a_table(x, positions):
    """A table of 1024 positions, made once, and a width of 64."""
    cos, sin = tables(np.arange(1024), 64)
    if x.shape[-1] != 64:
        raise ValueError("the width is 64")
    if np.max(positions) >= 1024:
        raise IndexError("at most 1024 positions")
    cos, sin = cos[positions].astype(x.dtype), sin[positions].astype(x.dtype)
    a, b = np.split(x, 2, -1)
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


def llama(x, positions):
    """Another base, and positions divided by four."""
    cos, sin = tables(positions, x.shape[-1], 500000.0)
    angles = (np.asarray(positions) / 4).astype(np.float32)[:, None] * frequencies(x.shape[-1], 500000.0)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = np.split(x, 2, -1)
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


def yarn(x, positions):
    """Frequencies of its own, and a factor on all vectors."""
    d = x.shape[-1]
    own = frequencies(d) * np.linspace(1, 0.125, d // 2).astype(np.float32)
    angles = np.asarray(positions).astype(np.float32)[:, None] * own
    times = np.float32(0.1 * np.log(8) + 1)
    cos, sin = (np.cos(angles) * times).astype(x.dtype), (np.sin(angles) * times).astype(x.dtype)
    a, b = np.split(x, 2, -1)
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


def dynamic(x, positions):
    """The base grows with the length beyond 2048, as transformers has it."""
    d, last = x.shape[-1], int(np.max(positions, initial=0)) + 1
    base = 10000.0 * ((max(last, 2048) / 2048) ** (d / max(d - 2, 1)))
    cos, sin = (y.astype(x.dtype) for y in tables(positions, d, base))
    a, b = np.split(x, 2, -1)
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


class OfOneWidth:
    """As a module with frequencies for a width of its own. A single pair goes with all of them."""

    def __init__(self, width=8):
        self.frequencies = frequencies(width)

    def __call__(self, x, positions):
        angles = np.asarray(positions).astype(np.float32)[..., None] * self.frequencies
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        a, b = np.split(x, 2, -1)
        return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


ROTARY = (
    interleaved,
    halves,
    apply_rotary_pos_emb,
    half_table,
    complex_numbers,
    in_float64,
    partial,
    backwards,
    from_a_table,
    OfOneWidth,
    llama,
    yarn,
    dynamic,
)


def paper(length, width):
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(length, -1)[:, :width]


def in_float32(positions, dim, base=10000.0):
    cos, sin = tables(positions, dim, base)
    return np.concatenate((sin, cos), -1)


def tensor2tensor(seq_len, d_model):
    n = d_model // 2
    step = np.log(np.float32(10000.0)) / np.float32(max(n - 1, 1))
    powers = np.exp(np.arange(n, dtype=np.float32) * -step)
    angles = np.arange(seq_len, dtype=np.float32)[:, None] * powers
    out = np.concatenate((np.sin(angles), np.cos(angles)), 1)
    return np.pad(out, ((0, 0), (0, d_model % 2)))


def timesteps(t, dim, max_period=10000):
    angles = t[:, None].astype(np.float32) * np.exp(-np.log(max_period) * np.arange(dim // 2) / (dim // 2))
    return np.concatenate((np.cos(angles), np.sin(angles)), -1).astype(np.float32)


class Added:
    """x [b t d], and a table of 5000 rows that is added."""

    def __call__(self, x):
        if x.shape[1] > 5000:
            raise ValueError("at most 5000 tokens")
        return x + paper(5000, x.shape[2])[: x.shape[1]].astype(x.dtype)


def half_precision(length, width):
    return paper(length, width).astype(np.float16)


def other_base(length, width):
    angles = np.arange(length)[:, None] * 777.0 ** (-np.arange(0, width, 2) / width)
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(length, -1)


def from_one(length, width):
    return in_float32(np.arange(1, length + 1), width)[None]


SINUSOIDAL = (paper, in_float32, tensor2tensor, timesteps, Added, half_precision, other_base, from_one)


def slopes(heads):
    """As in the published code."""

    def of_a_power(n):
        start = 2 ** (-(2 ** -(np.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if np.log2(heads).is_integer():
        return of_a_power(heads)
    lower = 2 ** int(np.floor(np.log2(heads)))
    return of_a_power(lower) + slopes(2 * lower)[0::2][: heads - lower]


def symmetric(heads, length):
    at = np.arange(length)
    return -np.array(slopes(heads), np.float32)[:, None, None] * np.abs(at - at[:, None]).astype(np.float32)


def bloom(num_heads, seq_len):
    """As Bloom has it: a row for each head, counted from the first key."""
    return (np.array(slopes(num_heads), np.float32)[:, None] * np.arange(seq_len, dtype=np.float32))[:, None]


def causal_end(heads, queries, keys):
    back = np.arange(queries)[:, None] + keys - queries - np.arange(keys)
    bias = -np.array(slopes(heads), np.float32)[:, None, None] * back.astype(np.float32)
    return np.where(back >= 0, bias, -np.inf).astype(np.float32)[None]


def from_the_start(n_heads, q_len, k_len):
    back = np.arange(q_len)[:, None] - np.arange(k_len)
    return -np.array(slopes(n_heads))[:, None, None] * np.abs(back)


def relative_in_half(heads, queries, keys):
    back = np.arange(queries)[:, None] + keys - queries - np.arange(keys)
    return (-np.array(slopes(heads))[:, None, None] * np.maximum(back, 0)).astype(np.float16)


def plain_progression(heads, length):
    at = np.arange(length)
    steps = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return (steps[:, None, None] * np.minimum(at - at[:, None], 0)).astype(np.float32)


def of_twelve(t, s):
    """Twelve heads, whatever is asked."""
    return from_the_start(12, t, s)


ALIBI = (symmetric, bloom, causal_end, from_the_start, relative_in_half, plain_progression, of_twelve)
