"""Our own vectors: a case each, its answer in float64, how far a right answer may be, and what its features change.

A *feature* of a case is a mask, a flag, a number. Each changes the answer by `LEAST` tolerances or more where it is
taken away, or it is named among the *no-ops*, where it changes nothing. An *invariance* is the reverse: numbers
that no query may see, so that others in their place change nothing.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.case import Case, rounded, storage, word
from attnlab_theory.conform.kind import Chosen
from attnlab_theory.conform.kinds.softmax.conventions import WINDOWS
from attnlab_theory.conform.kinds.softmax.declaration import BY_HEAD, SOFTMAX
from attnlab_theory.conform.kinds.softmax.problems import problem
from attnlab_theory.conform.kinds.softmax.reference import Attended, Problem, attend
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.operands import OPERANDS

VERSION = 1
"""The number of the cases and of the form in which they are written. Whoever changes either adds one."""

LEAST = 10.0
"""Tolerances by which a feature changes an answer."""


def drawn(case: Case) -> dict[str, np.ndarray]:
    """The arrays of a case. They are drawn and changed in float64, and rounded to their type at the end.

    So version 1 has them: other draws than those by which a target is judged.
    """
    made: dict[str, Any] = {"np": np, "r": np.random.default_rng(case.seed)}
    for role, axes in {"q": "bhtd", "k": "bgsd", "v": "bgse"}.items():
        made[role] = made["r"].standard_normal(case.shape(axes))
    with np.errstate(over="ignore"):
        exec(case.change, made)
        for role in ("pair mask", "bias"):
            if case[role]:
                shape = case.shape(case[f"{role} axes"] or OPERANDS[role].axes[0])
                # A generator has another name for it.
                recipe = OPERANDS[role].drawn[case[role]].replace("random_sample", "random")
                made[word(role)] = eval(recipe.format(n=shape, **case.stretches, **case.lengths), made)
        found = {role: x for role, x in made.items() if isinstance(x, np.ndarray)}
        kind = storage(case.type)
        return {x: rounded(y.astype(kind), case.type) if y.dtype.kind == "f" else y for x, y in found.items()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Own:
    """One vector."""

    name: str
    kind: str
    """What it is about: a name of `--as`."""
    case: Case
    chosen: Chosen
    """What is meant by it: conventions of softmax attention."""
    no_ops: Sequence[str] = ()
    """The features that change nothing here."""

    def features(self) -> list[str]:
        """What may be taken away."""
        case, square = self.case, self.case["queries"] == self.case["keys"]
        has = {
            "scale": True,
            "mask": bool(case["pair mask"]),
            "mask of each head": bool(case["pair mask axes"]),
            "causal": case["causal"],
            "window": case["window"] is not None,
            "alignment": (case["causal"] or case["window"] is not None) and not square,
            "softcap": case["softcap"] is not None,
            "bias": bool(case["bias"]),
            "order of groups": case["heads"] != case["groups"],
        }
        return [name for name, true in has.items() if true]

    def invariances(self) -> list[str]:
        """What changes nothing, though it is there."""
        hidden = {"huge keys": "numbers in hidden keys", "huge values": "numbers in hidden values"}
        return [hidden[self.case["values"]]] if self.case["values"] in hidden else []

    def without(self, name: str) -> Problem:
        """What is asked without a feature, with the other choice in its place, or with other hidden numbers."""
        case, chosen, given = self.case, self.chosen, self.given()
        match name:
            case "scale":
                # In its place the usual one; in place of that, none.
                case = case.replaced(scale=1.0 if case["scale"] is None else None)
            case "mask":
                del given["pair_mask"]
            case "mask of each head":
                given["pair_mask"] = given["pair_mask"][:, :1]
            case "causal":
                case = case.replaced(causal=False)
            case "window":
                case = case.replaced(window=None, causal=True)
            case "alignment":
                chosen = {**chosen, "alignment": "start" if chosen["alignment"] == "end" else "end"}
            case "softcap":
                case = case.replaced(softcap=None)
            case "bias":
                del given["bias"]
            case "order of groups":
                chosen = {**chosen, "interleaved": not chosen["interleaved"]}
            case "numbers in hidden keys" | "numbers in hidden values":
                given = drawn(case.replaced(values=None))
            case _:
                raise ValueError(f"there is no feature {name!r}")
        return problem(case, chosen, given)

    def given(self) -> dict[str, np.ndarray]:
        """What is handed over."""
        return drawn(self.case)

    def problem(self) -> Problem:
        """What is asked."""
        return problem(self.case, self.chosen, self.given())

    def change(self, name: str) -> float:
        """The largest change of the answer without a feature, in tolerances; infinite where it becomes NaN."""
        exact, bound = self.answer()
        other = attend(self.without(name)).output
        with np.errstate(invalid="ignore"):
            found = np.abs(other - exact.output) / bound
        return float(np.where(np.isnan(found), np.inf, found).max())

    def answer(self) -> tuple[Attended, np.ndarray]:
        """What is right, and how far from it a right answer may be, [b h t e]."""
        problem = self.problem()
        exact = attend(problem)
        return exact, tolerance(problem, exact, self.case.type).output


END: Mapping[str, Any] = {name: values[0] for name, values in SOFTMAX.stages[0].choices.items()}
"""The conventions that are tried first, such as that a causal mask ends with the last key."""
CAUSAL: Mapping[str, Any] = {**END, "causal": "always"}
START: Mapping[str, Any] = {**CAUSAL, "alignment": "start"}
WINDOW: Mapping[str, Any] = {**END, "window": WINDOWS[0]}
SHARED, DEALT = END, {**END, "interleaved": True}


def _own(name: str, kind: str, chosen: Chosen, no_ops: Sequence[str] = (), /, **more: Any) -> list[Own]:
    """The vector in each type whose rounding does not hide its features."""
    kinds = more.pop("kinds", ("float32", "float64"))
    more |= {"causal": chosen["causal"] == "always", "pair mask": more.pop("mask", None)}
    cases = {each: SOFTMAX.case({**more, "type": each}) for each in kinds}
    return [Own(name=f"{name}_{x}", kind=kind, chosen=chosen, no_ops=no_ops, case=y) for x, y in cases.items()]


def _of(t: int, s: int, d: int = 8, e: int = 5) -> dict[str, Any]:
    return {"queries": t, "keys": s, "width": d, "value_width": e}


THREE = {"kinds": ("float16", "float32", "float64")}
COARSE = {"kinds": ("bfloat16",), "values": "zeros"}
"""In bfloat16 the tolerance hides what a scale changes: there all scores are alike."""

OURS: tuple[Own, ...] = tuple(
    each
    for group in (
        _own("plain", "softmax", END, **THREE),
        _own("more_keys", "softmax", END, seed=1, **_of(3, 19)),
        _own("more_queries", "softmax", END, seed=2, **_of(9, 4)),
        _own("one_key", "softmax", END, ("scale",), seed=3, **_of(3, 1)),
        _own("one_query", "softmax", END, seed=4, **_of(1, 17)),
        _own("width_1", "softmax", END, ("scale",), seed=5, **_of(4, 6, 1, 1)),
        _own("width_7", "softmax", END, seed=6, **_of(4, 6, 7, 3)),
        _own("width_64", "softmax", END, seed=7, **_of(4, 6, 64, 40)),
        _own("block_edge", "softmax", END, seed=8, batch=1, heads=1, groups=1, **_of(65, 65)),
        _own("equal_scores", "softmax", END, ("scale",), values="zeros", seed=9),
        _own("ties", "softmax", END, ("scale",), values="ties", seed=10),
        _own("subnormal", "softmax", END, ("scale",), values="subnormal", seed=11, kinds=("float32",)),
        _own("large_scores", "softmax", END, ("scale",), values="very large", seed=12),
        _own("negative_scores", "softmax", END, ("scale",), values="negative", seed=13),
        _own("dominant_key", "softmax", END, values="attracting", scale=0.0625, seed=14),
        _own("offset_values", "softmax", END, values="offset", seed=15),
        _own("scale_given", "softmax", END, scale=0.0625, seed=16, **THREE),
        _own("scale_of_4", "softmax", END, scale=4.0, seed=17),
        _own("mask", "softmax", END, mask="random", seed=18, **THREE),
        _own("mask_more_keys", "softmax", END, mask="random", seed=19, **_of(4, 9)),
        _own("mask_of_everything", "softmax", END, ("mask",), mask="all", seed=20),
        _own("mask_of_one", "softmax", END, ("scale",), mask="one", seed=21),
        _own("mask_equal_scores", "softmax", END, ("scale",), mask="random", seed=60, **COARSE),
        _own("padding_at_the_end", "softmax", END, mask="padded end", seed=22),
        _own("padding_at_the_start", "softmax", END, mask="padded start", seed=23),
        _own("mask_large_scores", "softmax", END, ("scale",), mask="random", values="very large", seed=24),
        _own("huge_hidden_keys", "softmax", END, mask="padded end", values="huge keys", seed=25),
        _own("huge_hidden_values", "softmax", END, mask="padded end", values="huge values", seed=26),
        _own("mask_by_head", "multi-head", END, mask="random", **BY_HEAD, heads=3, groups=3, seed=27),
        _own("mask_of_one_by_head", "multi-head", END, ("scale", "mask of each head"), mask="one", **BY_HEAD),
        _own("causal", "causal", CAUSAL, seed=28, **THREE),
        _own("causal_equal_scores", "causal", CAUSAL, ("scale",), seed=61, **COARSE),
        _own("causal_more_keys", "causal", CAUSAL, seed=29, **_of(3, 7)),
        _own("causal_from_the_start", "causal", START, seed=30, **_of(3, 7)),
        _own("causal_one_query", "causal", CAUSAL, ("causal",), seed=31, **_of(1, 7)),
        _own("causal_large_scores", "causal", CAUSAL, ("scale",), values="very large", seed=32),
        _own("causal_mask", "causal", CAUSAL, mask="random", seed=33),
        _own("causal_padding", "causal", CAUSAL, mask="padded end", seed=34, **_of(6, 9)),
        _own("causal_mask_by_head", "causal", CAUSAL, mask="random", **BY_HEAD, seed=35, **_of(5, 7)),
        _own("causal_block_edge", "causal", CAUSAL, seed=36, batch=1, heads=1, groups=1, **_of(17, 17)),
        _own("causal_cap_bias", "causal", CAUSAL, softcap=1.0, bias="normal", seed=37),
        _own("two_groups", "grouped-query", SHARED, heads=4, seed=38, **THREE),
        _own("two_groups_equal_scores", "grouped-query", SHARED, ("scale",), heads=4, seed=62, **COARSE),
        _own("two_groups_dealt", "grouped-query", DEALT, heads=4, seed=39),
        _own("three_groups", "grouped-query", SHARED, heads=6, groups=3, seed=40),
        _own("one_group", "grouped-query", SHARED, ("order of groups",), heads=4, groups=1, seed=41),
        _own("groups_causal_mask", "grouped-query", CAUSAL, heads=4, mask="random", **BY_HEAD, seed=42),
        _own("window_of_1", "sliding-window", WINDOW, ("scale",), window=1, seed=43),
        _own("window_of_3", "sliding-window", WINDOW, window=3, seed=44, **_of(7, 7), **THREE),
        _own("window_equal_scores", "sliding-window", WINDOW, ("scale",), window=2, seed=63, **COARSE),
        _own("window_more_keys", "sliding-window", WINDOW, window=3, seed=45, **_of(4, 9)),
        _own("window_wider_than_all", "sliding-window", WINDOW, ("window",), window=9, seed=46),
        _own("window_mask", "sliding-window", WINDOW, window=4, mask="random", seed=47, **_of(9, 9)),
        _own("window_cap", "sliding-window", WINDOW, window=3, softcap=1.0, seed=48, **_of(6, 8)),
        _own("cap", "softcap", END, softcap=0.5, seed=49),
        _own("cap_of_50", "softcap", END, softcap=50.0, values="very large", seed=50),
        _own("cap_mask", "softcap", END, softcap=1.0, mask="random", seed=51),
        _own("cap_out_of_reach", "softcap", END, ("softcap",), softcap=1e12, seed=52),
        _own("cap_scale", "softcap", END, softcap=0.5, scale=2.0, seed=53),
        _own("bias", "bias", END, bias="normal", seed=54, **THREE),
        _own("bias_more_keys", "bias", END, bias="normal", seed=55, **_of(4, 9)),
        _own("bias_mask", "bias", END, bias="normal", mask="random", seed=56),
        _own("bias_equal_scores", "bias", END, ("scale",), bias="normal", values="zeros", seed=57),
        _own("bias_cap", "bias", END, bias="normal", softcap=1.0, seed=58),
        _own("bias_groups", "bias", SHARED, bias="normal", heads=4, seed=59),
    )
    for each in group
)
