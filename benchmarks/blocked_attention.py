"""Blocked attention against torch's scaled_dot_product_attention: 8 heads of width 64, float32.

Time of the forward pass and of forward and backward together, causal and full, and the extra memory at their
peak. Targets are those for causal attention on two cores; the full rows are there to be seen.
"""

import functools
from collections.abc import Callable

from benchmarks import programs
from benchmarks.memory import extra_peak
from benchmarks.ratios import Benchmark, Row, Target, memory_row, raced

HEADS, WIDTH = 8, 64
SCALE = WIDTH**-0.5
PEER = "torch SDPA"
ROUNDS = {1024: 31, 4096: 7, 16384: 3}
QUICK_ROUNDS = {1024: 5}
SHORT = {"forward": Target(1.8, 2.5), "forward + backward": Target(1.4, 2.0)}
LONG = {"forward": Target(1.0, 1.4), "forward + backward": Target(1.0, 1.4)}
MEMORY = {"forward": Target(1 / 4, 1.0), "forward + backward": Target(1 / 1.1, 1.0)}
# Multiply-adds per score and unit of width: scores and values forward; both again and four gradients, one of
# them the scores made anew, backward.
PRODUCTS = {"forward": 2, "forward + backward": 7}


def block_for(length: int, causal: bool, passes: str) -> int:
    """The block that was fastest on two cores: causal blocks waste half a block of scores each."""
    if causal:
        return 128 if length <= 1024 else 512
    # When short, whole matrices of weights are fastest forward; with the way back they take 1.4 times as long.
    return 512 if length <= 1024 and passes != "forward" else 1024


def ours(length: int, causal: bool, passes: str) -> Callable[[], object]:
    """A callable that runs ours once, compiled beforehand but not yet run at this length."""
    import jax

    from attnlab_theory.attention import blocked_attention

    block = block_for(length, causal, passes)
    one_head = functools.partial(blocked_attention, scale=SCALE, block=block, causal=causal)
    heads = jax.vmap(one_head)

    def forward_and_backward(q, k, v, d_o):
        o, pull = jax.vjp(heads, q, k, v)
        return o, pull(d_o)

    work = (lambda q, k, v, d_o: heads(q, k, v)) if passes == "forward" else forward_and_backward

    return programs.in_jax(work, lambda size: programs.normals(4, HEADS, size, WIDTH), length)


def theirs(length: int, causal: bool, passes: str) -> Callable[[], object]:
    """A callable that runs torch's once; its libraries are warm."""
    import torch

    sdpa = functools.partial(torch.nn.functional.scaled_dot_product_attention, is_causal=causal)

    def run(q, k, v, d_o):
        if passes == "forward":
            with torch.no_grad():
                return sdpa(q, k, v)
        o = sdpa(q, k, v)
        return o, torch.autograd.grad(o, (q, k, v), d_o)

    def tensors(size):
        return [torch.randn(1, HEADS, size, WIDTH).requires_grad_(i < 3) for i in range(4)]

    return programs.in_torch(run, tensors, length)


def memory_case(who: str, length: int, causal: bool, passes: str) -> Callable[[], object]:
    """What the child of `benchmarks.memory` runs."""
    return (ours if who == "ours" else theirs)(length, causal, passes)


def measure(quick: bool) -> list[Row]:
    """Times of every length, then memory of the long ones."""
    rows = []
    rounds = QUICK_ROUNDS if quick else ROUNDS
    cases = [(causal, passes) for causal in (True, False) for passes in PRODUCTS]
    for length in rounds:
        for causal, passes in cases:
            race = raced(
                ours=ours(length, causal, passes),
                peers={PEER: theirs(length, causal, passes)},
                rounds=rounds[length],
                warm_ups=2 if length <= 1024 else 1 if length <= 4096 else 0,
            )
            scores = HEADS * length * (length + 1) / 2 if causal else HEADS * length**2
            target = (SHORT if length <= 1024 else LONG)[passes] if causal or length <= 1024 else None
            rows.append(
                race.time_row(
                    name_of(causal, passes),
                    f"{length:,}",
                    target=target,
                    flops=2 * WIDTH * PRODUCTS[passes] * scores,
                )
            )
    for length in [1024] if quick else [4096, 16384]:
        for passes in PRODUCTS:
            used = {
                who: extra_peak(
                    "benchmarks.blocked_attention:memory_case", who=who, length=length, causal=True, passes=passes
                )
                for who in ("ours", PEER)
            }
            rows.append(
                memory_row(
                    f"extra memory, {name_of(True, passes)}",
                    f"{length:,}",
                    ours=used["ours"],
                    peer=used[PEER],
                    peer_name=PEER,
                    target=MEMORY[passes],
                )
            )
    return rows


def name_of(causal: bool, passes: str) -> str:
    """What a row of the table is called."""
    return f"{'causal' if causal else 'full'} attention, {passes}"


BENCHMARK = Benchmark("blocked-attention", ("torch",), measure)
