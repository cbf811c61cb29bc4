"""A vector in the words of a target: which of its arguments say what the vector asks.

A flag or a window of the target is used where it shows what the vector's does; what is left to hide, a mask hides.
A target without batch, heads, shared keys or masks by head is called once for each part.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.case import storage
from attnlab_theory.conform.layouts import has_batch, has_heads
from attnlab_theory.conform.vectors.cases import Arrays, Case
from attnlab_theory.conform.vectors.conventions import Conventions
from attnlab_theory.conform.vectors.questions import Question


class Unsayable(Exception):
    """The target has no argument for what a vector asks; the text says for what."""


class Part(NamedTuple):
    """One call of the target, and the place of its answer in the vector's."""

    case: Case
    given: Arrays
    members: slice
    heads: slice


@dataclasses.dataclass(frozen=True)
class Speech:
    """How a target is called for vectors."""

    way: Conventions
    shares: bool = False
    """Whether it takes fewer heads of keys than of queries, of which neighbours share one."""
    adds: bool = False
    """Whether numbers that it gets in place of a mask are added to scores."""

    def parts(self, asked: Question) -> list[Part]:
        """The calls that together ask a vector.

        Raises:
            Unsayable: if there is no argument for something.
        """
        way = self.way
        if asked.kind == "bfloat16" and way.framework == "numpy":
            raise Unsayable("numpy has no bfloat16")
        if way.same_width and asked.v.shape[-1] != asked.q.shape[-1]:
            raise Unsayable("its values must be as wide as keys")
        case = self._numbers(asked)
        case, mask = self._flags(asked, case)
        bias = asked.bias
        if bias is not None and "bias" not in way.names and not self.adds:
            raise Unsayable("it takes no numbers that are added to scores")
        added = bias is not None and "bias" not in way.names
        if mask is not None and (added or not way.mask):
            numbers = 0.0 if bias is None else bias
            bias, mask = np.where(mask, numbers, -np.inf).astype(asked.q.dtype), None
        return list(self._cut(asked, case, mask, bias))

    @property
    def _hides(self) -> bool:
        return bool(self.way.mask) or "bias" in self.way.names

    def _numbers(self, asked: Question) -> Case:
        """The case with its scale and its cap."""
        way = self.way
        (b, h, t, d), (g, s, e) = asked.q.shape, (asked.k.shape[1], *asked.v.shape[2:])
        case = Case(
            batch=b,
            heads=h,
            groups=g,
            queries=t,
            keys=s,
            width=d,
            value_width=e,
            kind=asked.kind,
            scale=asked.scale,
            softcap=asked.softcap,
        )
        scale = d**-0.5 if asked.scale is None else asked.scale
        if "scale" in way.names:
            if asked.scale is None and way.scale != "rsqrt":
                case = dataclasses.replace(case, scale=scale)
        elif not np.isclose(way.factor(dataclasses.replace(case, scale=None)), scale, rtol=1e-12):
            raise Unsayable("it takes no scale")
        if asked.softcap is None and way.fixed_softcap is not None:
            raise Unsayable("it always caps its scores")
        if "softcap" not in way.names and asked.softcap != way.fixed_softcap:
            raise Unsayable("it takes no softcap")
        return case

    def _flags(self, asked: Question, case: Case) -> tuple[Case, np.ndarray | None]:
        """The case with those flags that show what the vector shows, and the mask that is left."""
        causal = [False]
        if self.way.causal == "asked" and asked.causal:
            causal = [True, False]
        windows: list[int | None] = [None]
        if self.way.window and "window" in self.way.names and asked.before is not None:
            windows = [asked.before + 1, asked.before, 2 * asked.before, None]
        for flag, window in itertools.product(causal, windows):
            trial = dataclasses.replace(case, causal=flag, window=window)
            if self.way.alignment == "square" and (flag or window is not None) and case.queries != case.keys:
                continue
            shown = np.broadcast_to(self.way.visible(trial, None), asked.visible.shape)
            for mask in (None, asked.own, asked.visible):
                if np.array_equal(shown if mask is None else shown & mask, asked.visible):
                    return trial, mask
                if not self._hides:
                    break
        if not self._hides:
            raise Unsayable("it takes no mask")
        raise Unsayable("it always hides what this vector shows")

    def _cut(self, asked: Question, case: Case, mask: np.ndarray | None, bias: np.ndarray | None) -> Iterator[Part]:
        """The calls, as few as the target allows."""
        (b, h), g = asked.q.shape[:2], asked.k.shape[1]
        each_member = b > 1 and (not has_batch(self.way.layout) or _differs(bias, 0))
        each_head = h > 1 and not has_heads(self.way.layout)
        by_head = self.way.by_head and mask is not None
        if mask is not None and not by_head:
            each_member, each_head = (
                each or (size > 1 and _differs(mask, axis))
                for axis, (each, size) in enumerate(((each_member, b), (each_head, h)))
            )
        repeated = g != h and (each_head or not self.shares)
        k, v = (np.repeat(x, h // g, axis=1) if repeated else x for x in (asked.k, asked.v))
        members = [slice(i, i + 1) for i in range(b)] if each_member else [slice(0, b)]
        heads = [slice(i, i + 1) for i in range(h)] if each_head else [slice(0, h)]
        for some, few in itertools.product(members, heads):
            keys = few if each_head else slice(None)
            q = asked.q[some, few]
            part = dataclasses.replace(
                case,
                batch=q.shape[0],
                heads=q.shape[1],
                groups=k[some, keys].shape[1],
                mask="none" if mask is None else "random",
                by_head=by_head,
                bias=bias is not None,
            )
            shown = None if mask is None else mask[some, few] if by_head else mask[some, few][0, 0]
            added = None if bias is None else bias[some, few][0].astype(storage(asked.kind))
            yield Part(part, Arrays(q, k[some, keys], v[some, keys], shown, added), some, few)


def _differs(x: np.ndarray | None, axis: int) -> bool:
    """Whether not all parts along an axis are alike."""
    return x is not None and not np.array_equal(np.broadcast_to(x.take([0], axis), x.shape), x)
