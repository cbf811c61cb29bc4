"""Corners of a claim: settings with a field or two at an extreme, drawn from the claim's own declaration."""

import enum
import functools
import math
import random
import typing
from typing import Any

from attnlab_theory.claims import Claim, Setting
from attnlab_theory.claims.setting import built, field_types, is_traced

WHOLE, REAL = (-1, 0, 1, 2, 3), (-1.0, 0.0, 1e-3, 1.0, 30.0, 100.0, 1e3)
"""Extremes of every field that is a number. The claim's own values give another."""


def extremes(claim: Claim, field: str, base: Setting) -> list[Any]:
    """The values of a field at which something may break.

    A whole static number grows by one: it is a shape, which may be odd or indivisible, and costs a program. All
    other numbers grow fourfold.
    """
    kind, own = field_types(claim.kind)[field], [getattr(setting, field) for setting in claim.settings]
    plain = kind.__origin__ if is_traced(kind) else kind
    if plain is bool:
        return [False, True]
    if isinstance(plain, type) and issubclass(plain, enum.Enum):
        return list(plain)
    if typing.get_origin(plain) is tuple:
        return [(), *dict.fromkeys(own)]
    further = 4 * max(own) if is_traced(kind) or plain is float else getattr(base, field) + 1
    return list(dict.fromkeys([*(WHOLE if plain is int else REAL), further]))


def size(setting: Setting) -> float:
    """Its shapes and steps, multiplied."""
    return math.prod(max(1.0, abs(value)) for _, value in setting.static() if isinstance(value, int | float))


@functools.cache
def corners(claim: Claim) -> tuple[Setting, ...]:
    """All corners of one field of the smallest setting, and as many of two fields, in a random order that is always
    the same. What a field's type refuses is left out."""
    chance = random.Random(claim.name)
    base = min(claim.settings, key=size)
    one = [(field, value) for field in base.fields() for value in extremes(claim, field, base)]
    changes = [{field: value} for field, value in one]
    changes += [dict(chance.sample(one, 2)) for _ in one]
    chance.shuffle(changes)
    return tuple(dict.fromkeys(built(claim.kind, base.fields() | change) for change in changes))


def refused(claim: Claim, setting: Setting) -> bool:
    """Whether a hypothesis does not hold."""
    return not all(holds(setting) for holds in claim.hypotheses.values())
