"""Right code, with a hundred seeds at each type: nobody is accused, and what the largest errors are."""

import importlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax

from attnlab_theory.conform.callers import Direct
from tests.conform import right, wrong
from tests.conform.calibration.ways import everything, future_hidden, near
from tests.conform.judging import suite


class Right(NamedTuple):
    """Right code."""

    name: str
    kind: str
    framework: str
    target: Callable[..., Any]
    declared: dict[str, Any]
    narrow: bool = False
    """Whether float64 is float32 somewhere inside, which has to be told."""


def torch_plain(q, k, v, mask=None):
    """Attention as torch's users write it."""
    torch = importlib.import_module("torch")
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, -1) @ v


def all_right() -> list[Right]:
    """What is asked here; torch where it is installed."""
    found = [Right(f"numpy: {each.__name__}", "softmax", "numpy", each, {}) for each in right.RIGHT]
    found += [Right(f"numpy: one for all, {k}", k, "numpy", make(""), {}) for k, make in wrong.MADE.items()]
    whole, past, window = jax.jit(everything), jax.jit(future_hidden), jax.jit(near, static_argnames="window")
    found += [
        Right("jax: ours, softmax", "softmax", "jax", whole, {"layout": "htd"}),
        Right("jax: ours, causal", "causal", "jax", past, {"layout": "td"}),
        Right("jax: ours, grouped-query", "grouped-query", "jax", whole, {"layout": "htd"}),
        Right("jax: ours, sliding-window", "sliding-window", "jax", window, {"layout": "td"}),
        Right("jax: ours, softcap", "softcap", "jax", whole, {"layout": "htd"}),
        Right("jax: ours, bias", "bias", "jax", whole, {"layout": "htd"}),
    ]
    try:
        sdpa = importlib.import_module("torch.nn.functional").scaled_dot_product_attention
    except ImportError:
        return found
    return [
        *found,
        Right("torch: plain", "softmax", "torch", torch_plain, {}),
        Right(
            "torch: its own",
            "softmax",
            "torch",
            lambda q, k, v, attn_mask=None: sdpa(q, k, v, attn_mask=attn_mask),
            {"mask": "bool-keep"},
        ),
    ]


TYPES = {
    "numpy": ("float64", "float32", "float16"),
    "jax": ("float32", "bfloat16", "float16"),
    "torch": ("float64", "float32", "bfloat16", "float16"),
}


def cases() -> Iterator[dict[str, Any]]:
    """Ten cases, in short."""
    yield {"length": 6}
    yield {"queries": 4, "keys": 9}
    yield {"length": 17}
    yield {"width": 64, "value_width": 7, "length": 6}
    yield from ({"values": values, "length": 6} for values in ("very large", "negative", "attracting", "offset"))
    yield {"pair mask": "random", "length": 6}
    yield {"pair mask": "padded end", "queries": 4, "keys": 9}


def asked(each: Right, kind: str, seeds: int) -> dict[str, Any]:
    """What became of one piece of right code at one type."""
    declared = {"framework": each.framework, **each.declared}
    judge = suite(Direct(each.target, each.name), each.kind, declared).judge
    window = {"window": 3} if "window" in judge.convention.names and each.kind == "sliding-window" else {}
    alarms, loose, count, first = 0, 0, 0, ""
    for seed in range(1000, 1000 + seeds):
        for case in judge.cases({**spec, **window, "type": kind, "seed": seed} for spec in cases()):
            judge.narrow = ""
            outcome = judge.judge(case)
            count += 1
            # What keeps the tolerance of float32 alone is told of a target, but is an alarm here.
            alarms += outcome.fails or bool(judge.narrow)
            loose += not outcome.is_judged
            first = first or (str(outcome) if outcome.fails or judge.narrow else "")
    return {
        "code": each.name,
        "kind": each.kind,
        "type": kind,
        "seeds": seeds,
        "calls": count,
        "not_judged": loose,
        "alarms": alarms,
        "first": first,
        "largest": judge.largest,
    }
