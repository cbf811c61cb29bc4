"""Right code, with a hundred seeds at each type: nobody is accused, and what the largest errors are."""

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.guessing import fitted, guessed
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.kinds import KINDS
from attnlab_theory.conform.precision import Precision
from tests.conform import right, wrong
from tests.conform.calibration.ways import everything, future_hidden, near


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


def cases(seed: int) -> Iterator[Case]:
    """Ten cases of one seed."""
    sizes = {"queries": 6, "keys": 6}
    yield Case(seed=seed, **sizes)
    yield Case(seed=seed, queries=4, keys=9)
    yield Case(seed=seed, queries=17, keys=17)
    yield Case(seed=seed, width=64, value_width=7, **sizes)
    for values in ("large", "negative", "dominant", "offset"):
        yield Case(seed=seed, values=values, **sizes)
    yield Case(seed=seed, mask="random", **sizes)
    yield Case(seed=seed, mask="padded end", queries=4, keys=9)


def asked(each: Right, kind: str, seeds: int) -> dict[str, Any]:
    """What became of one piece of right code at one type."""
    promised = KINDS[each.kind]
    caller = Direct(each.target, each.name)
    way = guessed(caller, promised, {"framework": each.framework, **each.declared}).way
    judge = Judge(caller, way)
    alarms, loose, count, first = 0, 0, 0, ""
    for seed in range(seeds):
        for case in cases(1000 + seed):
            if case.mask != "none" and not way.mask:
                continue
            case = dataclasses.replace(fitted(case, promised, way), kind=kind)
            if promised.wants == "window":
                case = dataclasses.replace(case, window=3)
            judge.precision = Precision()
            outcome = judge.judge(case)
            count += 1
            # What keeps the tolerance of float32 alone is told of a target, but is an alarm here.
            why = outcome.why or judge.precision.line()
            alarms += bool(why)
            loose += not outcome.judged
            first = first or why
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
