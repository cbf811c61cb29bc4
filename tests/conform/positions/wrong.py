"""Positions with bugs planted in them, in numpy. Each says which kind it claims to be."""

import numpy as np

from tests.conform.positions.right import half_turned, slopes

kept: dict[int, tuple[np.ndarray, np.ndarray]] = {}


def bfloat16(x):
    """The nearest bfloat16, in float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)


def tables(positions, d, bug, last):
    """Cosines and sines of each pair, and a word for what is wrong with them."""
    base = 10000.0 if bug != "base grows with every token" else 10000.0 * max(last, 1)
    powers = base ** (-np.arange(0, d, 2) / d)
    if bug == "frequencies in bfloat16":
        powers = bfloat16(powers)
    if bug == "pi of 3.1416":
        powers = powers * (3.1416 / np.pi)
    p = np.asarray(positions).astype(np.float32)
    if bug == "positions in float16":
        p = p.astype(np.float16).astype(np.float32)
    if bug == "positions in bfloat16":
        p = bfloat16(p)
    if bug == "clipped at 2048":
        p = np.minimum(p, 2047)
    if bug == "wraps at 512":
        p = p % 512
    angles = p[..., None] * powers.astype(np.float32)
    cos, sin = np.cos(angles), np.sin(angles)
    if bug == "table in bfloat16":
        cos, sin = bfloat16(cos), bfloat16(sin)
    if bug == "longer by a thousandth":
        cos, sin = cos * np.float32(1.001), sin * np.float32(1.001)
    return cos, sin


def turned(x, positions, bug=""):
    """x [b h t d]; halves."""
    d, given = x.shape[-1], x
    cos, sin = tables(positions, d, bug, int(np.max(positions, initial=0)))
    if bug == "remembers its first table":
        cos, sin = kept.setdefault((len(positions), d), (cos, sin))
    cos, sin = cos.astype(x.dtype), sin.astype(x.dtype)
    if bug == "writes into x":
        x *= x.dtype.type(1.0000001) if x.dtype == np.float64 else x.dtype.type(1.001)
    if bug == "rows of the first position" and len(positions) > 16:
        cos, sin = cos[:1], sin[:1]
    a, b = np.split(x, 2, -1)
    if bug == "no minus":
        return np.concatenate((a * cos + b * sin, b * cos + a * sin), -1)
    if bug == "halves of interleaved":
        a, b = x[..., ::2], x[..., 1::2]
    out = np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)
    if bug == "blocks of 16 forget" and x.shape[-2] > 16:
        whole = x.shape[-2] - x.shape[-2] % 16
        out[..., whole:, :] = x[..., whole:, :]
    if bug == "heads mixed" and x.ndim == 4:
        out = out + np.float32(1e-3) * x.mean(1, keepdims=True)
    if bug == "contiguous only" and not given.flags.c_contiguous:
        out = np.ascontiguousarray(out[..., ::-1, :])
    return out


def rotary(bug):
    def target(x, positions):
        return turned(x, positions, bug)

    return target


def both(bug):
    def target(q, k, positions):
        one = turned(q, positions)
        if bug == "keys turn backwards":
            return one, turned(k, -np.asarray(positions))
        if bug == "keys are interleaved":
            return one, turned(np.concatenate((k[..., ::2], k[..., 1::2]), -1), positions)
        if bug == "keys one behind":
            return one, turned(k, np.asarray(positions) - 1)
        if bug == "YaRN's factor for queries only":
            return one * one.dtype.type(0.1 * np.log(32) + 1), turned(k, positions)
        return one, turned(k, positions)

    return target


def partial(bug):
    def target(x, positions):
        part = x.shape[-1] // 2
        rest = x[..., part:]
        rest = rest * {"the rest is lost": 0, "the rest is scaled": x.dtype.type(1 + 1e-3)}.get(bug, 1)
        return np.concatenate((turned(x[..., :part], positions), rest), -1)

    return target


def by_table(bug):
    def target(q, k, cos, sin):
        cos, sin = cos[:, None], sin[:, None]
        if bug == "sines for keys only":
            return q * cos, k * cos + half_turned(k) * sin
        if bug == "table interleaved, channels in halves":
            pairs = np.repeat(np.arange(q.shape[-1] // 2), 2)
            cos, sin = cos[..., pairs], sin[..., pairs]
        return q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin

    return target


def sinusoidal(bug):
    def target(length, width):
        if bug == "frequencies of the length":
            powers = (10.0 * length) ** (-np.arange(0, width, 2) / width)
        else:
            powers = 10000.0 ** (-np.arange(0, width, 2) / width)
        if bug == "sinusoids in bfloat16":
            powers = bfloat16(powers)
        p = np.arange(length, dtype=np.float32)
        if bug == "counts in float16":
            p = p.astype(np.float16).astype(np.float32)
        angles = p[:, None] * powers.astype(np.float32)
        out = np.zeros((length, width), np.float32)
        out[:, ::2], out[:, 1::2] = np.sin(angles), np.cos(angles)
        if bug == "cosines are half":
            out[:, 1::2] *= 0.5
        if bug == "twice the sine":
            out[:, 1::2] = np.sin(angles)
        if bug == "last row is zero" and length > 1:
            out[-1] = 0
        if bug == "wide ones repeat" and width > 32:
            out[:, 32:] = out[:, : width - 32]
        if bug == "cosine of the next pair":
            out[:, 1::2] = np.cos(p[:, None] * np.float32(10000.0) ** (-np.arange(2, width + 2, 2) / width))
        return out

    return target


def alibi(bug):
    def target(heads, queries, keys):
        steps = np.array(slopes(heads), np.float32)
        if bug == "next power for all":
            more = 1 << (heads - 1).bit_length()
            steps = np.array(slopes(more)[:heads], np.float32) * np.float32(1.01)
        if bug == "slopes in bfloat16":
            steps = bfloat16(steps)
        if bug == "one slope":
            steps = steps * 0 + steps[0]
        if bug == "far keys are nearer":
            steps = -steps
        shift = keys - queries
        if bug == "start when one query" and queries == 1:
            shift = 0
        back = (np.arange(queries)[:, None] + shift - np.arange(keys)).astype(np.float32)
        if bug == "squares":
            back = np.sign(back) * back**2
        if bug == "at most 64":
            back = np.minimum(back, 64)
        bias = -steps[:, None, None] * np.abs(back)
        if bug == "bias in bfloat16":
            # From the first key, and both rounded.
            bias = np.zeros((1, queries, 1), np.float32) + bfloat16(steps[:, None] * np.arange(keys))[:, None]
        if bug == "the future is free when long" and keys > 16:
            bias = np.where(back < 0, 0, bias)
        if bug == "NaN for one token" and keys == 1:
            bias = bias * np.nan
        return bias

    return target


def bloom(bug):
    def target(num_heads, seq_len):
        return bfloat16(np.array(slopes(num_heads))[:, None] * np.arange(seq_len))[:, None]

    return target


BUGS = {
    **dict.fromkeys(
        (
            *("frequencies in bfloat16", "pi of 3.1416", "positions in float16", "positions in bfloat16"),
            *("clipped at 2048", "wraps at 512", "table in bfloat16", "longer by a thousandth", "no minus"),
            *("remembers its first table", "writes into x", "rows of the first position"),
            *("halves of interleaved", "blocks of 16 forget", "heads mixed", "contiguous only"),
            "base grows with every token",
        ),
        ("rotary", rotary),
    ),
    **dict.fromkeys(
        (
            *("keys turn backwards", "keys are interleaved", "keys one behind"),
            "YaRN's factor for queries only",
        ),
        ("rotary", both),
    ),
    **dict.fromkeys(("the rest is lost", "the rest is scaled"), ("rotary", partial)),
    **dict.fromkeys(("sines for keys only", "table interleaved, channels in halves"), ("rotary", by_table)),
    **dict.fromkeys(
        (
            *("frequencies of the length", "sinusoids in bfloat16", "counts in float16", "cosines are half"),
            *("twice the sine", "last row is zero", "wide ones repeat", "cosine of the next pair"),
        ),
        ("sinusoidal", sinusoidal),
    ),
    **dict.fromkeys(
        (
            *(
                "next power for all",
                "slopes in bfloat16",
                "one slope",
                "far keys are nearer",
                "start when one query",
            ),
            *("squares", "at most 64", "bias in bfloat16", "the future is free when long", "NaN for one token"),
        ),
        ("alibi", alibi),
    ),
    "as Bloom in bfloat16": ("alibi", bloom),
}
"""What is wrong, the kind it is judged as, and what makes it."""
