r"""Angles that grow with the position: their frequencies, and how far a right sine or cosine may be off.

Let u be half of the eps of the type of the vectors or the output, and w that of the type of the angles. Angles are
counted in float32 at least: bfloat16 cannot tell position 256 from 257, and no promise is kept there.

A frequency is exp(-i ln(base) / n), or a power. The exponent is rounded up to four times (i / n, the logarithm,
their product, its negative or reciprocal), which moves the frequency by 4 |ln f| w. An exponential errs by 4 w,
the factor of the positions by 1 w, the product with position p by 1 w, and the store by 1 w. So the angle a = p f
is off by at most p f (4 |ln f| + 7) w, and its sine and cosine by that and 4 w more. The reference makes the same
roundings in float64, so its own bound is added. The angle has to be a product. A program that multiplies one
rotation by the next errs by p w in every pair, however slow the pair is. This bound does not hold for it.

If frequencies are known only because they were read off, they carry the error of the reading, p times. Where two
answers of one target are compared, its frequencies are whatever they are: only the product and its store stay of
the angle, 2 p f w.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.rounding import HALF_EPS

BASES = (1e4, 5e5, 1e6, 1e5, 1e7, 1.5e5, 2.5e5, 5e6, 1e3)
"""Bases that models have; the first is that of the papers."""

EXACT = 1e-5
"""Frequencies this near to powers of some base, in relative terms, are its powers."""

NEAR = 0.02
"""Frequencies this near to those of a known base are meant to be those; what is wrong with them is judged."""

MOST_NATURAL = 64
"""The largest whole number by which positions may be divided."""

PAIRS = ("interleaved", "halves")
"""Which channels go together: 2i and 2i + 1, or i and i + n / 2 of n."""


class Frequencies(NamedTuple):
    """Those of pairs, in radians per token [pairs]."""

    each: np.ndarray
    error: np.ndarray | None = None
    """How far they may be off, where they were read off [pairs]."""


def channels(pairs: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second channels of the pairs among the first channels, [pairs] each."""
    i = np.arange(count // 2)
    return (2 * i, 2 * i + 1) if pairs == "interleaved" else (i, i + count // 2)


def formula(base: float, pairs: int, counted: str, width: int, factor: float = 1.0) -> np.ndarray:
    """base**(-i / n) / factor of pair i, [pairs].

    Args:
        base: dimensionless.
        pairs: how many.
        counted: what n is: the pairs (`turning`); half of the width (`whole`), though a part of it turns; or one
            pair fewer (`all but one`), so that the last reaches 1 / base.
        width: of the vectors.
        factor: positions are divided by it.
    """
    n = {"turning": pairs, "whole": width / 2, "all but one": pairs - 1}[counted]
    return base ** (-np.arange(pairs) / max(n, 1e-9)) / factor


def known(chosen: Mapping[str, Any], pairs: int, width: int, base: float | None = None) -> np.ndarray | None:
    """The frequencies of the base that is chosen, or of another one counted alike; None where there is none."""
    if not chosen.get("base"):
        return None
    return formula(
        base or chosen["base"], pairs, chosen.get("counted", "turning"), width, chosen.get("divided", 1.0)
    )


def fitted(read: Frequencies, width: int, declared: float | None, ways: tuple[str, ...]) -> dict[str, Any]:
    """What frequencies are, as conventions: `base`, and more. Where the base is 0 they are powers of no known one,
    and what was read is told: whoever meant others sees it there.

    Args:
        read: what was read off.
        width: of the vectors.
        declared: the base, if it is known.
        ways: what may count in the exponent, the most usual first.
    """
    each, pairs = read.each, len(read.each)
    read_off = {"frequencies": tuple(map(float, each))}
    factor = _natural(1 / each[0]) if pairs and each[0] > 0 else 0.0

    def of(base: float, way: str) -> dict[str, Any]:
        more = {"divided": factor} if factor not in (0.0, 1.0) else {}
        return {"base": base} | ({"counted": way} if way != "turning" else {}) | more

    if declared is not None:
        far = {way: np.abs(each - formula(declared, pairs, way, width, factor or 1.0)).max() for way in ways}
        return of(declared, min(far, key=lambda way: far[way]))
    if not pairs or not factor or (each <= 0).any():
        return {"base": 0.0, **read_off}
    if pairs == 1:
        return of(BASES[0], ways[0])
    loose = (np.zeros(pairs) if read.error is None else read.error) / each
    near = {}
    for base in BASES:
        for way in ways:
            off = np.abs(each / formula(base, pairs, way, width, factor) - 1) - loose
            near[base, way] = float(np.maximum(off, 0).max())
    best = min(near, key=lambda key: near[key])
    if near[best] <= EXACT:
        return of(*best)
    slope, start = np.polyfit(np.arange(pairs), np.log(each), 1, w=1 / (1e-7 + loose))
    off = np.abs(each / np.exp(slope * np.arange(pairs) + start) - 1)
    own = {"powers": float(np.exp(-slope * pairs))} if pairs > 2 and off.max() < 1e-3 else read_off
    exact = np.abs(each * factor / np.exp(slope * np.arange(pairs)) - 1)
    # What was read is not exact enough to judge by powers of another base, so the readings stand.
    if pairs > 2 and (exact <= EXACT + loose).all():
        return {"base": 0.0} | own
    return of(*best) if near[best] <= NEAR else {"base": 0.0} | own


def _natural(x: float) -> float:
    """The whole number, or one over it, that x is; 0 if it is none."""
    near = round(x) if x >= 1 else 1 / max(round(1 / x), 1) if x > 0 else 0
    return float(near) if near and near <= MOST_NATURAL and abs(x / near - 1) < 0.01 else 0.0


def unwrapped(angles: np.ndarray, positions: np.ndarray, unit: float = 2.0**-24) -> Frequencies:
    """Frequencies from angles at growing positions, as far as these go together.

    Args:
        angles: [t pairs], known up to full turns.
        positions: [t], the first two a token apart.
        unit: half of the eps of the type that was read; an angle has an error of 16 of them at most.
    """
    apart = positions - positions[0]
    found = wrapped(angles[1] - angles[0]) / apart[1]
    error = np.full(len(found), 16 * unit / apart[1])
    for p, angle in zip(apart[2:], angles[2:], strict=True):
        ahead = found * p
        missed = wrapped(angle - angles[0] - ahead)
        # Where a reading contradicts the one before, the one before stays.
        good = np.abs(missed) < 0.3
        found = np.where(good, (ahead + missed) / p, found)
        error = np.where(good, 16 * unit / p + 2e-7 * np.abs(found), error)
    return Frequencies(found, error)


def wrapped(angles: np.ndarray) -> np.ndarray:
    """Angles between -pi and pi."""
    return (angles + np.pi) % (2 * np.pi) - np.pi


def off(positions: np.ndarray, frequencies: Frequencies, kind: str) -> np.ndarray:
    """The largest error of sines and cosines of a type, [..., pairs], at positions [...]; as derived above."""
    p, f = np.abs(np.asarray(positions, float))[..., None], np.abs(frequencies.each)
    both = HALF_EPS[kind if kind == "float64" else "float32"] + HALF_EPS["float64"]
    error = p * f * (4 * np.abs(np.log(np.maximum(f, 1e-300))) + 7) * both
    return np.minimum(error + p * (0.0 if frequencies.error is None else frequencies.error), 2.0) + 4 * both
