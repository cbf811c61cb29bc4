"""A training step of the recurrent homework's RNN against `torch.nn.RNN`: gradient and Adam."""

from collections.abc import Callable

import numpy as np

from benchmarks.ratios import Benchmark, Row, Target, raced

ROWS, WIDTH, VOCABULARY, HIDDEN = 64, 64, 65, 256
RATE = 1e-3


def batch() -> tuple[np.ndarray, np.ndarray]:
    """x and y: random characters."""
    rows = np.random.default_rng(0).integers(0, VOCABULARY, (ROWS, WIDTH + 1)).astype(np.int32)
    return rows[:, :-1], rows[:, 1:]


def ours() -> Callable[[], float]:
    """A callable that makes one step."""
    import jax

    from attnlab_theory.labs.next_token import ADAM
    from attnlab_theory.language.corpora.batches import Batch
    from attnlab_theory.language.models.recurrent import Recurrent, RecurrentConfig
    from attnlab_theory.language.schedules import Constant
    from attnlab_theory.language.train import Training, started, train

    x, y = batch()
    read = Batch(x, y, weights=np.ones(x.shape, np.float32))
    model = Recurrent(RecurrentConfig(vocabulary=VOCABULARY, hidden=HIDDEN), key=jax.random.key(0))
    training = Training(schedule=Constant(always=RATE), epochs=10**6, optimizer=ADAM)
    steps = train(started(model, training), lambda _: [read], training)
    return lambda: next(steps)[1].loss


def theirs() -> Callable[[], float]:
    """The same by torch."""
    import torch
    from torch import nn
    from torch.nn import functional

    from benchmarks.machine import cores

    torch.set_num_threads(cores())
    torch.manual_seed(0)
    x, y = (torch.from_numpy(each).long() for each in batch())
    network, head = nn.RNN(VOCABULARY, HIDDEN, batch_first=True), nn.Linear(HIDDEN, VOCABULARY)
    optimizer = torch.optim.Adam([*network.parameters(), *head.parameters()], lr=RATE, fused=True)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        hidden, _ = network(functional.one_hot(x, VOCABULARY).float())
        loss = functional.cross_entropy(head(hidden).view(-1, VOCABULARY), y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def measure(quick: bool) -> list[Row]:
    """Tokens per second."""
    race = raced(ours=ours(), peers={"torch.nn.RNN": theirs()}, rounds=3 if quick else 15)
    size = f"{ROWS} rows of {WIDTH}, {HIDDEN} hidden"
    return [race.rate_row("RNN step", size, work=ROWS * WIDTH, unit="tokens/s", target=Target(1, 2))]


BENCHMARK = Benchmark("recurrent", ("torch",), measure)
