"""Where the time of a training step and of blocked attention goes: `python -m benchmarks.parts`.

First the speeds of the step's own matrix products, one by one, in GF/s. Then what jax's profiler traces, in shares
of the time of all traced parts. A device for each core shares the heads of blocked attention, so a child measures
that.
"""

import collections
import functools
import json
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import children

TOKENS = 508
"""Tokens of a micro-batch: 4 rows of 127."""
WEIGHTS = {
    "queries, keys and values": (256, 768),
    "output of attention": (256, 256),
    "into the MLP": (256, 1024),
    "back from the MLP": (1024, 256),
}
HEADS, LENGTH, HEAD_WIDTH = 32, 127, 32
"""Heads of all rows of a micro-batch."""
CASES = ((1024, False, "forward"), (4096, True, "forward"), (4096, True, "forward + backward"))
"""Lengths, whether a mask is causal, and passes."""
KINDS: Mapping[str, str] = {
    "matrix products, with what XLA fuses into them": r"ynn_fusion|dot|dot_general",
    "waiting for other threads": r"SlinkyThreadPool::Await",
    "exponentials in programs of their own": r"\w*exponential\w*",
}
"""The parts of a profile, by the names of the profiler's events."""
OTHERS = "sums and products of arrays, copies, masks"
WHOLE = re.compile(r"ThunkExecutor|while|call|conditional|end: |\[\d+\]|Common|Thread|Pjit|Tfrt|tsl")
"""Events that hold others, or no work."""


def speeds() -> dict[str, float]:
    """GF/s of each product of the step: medians of 9 turns of 40."""
    import jax
    import jax.numpy as jnp

    from attnlab_theory.language.models.layers import product

    keys = jax.random.split(jax.random.key(0), 4)

    def arrays(*shapes: tuple[int, ...]) -> list[jax.Array]:
        return [jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=False)]

    def rate(work: Callable, inputs: list, flops: float) -> float:
        run = jax.jit(work)
        jax.block_until_ready(run(*inputs))
        found = []
        for _ in range(9):
            start = time.perf_counter()
            for _ in range(40):
                last = run(*inputs)  # kept one at a time: many would take pages that are fresh, and slow
            jax.block_until_ready(last)
            found.append((time.perf_counter() - start) / 40)
        return flops / statistics.median(found) / 1e9

    found = {"side 1,024": rate(jnp.matmul, arrays((1024, 1024), (1024, 1024)), 2 * 1024**3)}
    for name, (c, d) in WEIGHTS.items():
        inputs, flops = arrays((TOKENS, c), (c, d), (TOKENS, d)), 2 * TOKENS * c * d
        found[f"{name}, forward"] = rate(lambda x, w, _: x @ w, inputs, flops)
        for place, what in enumerate(("input", "weight")):
            pull = functools.partial(lambda place, x, w, dy: jax.vjp(product, x, w)[1](dy)[place], place)
            found[f"{name}, gradient of the {what}"] = rate(pull, inputs, flops)
    head, scores = (HEADS, LENGTH, HEAD_WIDTH), (HEADS, LENGTH, LENGTH)
    flops = 2 * HEADS * LENGTH**2 * HEAD_WIDTH
    found["queries with keys"] = rate(lambda q, k: q @ jnp.swapaxes(k, 1, 2), arrays(head, head), flops)
    found["weights with values"] = rate(jnp.matmul, arrays(scores, head), flops)
    transposed = rate(lambda a, v: jnp.swapaxes(a, 1, 2) @ v, arrays(scores, head), flops)
    return found | {"weights with values, gradient of the values": transposed}


def shares(work: Callable[[], object], times: int) -> dict[str, float]:
    """Shares of the traced time by kind of part, of a work that has run before."""
    import jax
    from jax.profiler import ProfileData

    work()
    seconds: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(times):
                work()
        (path,) = Path(folder).rglob("*.xplane.pb")
        lines = [line for plane in ProfileData.from_file(str(path)).planes for line in plane.lines]
        for event in (event for line in lines if line.name.startswith("tf_XLA") for event in line.events):
            name = re.sub(r"[.\d]+$", "", event.name)
            kind = next((kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, name)), OTHERS)
            if kind != OTHERS or not WHOLE.match(name):
                seconds[kind] += event.duration_ns
    return {kind: took / seconds.total() for kind, took in seconds.most_common()}


def blocked() -> dict[str, dict[str, float]]:
    """The shares of blocked attention, for a process with a device for each core."""
    from benchmarks import blocked_attention

    found = {}
    for length, causal, passes in CASES:
        work = blocked_attention.ours(length, causal, passes)
        work()
        found[f"{blocked_attention.name_of(causal, passes)}, {length:,}"] = shares(work, 3)
    return found


def main() -> None:
    """Print both as JSON."""
    from benchmarks import training

    print(json.dumps({name: round(rate) for name, rate in speeds().items()}, indent=1))
    step = training.ours(training.ROWS, training.DROPOUT)
    step()
    profiles = {"training step": shares(step, 1), **children.told("benchmarks.parts:blocked")}
    print(
        json.dumps({name: {k: round(v, 3) for k, v in found.items()} for name, found in profiles.items()}, indent=1)
    )


if __name__ == "__main__":
    main()
