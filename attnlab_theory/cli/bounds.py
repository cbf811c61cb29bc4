"""The largest number that each option takes: more than anybody needs, and little enough to come to an end.

An option means the same in all commands that have it, and has one bound. What is too small is refused where it is
used.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

MOST: Mapping[str, float] = {
    "base": 10**15,
    "batch_size": 10**6,
    "batches": 10**6,
    "block_size": 2**16,
    "cases": 10**6,
    "call_seconds": 100,
    "count": 10**6,
    "dropout": 1,
    "epochs": 10**5,
    "error": 10**6,
    "examples": 10**5,
    "features": 2**20,
    "few": 10**7,
    "finetuned": 10**5,
    "generations": 1000,
    "heads": 1024,
    "held_out": 10**5,
    "hold_back": 10**7,
    "layers": 256,
    "least": 10**9,
    "length": 2**14,
    "lr": 1000,
    "most_features": 2**20,
    "never_seen": 10**5,
    "occurrences": 10**9,
    "places": 10**5,
    "predicted": 10**7,
    "controls": 1000,
    "processes": 256,
    "rates": 1000,
    "rows": 10**6,
    "save_every": 10**9,
    "scale": 10**30,
    "seed": 2**63 - 1,
    "seeds": 1000,
    "sentences": 10**9,
    "softcap": 10**6,
    "statements": 1000,
    "temperature": 10**6,
    "test_reviews": 10**6,
    "time_limit": 86_400,
    "tolerance": 10**30,
    "top_k": 10**9,
    "top_p": 1,
    "train_reviews": 10**6,
    "tokens": 2**20,
    "trials": 10**4,
    "vocab": 10**7,
    "width": 2**16,
    "window": 2**14,
    "windows": 10**7,
    "wordings": 1000,
}
"""By the name of the field that holds the option."""

TOLD_ELSEWHERE = ("dropout", "time_limit", "top_p")
"""Options whose command says what both of their ends are."""


def refuse_beyond(command: Any) -> None:
    """Refuse a number that is larger than its option takes, before anything is done with it.

    Args:
        command: a dataclass of options, and of such dataclasses.

    Raises:
        ValueError: naming the option, its value and its bound.
    """
    for name, value in numbers_of(command):
        most = MOST.get(name, math.inf)  # a choice between numbers has no bound
        # Written so that a number that is none is no larger: its command refuses it in its own words.
        if name not in TOLD_ELSEWHERE and value > most:
            raise ValueError(f"--{name.replace('_', '-')} is at most {most:,}, not {_short(value)}: ask for less")


def numbers_of(command: Any) -> Iterator[tuple[str, float]]:
    """All numbers that were asked for, by the fields that hold them; a field may have several."""
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        if dataclasses.is_dataclass(value):
            yield from numbers_of(value)
            continue
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, int | float) and not isinstance(each, bool):
                yield field.name, each


def _short(value: float) -> str:
    """The number itself, or how many digits it has: nobody reads a thousand."""
    if isinstance(value, int) and value >= 10**30:
        return f"a number of {len(str(value))} digits"
    return str(value)
