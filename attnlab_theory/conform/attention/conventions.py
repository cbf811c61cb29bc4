"""How a target is called, and what it means by it: the lines of a profile. None of them is right or wrong."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.attention.cases import Arrays, Case
from attnlab_theory.conform.attention.layouts import laid_out, weights_layout
from attnlab_theory.conform.attention.reference import Problem, shared

ROLES: Mapping[str, tuple[str, ...]] = {
    "mask": ("mask", "attn_mask", "attention_mask"),
    "causal": ("causal", "is_causal"),
    "scale": ("scale", "softmax_scale", "sm_scale", "scaling"),
    "softcap": ("softcap", "soft_cap", "logit_cap", "logits_soft_cap", "logit_softcap", "attn_logit_softcapping"),
    "window": ("window", "window_size", "sliding_window", "local_window_size"),
    "bias": ("bias", "attn_bias", "attention_bias", "score_bias"),
    "grouped": ("enable_gqa",),
    "padding": ("key_padding_mask", "padding_mask", "src_key_padding_mask"),
    "lengths": (
        *("lengths", "seqlens", "seq_lens", "seq_lengths", "kv_lengths", "key_lengths", "kv_lens", "valid_lens"),
        *("valid_lengths", "key_value_seq_lengths", "seqlens_k", "cache_seqlens", "nonpad_kv_seqlen"),
    ),
}
"""What parameters are for, by their names."""

AT_REST: Mapping[str, Any] = {
    **dict.fromkeys(("dropout", "dropout_p", "dropout_rate", "attn_dropout", "attention_dropout", "p_drop"), 0.0),
    **dict.fromkeys(("training", "train", "is_training"), False),
    **dict.fromkeys(("deterministic", "inference"), True),
}
"""What switches dropout off, by the names of parameters: handed over where the default is another."""

IDLE: Mapping[str, str] = {
    "mask": "hides nothing",
    "causal": "False",
    "scale": "1/sqrt(width)",
    "grouped": "False",
    "bias": "zeros",
    "padding": "hides nothing",
    "lengths": "all keys",
}
"""What is handed over, of what must be, where a call asks nothing of it; by role, in words."""

MASKS = ("bool-keep", "bool-drop", "additive")
"""What a mask means: True keeps, True drops, or numbers that are added."""

WINDOWS = ("w keys back, itself included", "w keys back and itself", "w keys to either side", "w/2 to either side")
"""What a window of w lets a query see."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Conventions:
    """One way to call a target, and to read it."""

    framework: str = "numpy"
    layout: str = "bhtd"
    mask: str = ""
    """One of `MASKS`; empty where it takes none."""
    by_head: bool = False
    """Whether a mask for each head is taken."""
    by_element: bool = False
    """Whether a mask for each batch element is taken, [b 1 t s]."""
    bias_by_element: bool = False
    """Whether a bias for each batch element is taken, [b h t s]."""
    padding: str = ""
    """What a mask of keys means: bool-keep or bool-drop."""
    causal: str = "never"
    """never, always, or `asked`: by a flag."""
    alignment: str = "end"
    """How a causal mask is aligned: `end`, `start`, or `square` if more keys than queries are refused."""
    scale: str = "rsqrt"
    """One of `scales.NAMES`, or a number."""
    interleaved: bool = False
    """Whether head h reads the keys h % groups."""
    window: str = ""
    """One of `WINDOWS`; empty where it has none."""
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
        return self.causal == "always" or (self.causal == "asked" and case.causal)

    def span(self, case: Case) -> int | tuple[int, int] | None:
        """The window of a call, as the target takes it."""
        if case.window is None or not self.paired:
            return case.window
        ahead = 0 if self.paired == "(w, 0)" else case.window
        return case.window, ahead if case.ahead is None else case.ahead

    def plan(self, case: Case) -> tuple[dict[str, Any], list[str]]:
        """The plain arguments of a call, and the names of its arrays beyond q, k, v."""
        flags = {"causal": True} if self.causal == "asked" and case.causal else {}
        numbers = {"scale": case.scale, "softcap": case.softcap, "window": self.span(case)}
        flags |= {role: x for role, x in numbers.items() if x is not None and role in self.names}
        flags |= {"grouped": True} if "grouped" in self.names and case.groups != case.heads else {}
        idle = {"causal": False, "scale": self.factor(case), "grouped": False}
        flags |= {role: x for role, x in idle.items() if role in self.musts - flags.keys()}
        arrays = [self.names["mask"]] if case.mask != "none" or self._adds(case, "mask") else []
        bias = self.names.get("bias", self.names.get("mask", "bias"))
        arrays += [bias] if case.bias or self._adds(case, "bias") else []
        roles = ("padding", "lengths")
        arrays += [self.names[role] for role in roles if getattr(case, role) or self._adds(case, role)]
        return {**self.always, **{self.names[role]: x for role, x in flags.items()}}, arrays

    def handed(self, given: Arrays, case: Case) -> list[np.ndarray]:
        """The arrays as the target takes them."""
        found = [laid_out(x, self.layout) for x in given[:3]]
        given = self._filled(given, case)
        if given.mask is not None:
            found.append(self.said(given.mask, given.q.dtype))
        if given.bias is not None:
            axes, each = weights_layout(self.layout), given.bias.ndim == 4
            found.append(
                laid_out(given.bias if each else given.bias[None], axes if each else axes.replace("b", ""))
            )
        if given.padding is not None:
            found.append(~given.padding if self.padding == "bool-drop" else given.padding)
        found += [] if given.lengths is None else [given.lengths]
        return [np.ascontiguousarray(x) for x in found]

    def _adds(self, case: Case, role: str) -> bool:
        """Whether an array is handed over that says nothing."""
        if role not in self.musts or role not in self.names:
            return False
        given = case.mask != "none" if role == "mask" else bool(getattr(case, role))
        return not given and not (role == "mask" and case.bias and "bias" not in self.names)

    def _filled(self, given: Arrays, case: Case) -> Arrays:
        """Arrays beside which those stand that must be there: a mask that hides nothing, a bias of zeros."""
        idle = {
            "mask": np.ones((case.queries, case.keys), bool),
            "bias": np.zeros((case.heads, case.queries, case.keys), given.q.dtype),
            "padding": np.ones((case.batch, case.keys), bool),
            "lengths": np.full(case.batch, case.keys),
        }
        return given._replace(**{role: x for role, x in idle.items() if self._adds(case, role)})

    def said(self, mask: np.ndarray, kind: np.dtype) -> np.ndarray:
        """A mask, True keeps, as the target wants it."""
        if mask.ndim == 4:
            mask = laid_out(mask, weights_layout(self.layout))
        match self.mask:
            case "bool-drop":
                return ~mask
            case "additive":
                return np.where(mask, 0.0, -np.inf).astype(kind)
        return mask

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
            seen = seen & within(self.window, width, case.queries, case.keys, shift, case.ahead)
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
        bias = given.bias
        if bias is not None and np.isneginf(bias).any():
            # What has a bias of minus infinity is hidden.
            visible, bias = visible & ~np.isneginf(bias), np.where(np.isneginf(bias), 0, bias)
        return Problem(given.q, k, v, self.factor(case), visible, bias, cap)


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


