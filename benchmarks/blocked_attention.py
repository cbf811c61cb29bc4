"""Blocked attention against torch's scaled_dot_product_attention: 8 heads of width 64, float32.

The time of the forward pass and of forward and backward together, causal and full, and the extra memory at their
peak. Targets are for causal attention on two cores; the full rows have none. Each race runs in a process with a
device for each core, which share the heads. Memory is measured so, too, and with one device.
"""

import functools
import itertools
import math
from collections.abc import Callable

from benchmarks import children, machine, programs
from benchmarks.memory import extra_peak
from benchmarks.ratios import Benchmark, Row, Target, memory_row, raced

HEADS, WIDTH = 8, 64
SCALE = WIDTH**-0.5
PEER = "torch SDPA"
SHORT, SHORT_ROUNDS, QUICK_ROUNDS = 1024, 31, 5
ROUNDS = {4096: 7, 16384: 3}
SHORT_TARGETS = {"forward": Target(1.8, 2.5), "forward + backward": Target(1.4, 2.0)}
TARGETS = {"forward": Target(1.0, 1.4), "forward + backward": Target(1.0, 1.4)}
MEMORY = {"forward": Target(1 / 4, 1.0), "forward + backward": Target(1 / 1.1, 1.0)}
# Multiply-adds per score and unit of width: scores and values forward; both again and four gradients, one of
# them the scores made anew, backward.
PRODUCTS = {"forward": 2, "forward + backward": 7}


def block_for(length: int, causal: bool, passes: str) -> int:
    """The block that was fastest on two cores within the memory that is allowed."""
    if causal and length <= SHORT:
        return 128  # causal blocks that meet all their keys at once waste half a block of scores each
    # When short, whole matrices of weights are fastest forward; with the way back they take nearly twice as long.
    return 512 if length <= SHORT and passes != "forward" else 1024


def ours(length: int, causal: bool, passes: str) -> Callable[[], object]:
    """A callable that runs ours once, compiled beforehand but not yet run at this length."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from attnlab_theory.attention import blocked_multi_head_attention

    block = block_for(length, causal, passes)
    heads = functools.partial(blocked_multi_head_attention, scale=SCALE, block=block, causal=causal)
    # Where the heads are computed, there they lie.
    mesh = Mesh(jax.local_devices()[: math.gcd(HEADS, jax.local_device_count())], ("heads",))
    shared = PartitionSpec("heads")

    def forward_and_backward(q, k, v, d_o):
        o, pull = jax.vjp(heads, q, k, v)
        return o, pull(d_o)

    work = (lambda q, k, v, d_o: heads(q, k, v)) if passes == "forward" else forward_and_backward

    def inputs(size):
        return jax.device_put(programs.normals(4, HEADS, size, WIDTH), NamedSharding(mesh, shared))

    return programs.in_jax(work, inputs, length)


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


def timed(length: int, rounds: int) -> list[Row]:
    """Every pass at one length, on all devices of this process."""
    import jax

    size = sized(length, jax.local_device_count())
    rows = []
    for causal, passes in itertools.product((True, False), PRODUCTS):
        race = raced(
            ours=ours(length, causal, passes),
            peers={PEER: theirs(length, causal, passes)},
            rounds=rounds,
            warm_ups=2 if length <= SHORT else 1 if length <= 4096 else 0,
        )
        scores = HEADS * length * (length + 1) / 2 if causal else HEADS * length**2
        target = (SHORT_TARGETS if length <= SHORT else TARGETS)[passes] if causal or length <= SHORT else None
        flops = 2 * WIDTH * PRODUCTS[passes] * scores
        rows.append(race.time_row(name_of(causal, passes), size, target=target, flops=flops))
    return rows


def measure(quick: bool) -> list[Row]:
    """Times of every length, then memory of the long ones."""
    lengths = {SHORT: QUICK_ROUNDS} if quick else {SHORT: SHORT_ROUNDS, **ROUNDS}
    rows = []
    for length, rounds in lengths.items():
        rows += children.rows("benchmarks.blocked_attention:timed", length=length, rounds=rounds)
    for length, passes in itertools.product([SHORT] if quick else ROUNDS, PRODUCTS):
        case = {"length": length, "causal": True, "passes": passes}
        peer = extra_peak("benchmarks.blocked_attention:memory_case", who=PEER, **case)
        for devices in dict.fromkeys((1, machine.cores())):
            used = extra_peak("benchmarks.blocked_attention:memory_case", devices=devices, who="ours", **case)
            what, target = f"extra memory, {name_of(True, passes)}", MEMORY[passes] if devices == 1 else None
            rows.append(
                memory_row(what, sized(length, devices), ours=used, peer=peer, peer_name=PEER, target=target)
            )
    return rows


def sized(length: int, devices: int) -> str:
    """The size of a row."""
    return f"{length:,}" + (f", heads over {devices} devices" if devices > 1 else "")


def name_of(causal: bool, passes: str) -> str:
    """What a row of the table is called."""
    return f"{'causal' if causal else 'full'} attention, {passes}"


BENCHMARK = Benchmark("blocked-attention", ("torch",), measure)
