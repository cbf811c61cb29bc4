"""A training step of the homework's GPT against torch: minGPT, nanoGPT, and nanoGPT compiled.

Equal sizes, batch, dropout rates and optimizer; a step is gradient, clipping and AdamW, and the loss on the host.
The batch is what the homework's corruption makes: 4 to 112 characters and two marks in rows of 127. Before sorting
by length ours computes all places, PAD as well, as the peers do.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import programs
from benchmarks.memory import extra_peak
from benchmarks.ratios import Benchmark, Race, Row, Target, memory_row, raced

if TYPE_CHECKING:
    from attnlab_theory.language.corpora.batches import Batch
    from attnlab_theory.language.train import Split

ROWS, WIDTH = 128, 127
DROPOUT = 0.1
MICRO = 4
"""Rows of our micro-batches: temporaries stay in the caches."""
TARGETS = {"minGPT": Target(3, 4), "nanoGPT": Target(2.3, 3)}
MEMORY_CASE = "benchmarks.training:memory_case"


def batch(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """x and y with PAD after them. Their lengths are those of the homework's truncation."""
    rng = np.random.default_rng(0)
    masked = rng.integers(1, 256, (rows, WIDTH + 1)).astype(np.int32)
    masked[np.arange(WIDTH + 1) >= rng.integers(4, 113, rows)[:, None] + 2] = 0
    return masked[:, :-1], masked[:, 1:]


def operations(rows: int) -> float:
    """Floating-point operations of one step: of all matrix products, those backward being twice those forward."""
    layers, width, vocabulary = 4, 256, 256
    weights = layers * 12 * width**2 + width * vocabulary
    attention = layers * 2 * WIDTH * width
    return 3 * 2 * rows * WIDTH * (weights + attention)


def ours(rows: int, rate: float, split: "Split | None" = None) -> Callable[[], float]:
    """A callable that makes one step, on micro-batches of neighbours unless they are cut in another way."""
    import jax

    from attnlab_theory.language.corpora.batches import Batch
    from attnlab_theory.language.models.gpt import GPT, GPTConfig
    from attnlab_theory.language.schedules import Cosine
    from attnlab_theory.language.train import Training, started, train

    read = Batch(*batch(rows))
    rates = {"embedding_dropout": rate, "residual_dropout": rate, "attention_dropout": rate}
    training = Training(schedule=Cosine(peak=1e-4, steps=10**6), epochs=10**6, split=split or in_order)
    model = GPT(GPTConfig(**rates), key=jax.random.key(0))
    steps = train(started(model, training), lambda _: [read], training)
    return lambda: next(steps)[1].loss


def in_order(whole: "Batch") -> list["Batch"]:
    """Micro-batches of neighbours, PAD and all."""
    from attnlab_theory.language.corpora.batches import in_file_order

    return list(in_file_order(whole, MICRO, fill=True))


def sorted_by_length(whole: "Batch") -> list["Batch"]:
    """Micro-batches as wide as their longest row."""
    from attnlab_theory.language.corpora.batches import by_length

    return by_length(whole, rows=MICRO)


def of_packed_rows(whole: "Batch") -> list["Batch"]:
    """Micro-batches whose rows hold several documents."""
    from attnlab_theory.language.corpora.batches import by_packing

    return by_packing(whole, rows=MICRO)


def peer(name: str, rows: int, rate: float) -> Callable[[], float]:
    """The same by torch."""
    from benchmarks import training_peers

    return training_peers.steps(name, rate, *batch(rows))


def memory_case(who: str, rows: int) -> Callable[[], float]:
    """A step with dropout, after a first one, which compiled it and made the optimizer's moments."""
    step = ours(rows, DROPOUT) if who == "ours" else peer(who, rows, DROPOUT)
    step()
    return step


def measure(quick: bool) -> list[Row]:
    """Tokens and documents per second, with dropout and without, and memory."""
    rows, rounds = (4 * MICRO, 2) if quick else (ROWS, 7)
    size = f"{rows} rows of {WIDTH}"
    as_tokens = functools.partial(Race.rate_row, size=size, work=rows * WIDTH, unit="tokens/s")
    names = ("minGPT", "nanoGPT", "torch.compile")

    peers = {name: peer(name, rows, DROPOUT) for name in names}
    wet = raced(ours=ours(rows, DROPOUT), peers=peers, rounds=rounds)
    # One race, a row for each peer: every target names its own.
    found = [
        as_tokens(Race(wet.ours, {name: wet.peers[name]}), f"step, dropout {DROPOUT}", target=TARGETS.get(name))
        for name in names
    ]
    best = raced(ours=ours(rows, DROPOUT), peers=programs.products(operations(rows)), rounds=rounds)
    found.append(as_tokens(best, "share of the best product", target=Target(0.5, 0.65)))

    compiled = {"torch.compile": peer("torch.compile", rows, 0.0)}
    dry = raced(ours=ours(rows, 0.0), peers=compiled, rounds=rounds)
    found.append(as_tokens(dry, "step, no dropout", target=Target(1.7, 2.1)))

    for split in (sorted_by_length, of_packed_rows):
        shorter = raced(ours=ours(rows, DROPOUT, split), peers={"minGPT": peers["minGPT"]}, rounds=rounds)
        what = f"step {split.__name__.replace('_', ' ')}, dropout {DROPOUT}"
        found.append(shorter.rate_row(what, size, work=rows, unit="documents/s", target=Target(5, 5)))
    return [*found, *memory_rows(rows, size)]


def memory_rows(rows: int, size: str) -> list[Row]:
    """Extra peak memory of one step."""
    peaks = {who: extra_peak(MEMORY_CASE, who=who, rows=rows) for who in ("ours", "minGPT", "nanoGPT")}
    ours = peaks.pop("ours")
    return [
        memory_row("extra memory of a step", size, ours=ours, peer=peak, peer_name=name, target=Target(1, 1))
        for name, peak in peaks.items()
    ]


BENCHMARK = Benchmark("training", ("torch",), measure)