def _by_name_only(parameters: Sequence[Sequence[Any]]) -> list[str]:
    return [each[0] for each in parameters if each[1] == "KEYWORD_ONLY"]


def roles(parameters: Sequence[Sequence[Any]] | None) -> dict[str, str]:
    """The parameters whose names say what they are for, by role.

    Args:
        parameters: name, kind and whether it must be given, of each; None where that cannot be seen.

    Raises:
        ValueError: if one must be given and its name says nothing, or there are fewer than three.
    """
    if parameters is None:
        return {}
    places = [each for each in parameters if each[1] in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    spreads = any(each[1] == "VAR_POSITIONAL" for each in parameters)
    if len(places) < 3 and not spreads:
        by_name = f" and, by name only, {', '.join(named)}" if (named := _by_name_only(parameters)) else ""
        raise ValueError(
            f"it takes {', '.join(each[0] for each in places) or 'nothing'}{by_name}, but is called as f(q, k, v); "
            "write an adapter: attnlab conform --template numpy"
        )
    found, unknown = {}, []
    for name, kind, required in [*places[3:], *(each for each in parameters if each[1] == "KEYWORD_ONLY")]:
        role = next((role for role, names in ROLES.items() if name.lower() in names), "")
        if role:
            found.setdefault(role, name)
        elif required:
            unknown.append(name)
        del kind
    if unknown:
        raise ValueError(
            f"it must be given {', '.join(unknown)}, which no convention knows; write an adapter: "
            "attnlab conform --template numpy"
        )
    return found


def required(parameters: Sequence[Sequence[Any]] | None, names: Mapping[str, str], wants: str) -> frozenset[str]:
    """The roles of the parameters that must be given.

    Args:
        parameters: as `roles` has them.
        names: the parameters, by their role.
        wants: the feature that each call hands over by itself.

    Raises:
        ValueError: if one must be given that cannot be said to do nothing.
    """
    must = {each[0] for each in parameters or () if each[2]}
    found = frozenset(role for role, name in names.items() if name in must)
    if unsaid := [role for role in found if role not in IDLE and role != wants]:
        kinds = {"window": "sliding-window"}
        raise ValueError(
            f"it must be given {', '.join(names[role] for role in unsaid)}: judge it "
            f"--as {kinds.get(unsaid[0], unsaid[0])}, or write an adapter: attnlab conform --template numpy"
        )
    return found & IDLE.keys()
