"""What targets take, by its role: how its parameter is spelled, and which axis it is the length of."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Operand:
    """One thing that a target may take."""

    spellings: tuple[str, ...]
    """Names of its parameter, in small letters and without underscores at the ends."""
    axis: str = ""
    """The letter of the axis whose length it is."""
    values: tuple[int, ...] = ()
    """What it may be where no parameter takes it, so that the target has one of its own. It is searched."""
    instead: tuple[str, ...] = ()
    """The roles whose lengths it gives where these have no parameters."""


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
}


class Bound:
    """The parameters of a target, by the roles of a kind.

    Args:
        parameters: name, kind and whether it must be given, of each.
        roles: those that the kind knows.
        unnamed: roles that those get, in this order, which must be given and whose names say nothing.
    """

    def __init__(
        self, parameters: Sequence[Sequence[Any]], roles: Sequence[str], unnamed: Sequence[str] = ()
    ) -> None:
        self.names: dict[str, str] = {}
        """The parameter of each role."""
        self.unknown: list[str] = []
        """Parameters that must be given, and have no role."""
        self.never_passed: list[str] = []
        """Parameters that are left alone."""
        for name, kind, required in parameters:
            role = next((r for r in roles if name.lower().strip("_") in OPERANDS[r].spellings), "")
            free = [r for r in unnamed if r not in self.names and not {*OPERANDS[r].instead} & {*self.names}]
            role = role or next(iter(free * required), "")
            if role and role not in self.names:
                self.names[role] = name
            elif required and not kind.startswith("VAR"):
                self.unknown.append(name)
            else:
                self.never_passed.append(name)
        for role in [role for role in self.names if OPERANDS[role].instead]:
            missing = [each for each in OPERANDS[role].instead if each not in self.names]
            if len(missing) == 1:
                self.names[missing[0]] = self.names.pop(role)
