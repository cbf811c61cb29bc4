"""MiniLM on reviews against transformers and torch: the same weights, the same batches, training and inference.

Lengths are drawn as those of the Stanford Sentiment Treebank are spread; the tokens are random.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import children
from benchmarks.memory import extra_peak
from benchmarks.ratios import Benchmark, Row, Target, error_row, memory_row, raced

if TYPE_CHECKING:
    from attnlab_theory.language.corpora.labelled import LabelledBatch
    from attnlab_theory.language.models.classifier import Classifier
    from attnlab_theory.language.train import Split

BATCH = 32
"""Reviews behind a step."""
ROWS = 16
"""Reviews of a micro-batch, as in the lab."""
ASKED = 64
"""Reviews that are asked at once."""
RATE, DECAY, CLIP = 5e-5, 0.01, 1.0
PEERS = ("transformers", "transformers, fused AdamW")
MEMORY_CASE = "benchmarks.reviews:memory_case"
ALLOWED = 1e-4
"""How far log-odds may differ: they are sums of some thousand products of numbers of order one, in float32."""


def reviews(number: int) -> "LabelledBatch":
    """Reviews of 4 to 80 tokens, 25 on average, between BERT's marks."""
    from attnlab_theory.language.corpora.labelled import LabelledBatch

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


def memory_case(who: str) -> Callable[[], float]:
    """A step behind one that compiled it and made the optimizer's moments."""
    batches = as_padded(reviews(BATCH), BATCH)
    if who == "ours":
        step = steps(batches)
    else:
        from benchmarks import reviews_peers

        step = reviews_peers.steps(who, model(), batches)
    step()
    return step


def training(quick: bool) -> list[Row]:
    """One step with the same padding, and an epoch in length buckets against batches as they come."""
    from attnlab_theory.language.corpora.buckets import micro_batches
    from benchmarks import reviews_peers

    first, rounds, found = model(), 2 if quick else 7, []
    one = as_padded(reviews(BATCH), BATCH)
    race = raced(
        ours=steps(one), peers={name: reviews_peers.steps(name, first, one) for name in PEERS}, rounds=rounds
    )
    size = f"{BATCH} reviews in rows of {one[0].tokens.shape[1]}"
    found.append(
        race.rate_row("MiniLM step, same padding", size, work=BATCH, unit="reviews/s", target=Target(1.3, 2))
    )
    many = reviews(4 * BATCH if quick else 16 * BATCH)
    batches = as_padded(many, BATCH)

    def bucketed(batch: "LabelledBatch") -> list["LabelledBatch"]:
        return micro_batches(batch, rows=ROWS)

    ours = steps(batches, bucketed)
    peers = {name: reviews_peers.steps(name, first, batches) for name in PEERS}
    race = raced(
        ours=lambda: [ours() for _ in batches],
        peers={name: (lambda step=step: [step() for _ in batches]) for name, step in peers.items()},
        rounds=rounds,
    )
    size = f"{len(many.tokens)} reviews, batches of {BATCH}"
    work = len(many.tokens)
    found.append(
        race.rate_row("MiniLM training, in buckets", size, work=work, unit="reviews/s", target=Target(2, 3))
    )
    return found


def inference(quick: bool) -> list[Row]:
    """Log-odds without gradients: of one batch, and of many in length buckets; how far the two programs differ."""
    from attnlab_theory.labs.reviews.answered import log_odds
    from benchmarks import reviews_peers

    own, rounds = model(), 2 if quick else 9
    ask = reviews_peers.asking(own)
    one, many = reviews(ASKED), reviews(4 * ASKED if quick else 16 * ASKED)
    (padded,) = as_padded(one, ASKED)
    found = []
    for what, whole, batches, target in (
        ("MiniLM asked, same padding", padded, [padded], Target(1.3, 2)),
        ("MiniLM asked, in buckets", many, as_padded(many, ASKED), Target(2, 3)),
    ):
        same = {"transformers": lambda batches=batches: np.concatenate([ask(batch) for batch in batches])}
        ours = alone(own, padded) if whole is padded else lambda whole=whole: log_odds(own, whole)
        race = raced(ours=ours, peers=same, rounds=rounds)
        work, size = len(whole.tokens), f"{len(whole.tokens)} reviews, {ASKED} at once"
        found.append(race.rate_row(what, size, work=work, unit="reviews/s", target=target))
    furthest = float(np.max(np.abs(log_odds(own, one) - ask(padded))))
    told = {"ours": furthest, "peer": furthest, "peer_name": "transformers", "allowed": ALLOWED}
    return [*found, error_row("MiniLM's log-odds, ours less theirs", f"{ASKED} reviews", **told)]


def alone(own: "Classifier", batch: "LabelledBatch") -> Callable[[], Any]:
    """A callable that asks about one batch as it is padded."""
    import equinox as eqx

    ask = eqx.filter_jit(lambda model: model.logits(batch))
    return lambda: np.asarray(ask(own))


def memory_rows() -> list[Row]:
    """Extra peak memory of one step."""
    one, *others = (extra_peak(MEMORY_CASE, who=who) for who in ("ours", *PEERS))
    size = f"{BATCH} reviews"
    return [
        memory_row("extra memory of a MiniLM step", size, ours=one, peer=peak, peer_name=name, target=Target(1, 2))
        for name, peak in zip(PEERS, others, strict=True)
    ]


def measure(quick: bool) -> list[Row]:
    """Memory, training and inference."""
    found = memory_rows()
    for case in ("training", "inference"):
        found += children.rows(f"benchmarks.reviews:{case}", devices=1, quick=quick)
    return found


BENCHMARK = Benchmark("reviews", ("torch", "transformers"), measure)
