"""What it costs that values hidden by a mask may be NaN: masked attention against the same without that guard.

One head of width 64 under a causal mask that the program cannot read, float32, forward and backward.
"""

from collections.abc import Callable

from benchmarks import programs
from benchmarks.ratios import Benchmark, Row, raced

WIDTH = 64
SCALE = WIDTH**-0.5
PEER = "unguarded"
LENGTHS, QUICK_LENGTHS = (128, 512, 1024), (128,)


def unguarded(q, k, v, mask, *, scale):
    """Attention as it is written down: zero times a hidden NaN is NaN."""
    import jax
    import jax.numpy as jnp

    scores = jnp.where(mask, scale * jnp.einsum("sd,td->st", k, q).T, -jnp.inf)
    return jnp.einsum("ts,sv->tv", jax.nn.softmax(scores, axis=-1), v)


def program(attend: Callable, length: int, *, gradient: bool) -> Callable[[], object]:
    """A callable that runs one of the two once."""
    import jax
    import jax.numpy as jnp

    def loss(q, k, v, mask):
        return jnp.sum(attend(q, k, v, mask, scale=SCALE) ** 2)

    def forward(q, k, v, mask):
        return attend(q, k, v, mask, scale=SCALE)

    def inputs(size):
        return [*programs.normals(3, size, WIDTH), jnp.tri(size, dtype=bool)]

    return programs.in_jax(jax.grad(loss, (0, 1, 2)) if gradient else forward, inputs, length)


def measure(quick: bool) -> list[Row]:
    """Time at every length, forward and with all gradients."""
    from attnlab_theory.attention import attention

    rows = []
    for length in QUICK_LENGTHS if quick else LENGTHS:
        for what, gradient in (("masked attention", False), ("gradients of masked attention", True)):
            race = raced(
                ours=program(attention, length, gradient=gradient),
                peers={PEER: program(unguarded, length, gradient=gradient)},
                rounds=5 if quick else 31,
            )
            rows.append(race.time_row(what, f"{length:,}"))
    return rows


BENCHMARK = Benchmark("hidden-values", (), measure)
