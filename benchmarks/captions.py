"""The caption homework against its peers: a training step and sampling against torch, BLEU against nltk.

The model is the homework's (98M parameters, half of them in a head that is not tied). A step is gradient and Adam.
"""

import functools
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import children
from benchmarks.caption_recipe import CHANNELS, DROPOUT, HEADS, LAYERS, RATE, VOCABULARY, WIDTH
from benchmarks.memory import extra_peak
from benchmarks.ratios import Benchmark, Race, Row, Target, memory_row, raced

if TYPE_CHECKING:
    from attnlab_theory.language.models.gpt import GPT
    from attnlab_theory.language.train import Split

ROWS = 32
DRAWN = 256
"""Captions that are drawn at once."""
PEERS = ("torch", "torch, fused")
SIZE = f"{ROWS} sentences in rows of {WIDTH}"
MEMORY_CASE = "benchmarks.captions:memory_case"
ROOT = Path(__file__).parents[1]


def batch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y and weights of 32 sentences: 13 tokens on average in rows of 35, each sentence weighing the same."""
    rng = np.random.default_rng(0)
    lengths = 11 + rng.poisson(2.2, (ROWS, 1))
    places = np.arange(WIDTH + 1)
    rows = rng.integers(0, VOCABULARY - 1, (ROWS, WIDTH + 1))
    rows[(places == 0) | (places > lengths)] = VOCABULARY - 1
    weights = (places[:-1] <= lengths) / (lengths + 1)
    return rows[:, :-1].astype(np.int32), rows[:, 1:].astype(np.int32), weights.astype(np.float32)


def operations(places: int) -> float:
    """Floating-point operations of one step over so many places, logits of PAD among them."""
    weights = LAYERS * 12 * CHANNELS**2 + CHANNELS * VOCABULARY
    return 3 * 2 * places * (weights + LAYERS * 2 * WIDTH * CHANNELS)


def model(rate: float = DROPOUT) -> "GPT":
    """Ours, with random weights."""
    import jax

    from attnlab_theory.language.models.gpt import GPT, GPTConfig

    rates = {"embedding_dropout": rate, "residual_dropout": rate, "attention_dropout": rate}
    config = GPTConfig(vocabulary=VOCABULARY, block=WIDTH, layers=LAYERS, heads=HEADS, width=CHANNELS, **rates)
    return GPT(config, key=jax.random.key(0))


def ours(split: "Split | None" = None) -> Callable[[], float]:
    """A callable that makes one step, by default with all the padding that torch has."""
    from attnlab_theory.labs.next_token import ADAM
    from attnlab_theory.language.corpora.batches import Batch
    from attnlab_theory.language.schedules import Constant
    from attnlab_theory.language.train import Training, started, train

    x, y, weights = batch()
    read = Batch(x, y, weights=weights)
    split = split or (lambda whole: (whole,))
    training = Training(schedule=Constant(always=RATE), epochs=10**6, optimizer=ADAM, split=split)
    steps = train(started(model(), training), lambda _: [read], training)
    return lambda: next(steps)[1].loss


def peer(name: str) -> Callable[[], float]:
    """The same by torch."""
    from benchmarks import captions_peers

    return captions_peers.steps(name, *batch())


def memory_case(who: str) -> Callable[[], float]:
    """A step after a first one, which compiled it and made the optimizer's moments."""
    step = ours() if who == "ours" else peer(who)
    step()
    return step


def adam() -> Callable[[], object]:
    """What a step does besides its gradient: new moments and parameters."""
    import jax

    from attnlab_theory.labs.next_token import ADAM

    first = model()
    adam = ADAM.transformation(first)
    kept = [first, adam.init(first)]

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def updated(parameters, moments, gradient):
        with jax.numpy_dtype_promotion("standard"):
            steps, moments = adam.update(gradient, moments, parameters)
        return jax.tree.map(lambda x, step: x - RATE * step, parameters, steps), moments

    gradient = jax.tree.map(jax.numpy.ones_like, first)

    def run() -> None:
        kept[:] = updated(*kept, gradient)
        jax.block_until_ready(kept)

    return run


