"""How fast pairs of channels turn, in radians per token: the formula, and the base that fits what was read off."""

from typing import NamedTuple

import numpy as np

KNOWN_BASES = (1e4, 5e5, 1e6, 1e5, 1e7, 1.5e5, 2.5e5, 5e6, 1e3)
"""Bases that models have; the first is that of the papers."""

EXACT = 1e-5
"""Frequencies this near to powers of some base, in relative terms, are its powers."""

NEAR = 0.02
"""Frequencies this near to those of a known base are meant to be those; what is wrong with them is judged."""

TRIAL = (0, 1, 8, 64, 256)
"""Positions of trial calls: each is near enough to the one before that full turns can be counted."""

SHORT = (0, 1, 2, 4, 6)
"""The same where a table is too short for those."""

MOST_NATURAL = 64
"""The largest whole number by which positions may be divided."""


def formula(base: float, pairs: int, denominator: float, factor: float = 1.0) -> np.ndarray:
    """base**(-i / denominator) / factor of pair i, [pairs].

    Args:
        base: dimensionless.
        pairs: how many.
        denominator: the pair at which the frequency has fallen to 1 / base. As many as there are pairs, in the
            papers; one fewer in tensor2tensor; more if the whole width counts though a part of it turns.
        factor: positions are divided by it.
    """
    return base ** (-np.arange(pairs) / max(denominator, 1e-9)) / factor


class Fit(NamedTuple):
    """What frequencies are taken for."""

    base: float
    """0 where they are powers of none."""
    counted: str
    """What counts in the exponent: `turning`, `whole` (the whole width) or `all but one` (pair)."""
    factor: float
    """Positions are divided by it."""
    read: np.ndarray
    """What was read off, [pairs]."""
    error: np.ndarray
    """How far that may be off, [pairs]."""

    def frequencies(self, pairs: int, width: int) -> np.ndarray | None:
        """Those of the base, [pairs]; None where there is none, and they have to be read."""
        return self.of_base(self.base, pairs, width) if self.base else None

    def of_base(self, base: float, pairs: int, width: int) -> np.ndarray:
        """Those of another base, counted alike, [pairs]."""
        return formula(base, pairs, denominator(self.counted, pairs, width), self.factor)

    def words(self) -> str:
        """For the profile."""
        if not self.base:
            return f"of its own: {', '.join(f'{x:.4g}' for x in self.read[:6])}" + ", ..." * (len(self.read) > 6)
        more = {
            "turning": "",
            "whole": ", exponents over the whole width",
            "all but one": ", the last pair reaches 1 / base",
        }
        divided = f", positions divided by {self.factor:g}" if self.factor != 1 else ""
        return f"base {self.base:,.6g}{more[self.counted]}{divided}"


def denominator(counted: str, pairs: int, width: int) -> float:
    """The denominator of the exponents."""
    return {"turning": pairs, "whole": width / 2, "all but one": pairs - 1}[counted]


def fitted(read: np.ndarray, error: np.ndarray, width: int, declared: float | None, ways: tuple[str, ...]) -> Fit:
    """What frequencies are.

    Args:
        read: of each pair, in radians per token.
        error: how far each may be off.
        width: of the vectors.
        declared: the base, if it is known.
        ways: what may count in the exponent, the most usual first.
    """
    pairs = len(read)
    own = Fit(0.0, "turning", 1.0, read, error)
    factor = _natural(1 / read[0]) if pairs and read[0] > 0 else 0.0
    if declared is not None:
        return Fit(declared, _nearest(read, declared, width, factor or 1.0, ways), factor or 1.0, read, error)
    if not pairs or not factor or (read <= 0).any():
        return own
    if pairs == 1:
        return Fit(KNOWN_BASES[0], ways[0], factor, read, error)
    loose = error / read
    near = []
    for rank, base in enumerate(KNOWN_BASES):
        for way in ways:
            right = formula(base, pairs, denominator(way, pairs, width), factor)
            far = float(np.maximum(np.abs(read / right - 1) - loose, 0).max())
            near.append((far, rank, Fit(base, way, factor, read, error)))
    far, _, best = min(near, key=lambda each: each[:2])
    if far <= EXACT:
        return best
    slope = np.polyfit(np.arange(pairs), np.log(read), 1, w=1 / (1e-7 + loose))[0]
    powers = np.exp(slope * np.arange(pairs)) / factor
    if pairs > 2 and (np.abs(read / powers - 1) <= EXACT + loose).all():
        # Powers of another base. What was read is not exact enough to judge by, so the readings stand.
        return own._replace(base=0.0, factor=factor)
    return best if far <= NEAR else own


def power(fit: Fit) -> float:
    """The base of which frequencies are the powers, though no known one; 0 if there is none."""
    if fit.base or len(fit.read) < 3 or (fit.read <= 0).any():
        return fit.base
    weights = 1 / (1e-7 + fit.error / fit.read)
    slope, start = np.polyfit(np.arange(len(fit.read)), np.log(fit.read), 1, w=weights)
    powers = np.exp(start + slope * np.arange(len(fit.read)))
    return float(np.exp(-slope * len(fit.read))) if np.abs(fit.read / powers - 1).max() < 1e-3 else 0.0


def _nearest(read: np.ndarray, base: float, width: int, factor: float, ways: tuple[str, ...]) -> str:
    def far(way: str) -> float:
        return float(np.abs(read - formula(base, len(read), denominator(way, len(read), width), factor)).max())

    return min(ways, key=far)


def _natural(x: float) -> float:
    """The whole number, or one over it, that x is; 0 if it is none."""
    near = round(x) if x >= 1 else 1 / max(round(1 / x), 1) if x > 0 else 0
    return float(near) if near and near <= MOST_NATURAL and abs(x / near - 1) < 0.01 else 0.0


def unwrapped(angles: np.ndarray, positions: np.ndarray, unit: float = 2.0**-24) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies from angles at growing positions, as far as these go together; and how far they may be off.

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
    return found, error


def wrapped(angles: np.ndarray) -> np.ndarray:
    """Angles between -pi and pi."""
    return (angles + np.pi) % (2 * np.pi) - np.pi
