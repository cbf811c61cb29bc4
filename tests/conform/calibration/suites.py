"""Right code of the other kinds: every identity of its suite, on a hundred draws of all numbers."""

import contextlib
import functools
import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import alibi_bias, alibi_slopes, linear_attention
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import Row, Suite, suite_class
from tests.conform.calibration import others
from tests.conform.calibration.alarms import Right
from tests.conform.kinds import best_code, difference_code, latent_code, paged_code, sigmoid_code, stick_code
from tests.conform.laws import dropout_code, feature_code
from tests.conform.linear import linear_code, recurrent_code
from tests.conform.positions import right as positions
from tests.conform.sequences import decoding, mixing, modelling

TYPES = ("float64", "float32", "float16", "bfloat16")
"""Identities that are named for the type of their numbers."""

STEADY = ("sinusoidal", "alibi")
"""Kinds whose suites draw no numbers: they are asked once."""

SLOW: Mapping[tuple[str, str], int] = {
    ("linear", "numpy"): 30,
    ("random-features", "numpy"): 20,
    **{(kind, "numpy"): 20 for kind in ("stick-breaking", "differential", "top-k")},
    **{(kind, "torch"): 20 for kind in ("linear", "recurrent", "mixer")},
    **{(kind, "torch"): 50 for kind in ("rotary", "decode", "model")},
    **{(kind, "jax"): 20 for kind in ("linear", "decode", "mixer")},
    ("rotary", "jax"): 50,
}
"""Draws of those that take long, by kind and framework."""

NARROW = "computed in float32"
"""What is told of a target whose float64 is float32 inside."""


STYLES: Mapping[str, tuple[Iterable[Any] | Mapping[str, Any], str, str]] = {
    "rotary": (
        positions.ROTARY,
        "apply_rotary_pos_emb, in_float64",
        "interleaved, halves, complex_numbers, partial, OfOneWidth, yarn",
    ),
    "alibi": (positions.ALIBI, "symmetric, bloom, causal_end, from_the_start, relative_in_half, of_twelve", ""),
    "sinusoidal": (positions.SINUSOIDAL, "paper, in_float32, tensor2tensor, timesteps, Added, half_precision", ""),
    "linear": (linear_code.RIGHT, "parallel, in_blocks, efficient, masked_relu", "in_float32"),
    "recurrent": (recurrent_code.RIGHT, "linear, linear_chunked, delta", "state_in_float32, blocks_in_float32"),
    "decode": (
        decoding.RIGHT,
        "rotary, window, Layer, Ring, Recurrent, onnx, by mask",
        "softmax in single precision, cache in single precision",
    ),
    "mixer": (
        {name: target for name, (target, _) in mixing.RIGHT.items()},
        "recurrence, fourier, attention, neighbours, block, linear, Layer",
        "fourier in part",
    ),
    "model": (modelling.RIGHT, "plain, library, in place, no mask in steps", ""),
    "random-features": (
        (*feature_code.RIGHT, *feature_code.ATTENTION),
        "positive, phases, generalized, attention, stabilised",
        "",
    ),
    "sigmoid": (sigmoid_code.RIGHT, "with_log, by_tanh, by_blocks, of_what_is_seen, on_fewer_keys", "in_float32"),
    "stick-breaking": (stick_code.RIGHT, "by_logs, stick_by_stick, on_fewer_keys", ""),
    "differential": (difference_code.RIGHT, "by_halves", ""),
    "top-k": (best_code.RIGHT, "by_threshold, on_fewer_keys", ""),
    "paged": (paged_code.RIGHT, "one_by_one, one_query, page_by_page", ""),
    "latent": (latent_code.RIGHT, "plain, both, one_row", ""),
    "dropout": (dropout_code.RIGHT, "by_seed, by_generator, before_the_softmax, one_mask", ""),
}
"""Right code of numpy, by kind: where it stands, the names of what is asked here, and of that in whose float64 is
float32. The tests of a kind ask all of it once. Dropout that draws from what all share has no stream of its own.
"""


def of_numpy() -> Iterator[Right]:
    """Those styles, and a recurrence with another form beside it."""
    for kind, (targets, usual, narrow) in STYLES.items():
        named = targets if isinstance(targets, Mapping) else {each.__name__: each for each in targets}
        for names in (usual, narrow):
            for name in filter(None, names.split(", ")):
                yield Right(f"numpy: {name}", kind, "numpy", named[name], {}, names is narrow)
    one, other = recurrent_code.AGAINST[0]
    yield Right(f"numpy: {one.__name__}, {other.__name__}", "recurrent", "numpy", one, {"against": other})


@functools.partial(jax.jit, static_argnames="causal")
def linear(q, k, v, causal=False):
    """Our linear attention, by elu + 1."""
    return linear_attention(jax.nn.elu(q) + 1, jax.nn.elu(k) + 1, v, causal=causal)


