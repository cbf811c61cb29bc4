"""Cached greedy generation against transformers' `generate`: equal weights, equal prompts, and equal tokens.

Two GPT-2s with random weights, of the homework's size and of the smallest published one, one row and 32. Ours
returns the probability of every token as well. A device for each core shares the 32 rows of the small model; of the
large one each would read all weights. One row of that is bound by memory: every token reads every weight, so it is
also compared with reading them.
"""

import dataclasses
import functools
import tempfile
from collections.abc import Callable

import numpy as np

from benchmarks import children
from benchmarks.machine import cores
from benchmarks.ratios import Benchmark, Race, Row, Target, raced

PEER = "transformers generate"
PROMPT = 16


@dataclasses.dataclass(frozen=True)
class Size:
    """A model, and what is asked of it."""

    name: str
    layers: int
    heads: int
    width: int
    vocabulary: int
    block: int
    new: int
    """Tokens generated in each row."""
    targets: tuple[tuple[int, Target], ...]
    """Numbers of rows, each with its target."""


SMALL = Size("4 layers, width 256", 4, 8, 256, 256, 128, 112, ((1, Target(3.5, 6)), (32, Target(2.5, 4))))
# One row's aim is 95 % of the speed of reading the weights; 92 % were 2.05 times the peer.
LARGE = Size("124M", 12, 12, 768, 50257, 1024, 128, ((1, Target(2, 2.12)), (32, Target(2.2, 3))))


@functools.cache
def models(size: Size) -> tuple:
    """Theirs and ours, with the same weights."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    from attnlab_theory.language.models.gpt import load_gpt2

    torch.manual_seed(0)
    torch.set_num_threads(cores())
    config = GPT2Config(
        n_layer=size.layers,
        n_head=size.heads,
        n_embd=size.width,
        vocab_size=size.vocabulary,
        n_positions=size.block,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    theirs = GPT2LMHeadModel(config).eval()
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        return theirs, load_gpt2(folder)


def prompts(size: Size, rows: int) -> np.ndarray:
    """Random tokens."""
    return np.random.default_rng(0).integers(0, size.vocabulary, (rows, PROMPT))


def ours(size: Size, rows: int) -> Callable[[], np.ndarray]:
    """A callable that generates all rows once and returns the new tokens."""
    from attnlab_theory.language.generate import greedy
    from attnlab_theory.language.meshes import of_this_process

    model, tokens, lengths = models(size)[1], prompts(size, rows), np.full(rows, PROMPT)
    mesh = of_this_process()
    return lambda: greedy(model, tokens, lengths, steps=size.new, mesh=mesh).tokens


def theirs(size: Size, rows: int) -> Callable[[], np.ndarray]:
    """The same by transformers."""
    import torch

    model, tokens = models(size)[0], torch.tensor(prompts(size, rows))
    seen = torch.ones_like(tokens)

    def run() -> np.ndarray:
        with torch.inference_mode():
            found = model.generate(tokens, attention_mask=seen, max_new_tokens=size.new, do_sample=False)
        return found[:, PROMPT:].numpy()

    return run


def reading(size: Size) -> dict[str, Callable[[], object]]:
    """Every weight read once for every token, in one product of a matrix and a vector."""
    import jax
    import jax.numpy as jnp
    import torch

    from attnlab_theory.language.models.gpt import parameter_count

    shape = parameter_count(models(size)[1]) // size.width, size.width
    matrix, vector = torch.ones(shape), torch.ones(size.width)
    there, product = (jnp.ones(shape), jnp.ones(size.width)), jax.jit(jnp.matmul)

    def in_torch() -> None:
        for _ in range(size.new):
            torch.mv(matrix, vector)

    def in_jax() -> None:
        for _ in range(size.new):
            jax.block_until_ready(product(*there))

    return {"reading the weights, torch": in_torch, "reading the weights, jax": in_jax}


def race(size: Size, rows: int, rounds: int) -> Race:
    """Ours against theirs.

    Raises:
        RuntimeError: if they choose different tokens, so that one of them is wrong.
    """
    one, other = ours(size, rows), theirs(size, rows)
    if not np.array_equal(one(), other()):
        raise RuntimeError(f"{size.name}, {rows} rows: other tokens than those of {PEER}")
    return raced(ours=one, peers={PEER: other}, rounds=rounds)


def measured(size: Size, rows: int, target: Target, quick: bool) -> Row:
    """Tokens per second of both."""
    import jax

    found = race(size, rows, 3 if quick else 15 if size is SMALL else 5)
    devices = jax.local_device_count()
    where = f" over {devices} devices" if devices > 1 else ""
    label = f"{size.name}, {rows} row{'s' * (rows > 1)}{where}"
    return found.rate_row("greedy generation", label, work=rows * size.new, unit="tokens/s", target=target)


def many_rows(quick: bool) -> list[Row]:
    """The rows of the small model, for a process with a device for each core."""
    return [measured(SMALL, rows, target, quick) for rows, target in SMALL.targets if rows > 1]


def measure(quick: bool) -> list[Row]:
    """Both models, in one row and in 32."""
    rows = [measured(SMALL, count, target, quick) for count, target in SMALL.targets if count == 1]
    rows += children.rows("benchmarks.generation:many_rows", quick=quick)
    if not quick:
        rows += [measured(LARGE, count, target, quick) for count, target in LARGE.targets]
        found = raced(ours=ours(LARGE, 1), peers=reading(LARGE), rounds=5)
        label = f"{LARGE.name}, 1 row"
        rows.append(found.rate_row("share of the reading speed", label, work=LARGE.new, unit="tokens/s"))
    return rows


BENCHMARK = Benchmark("generation", ("torch", "transformers"), measure)
