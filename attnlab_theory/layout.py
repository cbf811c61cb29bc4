"""How the help on a command is laid out: what most people need first, then the rest under a heading of its own.

tyro makes a box of options for each class of options. Where help is asked for, tyro sees all options of a command
in two classes, whatever classes read the command line.
"""

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import tyro
from tyro.constructors import (
    MISSING_NONPROP,
    ConstructorRegistry,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

FEW = 11
"""Options of a command whose help is not parted."""

EXPERT = frozenset(
    {
        *("cluster", "processes", "save_every"),
        *("heads", "layers", "width", "year"),
        *("accumulate", "base", "pairs", "softcap"),
        *("activation", "block_size", "count", "dropout", "micro_batches", "rows", "schedule"),
        *("least", "unit", "vocabulary"),
        *("accumulate", "call_seconds", "vocab"),
        *("forgetful", "gpt2", "optimizers", "orders", "sweep", "test_reviews", "train_reviews"),
        *("accumulate", "against", "backward", "call_seconds", "features", "kernel"),
        *("softcap", "window"),
        *("controls", "few", "most_features", "occurrences", "predicted"),
        *("finetuned", "held_out", "never_seen", "order", "places", "statements", "wordings"),
        *("accumulate", "badge", "call_seconds", "cases", "export", "in_process", "junit", "strict"),
        *("again", "board", "environments", "force", "install"),
        *("decodings", "generations", "hold_back", "lines", "questions_too", "rule"),
    }
)
"""Options that few people need, by the names of the fields that hold them."""

UNSAID = ("None", "''", "", "False", "True")
"""Defaults that the help does not repeat: nothing was given."""


NOT_NEEDED = "A first run needs none of these."


def registry() -> ConstructorRegistry:
    """Rules for `tyro.cli(..., registry=...)` where help is asked for. They read no command line."""
    made = ConstructorRegistry()
    expert = type("Expert", (), {})
    rest: list[StructFieldSpec] = []
    asked: set[Any] = set()

    @made.struct_rule
    def laid_out(info: StructTypeInfo) -> StructConstructorSpec | None:
        if info.type is expert:
            return StructConstructorSpec(instantiate=expert, fields=tuple(rest))
        if info.type in asked or not dataclasses.is_dataclass(info.type):
            return None
        asked.add(info.type)
        try:
            abouts: list[str] = []
            fields = list(_flat(info, abouts))
        finally:
            asked.remove(info.type)
        rest[:] = [field for field in fields if field.name in EXPERT] if len(fields) > FEW else []
        common = [field for field in fields if field not in rest]
        if rest:
            expert.__doc__ = "\n\n".join(dict.fromkeys((NOT_NEEDED, *abouts)))
            common.append(StructFieldSpec(name="expert", type=expert, default=MISSING_NONPROP))
        return StructConstructorSpec(instantiate=typing.cast(type, info.type), fields=tuple(common))

    return made


def _flat(info: StructTypeInfo, abouts: list[str]) -> Iterator[StructFieldSpec]:
    """The options of a class and of the classes inside it, in order.

    Args:
        info: of the class.
        abouts: what the classes inside it say of themselves is added here.
    """
    spec = ConstructorRegistry.get_struct_spec(info)
    assert isinstance(spec, StructConstructorSpec)
    for field in spec.fields:
        kind = get_args(field.type)[0] if get_origin(field.type) is Annotated else field.type
        if dataclasses.is_dataclass(kind):
            # The first sentence is a heading for who reads the code.
            abouts += filter(None, [(inspect.getdoc(kind) or "").partition(". ")[2].strip()])
            inside = StructTypeInfo.make(typing.cast(type, kind), MISSING_NONPROP, in_union_context=False)
            yield from _flat(inside, abouts)
        elif any(dataclasses.is_dataclass(part) for part in map(_bare, get_args(kind))):
            yield field  # one of several commands
        else:
            # Other names are still understood; two names of one option puzzle who reads the help.
            hint = tyro.conf.arg(help_behavior_hint=_default, aliases=())
            yield dataclasses.replace(field, type=typing.cast(type, Annotated[field.type, hint]))


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _default(label: str) -> str:
    return "" if label in UNSAID else f"(default: {label})"
