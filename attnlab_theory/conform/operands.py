"""What targets take, by its role: how its parameter is spelled, which axes it has, and how it is drawn."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Operand:
    """One thing that a target may take: a length, an array, a choice, or what an earlier call gave."""

    spellings: tuple[str, ...]
    """Names of its parameter, in small letters and without underscores at the ends."""
    axis: str = ""
    """The letter of the axis whose length it is."""
    values: tuple[int, ...] = ()
    """What it may be where no parameter takes it, so that the target has one of its own. It is searched."""
    instead: tuple[str, ...] = ()
    """The roles whose lengths it gives where these have no parameters."""
    axes: tuple[str, ...] = ()
    """The axes that its array may have, in letters. One of several is searched, the likeliest first."""
    drawn: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Numpy that draws an array of shape {n}, by a word; {b} and the like are lengths. The usual one has an empty
    word. If there is none, the array is handed over only where a case has one of these words for its role."""
    meanings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What a target may want in the place of {x}, by the values of the convention that has the name of the role."""
    is_flag: bool = False
    """Whether it is true or false, and a target without such a parameter may always do either."""
    is_kept: bool = False
    """Whether it is an object that an earlier call gave."""
    most: float = float("inf")
    """The largest number that it may hold."""


NORMAL = {"": "r.standard_normal({n})"}
"""Standard normal numbers."""

ARRAY_OPERANDS: Mapping[str, Operand] = {
    "q": Operand(spellings=("q", "query", "queries"), axes=("bhtd",), drawn=NORMAL),
    "k": Operand(spellings=("k", "key", "keys"), axes=("bhsd",), drawn=NORMAL),
    "v": Operand(spellings=("v", "value", "values"), axes=("bhse",), drawn=NORMAL),
    "mask": Operand(
        spellings=(
            *("mask", "key_mask", "key_padding_mask", "padding_mask", "attention_mask", "attn_mask", "input_mask"),
        ),
        axes=("bs",),
        drawn={
            # The last third of the keys is hidden, of every second batch element the first third.
            "padded": "np.where(np.arange({b})[:, None] % 2, np.arange({s}) >= {s} // 3, "
            "np.arange({s}) < {s} - {s} // 3)"
        },
        meanings={
            "bool-keep": "{x}",
            "bool-drop": "~{x}",
            "ones-keep": "{x}.astype('int64')",
            "ones-drop": "(~{x}).astype('int64')",
        },
    ),
    "causal": Operand(spellings=("causal", "is_causal"), is_flag=True),
    "state": Operand(
        spellings=(
            *("state", "initial_state", "recurrent_state", "hidden", "hidden_state", "h0", "s0", "memory", "carry"),
            *("past_state", "cache"),
        ),
        is_kept=True,
    ),
    "returns": Operand(spellings=("output_final_state", "return_state", "return_final_state")),
    "chunk": Operand(spellings=("chunk", "chunk_size", "block", "block_size", "chunk_len", "chunk_length")),
    "log decay": Operand(
        spellings=("g", "gk", "log_decay", "log_g", "log_gate", "log_a", "log_alpha", "log_f", "log_gamma"),
        axes=("bht", "bhtd", "h", ""),
        drawn={
            "": "(-r.random_sample({n}))",
            "strong": "(-5 - r.random_sample({n}))",
            "none": "(0 * r.random_sample({n}))",
        },
    ),
    "decay": Operand(
        spellings=("decay", "alpha", "gamma", "gate", "forget", "f", "lam", "a"),
        axes=("bht", "bhtd", "h", ""),
        drawn={
            "": "(1 - 0.5 * r.random_sample({n}))",
            "strong": "(0.01 * r.random_sample({n}))",
            "none": "(1 + 0 * r.random_sample({n}))",
        },
        most=1.0,
    ),
    "beta": Operand(
        spellings=("beta", "betas"),
        axes=("bht", "bhtd", "h", ""),
        drawn={"": "(0.1 + 0.8 * r.random_sample({n}))"},
        most=1.0,
    ),
}
"""What is handed over beside lengths. Batch b, heads h, queries t, keys s, width d, width of values e."""

VALUES: Mapping[str, str] = {
    "whole": "q, k, v = np.round(q), np.round(k), np.round(v)",
    "large": "q, k = {loud} * q, {loud} * k",
    "low": "q, k = -3 - abs(q), -3 - abs(k)",
    "zeros": "q, k = 0 * q, 0 * k",
    "dominant": "k[:, :, -1] = {loud}",
    "offset": "v = v + {offset}",
    "constant": "v = np.ones_like(v)",
    "unit keys": "k = k / np.linalg.norm(k, axis=-1, keepdims=True)",
}
"""What is done to several arrays together, after they are drawn. Half precision gets smaller numbers."""

STANDS = {"s": "t", "e": "d"}
"""The axis of a layout in whose place another one stands."""


def laid(name: str, axes: str, layout: str, cut: bool = False) -> str:
    """The numpy of an array in the order of a layout, from that of this table.

    Args:
        name: of the array.
        axes: its letters.
        layout: letters of b, h, t and d; an axis that it lacks is of length one. Empty leaves all as it is.
        cut: whether only the tokens from a to b are taken.
    """
    places = [layout.find(STANDS.get(axis, axis)) for axis in axes] if layout else [*range(len(axes))]
    index = ["0" if i < 0 else "a:b" if cut and axis in "ts" else ":" for i, axis in zip(places, axes, strict=True)]
    while index and index[-1] == ":":
        index.pop()
    code = f"{name}[{', '.join(index)}]" if index else name
    places = [i for i in places if i >= 0]
    order = tuple(sorted(range(len(places)), key=places.__getitem__))
    return code if [*order] == sorted(order) else f"{code}.transpose{order}"


def ordered(axes: str, layout: str) -> str:
    """The letters of an array in the order of a layout."""
    return "".join(axis for place in layout for axis in axes if STANDS.get(axis, axis) == place)


OPERANDS: Mapping[str, Operand] = {
    "heads": Operand(
        spellings=(
            *("heads", "num_heads", "n_heads", "h", "nheads", "n_head", "num_attention_heads", "nh"),
            "total_num_heads",
        ),
        axis="h",
        values=(4, 8, 12, 16, 32, 2, 1),
    ),
    "queries": Operand(
        spellings=(
            *("queries", "q_len", "query_length", "query_len", "seq_len_q", "num_queries", "n_queries", "tq", "i"),
        ),
        axis="t",
    ),
    "keys": Operand(
        spellings=(
            *(
                "keys",
                "k_len",
                "key_length",
                "key_len",
                "seq_len_k",
                "num_keys",
                "n_keys",
                "tk",
                "kv_len",
                "j",
                "s",
            ),
        ),
        axis="s",
    ),
    "length": Operand(
        spellings=(
            *(
                "length",
                "seq_len",
                "seqlen",
                "n",
                "t",
                "max_len",
                "tokens",
                "sequence_length",
                "seq_length",
                "size",
            ),
            *("max_seq_len", "max_length", "context_length", "l"),
        ),
        instead=("queries", "keys"),
    ),
    "batch": Operand(spellings=(), axis="b"),
    "width": Operand(spellings=(), axis="d"),
    "value_width": Operand(spellings=(), axis="e"),
    **ARRAY_OPERANDS,
}
"""All of them."""


class Bound:
    """The parameters of a target, by the roles of a kind.

    Args:
        parameters: name, kind and whether it must be given, of each; None if they cannot be seen.
        roles: those that the kind knows.
        unnamed: roles that those get, in this order, which must be given and whose names say nothing.
        placed: roles that the first parameters have, whatever they are called.
    """

    def __init__(
        self,
        parameters: Sequence[Sequence[Any]] | None,
        roles: Sequence[str],
        unnamed: Sequence[str] = (),
        placed: Sequence[str] = (),
    ) -> None:
        self.names: dict[str, str] = {}
        """The parameter of each role."""
        self.unknown: list[str] = []
        """Parameters that must be given, and have no role."""
        self.never_passed: list[str] = []
        """Parameters that are left alone."""
        self.required: set[str] = set()
        """The roles that must be given."""
        known = [*(parameters or ())]
        first = [name for name, kind, _ in known if kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
        if parameters is None or any(kind == "VAR_POSITIONAL" for _, kind, _ in known):
            first += placed[len(first) :]
        is_placed = len(placed) > 0 and len(first) >= len(placed)
        own = [next((r for r in placed if _spelled(name, r)), "") for name in first[: len(placed)]]
        if is_placed:
            self.names |= dict(zip(own if {*own} == {*placed} else placed, first, strict=False))
        self.placed = [role for name in first for role in placed if is_placed and self.names[role] == name]
        """The roles that are handed over by their place."""
        for name, kind, required in known:
            if name in self.names.values():
                continue
            role = next((r for r in roles if _spelled(name, r)), "")
            free = [r for r in unnamed if r not in self.names and not {*OPERANDS[r].instead} & {*self.names}]
            role = role or next(iter(free * required), "")
            if role and role not in self.names:
                self.names[role] = name
                self.required |= {role} if required else set()
            elif required and not kind.startswith("VAR"):
                self.unknown.append(name)
            elif not kind.startswith("VAR") or not placed:
                self.never_passed.append(name)
        for role in [role for role in self.names if OPERANDS[role].instead]:
            missing = [each for each in OPERANDS[role].instead if each not in self.names]
            if len(missing) == 1:
                self.names[missing[0]] = self.names.pop(role)


def _spelled(name: str, role: str) -> bool:
    return name.lower().strip("_") in OPERANDS[role].spellings
