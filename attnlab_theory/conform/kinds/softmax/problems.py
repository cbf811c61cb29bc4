"""What a case asks of softmax attention, and what is right: by place, window and masks, with biases and sinks."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.kind import Chosen, Right
from attnlab_theory.conform.kinds.softmax.reference import Problem, attend, shared
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.rounding import HALF_EPS


def within(meaning: str, width: int, case: Case, shift: int) -> np.ndarray:
    """What a window lets each query see, [t s].

    Args:
        meaning: one of `conventions.WINDOWS` or `conventions.OPEN_WINDOWS`.
        width: the number that was handed over.
        case: its lengths, and how many keys after itself a query sees, where that is another number.
        shift: the place of query 0 among the keys.
    """
    back = np.arange(case["queries"])[:, None] + shift - np.arange(case["keys"])
    match meaning:
        case "w keys back, itself included":
            return (back >= 0) & (back < width)
        case "w keys back and itself":
            return (back >= 0) & (back <= width)
        case "w keys to either side":
            return (back <= width) & (back >= -(width if case["ahead"] is None else case["ahead"]))
        case "w/2 to either side":
            return abs(back) <= width // 2
        case "fewer than w keys to either side":
            return abs(back) < width
        case "w keys back, itself included, and all that follow":
            return back < width
    raise AssertionError(f"no window means {meaning!r}")


def visible(case: Case, chosen: Chosen) -> np.ndarray:
    """What each query may see by its place, [t s]."""
    t, s = case["queries"], case["keys"]
    shift = 0 if chosen["alignment"] == "start" else s - t
    seen = np.tri(t, s, shift, dtype=bool) if case["causal"] else np.ones((t, s), bool)
    width = chosen["fixed_window"] if case["window"] is None else case["window"]
    if chosen["window"] and width is not None:
        meaning = chosen["causal_window"] if chosen["causal"] == "asked" and case["causal"] else ""
        seen = seen & within(meaning or chosen["window"], width, case, shift)
    return seen


def problem(case: Case, chosen: Chosen, made: Mapping[str, np.ndarray]) -> Problem:
    """What a case asks, exactly."""
    t, s = case["queries"], case["keys"]
    k, v = (shared(made[x], case["heads"], interleaved=chosen["interleaved"]) for x in "kv")
    scale = scales.factor(chosen["scale"], case["width"]) if case["scale"] is None else case["scale"]
    seen, bias = visible(case, chosen)[None, None], made.get("bias")
    seen = seen & made.get("pair_mask", True)
    if "mask" in made:
        seen = seen & made["mask"][:, None, None]
    if "key_lengths" in made:
        seen = seen & (np.arange(s) < made["key_lengths"][:, None, None, None])
    ends, own = made.get("ends", made.get("key_ends")), made.get("segments")
    if ends is not None:
        own = np.searchsorted(ends[1:], np.arange(s), "right")[None]
    # There are as many queries as keys, or it is one document.
    if own is not None and t == s:
        seen = seen & (own[:, None, :, None] == own[:, None, None])
    if "slopes" in made:
        far = abs(np.arange(t)[:, None] + (0 if chosen["alignment"] == "start" else s - t) - np.arange(s))
        bias = (0.0 if bias is None else bias) - made["slopes"][:, None, None].astype(float) * far
    if bias is not None and np.isneginf(bias).any():
        # What has a bias of minus infinity is hidden.
        seen, bias = seen & ~np.isneginf(bias), np.where(np.isneginf(bias), 0, bias)
    found = Problem(made["q"], k, v, scale, seen, bias, case["softcap"] or chosen["fixed_softcap"])
    sinks = made.get("sinks")
    return found if sinks is None or np.isneginf(sinks).all() else found.with_sinks(sinks)


def right(case: Case, chosen: Chosen, made: Mapping[str, np.ndarray]) -> Right:
    """The output, [b h t e], and the weights beside it. Rows that see nothing are not judged."""
    given = problem(case, chosen, made)
    exact = attend(given)

    @functools.lru_cache(None)
    def bound(kind: str, accumulate: str) -> Any:
        # What is coarser than what was given may have been rounded first.
        return tolerance(given, exact, kind, accumulate, cast=HALF_EPS[kind] > HALF_EPS[case.type])

    # A sink is a key of the reference alone.
    weights = np.where(given.visible.any(-1, keepdims=True), exact.weights, np.nan)[..., : case["keys"]]
    return Right(
        exact.output,
        lambda kind, accumulate: bound(kind, accumulate).output,
        {"problem": given, "exact": exact},
        lambda kind, accumulate: bound(kind, accumulate).loose,
        ("bhts", weights, lambda kind, accumulate: bound(kind, accumulate).weights[..., : case["keys"]]),
    )