def biases(heads, queries, keys):
    """Our linear biases; queries stand at the end of the keys."""
    at = jnp.arange(keys - queries, keys), jnp.arange(keys)
    return jnp.stack([alibi_bias(*at, slope=slope) for slope in alibi_slopes(heads)])


def of_jax() -> Iterator[Right]:
    """Ours, and what stands in the place of bugs of the museum. Random features of jax have no stream of numpy."""
    yield Right("jax: ours", "linear", "jax", linear, {"layout": "td"})
    yield Right("jax: ours", "alibi", "jax", biases, {})
    for name in (
        "rotary-layouts-mixed",
        "rotation-without-its-minus",
        "sine-and-cosine-out-of-step",
        "cache-off-by-one",
        "maximum-over-future-positions",
        "bigbird-never-switches-back",
    ):
        box = others.BOXES[name]
        assert box.right is not None
        yield Right(f"jax: beside {name}", box.kind, "jax", box.right, box.known)


def of_torch() -> Iterator[Right]:
    """Where it is installed."""
    try:
        code = importlib.import_module("tests.conform.calibration.with_torch")
    except ImportError:
        return
    for kind, target, narrow in (
        ("rotary", code.Rotary, True),
        ("rotary", code.turned_by_tables, False),
        ("linear", code.linear, False),
        ("linear", code.linear_in_float32, True),
        ("recurrent", code.recurrent, False),
        ("recurrent", code.state_in_float32, True),
        ("decode", code.cached, False),
        ("decode", code.cache_in_float32, True),
        ("decode", code.Steps, False),
        ("mixer", code.Attention, False),
        ("mixer", code.Filter, True),
        ("model", code.Gated, False),
    ):
        yield Right(f"torch: {target.__name__}", kind, "torch", target, {}, narrow)


def all_right() -> list[Right]:
    """What is asked here, by kind."""
    found = [*of_numpy(), *of_jax(), *of_torch()]
    return [each for kind in STYLES for each in found if each.kind == kind]


@contextlib.contextmanager
def other_draws(draw: int) -> Iterator[None]:
    """Inside, every stream of numpy that begins with a number is another one: of a suite, and of its target."""
    usual = np.random.default_rng

    def seeds(seed: Any) -> Any:
        return [seed, draw] if isinstance(seed, int | np.integer) else seed

    class Frozen(np.random.RandomState):
        def __init__(self, seed: Any = None) -> None:
            super().__init__(seeds(seed))

    with mock.patch.multiple(np.random, default_rng=lambda seed=None: usual(seeds(seed)), RandomState=Frozen):
        yield


def draws_of(each: Right, wanted: int) -> int:
    """How many draws a piece of right code gets, of those that are wanted."""
    return 1 if each.kind in STEADY else min(wanted, SLOW.get((each.kind, each.framework), wanted))


def asked(each: Right, draws: int) -> dict[str, Any]:
    """What became of one piece of right code."""
    found: dict[str, Any] = {"code": each.name, "kind": each.kind, "draws": draws, "asked": 0, "not_judged": 0}
    found |= {"told": 0, "chances": 0, "alarms": 0, "first": "", "largest": {}}
    for draw in range(1, draws + 1):
        with other_draws(draw):
            known = {"framework": each.framework, **each.declared}
            try:
                suite = suite_class(each.kind)(Direct(each.target, each.name), each.kind, known)
            except ValueError as error:
                found["alarms"] += 1
                found["first"] = found["first"] or f"draw {draw}, a trial call: {error}"
                continue
            _forget(suite)
            for row in suite.rows():
                _count(found, row, suite.largest)
                told = row.verdict == "convention" and NARROW in row.line
                found["told"] += told
                # Whoever computes in float64 is accused if float32 is told of him.
                if row.verdict == "fails" or (told and not each.narrow):
                    found["alarms"] += 1
                    found["first"] = found["first"] or f"draw {draw}, {row.name}: {row.line}"
                _forget(suite)
    return found


def _count(found: dict[str, Any], row: Row, largest: float) -> None:
    found["asked"] += 1
    found["not_judged"] += row.verdict == "not judged"
    found["chances"] += "false alarms" in row.line
    if row.verdict in ("holds", "convention"):
        name = row.name if row.name in TYPES else "others"
        found["largest"][name] = max(found["largest"].get(name, 0.0), float(row.ratio), float(largest))


def _forget(suite: Suite) -> None:
    """The largest error so far; some suites leave it to whoever judges for them."""
    for part in (suite, *(getattr(suite, name, None) for name in ("judge", "passes", "dropping"))):
        if hasattr(part, "largest"):
            part.largest = 0.0
