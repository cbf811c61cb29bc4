"""How a target is called, and what it means by it: the lines of a profile. None of them is right or wrong."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import masks, scales
from attnlab_theory.conform.calling import Convention
from attnlab_theory.conform.kinds.softmax.reference import Problem, shared
from attnlab_theory.conform.layouts import laid_out, weights_layout
from attnlab_theory.conform.vectors.cases import ROLES, Arrays, Case, asks

WINDOWS = ("w keys back, itself included", "w keys back and itself", "w keys to either side", "w/2 to either side")
"""What a window of w lets a query see."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Conventions:
    """One way to call a target, and to read it."""

    @classmethod
    def of(cls, found: Convention) -> "Conventions":
        """The same of a convention of the engine."""
        own = {x: y for x, y in found.chosen.items() if x in cls.__dataclass_fields__}
        roles = {"pair mask": "mask", "shares": "grouped", "mask": "padding", "key lengths": "lengths"}
        more = {
            "framework": found.framework,
            "operands": "".join(found.placed or tuple(x for x in found.names if x in ("q", "k", "v"))),
            "by_name": () if found.placed else tuple(found.names[x] for x in "qkv"),
            "mask": found.chosen.get("pair mask", ""),
            "padding": found.chosen.get("mask", ""),
            "mask_shape": {"--ts": "ts", "b1ts": "b1ts", "b-ts": "bts"}[found.chosen["pair mask shape"]],
            "whole_bias": found.chosen["bias shape"] == "bhts",
            "paired": found.chosen["window pair"],
            "same_width": found.chosen["same width"],
            "names": {roles.get(x, x): y for x, y in found.names.items() if x not in ("q", "k", "v")},
            "always": found.always,
            "musts": frozenset(roles.get(x, x) for x in found.required - {*"qkv"}),
        }
        return cls(**{**own, **more})

    framework: str = "numpy"
    layout: str = "bhtd"
    operands: str = "qkv"
    """In which queries, keys and values are handed over, by their names."""
    by_name: tuple[str, ...] = ()
    """The parameters of q, k and v where these have no places."""
    mask: str = ""
    """One of `masks.MEANINGS`; empty where it takes none."""
    mask_shape: str = "ts"
    """One of `masks.SHAPES`: how a mask that all batch elements and heads share is handed over."""
    by_head: bool = False
    """Whether a mask for each head is taken."""
    by_element: bool = False
    """Whether a mask for each batch element is taken, [b 1 t s]."""
    bias_by_element: bool = False
    """Whether a bias for each batch element is taken, [b h t s]."""
    whole_bias: bool = False
    """Whether a bias must have an axis of batch elements: [b h t s], and not [h t s]."""
    padding: str = ""
    """What a mask of keys means: bool-keep, bool-drop, ones-keep or ones-drop."""
    causal: str = "never"
    """never, always, or `asked`: by a flag."""
    alignment: str = "end"
    """How a causal mask is aligned: `end`, `start`, or `square` if more keys than queries are refused."""
    scale: str = "rsqrt"
    """One of `scales.NAMES`, or a number."""
    interleaved: bool = False
    """Whether head h reads the keys h % groups."""
    shares: bool = False
    """Whether it takes fewer heads of keys than of queries, though its kind does not promise that."""
    window: str = ""
    """One of `WINDOWS`; empty where it has none."""
    causal_window: str = ""
    """The same where a flag hides the future, if it is another one."""
    paired: str = ""
    """How a window of w is handed over: `(w, w)` or `(w, 0)`; empty as a number."""
    uneven: bool = False
    """Whether the two numbers of a pair may differ."""
    fixed_window: int | None = None
    """The window of a target that takes none as an argument."""
    fixed_softcap: float | None = None
    same_width: bool = False
    """Whether values must be as wide as keys."""
    multiple: int = 1
    """Widths are multiples of this; others are refused."""
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The parameters that it has, by their role."""
    always: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Plain arguments of every call."""
    rests: bool = True
    """Whether a cap or a window that is on by default is switched off where it is not judged."""
    musts: frozenset[str] = frozenset()
    """The roles that every call must hand over, if only to say nothing."""

    def wide(self, width: int) -> int:
        """The next width that is taken."""
        return -(-width // self.multiple) * self.multiple

    def factor(self, case: Case) -> float:
        """The scale of the scores."""
        if case.scale is not None:
            return case.scale
        return scales.factor(self.scale, case.width)

    def is_causal(self, case: Case) -> bool:
        """Whether a call hides the future."""
        return self.causal == "always" or (self.causal == "asked" and bool(case.causal))

    def by_place(self, case: Case) -> bool:
        """Whether what a query of a call sees depends on its place: by a hidden future, or by a window."""
        windowed = case.window is not None or self.fixed_window is not None
        return self.is_causal(case) or (bool(self.window) and windowed)

    def span(self, case: Case) -> int | tuple[int, int] | None:
        """The window of a call, as the target takes it."""
        if case.window is None or not self.paired:
            return case.window
        ahead = 0 if self.paired == "(w, 0)" else case.window
        return case.window, ahead if case.ahead is None else case.ahead

    def plan(self, case: Case) -> tuple[dict[str, Any], list[str]]:
        """The plain arguments of a call, and the names of its arrays beyond q, k, v."""
        flags: dict[str, Any] = {"causal": True} if self.causal == "asked" and case.causal else {}
        numbers = {"scale": case.scale, "softcap": case.softcap, "window": self.span(case)}
        flags |= {role: x for role, x in numbers.items() if x is not None and role in self.names}
        flags |= {"grouped": True} if "grouped" in self.names and case.groups != case.heads else {}
        idle = {"causal": False, "scale": self.factor(case), "grouped": False}
        flags |= {role: x for role, x in idle.items() if role in self.musts - flags.keys()}
        names = {"bias": self.names.get("mask", "bias"), **self.names}
        arrays = [names[role] for role in ROLES if asks(case, role) or self.adds(case, role)]
        return {**self.always, **{self.names[role]: x for role, x in flags.items()}}, arrays

    def handed(self, given: Arrays, case: Case) -> list[np.ndarray]:
        """The arrays as the target takes them."""
        found = [laid_out(getattr(given, name), self.layout) for name in self.operands]
        given = self._filled(given, case)
        if given.mask is not None:
            mask = _shaped(given.mask, self.mask_shape, self.layout, case.batch)
            found.append(masks.said(mask, self.mask, given.q.dtype))
        if given.bias is not None:
            axes, bias = weights_layout(self.layout), given.bias
            if self.whole_bias and bias.ndim == 3:
                bias = np.repeat(bias[None], case.batch, axis=0)
            each = bias.ndim == 4
            found.append(laid_out(bias if each else bias[None], axes if each else axes.replace("b", "")))
        if given.padding is not None:
            found.append(masks.said(given.padding, self.padding, given.q.dtype))
        found += [x for x in (given.lengths, given.segments, given.sinks, given.slopes) if x is not None]
        return [np.ascontiguousarray(x) for x in found]

    def adds(self, case: Case, role: str) -> bool:
        """Whether an array is handed over that says nothing."""
        if role not in self.musts or role not in self.names:
            return False
        return not asks(case, role) and not (role == "mask" and case.bias and "bias" not in self.names)

    def _filled(self, given: Arrays, case: Case) -> Arrays:
        """Arrays beside which those stand that must be there: a mask that hides nothing, a bias of zeros."""
        idle = {
            "mask": np.ones((case.queries, case.keys), bool),
            "bias": np.zeros((case.heads, case.queries, case.keys), given.q.dtype),
            "padding": np.ones((case.batch, case.keys), bool),
            "lengths": np.full(case.batch, case.keys),
            "segments": np.zeros((case.batch, case.keys), int),
            "sinks": np.full(case.heads, -np.inf, given.q.dtype),
            "slopes": np.zeros(case.heads, given.q.dtype),
        }
        return given._replace(**{role: x for role, x in idle.items() if self.adds(case, role)})

    def visible(self, case: Case, mask: np.ndarray | None) -> np.ndarray:
        """What each query may see, [1 1 t s] or [b h t s]."""
        seen = np.ones((1, 1, case.queries, case.keys), bool)
        if mask is not None:
            seen = seen & mask
        shift = 0 if self.alignment == "start" else case.keys - case.queries
        if self.is_causal(case):
            seen = seen & np.tri(case.queries, case.keys, shift, dtype=bool)
        width = case.window if case.window is not None else self.fixed_window
        if self.window and width is not None:
            asked = self.causal == "asked" and case.causal
            meaning = (self.causal_window if asked else "") or self.window
            seen = seen & within(meaning, width, case.queries, case.keys, shift, case.ahead)
        return seen

    def problem(self, given: Arrays, case: Case) -> Problem:
        """What a case asks, exactly."""
        k, v = (shared(x, case.heads, interleaved=self.interleaved) for x in (given.k, given.v))
        cap = case.softcap if case.softcap is not None else self.fixed_softcap
        visible = self.visible(case, given.mask)
        if given.padding is not None:
            visible = visible & given.padding[:, None, None]
        if given.lengths is not None:
            visible = visible & (np.arange(case.keys) < given.lengths[:, None, None, None])
        if given.segments is not None:
            own = given.segments[:, None]
            visible = visible & (own[..., -case.queries :, None] == own[..., None, :])
        bias = given.bias
        if given.slopes is not None:
            shift = 0 if self.alignment == "start" else case.keys - case.queries
            far = abs(np.arange(case.queries)[:, None] + shift - np.arange(case.keys))
            bias = (0.0 if bias is None else bias) - given.slopes[:, None, None].astype(float) * far
        if bias is not None and np.isneginf(bias).any():
            # What has a bias of minus infinity is hidden.
            visible, bias = visible & ~np.isneginf(bias), np.where(np.isneginf(bias), 0, bias)
        found = Problem(given.q, k, v, self.factor(case), visible, bias, cap)
        return found if given.sinks is None else found.with_sinks(given.sinks)


def _shaped(mask: np.ndarray, shape: str, layout: str, batch: int) -> np.ndarray:
    """A mask [t s], [b 1 t s] or [b h t s] with the axes that a target takes."""
    if mask.ndim == 2 and shape != "ts":
        mask = np.repeat(mask[None, None], batch, axis=0)
    if mask.ndim != 4:
        return mask
    return mask[:, 0] if shape == "bts" else laid_out(mask, weights_layout(layout))


def within(meaning: str, width: int, queries: int, keys: int, shift: int, ahead: int | None = None) -> np.ndarray:
    """What a window lets each query see, [t s].

    Args:
        meaning: one of `WINDOWS`.
        width: the number that was handed over.
        queries: how many.
        keys: how many.
        shift: the place of query 0 among the keys.
        ahead: how many keys after itself a query sees, where that is another number.
    """
    back = np.arange(queries)[:, None] + shift - np.arange(keys)
    match meaning:
        case "w keys back, itself included":
            return (back >= 0) & (back < width)
        case "w keys back and itself":
            return (back >= 0) & (back <= width)
        case "w keys to either side":
            return (back <= width) & (back >= -(width if ahead is None else ahead))
        case "w/2 to either side":
            return abs(back) <= width // 2
    raise ValueError(f"unknown window {meaning!r}")
