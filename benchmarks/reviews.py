"""MiniLM on reviews against transformers and torch: the same weights, the same batches, training and inference.

Lengths are drawn as those of the Stanford Sentiment Treebank are spread; the tokens are random.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import children
from benchmarks.memory import extra_peak
from benchmarks.ratios import Benchmark, Race, Row, Target, error_row, memory_row, raced

if TYPE_CHECKING:
    from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
    from attnlab_theory.language.models.classifier import Classifier
    from attnlab_theory.language.train import Split

BATCH = 32
"""Reviews for one step."""
ROWS = 16
"""Reviews of a micro-batch, as in the lab."""
ASKED = 64
"""Reviews that are asked at once."""
RATE, DECAY, CLIP = 5e-5, 0.01, 1.0
FUSED = "transformers, fused AdamW"
PEERS = ("transformers", FUSED)
MEMORY_CASE = "benchmarks.reviews:memory_case"
ALLOWED = 1e-4
"""How far log-odds may differ: they are sums of some thousand products of numbers of order one, in float32."""


def reviews(number: int) -> "LabelledBatch":
    """Reviews of 4 to 80 tokens, 25 on average, between BERT's marks."""
    from attnlab_theory.language.corpora.labelled_batches import LabelledBatch

    rng = np.random.default_rng(0)
    lengths = np.clip(np.round(rng.gamma(4.2, 6.0, number)), 4, 80).astype(int)
    mask = np.arange(lengths.max()) < lengths[:, None]
    tokens = np.where(mask, rng.integers(1000, 30000, mask.shape), 0)
    tokens[:, 0], tokens[np.arange(number), lengths - 1] = 101, 102
    labels = rng.integers(0, 2, number)
    return LabelledBatch(tokens.astype(np.int32), mask, labels.astype(np.int32), np.ones(number, np.float32))


def as_padded(whole: "LabelledBatch", size: int) -> list["LabelledBatch"]:
    """Batches in the order of the reviews, each padded to its longest."""
    from attnlab_theory.language.corpora.buckets import lengths_of

    places = [np.arange(start, min(start + size, len(whole.tokens))) for start in range(0, len(whole.tokens), size)]
    return [whole.take(chosen, int(lengths_of(whole)[chosen].max())) for chosen in places]


def model() -> "Classifier":
    """Ours, before its first step."""
    from attnlab_theory.labs.reviews.starts import pretrained

    return pretrained()[0].first(0)


def steps(batches: Iterable["LabelledBatch"], split: "Split | None" = None) -> Callable[[], float]:
    """A callable that makes one step, with the next of the batches, by default with all of their padding."""
    from attnlab_theory.language.optimizers import AdamW
    from attnlab_theory.language.schedules import Constant
    from attnlab_theory.language.train import Training, started, train

    read = list(batches)
    adam = AdamW(betas=(0.9, 0.999), decay=DECAY, clip=CLIP)
    training = Training(
        schedule=Constant(always=RATE), epochs=10**6, optimizer=adam, split=split or (lambda whole: (whole,))
    )
    taken = train(started(model(), training), lambda _: read, training)
    return lambda: next(taken)[1].loss


def peer(name: str, batches: "Sequence[LabelledBatch]") -> Callable[[], float]:
    """The same by torch, from the same first weights."""
    from benchmarks import reviews_peers

    return reviews_peers.steps(name, model(), batches, rate=RATE, decay=DECAY, clip=CLIP)


def bucketed(batch: "LabelledBatch") -> list["LabelledBatch"]:
    """A batch as the lab cuts it."""
    from attnlab_theory.language.corpora.buckets import micro_batches

    return micro_batches(batch, rows=ROWS)


def memory_case(who: str) -> Callable[[], float]:
    """A step after a first one, which compiled it and made the optimizer's moments."""
    batches = as_padded(reviews(BATCH), BATCH)
    if who == "ours":
        step = steps(batches)
    elif who == "ours, in buckets":
        step = steps(batches, bucketed)
    else:
        step = peer(who, batches)
    step()
    return step


