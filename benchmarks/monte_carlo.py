"""Trials per second of the noisy-key problem (n = 16 keys of width d = 64), keys in full and scores alone.

A trial draws every key, takes its dot product with the query, and adds the softmax weights and their squares
to running sums. The race runs in a process of its own, with a device for each core and vectors as wide as the
processor's. Without the latter ours is half as fast.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks import children, machine
from benchmarks.monte_carlo_peers import BETA, STRETCH, VARIANCE, D, N, numpy_keys, numpy_scores, scipy_keys
from benchmarks.ratios import Benchmark, Race, Row, Target, memory_row, raced

FLAGS = "--xla_cpu_prefer_vector_width=512"
SIZE = f"n = {N}, d = {D}"
KEY_CHUNK, SCORE_CHUNK = 128, 4096
ALLOWED_MIB = 1024.0
"""The resident memory that ten million trials may take."""


def measure(quick: bool) -> list[Row]:
    """The rows, from children with a device for each core."""
    rows = children.rows("benchmarks.monte_carlo:race", flags=FLAGS, quick=quick)
    print(bottleneck(rows), file=sys.stderr)
    if Path("/proc/self/status").exists():
        peak = children.told("benchmarks.monte_carlo:memory", flags=FLAGS, quick=quick)
        trials = _memory_trials(quick)
        row = memory_row(
            "keys in full: resident memory",
            f"{SIZE}, {trials:,} trials",
            ours=peak,
            peer=ALLOWED_MIB,
            peer_name="allowed",
            target=Target(1, 2),
        )
        rows.append(row)
    return rows


BENCHMARK = Benchmark("monte_carlo", ("scipy",), measure)


def _memory_trials(quick: bool) -> int:
    return 10**6 if quick else 10**7


# ours


def _ours() -> dict[str, Callable[[int], object]]:
    """Programs that run a number of trials; the ones that do a part of the work show where the time goes."""
    import jax
    import jax.numpy as jnp

    from attnlab_theory.attention import attention_weights
    from attnlab_theory.sampling import (
        hashed_bits,
        hashed_normal,
        many_noisy_keys,
        moments,
        noise_factors,
        noisy_scores,
        orthonormal,
        score_law,
    )
    from attnlab_theory.seeds import key_for

    means = orthonormal(key_for(0, "means"), N, D)
    query = BETA * (means[:1] + means[1:2])
    noise = {"variance": VARIANCE, "stretch": jnp.zeros(N).at[0].set(STRETCH)}
    law = score_law(query, means, noise_factors(means, **noise))

    def by_keys(normal):
        def weights(key, n):
            keys = many_noisy_keys(key, means, n, normal=normal, **noise)
            return jax.vmap(lambda k: attention_weights(query, k, scale=1.0)[0], out_axes=-1)(keys)

        return weights

    def by_scores(key, n):
        return jax.nn.softmax(noisy_scores(key, law, n, normal=hashed_normal)[0], axis=0)

    def part(source, *shape):
        # Summed as they are made, so that nothing but the making is timed.
        return lambda key, n: jnp.sum(source(key, (*shape, n)).astype(jnp.float32).reshape(-1, n), axis=0)[None]

    def runs(draw, chunk):
        return lambda trials: moments(key_for(0, "trials"), draw, trials=trials, chunk=chunk)

    return {
        "keys": runs(by_keys(hashed_normal), KEY_CHUNK),
        "keys, threefry": runs(by_keys(jax.random.normal), KEY_CHUNK),
        "keys, normals": runs(part(hashed_normal, N, D), KEY_CHUNK),
        "keys, bits": runs(part(hashed_bits, N, D), KEY_CHUNK),
        "scores": runs(by_scores, SCORE_CHUNK),
        "scores, normals": runs(part(hashed_normal, N), SCORE_CHUNK),
        "scores, bits": runs(part(hashed_bits, N), SCORE_CHUNK),
    }


# peers


def _threaded(program: Callable[[int, np.random.Generator], np.ndarray]) -> Callable[[int], object]:
    """A numpy program on every core: the generators release the interpreter's lock."""
    # SFC64 is numpy's fastest bit generator.
    rngs = [np.random.Generator(np.random.SFC64(seed)) for seed in np.random.SeedSequence(0).spawn(machine.cores())]
    pool = ThreadPoolExecutor(len(rngs))
    return lambda trials: list(pool.map(lambda rng: program(trials // len(rngs), rng), rngs))


# the race


def _per_trial(race: Race, ours: int, peers: dict[str, int]) -> Race:
    return Race(race.ours / ours, {name: race.peers[name] / trials for name, trials in peers.items()})


def race(quick: bool) -> list[Row]:
    """All rows but the memory's: each program runs as many trials as take it about a third of a second."""
    shrink, rounds = (8, 3) if quick else (1, 7)
    ours = _ours()
    numpy_name = f"numpy, {machine.cores()} threads"
    peers = {
        numpy_name: (_threaded(numpy_keys), 2**16),
        "numpy": (lambda trials: numpy_keys(trials, np.random.Generator(np.random.SFC64(0))), 2**15),
        "scipy": (_threaded(scipy_keys), 2**14),
    }
    scores_peer = {numpy_name: (_threaded(numpy_scores), 2**21)}

    def against(name: str, trials: int, others: dict) -> Race:
        counts = {peer: max(many // shrink, 2**12) for peer, (_, many) in others.items()}
        trials //= shrink
        timed = raced(
            ours=lambda: ours[name](trials),
            peers={peer: lambda run=run, peer=peer: run(counts[peer]) for peer, (run, _) in others.items()},
            rounds=rounds,
        )
        return _per_trial(timed, trials, counts)

    def parts_of(name: str, trials: int) -> list[Row]:
        parts = {"the normals alone": ours[f"{name}, normals"], "their random bits alone": ours[f"{name}, bits"]}
        timed = against(name, trials, {label: (run, trials) for label, run in parts.items()})
        return [
            Race(timed.ours, {label: timed.peers[label]}).rate_row(
                f"{name}: share of the time", SIZE, work=1, unit="trials/s"
            )
            for label in parts
        ]

    key_trials, score_trials = 2**18, 2**24
    in_full = against("keys", key_trials, peers)
    default = against("keys, threefry", 2**17, peers)
    alone = against("scores", score_trials, {numpy_name: peers[numpy_name], "numpy": peers["numpy"]})
    like = against("scores", score_trials, scores_peer)
    return [
        in_full.rate_row("keys in full", SIZE, work=1, unit="trials/s", target=Target(3, 5)),
        default.rate_row("keys in full, jax's default normals", SIZE, work=1, unit="trials/s"),
        *parts_of("keys", key_trials),
        alone.rate_row(
            "scores, against keys in full",
            SIZE,
            work=1,
            unit="trials/s",
            target=Target(300, 500),
            or_rate=Target(30e6, 50e6),
        ),
        like.rate_row("scores, against scores", SIZE, work=1, unit="trials/s"),
        *parts_of("scores", score_trials),
    ]


def bottleneck(rows: list[Row]) -> str:
    """What bounds the two samplers, from the rows that time a part of the work alone."""
    lines = []
    for name in ("keys", "scores"):
        share = {row.peer_name: row.ratio.middle for row in rows if row.what == f"{name}: share of the time"}
        normals, bits = share["the normals alone"], share["their random bits alone"]
        rest = "forming and multiplying keys, and the softmax" if name == "keys" else "the softmax and the sums"
        lines.append(
            f"{name}: making normals takes {normals:.0%} of the time, {bits:.0%} their random bits and the rest of "
            f"it the inversion; {rest} {max(1 - normals, 0):.0%}. Arithmetic bounds it, not memory."
        )
    return "\n".join(lines)


def memory(quick: bool) -> float:
    """Peak resident memory of this process after millions of trials in key space, in MiB."""
    _ours()["keys"](_memory_trials(quick))
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
