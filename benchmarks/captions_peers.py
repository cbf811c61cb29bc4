"""The caption homework's model in torch and in transformers.

Source: Tsinghua University, Artificial Neural Networks, homework 3: pre-normalised blocks, learned positions, a
head of its own, the mean over sentences of each mean loss, Adam without weight decay.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.caption_recipe import CHANNELS, DROPOUT, HEADS, LAYERS, RATE, VOCABULARY, WIDTH
from benchmarks.machine import cores


class Attention(nn.Module):
    """Scores, mask, softmax, dropout and product one after the other, as in the homework, or torch's own."""

    def __init__(self, *, fused: bool):
        super().__init__()
        self.inputs, self.out = nn.Linear(CHANNELS, 3 * CHANNELS), nn.Linear(CHANNELS, CHANNELS)
        self.drop, self.drop_out, self.fused = nn.Dropout(DROPOUT), nn.Dropout(DROPOUT), fused
        self.register_buffer("mask", torch.tril(torch.ones(WIDTH, WIDTH, dtype=torch.bool)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The mixed tokens."""
        b, t, c = x.shape
        q, k, v = (y.view(b, t, HEADS, c // HEADS).transpose(1, 2) for y in self.inputs(x).split(c, dim=2))
        if self.fused:
            mixed = functional.scaled_dot_product_attention(q, k, v, dropout_p=DROPOUT, is_causal=True)
        else:
            scores = (q @ k.transpose(2, 3)) / math.sqrt(c // HEADS)
            scores = torch.where(self.mask[:t, :t], scores, torch.tensor(-1e4))
            mixed = self.drop(functional.softmax(scores, dim=3)) @ v
        return self.drop_out(self.out(mixed.transpose(1, 2).contiguous().view(b, t, c)))


class Block(nn.Module):
    """Normalise, mix and add; normalise, transform and add."""

    def __init__(self, *, fused: bool):
        super().__init__()
        self.ln_1, self.ln_2, self.mixing = nn.LayerNorm(CHANNELS), nn.LayerNorm(CHANNELS), Attention(fused=fused)
        self.mlp = nn.Sequential(
            nn.Linear(CHANNELS, 4 * CHANNELS), nn.GELU(), nn.Linear(4 * CHANNELS, CHANNELS), nn.Dropout(DROPOUT)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The next layer's tokens."""
        x = x + self.mixing(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Model(nn.Module):
    """Tokens, targets and weights to the mean loss."""

    def __init__(self, *, fused: bool):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, CHANNELS), nn.Embedding(WIDTH, CHANNELS)
        self.drop, self.ln = nn.Dropout(DROPOUT), nn.LayerNorm(CHANNELS)
        self.blocks = nn.Sequential(*(Block(fused=fused) for _ in range(LAYERS)))
        self.head = nn.Linear(CHANNELS, VOCABULARY, bias=False)

    def forward(self, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """The mean over sentences of their mean losses."""
        h = self.drop(self.tokens(x) + self.positions.weight[: x.shape[1]])
        logits = self.head(self.ln(self.blocks(h)))
        lost = functional.cross_entropy(logits.view(-1, VOCABULARY), y.view(-1), reduction="none")
        return (weights.view(-1) * lost).sum() / len(x)


def steps(name: str, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Callable[[], float]:
    """A callable that makes one step; `name` is torch, written as the homework is, or with torch's fused parts."""
    torch.set_num_threads(cores())
    torch.manual_seed(0)
    fused = {"torch": False, "torch, fused": True}[name]
    model = Model(fused=fused)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=fused)
    arrays = torch.from_numpy(x).long(), torch.from_numpy(y).long(), torch.from_numpy(weights)

    def step() -> float:
        loss = model(*arrays)
        loss.backward()
        optimizer.step()
        # Here, not first: gradients are no memory that is kept from step to step.
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step


def drawn(rows: int, steps: int) -> Callable[[], np.ndarray]:
    """A callable that draws captions by transformers' `generate`."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.set_num_threads(cores())
    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=LAYERS,
        n_head=HEADS,
        n_embd=CHANNELS,
        vocab_size=VOCABULARY,
        n_positions=steps + 1,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    model = GPT2LMHeadModel(config).eval()
    tokens = torch.full((rows, 1), VOCABULARY - 1)

    def run() -> np.ndarray:
        with torch.inference_mode():
            seen = torch.ones_like(tokens)
            drawing = {"do_sample": True, "top_p": 0.9, "top_k": 0, "max_new_tokens": steps}
            return model.generate(tokens, attention_mask=seen, **drawing).numpy()

    return run