def steps(quick: bool) -> list[Row]:
    """Training steps: as padded, and with shorter micro-batches."""
    from attnlab_theory.language.corpora.batches import by_length, by_packing

    peers = {name: peer(name) for name in PEERS}
    found = []
    for what, split, target in (
        ("same padding", None, Target(1.3, 1.8)),
        # One piece, as wide as its longest sentence: each piece more costs a gradient of 99M parameters.
        ("sorted by length", functools.partial(by_length, rows=ROWS, step=4), Target(2, 3)),
        ("in packed rows", functools.partial(by_packing, rows=ROWS // 2), Target(2, 3)),
    ):
        race = raced(ours=ours(split), peers=peers, rounds=2 if quick else 7)
        found.append(race.rate_row(f"caption step, {what}", SIZE, work=ROWS, unit="sentences/s", target=target))
    return found


def bounds(quick: bool) -> list[Row]:
    """How long products and Adam take that are in a step with all padding."""
    from benchmarks import programs

    whole, rounds = ours(), 2 if quick else 7
    # Tokens that do not count have no logits here: a step with all of them would cost the products of this race.
    products = raced(ours=whole, peers=programs.products(operations(ROWS * WIDTH)), rounds=rounds)
    alone = raced(ours=whole, peers={"Adam alone": adam()}, rounds=rounds)
    return [
        products.rate_row("caption step, against its products", SIZE, work=ROWS, unit="sentences/s"),
        alone.time_row("caption step, share of Adam", SIZE),
    ]


def memory_rows() -> list[Row]:
    """Extra peak memory of one step."""
    one, *others = (extra_peak(MEMORY_CASE, who=who) for who in ("ours", *PEERS))
    return [
        memory_row("extra memory of a caption step", SIZE, ours=one, peer=peak, peer_name=name, target=Target(2, 4))
        for name, peak in zip(PEERS, others, strict=True)
    ]


def sampling(quick: bool) -> list[Row]:
    """Captions of 35 tokens from the homework's model by top-p 0.9, 256 at once."""
    import jax

    from attnlab_theory.language.decode import Sampling
    from attnlab_theory.language.generate import sample
    from benchmarks import captions_peers

    own, rows = model(0.0), 16 if quick else DRAWN
    start = np.full((rows, 1), VOCABULARY - 1, np.int32), np.ones(rows, np.int32)
    draw = functools.partial(sample, jax.random.key(1), own, *start, sampling=Sampling(top_p=0.9), steps=WIDTH)
    race = raced(
        ours=lambda: draw().tokens,
        peers={"transformers generate": captions_peers.drawn(rows, WIDTH)},
        rounds=2 if quick else 5,
    )
    size = f"{rows} at once, {WIDTH} tokens each"
    return [race.rate_row("captions drawn, top-p 0.9", size, work=rows, unit="captions/s", target=Target(2, 4))]


def bleu(quick: bool) -> list[Row]:
    """Sentence BLEU against 5,000 references. nltk scores ten sentences, and is counted by the sentence."""
    from nltk.translate.bleu_score import SmoothingFunction
    from nltk.translate.bleu_score import sentence_bleu as by_nltk

    from attnlab_theory.language.corpora import grammar
    from attnlab_theory.language.text.bleu import References, sentence_bleu

    language, rng = grammar.embedded(), random.Random("benchmark")
    references, hypotheses = ([language.sample(rng) for _ in range(5000)] for _ in range(2))
    smoothing, timed = SmoothingFunction().method1, 2 if quick else 10

    def theirs() -> list:
        return [by_nltk(references, each, smoothing_function=smoothing) for each in hypotheses[:timed]]

    found = []
    for count, target in ((1000, Target(5000, 15000)), (5000, None)):
        race = raced(
            ours=lambda count=count: sentence_bleu(hypotheses[:count], References(references)),
            peers={"nltk": theirs},
            rounds=2 if quick else 5,
        )
        whole = Race(race.ours, {"nltk": race.peers["nltk"] * (count / timed)})
        size = f"{count:,} against 5,000"
        limit = Target(50_000, 100_000) if target is None else None
        found.append(whole.rate_row("BLEU", size, work=count, unit="sentences/s", target=target, or_rate=limit))
    return found


def start(quick: bool) -> list[Row]:
    """From the start of a process to the end of its first training step, where it has been started before.

    Then XLA's programs and Python's bytecode lie in their caches, as on any computer at the second start.
    """
    command = [sys.executable, "-m", "benchmarks.first_step"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def seconds() -> float:
        before = time.perf_counter()
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as child:
            told = child.stdout and child.stdout.readline()
            passed = time.perf_counter() - before
        if child.returncode or not told:
            raise subprocess.CalledProcessError(child.returncode, command)
        return passed

    seconds()
    times = np.asarray([seconds() for _ in range(2 if quick else 5)])
    allowed = {"allowed": np.full_like(times, 3.0)}
    return [Race(times, allowed).time_row("start to first step", "tiny caption model", target=Target(1, 1.5))]


def measure(quick: bool) -> list[Row]:
    """Training, sampling, scoring and starting."""
    found = [*start(quick), *bleu(quick), *memory_rows()]
    for case in ("steps", "bounds", "sampling"):
        found += children.rows(f"benchmarks.captions:{case}", devices=1, quick=quick)
    return found


BENCHMARK = Benchmark("captions", ("torch", "transformers", "nltk"), measure)
