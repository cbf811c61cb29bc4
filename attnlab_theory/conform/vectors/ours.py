"""Our own vectors: a case each, its answer in float64, how far a right answer may be, and what its features change.

A *feature* of a case is a mask, a flag, a number. Each changes the answer by `LEAST` tolerances or more where it is
taken away, or it is named among the *no-ops*, where it changes nothing. An *invariance* is the reverse: numbers
that no query may see, so that others in their place change nothing.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.kinds.softmax.reference import Attended, Problem, attend
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.vectors.cases import Arrays, Case, arrays
from attnlab_theory.conform.vectors.conventions import WINDOWS, Conventions

VERSION = 1
"""The number of the cases and of the form in which they are written. Whoever changes either adds one."""

LEAST = 10.0
"""Tolerances by which a feature changes an answer."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Own:
    """One vector."""

    name: str
    kind: str
    """What it is about: a name of `--as`."""
    case: Case
    way: Conventions
    no_ops: Sequence[str] = ()
    """The features that change nothing here."""

    def features(self) -> list[str]:
        """What may be taken away."""
        case, square = self.case, self.case.queries == self.case.keys
        has = {
            "scale": True,
            "mask": case.mask != "none",
            "mask of each head": case.by_head,
            "causal": case.causal,
            "window": case.window is not None,
            "alignment": (case.causal or case.window is not None) and not square,
            "softcap": case.softcap is not None,
            "bias": case.bias,
            "order of groups": case.heads != case.groups,
        }
        return [name for name, true in has.items() if true]

    def invariances(self) -> list[str]:
        """What changes nothing, though it is there."""
        return [f"numbers in hidden {'keys' if self.case.within == 'k' else 'values'}"] if self.case.garbage else []

    def without(self, name: str) -> Problem:
        """What is asked without a feature, with the other choice in its place, or with other hidden numbers."""
        case, way, given = self.case, self.way, self.given()
        match name:
            case "scale":
                # In its place the usual one; in place of that, none.
                case = dataclasses.replace(case, scale=1.0 if case.scale is None else None)
            case "mask":
                given = given._replace(mask=None)
            case "mask of each head":
                assert given.mask is not None
                given = given._replace(mask=given.mask[:, :1])
            case "causal":
                way = dataclasses.replace(way, causal="never")
            case "window":
                way = dataclasses.replace(way, window="", causal="always")
            case "alignment":
                way = dataclasses.replace(way, alignment="start" if way.alignment == "end" else "end")
            case "softcap":
                case = dataclasses.replace(case, softcap=None)
            case "bias":
                given = given._replace(bias=None)
            case "order of groups":
                way = dataclasses.replace(way, interleaved=not way.interleaved)
            case "numbers in hidden keys" | "numbers in hidden values":
                given = arrays(dataclasses.replace(case, garbage=""))._replace(mask=given.mask)
            case _:
                raise ValueError(f"there is no feature {name!r}")
        return way.problem(given, case)

    def given(self) -> Arrays:
        """What is handed over."""
        return arrays(self.case)

    def problem(self) -> Problem:
        """What is asked."""
        return self.way.problem(self.given(), self.case)

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
        return exact, tolerance(problem, exact, self.case.kind).output


END = Conventions()
CAUSAL = Conventions(causal="always")
START = Conventions(causal="always", alignment="start")
WINDOW = Conventions(window=WINDOWS[0])
SHARED, DEALT = Conventions(), Conventions(interleaved=True)


