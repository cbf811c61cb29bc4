"""Right code of torch, of other kinds than softmax: what people write, and what was accused once."""

import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]


class Rotary(nn.Module):
    """Frequencies for one width, in a buffer of float32."""

    def __init__(self):
        super().__init__()
        self.register_buffer("frequencies", 1 / 10000 ** (torch.arange(0, 8, 2).float() / 8))

    def forward(self, x, positions):
        angles = positions.float()[..., None] * self.frequencies
        cos, sin = angles.cos(), angles.sin()
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def turned_by_tables(q, k, cos, sin):
    """q, k [b h t d], tables [b t d]; in float64 all of it is float64."""
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)

    def other(x):
        a, b = x.chunk(2, -1)
        return torch.cat((-b, a), -1)

    return q * cos + other(q) * sin, k * cos + other(k) * sin


def linear(q, k, v, causal=False):
    f, g = functional.elu(q) + 1, functional.elu(k) + 1
    weights = f @ g.mT
    weights = weights.tril() if causal else weights
    return weights @ v / weights.sum(-1, keepdim=True)


def linear_in_float32(q, k, v, causal=False):
    return linear(q.float(), k.float(), v.float(), causal).to(q.dtype)


def recurrent(q, k, v, state=None):
    """Token by token, with one decay."""
    state = q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1]) if state is None else state.to(q.dtype)
    out = []
    for t in range(q.shape[2]):
        state = state * 0.9 + k[:, :, t, :, None] * v[:, :, t, None]
        out.append((q[:, :, t, None] @ state)[:, :, 0])
    return torch.stack(out, 2), state


def state_in_float32(q, k, v, state=None):
    out, state = recurrent(q, k, v, state)
    return out, state.float()


def attend(q, k, v):
    """Queries stand at the end of the keys."""
    t, s = q.shape[-2], k.shape[-2]
    seen = torch.ones(t, s, dtype=torch.bool).tril(s - t)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def cached(q, k, v, cache=None):
    if cache is not None:
        k, v = torch.cat([cache[0].to(k.dtype), k], -2), torch.cat([cache[1].to(v.dtype), v], -2)
    return attend(q, k, v), (k, v)


def cache_in_float32(q, k, v, cache=None):
    out, cache = cached(q, k, v, cache)
    return out, tuple(x.float() for x in cache)


class Steps(nn.Module):
    """Has steps, and no `forward`."""

    def __init__(self):
        super().__init__()
        self.reset()

    def reset(self):
        self.k = self.v = None

    def step(self, q, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], -2)
        self.v = v if self.v is None else torch.cat([self.v, v], -2)
        return attend(q, self.k, self.v)


class Attention(nn.Module):
    """Causal, of one head."""

    def __init__(self):
        super().__init__()
        numbers = torch.Generator().manual_seed(0)
        self.w = nn.Parameter(torch.randn(3, 8, 8, generator=numbers) / 8**0.5)

    def forward(self, x):
        return attend(*(x @ w.to(x.dtype) for w in self.w))


class Filter(nn.Module):
    """A long filter by a padded Fourier transform; its parameter is float32, whatever comes in."""

    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(torch.randn(256, 8, generator=torch.Generator().manual_seed(1)))

    def forward(self, x):
        t = x.shape[1]
        spectrum = torch.fft.rfft(x, n=2 * t, dim=1) * torch.fft.rfft(self.filter[:t], n=2 * t, dim=0)
        return torch.fft.irfft(spectrum, n=2 * t, dim=1)[:, :t]


class Gated(nn.Module):
    """A language model whose cache is a state."""

    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(31, 16), nn.Linear(16, 31)
        self.layer = nn.GRU(16, 16, batch_first=True)
        numbers = torch.Generator().manual_seed(2)
        for x in self.parameters():
            x.data = torch.randn(x.shape, generator=numbers) / 16**0.5

    def forward(self, ids, state=None):
        hidden, state = self.layer(self.embedding(ids), state)
        return self.out(hidden), state