def training(quick: bool) -> list[Row]:
    """One step with the same padding, and an epoch in length buckets against batches as they come."""
    from attnlab_theory.language.corpora.buckets import alike, in_order

    whole, many = reviews(BATCH), reviews((4 if quick else 16) * BATCH)
    one, batches = as_padded(whole, BATCH), as_padded(many, BATCH)
    size, longer = f"{BATCH} reviews in rows of {one[0].tokens.shape[1]}", f"{len(many.tokens)} reviews"
    similar = alike(many, BATCH, shuffled=(0, 0))
    step = trained(steps(one), one, PEERS, 2 if quick else 9)
    # Half a minute a round: the faster peer alone.
    same = trained(steps(in_order(many, BATCH), bucketed), batches, [FUSED], 2 if quick else 3)
    lab = trained(steps(similar, bucketed), batches, [FUSED], 2 if quick else 3)
    rate = functools.partial(Race.rate_row, unit="reviews/s")
    return [
        rate(step, "MiniLM step, same padding", size, work=BATCH, target=Target(1.3, 2), flops=products(one[0])),
        rate(same, "MiniLM training, same batches in buckets", longer, work=len(many.tokens), target=Target(2, 3)),
        rate(lab, "MiniLM training, batches of similar length", longer, work=len(many.tokens), target=Target(2, 3)),
    ]


def trained(ours: Callable[[], float], theirs: "list[LabelledBatch]", names: Sequence[str], rounds: int) -> Race:
    """As many of our steps as they have batches, against those of the named peers."""

    def epoch(step: Callable[[], float]) -> Callable[[], object]:
        return lambda: [step() for _ in theirs]

    peers = {name: epoch(peer(name, theirs)) for name in names}
    return raced(ours=epoch(ours), peers=peers, rounds=rounds, least=0 if len(theirs) > 1 else 0.1)


def products(batch: "LabelledBatch", *, gradient: bool = True) -> int:
    """Floating-point operations of the matrix products of a step, or of asking alone."""
    import jax

    from attnlab_theory.counting import count

    def loss(model: "Classifier") -> Any:
        return model.summed_loss(batch)

    return count(jax.grad(loss) if gradient else loss, model()).matrix_products


def inference(quick: bool) -> list[Row]:
    """Log-odds without gradients: of one batch, and of many in length buckets; how far the two programs differ."""
    from attnlab_theory.labs.reviews.answers import log_odds
    from benchmarks import reviews_peers

    own, rounds = model(), 2 if quick else 9
    ask = reviews_peers.asking(own)
    one, many = reviews(ASKED), reviews((4 if quick else 16) * ASKED)
    (padded,), batches = as_padded(one, ASKED), as_padded(many, ASKED)
    same = raced(ours=alone(own, padded), peers={"transformers": lambda: ask(padded)}, rounds=rounds)
    theirs = {"transformers": lambda: np.concatenate([ask(batch) for batch in batches])}
    apart = raced(ours=lambda: log_odds(own, many), peers=theirs, rounds=2 if quick else 5, least=0)
    rate = functools.partial(Race.rate_row, unit="reviews/s")
    flops, label = products(padded, gradient=False), f"{ASKED} reviews"
    furthest = float(np.max(np.abs(log_odds(own, one) - ask(padded))))
    told = {"ours": furthest, "peer": furthest, "peer_name": "transformers", "allowed": ALLOWED}
    return [
        rate(same, "MiniLM asked, same padding", label, work=ASKED, target=Target(1.3, 2), flops=flops),
        rate(
            apart,
            "MiniLM asked, in buckets",
            f"{len(many.tokens)} reviews",
            work=len(many.tokens),
            target=Target(2, 3),
        ),
        error_row("MiniLM's log-odds, ours less theirs", label, **told),
    ]


def alone(own: "Classifier", batch: "LabelledBatch") -> Callable[[], Any]:
    """A callable that asks about one batch as it is padded."""
    import equinox as eqx

    ask = eqx.filter_jit(lambda model: model.logits(batch))
    return lambda: np.asarray(ask(own))


def memory_rows() -> list[Row]:
    """Extra peak memory of one step: the batch at once, and cut as the lab cuts it."""
    peak = {who: extra_peak(MEMORY_CASE, who=who) for who in ("ours", "ours, in buckets", *PEERS)}
    return [
        memory_row(what, f"{BATCH} reviews", ours=peak[who], peer=peak[name], peer_name=name, target=Target(1, 2))
        for who, what in (
            ("ours", "extra memory of a MiniLM step"),
            ("ours, in buckets", "extra memory of a MiniLM step in buckets"),
        )
        for name in PEERS
    ]


def measure(quick: bool) -> list[Row]:
    """Memory, training and inference."""
    found = memory_rows()
    for case in ("training", "inference"):
        found += children.rows(f"benchmarks.reviews:{case}", devices=1, quick=quick)
    return found


BENCHMARK = Benchmark("reviews", ("torch", "transformers"), measure)