def _own(name: str, kind: str, way: Conventions, no_ops: Sequence[str] = (), /, **fields: object) -> list[Own]:
    """The vector in each type whose rounding does not hide its features."""
    kinds = fields.pop("kinds", ("float32", "float64"))
    assert isinstance(kinds, tuple)
    base: Mapping[str, object] = {"causal": way.causal == "always", **fields}
    return [
        Own(name=f"{name}_{each}", kind=kind, way=way, no_ops=no_ops, case=Case(kind=each, **base))  # pyright: ignore
        for each in kinds
    ]


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
        _own("large_scores", "softmax", END, ("scale",), values="large", seed=12),
        _own("negative_scores", "softmax", END, ("scale",), values="negative", seed=13),
        _own("dominant_key", "softmax", END, values="dominant", scale=0.0625, seed=14),
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
        _own("mask_large_scores", "softmax", END, ("scale",), mask="random", values="large", seed=24),
        _own("huge_hidden_keys", "softmax", END, mask="padded end", garbage="huge", seed=25),
        _own("huge_hidden_values", "softmax", END, mask="padded end", garbage="huge", within="v", seed=26),
        _own("mask_by_head", "multi-head", END, mask="random", by_head=True, heads=3, groups=3, seed=27),
        _own("mask_of_one_by_head", "multi-head", END, ("scale", "mask of each head"), mask="one", by_head=True),
        _own("causal", "causal", CAUSAL, seed=28, **THREE),
        _own("causal_equal_scores", "causal", CAUSAL, ("scale",), seed=61, **COARSE),
        _own("causal_more_keys", "causal", CAUSAL, seed=29, **_of(3, 7)),
        _own("causal_from_the_start", "causal", START, seed=30, **_of(3, 7)),
        _own("causal_one_query", "causal", CAUSAL, ("causal",), seed=31, **_of(1, 7)),
        _own("causal_large_scores", "causal", CAUSAL, ("scale",), values="large", seed=32),
        _own("causal_mask", "causal", CAUSAL, mask="random", seed=33),
        _own("causal_padding", "causal", CAUSAL, mask="padded end", seed=34, **_of(6, 9)),
        _own("causal_mask_by_head", "causal", CAUSAL, mask="random", by_head=True, seed=35, **_of(5, 7)),
        _own("causal_block_edge", "causal", CAUSAL, seed=36, batch=1, heads=1, groups=1, **_of(17, 17)),
        _own("causal_cap_bias", "causal", CAUSAL, softcap=1.0, bias=True, seed=37),
        _own("two_groups", "grouped-query", SHARED, heads=4, seed=38, **THREE),
        _own("two_groups_equal_scores", "grouped-query", SHARED, ("scale",), heads=4, seed=62, **COARSE),
        _own("two_groups_dealt", "grouped-query", DEALT, heads=4, seed=39),
        _own("three_groups", "grouped-query", SHARED, heads=6, groups=3, seed=40),
        _own("one_group", "grouped-query", SHARED, ("order of groups",), heads=4, groups=1, seed=41),
        _own("groups_causal_mask", "grouped-query", CAUSAL, heads=4, mask="random", by_head=True, seed=42),
        _own("window_of_1", "sliding-window", WINDOW, ("scale",), window=1, seed=43),
        _own("window_of_3", "sliding-window", WINDOW, window=3, seed=44, **_of(7, 7), **THREE),
        _own("window_equal_scores", "sliding-window", WINDOW, ("scale",), window=2, seed=63, **COARSE),
        _own("window_more_keys", "sliding-window", WINDOW, window=3, seed=45, **_of(4, 9)),
        _own("window_wider_than_all", "sliding-window", WINDOW, ("window",), window=9, seed=46),
        _own("window_mask", "sliding-window", WINDOW, window=4, mask="random", seed=47, **_of(9, 9)),
        _own("window_cap", "sliding-window", WINDOW, window=3, softcap=1.0, seed=48, **_of(6, 8)),
        _own("cap", "softcap", END, softcap=0.5, seed=49),
        _own("cap_of_50", "softcap", END, softcap=50.0, values="large", seed=50),
        _own("cap_mask", "softcap", END, softcap=1.0, mask="random", seed=51),
        _own("cap_out_of_reach", "softcap", END, ("softcap",), softcap=1e12, seed=52),
        _own("cap_scale", "softcap", END, softcap=0.5, scale=2.0, seed=53),
        _own("bias", "bias", END, bias=True, seed=54, **THREE),
        _own("bias_more_keys", "bias", END, bias=True, seed=55, **_of(4, 9)),
        _own("bias_mask", "bias", END, bias=True, mask="random", seed=56),
        _own("bias_equal_scores", "bias", END, ("scale",), bias=True, values="zeros", seed=57),
        _own("bias_cap", "bias", END, bias=True, softcap=1.0, seed=58),
        _own("bias_groups", "bias", SHARED, bias=True, heads=4, seed=59),
    )
    for each in group
)
