"""Weights of eight bits beside a sink (docs/mathematics/precision.md)."""

import math

LARGEST = 448.0
STEP = 2.0**-9
"""The largest e4m3 number of the finite variant, and its least positive one."""


def nearest_e4m3(x: float) -> float:
    """The e4m3 number next to x >= 0, ties to even: steps of 2^-9 up to 2^-6, then eight to an octave."""
    step = max(STEP, 2.0 ** (math.floor(math.log2(x)) - 3)) if x > 0 else STEP
    return min(LARGEST, round(x / step) * step)


def kept_output(n: int, w: float, factor: float) -> float:
    """The share of the output that n equal keys keep beside a sink of share w, if powers times a factor are
    rounded.

    The sink has the largest score, so its power is 1 and that of a key (1/w - 1)/n.

    Source: docs/mathematics/precision.md#weights-of-eight-bits-beside-a-sink.
    """
    power = factor * (1 / w - 1) / n
    return nearest_e4m3(power) / power


def keys_that_vanish(w: float, factor: float) -> float:
    """From so many keys on nothing is left: 1024 c (1 - w) / w."""
    return 1024 * factor * (1 - w) / w
