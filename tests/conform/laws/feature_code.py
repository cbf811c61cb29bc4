"""Random features, and attention made of them: right in several styles, and with bugs planted in them."""

import numpy as np


def _drawn(seed, m, d):
    return np.random.default_rng(seed).standard_normal((m, d)).astype(np.float32)


def _size(x):
    return (x**2).sum(-1, keepdims=True) / 2


def positive(x, seed=0, m=64):
    return np.exp(x @ _drawn(seed, m, x.shape[-1]).T - _size(x)) / np.float32(m**0.5)


def pairs(x, rng, num_features=64):
    """cos and sin, for exp(q.k / sqrt(d))."""
    x = x * x.shape[-1] ** -0.25
    angles = x @ rng.standard_normal((x.shape[-1], num_features))
    return np.exp(_size(x)) * np.concatenate([np.cos(angles), np.sin(angles)], -1) / num_features**0.5


def phases(x, random_state, n_components=64):
    """For the Gaussian kernel, in an order of axes with a batch."""
    assert x.ndim == 3
    r = np.random.default_rng(random_state)
    angles = x @ r.standard_normal((x.shape[-1], n_components)) + r.uniform(0, 2 * np.pi, n_components)
    return (2 / n_components) ** 0.5 * np.cos(angles)


def orthogonal(x, seed, num_features=64, *, unsigned=False):
    r, d = np.random.default_rng(seed), x.shape[-1]
    blocks, upper = np.linalg.qr(r.standard_normal((num_features // d, d, d)))
    # Without the signs the first direction always points to one side (Mezzadri 2007).
    blocks = blocks if unsigned else blocks * np.sign(np.diagonal(upper, axis1=1, axis2=2))[:, None]
    w = blocks.swapaxes(1, 2).reshape(-1, d) * np.sqrt(r.chisquare(d, (num_features, 1)))
    return np.exp(x @ w.T - _size(x)) / num_features**0.5


def hyperbolic(x, key):
    p = x @ _drawn(key, 32, x.shape[-1]).T
    return np.concatenate([np.exp(p - _size(x)), np.exp(-p - _size(x))], -1) / 8


def generalized(x, seed=0, m=64, a=-0.1):
    """Generalized exponential features, unbiased for every a (Likhosherstov et al. 2022)."""
    w, d = _drawn(seed, m, x.shape[-1]), x.shape[-1]
    spread = np.float32(1 - 4 * a)
    size = np.float32(a) * (w**2).sum(-1) - _size(x)
    return spread ** (d / 4) * np.exp(size + np.sqrt(spread) * (x @ w.T)) / np.float32(m**0.5)


def heavy(x, seed=0):
    """The same with the other sign, whose variance is larger."""
    return generalized(x, seed, 256, 0.05)


def refuses_long_rows(x, seed=0):
    if _size(x).max() > 40:
        raise ValueError("rows are too long for float32")
    return positive(x, seed)


def repeated(x, seed=0):
    """Half as many draws as features."""
    half = generalized(x, seed, 32)
    return np.concatenate([half, half], -1) / np.float32(2**0.5)


def projected(x, projection_matrix, is_query=True):
    del is_query
    return np.exp(x @ projection_matrix.T - _size(x)) / projection_matrix.shape[0] ** 0.5


RIGHT = (positive, pairs, phases, orthogonal, hyperbolic, generalized, heavy, refuses_long_rows, projected)


def attention(q, k, v, seed, num_features=128, causal=False):
    q, k = (x * x.dtype.type(x.shape[-1] ** -0.25) for x in (q, k))
    f, g = (positive(x, seed, num_features) for x in (q, k))
    weights = f @ np.swapaxes(g, -1, -2)
    weights = np.tril(weights) if causal else weights
    return weights @ v / weights.sum(-1, keepdims=True)


def stabilised(q, k, v, rng):
    """The maximum over all keys is subtracted, which cancels. In the order [b t h d]."""
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    q, k = (x * x.shape[-1] ** -0.25 for x in (q, k))
    w = rng.standard_normal((128, q.shape[-1]))
    f, g = (x @ w.T - _size(x) for x in (q, k))
    f, g = np.exp(f - f.max(-1, keepdims=True)), np.exp(g - g.max())
    out = f @ (np.swapaxes(g, -1, -2) @ v) / (f * g.sum(-2, keepdims=True)).sum(-1, keepdims=True)
    return out.transpose(0, 2, 1, 3).astype(np.float32)


ATTENTION = (attention, stabilised)


def buggy_map(bug):
    """Positive features, and a word for what is wrong."""

    def target(x, seed=0, num_features=64, is_query=True):
        m, d = num_features, x.shape[-1]
        if bug == "number ignored":
            m = 64
        if bug == "the seed is ignored":
            seed = 0
        if bug == "no seed is used":
            seed = None
        if bug == "two seeds share their draws":
            seed //= 2
        if bug == "keys have draws of their own" and not is_query:
            seed += 1
        if bug == "orthogonal without signs":
            return orthogonal(x, seed, m, unsigned=True)
        w = _drawn(seed, m, d)
        if bug == "uniform draws":
            w = np.random.default_rng(seed).uniform(-1, 1, (m, d)).astype(np.float32)
        if bug == "draws of variance 1.3":
            w = w * np.float32(1.3**0.5)
        if bug == "half of the features repeat":
            w[m // 2 :] = w[: m // 2]
        if bug == "one projection":
            w[:] = w[:1]
        if bug == "directions of one length":
            w = w / np.linalg.norm(w, axis=-1, keepdims=True)
        if bug == "each row its own draws":
            more = np.random.default_rng(int(1e3 * abs(x[0, 0]))).standard_normal(w.shape)
            w = w + np.float32(0.5) * more.astype(np.float32)
        size = 0 if bug == "size forgotten" else _size(x) / 2 if bug == "half the size" else _size(x)
        root = {"divided by m": m, "not divided": 1.0, "divided by m + 8": (m + 8) ** 0.5}.get(bug, m**0.5)
        p = x @ w.T - size
        if bug == "maximum of all rows":
            p = p - p.max()
        if bug == "writes into x":
            x *= x.dtype.type(0.5)
        out = np.exp(p) / np.float32(root)
        return out + np.float32(0.02) if bug == "eps in the features" else out

    return target


MAPS = (
    "number ignored", "the seed is ignored", "no seed is used", "two seeds share their draws",
    "keys have draws of their own", "uniform draws", "draws of variance 1.3", "half of the features repeat",
    "one projection", "directions of one length", "each row its own draws", "size forgotten", "half the size",
    "orthogonal without signs",
    "divided by m", "not divided", "divided by m + 8", "maximum of all rows", "writes into x",
    "eps in the features",
)  # fmt: skip


def buggy_attention(bug):
    """Attention by positive features, and a word for what is wrong."""

    def target(q, k, v, seed, num_features=128, causal=False):
        scale = q.dtype.type(q.shape[-1] ** -0.25)
        a, b = (q if bug == "scale of queries forgotten" else q * scale), k * scale
        m = 16 if bug == "number ignored" else num_features
        f, g = positive(a, seed, m), positive(b, seed + (bug == "keys have draws of their own"), m)
        if bug == "size of keys forgotten":
            g = g * np.exp(_size(b))
        if bug == "maximum of each key":
            g = g / g.max(-1, keepdims=True)
        if bug == "logarithms for features":
            f = np.log(f) - np.log(f).max(-1, keepdims=True)
        weights = f @ np.swapaxes(g, -1, -2)
        if bug == "sums of the first 64 keys are lost":
            weights[..., 64:, :64] = 0
        if bug == "old sums change their sign":
            weights[..., 128:, :64] *= -1
        whole = weights.sum(-1, keepdims=True)
        weights = np.tril(weights) if causal else weights
        if bug == "strictly causal" and causal:
            weights = np.tril(weights, -1) + np.eye(q.shape[-2], dtype=q.dtype) * weights[..., :1, :1]
        total = weights.sum(-1, keepdims=True)
        if bug == "normaliser of the whole":
            total = whole
        if bug == "eps of .1":
            total = total + q.dtype.type(0.1)
        if bug == "normaliser of another seed":
            total = (f @ np.swapaxes(positive(b, seed + 1, m), -1, -2)).sum(-1, keepdims=True)
        if bug == "maximum covers the future" and causal:
            g = np.exp(np.log(g) - np.log(g).max((-1, -2), keepdims=True)) + np.float32(1e-2)
            weights = np.tril(f @ np.swapaxes(g, -1, -2))
            total = weights.sum(-1, keepdims=True)
        out = weights @ v / total
        if bug == "heads mixed":
            out = out + q.dtype.type(0.01) * out.mean(1, keepdims=True)
        if bug == "no seed is used":
            out = out + np.float32(1e-3) * np.random.default_rng().standard_normal()
        if bug == "writes into k":
            k *= scale
        return out.astype(q.dtype)

    return target


ATTENTION_BUGS = (
    "number ignored", "keys have draws of their own", "size of keys forgotten", "maximum of each key",
    "strictly causal", "normaliser of the whole", "eps of .1", "normaliser of another seed",
    "maximum covers the future", "heads mixed", "no seed is used", "writes into k",
    "scale of queries forgotten", "logarithms for features", "sums of the first 64 keys are lost",
    "old sums change their sign",
)  # fmt: skip


def narrow(x, seed=0, m=128, spread=0.5):
    """exp(w.x) by draws of too small a spread, weighted so that it is unbiased. Its variance is infinite."""
    d = x.shape[-1]
    w = spread * np.random.default_rng(seed).standard_normal((m, d))
    weight = d * np.log(spread) - (w**2).sum(-1) * (1 - spread**-2) / 2
    return np.exp(x @ w.T - _size(x) + weight / 2) / m**0.5


def attention_of(features, scale=1.0):
    """Attention by unbiased features."""

    def target(q, k, v, seed):
        q, k = (x * x.dtype.type((scale / x.shape[-1] ** 0.5) ** 0.5) for x in (q, k))
        f, g = (features(x, seed) for x in (q, k))
        weights = f @ np.swapaxes(g, -1, -2)
        return (weights @ v / weights.sum(-1, keepdims=True)).astype(q.dtype)

    return target
