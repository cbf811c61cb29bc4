"""The homework's GPT in torch, twice: as minGPT writes it, and as nanoGPT does. One step of AdamW, clipped.

Source: Karpathy's minGPT as given out with Stanford CS224n's assignment 5 (three projections, a mask of -1e10), and
his nanoGPT (one projection, fused attention, fused AdamW).
"""

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

LAYERS, HEADS, WIDTH, BLOCK, VOCABULARY = 4, 8, 256, 128, 256


class MinAttention(nn.Module):
    """Scores, mask, softmax, dropout and product, one after the other."""

    def __init__(self, rate: float):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.drop, self.drop_out = nn.Dropout(rate), nn.Dropout(rate)
        self.register_buffer("mask", torch.tril(torch.ones(1, 1, BLOCK, BLOCK)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The mixed tokens."""
        b, t, c = x.shape
        q, k, v = (f(x).view(b, t, HEADS, c // HEADS).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = (q @ k.transpose(2, 3)) / math.sqrt(c // HEADS)
        weights = functional.softmax(scores.masked_fill(self.mask[:, :, :t, :t] == 0, -1e10), dim=3)
        mixed = (self.drop(weights) @ v).transpose(1, 2).contiguous().view(b, t, c)
        return self.drop_out(self.out(mixed))


class NanoAttention(nn.Module):
    """One projection and torch's own fused attention."""

    def __init__(self, rate: float):
        super().__init__()
        self.inputs, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.rate, self.drop_out = rate, nn.Dropout(rate)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The mixed tokens."""
        b, t, c = x.shape
        q, k, v = (y.view(b, t, HEADS, c // HEADS).transpose(1, 2) for y in self.inputs(x).split(c, dim=2))
        mixed = functional.scaled_dot_product_attention(q, k, v, dropout_p=self.rate, is_causal=True)
        return self.drop_out(self.out(mixed.transpose(1, 2).contiguous().view(b, t, c)))


class Block(nn.Module):
    """Normalise, mix and add; normalise, transform and add."""

    def __init__(self, attention: Callable[[float], nn.Module], rate: float):
        super().__init__()
        self.ln_1, self.ln_2, self.mixing = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), attention(rate)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(rate)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The next layer's tokens."""
        x = x + self.mixing(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Model(nn.Module):
    """Tokens and targets to the mean loss; targets of 0 do not count."""

    def __init__(self, attention: Callable[[float], nn.Module], rate: float):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.zeros(1, BLOCK, WIDTH))
        self.drop, self.ln = nn.Dropout(rate), nn.LayerNorm(WIDTH)
        self.blocks = nn.Sequential(*(Block(attention, rate) for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The mean loss."""
        h = self.drop(self.tokens(x) + self.positions[:, : x.shape[1]])
        logits = self.head(self.ln(self.blocks(h)))
        return functional.cross_entropy(logits.view(-1, VOCABULARY), y.view(-1), ignore_index=0)


def steps(name: str, rate: float, x, y) -> Callable[[], float]:
    """A callable that makes one step from this batch; `name` is minGPT, nanoGPT or torch.compile (of nanoGPT)."""
    from benchmarks.machine import cores

    torch.set_num_threads(cores())
    torch.manual_seed(0)
    x, y = torch.from_numpy(x).long(), torch.from_numpy(y).long()
    model = Model(MinAttention if name == "minGPT" else NanoAttention, rate)
    for parameter in model.parameters():
        if parameter.ndim == 2:
            nn.init.normal_(parameter, std=0.02)
    decayed = [p for n, p in model.named_parameters() if not n.endswith("bias")]
    others = [p for n, p in model.named_parameters() if n.endswith("bias")]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), fused=name != "minGPT")
    loss_of = torch.compile(model) if name == "torch.compile" else model

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    step.parameters = sum(p.numel() for p in model.parameters())
    return step
