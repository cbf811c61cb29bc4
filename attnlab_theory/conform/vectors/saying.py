"""A vector in the words of a target: which of its arguments say what the vector asks.

A flag or a window of the target is used where it shows what the vector's does; what is left to hide, a mask hides.
A target without batch, heads, shared keys or masks by head is called once for each part.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.calling import HIDES, Answer, Convention, ask
from attnlab_theory.conform.case import Case, storage
from attnlab_theory.conform.kinds.softmax.declaration import BY_HEAD, SOFTMAX
from attnlab_theory.conform.kinds.softmax.problems import visible
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.vectors.questions import Question


class Unsayable(Exception):
    """The target has no argument for what a vector asks; the text says for what."""


class Part(NamedTuple):
    """One call of the target, and the place of its answer in the vector's."""

    convention: Convention
    case: Case
    given: Mapping[str, np.ndarray]
    members: slice
    heads: slice

    @property
    def call(self) -> str:
        """It in words."""
        return self.convention.call(self.case)

    def ask(self, caller: Caller) -> Answer:
        """Make it."""
        made = {**self.case.operands(), **self.given}
        return ask(SOFTMAX, caller, self.convention, self.case, made)


@dataclasses.dataclass(frozen=True)
class Speech:
    """How a target is called for vectors."""

    convention: Convention
    shares: bool = False
    """Whether it takes fewer heads of keys than of queries, of which neighbours share one."""
    adds: bool = False
    """Whether numbers that it gets in place of a mask are added to scores."""

    def parts(self, asked: Question) -> list[Part]:
        """The calls that together ask a vector.

        Raises:
            Unsayable: if there is no argument for something.
        """
        names, chosen = self.convention.names, self.convention.chosen
        if asked.kind == "bfloat16" and self.convention.framework == "numpy":
            raise Unsayable("numpy has no bfloat16")
        if chosen["same width"] and asked.v.shape[-1] != asked.q.shape[-1]:
            raise Unsayable("its values must be as wide as keys")
        case, mask = self._flags(asked, self._numbers(asked))
        bias = asked.bias
        if bias is not None and "bias" not in names and not self.adds:
            raise Unsayable("it takes no numbers that are added to scores")
        added = bias is not None and "bias" not in names
        if mask is not None and (added or "pair mask" not in names):
            numbers = 0.0 if bias is None else bias
            bias, mask = np.where(mask, numbers, -np.inf).astype(asked.q.dtype), None
        return list(self._cut(asked, case, mask, bias))

    @property
    def _hides(self) -> bool:
        return bool({"pair mask", "bias"} & {*self.convention.names})

    @property
    def without_flags(self) -> "Speech":
        """The same, whose flags are left alone."""
        chosen = {**self.convention.chosen, "window": ""}
        chosen |= {"causal": "never"} if chosen["causal"] == "asked" else {}
        return dataclasses.replace(self, convention=dataclasses.replace(self.convention, chosen=chosen))

    def _numbers(self, asked: Question) -> Case:
        """The case with its scale and its cap."""
        names, chosen = self.convention.names, self.convention.chosen
        (b, h, t, d), (g, s, e) = asked.q.shape, (asked.k.shape[1], *asked.v.shape[2:])
        sizes = {"batch": b, "heads": h, "groups": g, "queries": t, "keys": s, "width": d, "value_width": e}
        scale = d**-0.5 if asked.scale is None else asked.scale
        own = np.isclose(scales.factor(chosen["scale"], d), scale, rtol=1e-12)
        if "scale" not in names and not own:
            raise Unsayable("it takes no scale")
        if asked.softcap is None and chosen["fixed_softcap"] is not None:
            raise Unsayable("it always caps its scores")
        if "softcap" not in names and asked.softcap != chosen["fixed_softcap"]:
            raise Unsayable("it takes no softcap")
        numbers = {"scale": scale if "scale" in names and not (asked.scale is None and own) else None}
        numbers |= {"softcap": asked.softcap if "softcap" in names else None}
        return SOFTMAX.case({**sizes, **numbers, "type": asked.kind})

    def _flags(self, asked: Question, case: Case) -> tuple[Case, np.ndarray | None]:
        """The case with those flags that show what the vector shows, and the mask that is left."""
        names, chosen = self.convention.names, self.convention.chosen
        causal = (
            [True, False] if chosen["causal"] == "asked" and asked.causal else [HIDES.get(chosen["causal"], False)]
        )
        windows: list[int | None] = [None]
        if chosen["window"] and "window" in names and asked.before is not None:
            windows = [asked.before + 1, asked.before, 2 * asked.before, None]
        for flag, window in itertools.product(causal, windows):
            trial = case.replaced(causal=flag, window=window)
            if chosen["alignment"] == "square" and (flag or window is not None) and case["queries"] != case["keys"]:
                continue
            shown = np.broadcast_to(visible(trial, chosen), asked.visible.shape)
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
        convention = self.convention
        if bias is not None and "bias" not in convention.names:
            # Who adds what it gets in the place of a mask.
            names = {role.replace("pair mask", "bias"): name for role, name in convention.names.items()}
            convention = dataclasses.replace(convention, names=names)
        (b, h), g = asked.q.shape[:2], asked.k.shape[1]
        each_member = b > 1 and ("b" not in convention.layout or _differs(bias, 0))
        each_head = h > 1 and "h" not in convention.layout
        by_head = convention.chosen["by_head"] and mask is not None
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
            given = {"q": asked.q[some, few], "k": k[some, keys], "v": v[some, keys]}
            words: dict[str, Any] = {}
            if mask is not None:
                words |= {"pair mask": "all", **(BY_HEAD if by_head else {})}
                given["pair_mask"] = mask[some, few] if by_head else mask[some, few][:1, :1]
            if bias is not None:
                words["bias"] = "zeros"
                given["bias"] = bias[some, few][:1].astype(storage(asked.kind))
            # What must be there, and says nothing.
            idle = {role: OPERANDS[role].idle for role in convention.required if role in convention.names}
            words = {role: word for role, word in idle.items() if word} | words
            sizes = {"batch": len(given["q"]), "heads": given["q"].shape[1], "groups": given["k"].shape[1]}
            part = convention.with_arrays(SOFTMAX, case.replaced(**sizes, **words))
            yield Part(convention, part, given, some, few)


def _differs(x: np.ndarray | None, axis: int) -> bool:
    """Whether not all parts along an axis are alike."""
    return x is not None and not np.array_equal(np.broadcast_to(x.take([0], axis), x.shape), x)
