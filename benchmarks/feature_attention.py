"""Attention through random features against performer-pytorch, and against exact attention, ours and torch's.

Eight heads of width 64, 256 positive features on an orthogonal projection, float32, forward. The peer adds an eps
to its features and we do not; the error of both is measured against their own formula in float64.
"""

import functools
from collections.abc import Callable

import numpy as np

from benchmarks import blocked_attention, programs
from benchmarks.memory import extra_peak
from benchmarks.ratios import Benchmark, Race, Row, Target, crossover_row, error_row, memory_row, raced

HEADS, WIDTH, FEATURES = 8, 64, 256
SCALE = WIDTH**-0.5
PEER = "performer-pytorch"
EXACT = {"own exact attention": blocked_attention.ours, blocked_attention.PEER: blocked_attention.theirs}
LENGTHS = (1024, 2048, 4096, 8192, 16384)
QUICK_LENGTHS = (1024, 2048)
ERROR = 1e-5
"""The largest error against float64 that is acceptable."""
ERROR_LENGTH = 1024


def target_of(length: int, causal: bool) -> Target | None:
    """Against performer-pytorch; at 8,192 and beyond both are bound by memory where nothing is causal."""
    if length < 2048:
        return None
    if causal:
        return Target(15, 60)
    return Target(2.5, 4) if length < 8192 else Target(1.6, 4)


def projection() -> np.ndarray:
    """The same for both."""
    import jax

    from attnlab_theory.sampling import orthogonal_projection

    return np.asarray(orthogonal_projection(jax.random.key(1), FEATURES, WIDTH, norms="chi"))


def ours(length: int, causal: bool) -> Callable[[], object]:
    """A callable that runs ours once, head after head."""
    import jax
    import jax.numpy as jnp

    from attnlab_theory.attention import feature_attention

    one = functools.partial(feature_attention, projection=jnp.asarray(projection()), scale=SCALE, causal=causal)

    def heads(q, k, v):
        return jax.lax.map(lambda head: one(*head), (q, k, v))

    return programs.in_jax(heads, lambda size: programs.normals(3, HEADS, size, WIDTH), length)


def theirs(length: int, causal: bool) -> Callable[[], object]:
    """A callable that runs performer-pytorch's once."""
    import contextlib
    import io

    import torch
    from performer_pytorch import FastAttention

    with contextlib.redirect_stdout(io.StringIO()):  # it prints that it has no CUDA code
        attention = FastAttention(dim_heads=WIDTH, nb_features=FEATURES, causal=causal)
    attention.projection_matrix.copy_(torch.tensor(projection()))

    def run(q, k, v):
        with torch.no_grad():
            return attention(q, k, v)

    def tensors(size):
        return [torch.tensor(np.asarray(x)[None]) for x in programs.normals(3, HEADS, size, WIDTH)]

    return programs.in_torch(run, tensors, length)


def in_double(length: int, causal: bool, eps: float) -> np.ndarray:
    """The formula itself in float64, every weight written down; `eps` as the peer adds it."""
    q, k, v = (np.asarray(x, np.float64) for x in programs.normals(3, HEADS, length, WIDTH))
    rows = projection().astype(np.float64)

    def features(x, shift_axes):
        x = x * WIDTH**-0.25
        powers = x @ rows.T - (x**2).sum(-1, keepdims=True) / 2
        # The peer leaves the squared norm out of its maximum; with an eps that matters.
        top = (x @ rows.T).max(shift_axes, keepdims=True)
        return np.exp(powers - top) + eps

    weights = features(q, -1) @ features(k, (-1, -2)).swapaxes(-1, -2)
    if causal:
        weights = np.tril(weights)
    return weights @ v / weights.sum(-1, keepdims=True)


def error_of(program: Callable[[], object], length: int, causal: bool, eps: float) -> float:
    """The largest difference from float64 in any coordinate of any output."""
    output = np.asarray(program(), np.float64).reshape(HEADS, length, WIDTH)
    return float(np.abs(output - in_double(length, causal, eps)).max())


def memory_case(who: str, length: int, causal: bool) -> Callable[[], object]:
    """What the child of `benchmarks.memory` runs."""
    return (ours if who == "ours" else theirs)(length, causal)


def measure(quick: bool) -> list[Row]:
    """Against the peer and against exact attention at every length, then errors and memory."""
    lengths = QUICK_LENGTHS if quick else LENGTHS
    rows = []
    for causal in (False, True):
        name = "causal" if causal else "full"
        races: dict[str, dict[int, Race]] = {exact: {} for exact in EXACT}
        for length in lengths:
            # Short work is at the mercy of the machine's mood.
            rounds = 3 if quick or length > 4096 else 15 if length <= 2048 else 7
            race = raced(
                ours=ours(length, causal),
                peers={PEER: theirs(length, causal)},
                rounds=rounds,
                warm_ups=1 if length <= 4096 else 0,
            )
            what = f"{name} feature attention"
            rows.append(race.time_row(what, f"{length:,}", target=target_of(length, causal)))
            for exact, program in EXACT.items():
                races[exact][length] = raced(
                    ours=ours(length, causal),
                    peers={exact: program(length, causal, "forward")},
                    rounds=rounds,
                )
        rows += [crossover_row(f"{name} feature attention", races[exact]) for exact in EXACT]
        # performer-pytorch adds 1e-4 to every feature.
        rows.append(
            error_row(
                f"error of {name} feature attention against float64",
                f"{ERROR_LENGTH:,}",
                ours=error_of(ours(ERROR_LENGTH, causal), ERROR_LENGTH, causal, eps=0.0),
                peer=error_of(theirs(ERROR_LENGTH, causal), ERROR_LENGTH, causal, eps=1e-4),
                peer_name=PEER,
                allowed=ERROR,
            )
        )
    length = 2048 if quick else 16384
    for causal in (False, True):
        used = {
            who: extra_peak("benchmarks.feature_attention:memory_case", who=who, length=length, causal=causal)
            for who in ("ours", PEER)
        }
        rows.append(
            memory_row(
                f"extra memory, {'causal' if causal else 'full'} feature attention",
                f"{length:,}",
                ours=used["ours"],
                peer=used[PEER],
                peer_name=PEER,
            )
        )
    return rows


BENCHMARK = Benchmark("feature-attention", ("torch", "performer_pytorch"), measure)
