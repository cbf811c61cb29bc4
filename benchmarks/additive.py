"""Additive attention without its t x s x width tensor against the direct form that writes it down.

Peers in jax and in torch. One head, values of width 64, a hidden layer of 32 units, float32, forward.
"""

from collections.abc import Callable

import numpy as np

from benchmarks import programs
from benchmarks.memory import extra_peak
from benchmarks.ratios import Benchmark, Row, Target, memory_row, raced

WIDTH, HIDDEN = 64, 32
LENGTHS, QUICK_LENGTHS = (1024, 4096), (1024,)
DIRECT = ("jax, whole tensor", "torch, whole tensor")
LEAD = Target(2, 4)


def inputs(length: int) -> list:
    """q, k, v and the two projections and output weights of the network."""
    q, k, v = programs.normals(3, length, WIDTH)
    w_q, w_k = (x / WIDTH**0.5 for x in programs.normals(2, WIDTH, HIDDEN))
    return [q, k, v, w_q, w_k, programs.normals(1, HIDDEN)[0]]


def ours(length: int) -> Callable[[], object]:
    """A callable that runs ours once."""
    from attnlab_theory.attention import additive_attention

    return programs.in_jax(additive_attention, inputs, length)


def jax_direct(length: int) -> Callable[[], object]:
    """The direct form, as XLA compiles it."""
    import jax
    import jax.numpy as jnp

    def direct(q, k, v, w_q, w_k, w_out):
        hidden = jnp.tanh((q @ w_q)[:, None, :] + (k @ w_k)[None, :, :])
        return jax.nn.softmax(hidden @ w_out, axis=-1) @ v

    return programs.in_jax(direct, inputs, length)


def torch_direct(length: int) -> Callable[[], object]:
    """The direct form in torch."""
    import torch

    def direct(q, k, v, w_q, w_k, w_out):
        with torch.no_grad():
            hidden = torch.tanh((q @ w_q)[:, None, :] + (k @ w_k)[None, :, :])
            return torch.softmax(hidden @ w_out, dim=-1) @ v

    def tensors(size):
        return [torch.tensor(np.asarray(x)) for x in inputs(size)]

    return programs.in_torch(direct, tensors, length)


PROGRAMS = {"ours": ours, DIRECT[0]: jax_direct, DIRECT[1]: torch_direct}


def memory_case(who: str, length: int) -> Callable[[], object]:
    """What the child of `benchmarks.memory` runs."""
    return PROGRAMS[who](length)


def measure(quick: bool) -> list[Row]:
    """Time and extra memory at every length."""
    rows = []
    for length in QUICK_LENGTHS if quick else LENGTHS:
        target = LEAD if length >= 4096 else None
        race = raced(
            ours=ours(length), peers={name: PROGRAMS[name](length) for name in DIRECT}, rounds=3 if quick else 7
        )
        rows.append(race.time_row("additive attention", f"{length:,}", target=target))
        used = {
            who: extra_peak("benchmarks.additive:memory_case", who=who, length=length)
            for who in ("ours", race.best_peer)
        }
        rows.append(
            memory_row(
                "extra memory, additive attention",
                f"{length:,}",
                ours=used["ours"],
                peer=used[race.best_peer],
                peer_name=race.best_peer,
            )
        )
    return rows


BENCHMARK = Benchmark("additive-attention", ("torch",), measure)
