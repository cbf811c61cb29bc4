"""Rotary and sinusoidal positions: lengths stay, scores depend on distance alone, forms agree; slopes."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention import (
    half_layout_order,
    llama3_frequencies,
    rotary,
    rotary_by_complex,
    rotation_matrix,
    sinusoidal,
    yarn_frequencies,
)
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Rotating
from attnlab_theory.identities.derivatives import EPS, in_double
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.rounding import angle_rounding, epsilon, gap, host, peak, rotation_rounding

Rotate = Callable[..., Array]
"""A function of (x, positions, base=) to x turned by its positions."""

BY_COMPLEX = ("by complex numbers", rotary_by_complex)
INTERLEAVED = ("interleaved", rotary)


def _half(x: Array, positions: Array, *, base: float) -> Array:
    return rotary(x, positions, base=base, layout="half")


HALF = ("half", _half)


def _stretched(x: Array, positions: Array, *, base: float) -> Array:
    """A frequency for each pair, as in Llama 3.1."""
    frequencies = llama3_frequencies(x.shape[1], factor=8.0, original=64, base=base)
    return rotary(x, positions, frequencies=frequencies)


def _partial(x: Array, positions: Array, *, base: float) -> Array:
    """Two of three pairs, as YaRN slows them down, in the half-split layout."""
    frequencies = yarn_frequencies(4, factor=4.0, original=256, base=base)
    return rotary(x, positions, layout="half", frequencies=frequencies)


STRETCHED = ("a frequency for each pair", _stretched)
PARTIAL = ("a part of the width", _partial)


def _at(x: Array, position: int, rotate: Rotate, base: float) -> np.ndarray:
    return host(rotate(x[None, :], jnp.array([position]), base=base)[0])


def _reach(case: Rotating) -> float:
    return float(max(abs(case.t), abs(case.s), abs(case.t + case.move), abs(case.s + case.move)))


def _product_rounding(case: Rotating) -> float:
    """Error of an angle against position times the computed frequency: eps/2 of it.

    The frequencies are rounded too. That breaks no law that holds for all frequencies.
    """
    return epsilon(case.q) * _reach(case) / 2


def _full_rounding(case: Rotating) -> float:
    """Error of an angle against position times the exact frequency."""
    return angle_rounding(_reach(case), case.base, epsilon(case.q))


def _score_rounding(case: Rotating) -> float:
    """Error of one rotated score: either side's rotation times the other side's coordinates, d products."""
    q, k = peak(case.q), peak(case.k)
    angle = _product_rounding(case)
    turned = rotation_rounding(case.q, angle) * k + rotation_rounding(case.k, angle) * q
    # One per cent for the product of the two errors.
    return 1.01 * float(np.sqrt(2)) * case.q.shape[0] * turned


def kept_lengths(subject: str, rotate: Rotate) -> Identity[Rotating]:
    """Rotations keep the length of every pair, so of the vector."""

    def residual(case: Rotating) -> float:
        return abs(float(np.linalg.norm(_at(case.q, case.t, rotate, case.base)) - np.linalg.norm(host(case.q))))

    def tolerance(case: Rotating) -> float:
        """However wrong the angle, sine and cosine are those of one angle to eps each: 4 eps a coordinate."""
        return 4 * epsilon(case.q) * float(np.sqrt(2) * peak(case.q) * np.sqrt(case.q.shape[0]))

    return Identity(
        family="kept-lengths",
        subject=subject,
        statement=r"A rotation keeps lengths: $\|R_t q\| = \|q\|$.",
        source="mathematics/identities.md#rotary-positions; Su et al. 2021",
        cases=cases.rotating,
        residual=residual,
        tolerance=tolerance,
    )


def relative(
    subject: str, rotate_query: Rotate, rotate_key: Rotate | None = None, *, broken: bool = False
) -> Identity[Rotating]:
    """Moving query and key together leaves their score alone."""
    rotate_key = rotate_key or rotate_query

    def score(case: Rotating, move: int) -> float:
        q = _at(case.q, case.t + move, rotate_query, case.base)
        k = _at(case.k, case.s + move, rotate_key, case.base)
        return float(q @ k)

    return Identity(
        family="relative-scores",
        subject=subject,
        statement=r"$\langle R_t q, R_s k \rangle$ depends on $s - t$ only.",
        source="mathematics/identities.md#rotary-positions; blog/rotary",
        cases=cases.rotating,
        residual=lambda case: abs(score(case, case.move) - score(case, 0)),
        tolerance=lambda case: 2 * _score_rounding(case),
        broken=broken,
    )


def matrix_form(subject: str, rotate: Rotate) -> Identity[Rotating]:
    """The blog's equations 6 and 7: a block-diagonal matrix, and products of complex numbers."""

    def residual(case: Rotating) -> float:
        matrix = host(rotation_matrix(case.t, case.q.shape[0], base=case.base))
        return gap(_at(case.q, case.t, rotate, case.base), matrix @ host(case.q))

    return Identity(
        family="rotation-matrix",
        subject=subject,
        statement="The rotation is the block-diagonal matrix of the textbook (the blog's equation 6).",
        source="mathematics/identities.md#rotary-positions; blog/rotary, equations 6 and 7",
        cases=cases.rotating,
        residual=residual,
        tolerance=lambda case: 2 * rotation_rounding(case.q, _full_rounding(case)),
    )


def same_up_to_order(subject: str, rotate: Rotate) -> Identity[Rotating]:
    """The half-split layout keeps the pairs elsewhere: one fixed order of coordinates takes it to the other."""

    def residual(case: Rotating) -> float:
        order = half_layout_order(case.q.shape[0])
        here = _at(case.q[jnp.asarray(order)], case.t, rotate, case.base)
        return gap(here, _at(case.q, case.t, rotary, case.base)[order])

    return Identity(
        family="layouts-agree",
        subject=subject,
        statement="Interleaved and half-split layouts differ by one fixed permutation of coordinates.",
        source="mathematics/identities.md#rotary-positions",
        cases=cases.rotating,
        residual=residual,
        tolerance=lambda case: 2 * rotation_rounding(case.q, _full_rounding(case)),
    )


Waves = Callable[..., Array]
"""A function of (positions, width, base=) to position vectors."""


def moved_waves(subject: str, waves: Waves) -> Identity[Rotating]:
    """Moving a sinusoid by delta is one rotation, the same at every position."""

    def residual(case: Rotating) -> float:
        here, there = (host(waves(jnp.array([p]), 6, base=case.base)[0]) for p in (case.t, case.t + case.move))
        angles = case.move * case.base ** (-2 * np.arange(3) / 6)
        sine, cosine = here[0::2], here[1::2]
        # sin(a + b) and cos(a + b): in the (sine, cosine) plane the block turns clockwise.
        cos, sin = np.cos(angles), np.sin(angles)
        turned = np.stack((sine * cos + cosine * sin, cosine * cos - sine * sin), axis=1).reshape(-1)
        return gap(there, turned)

    return Identity(
        family="moved-waves",
        subject=subject,
        statement=r"$PE(t + \delta) = B_\delta PE(t)$ with one block rotation $B_\delta$ for all $t$.",
        source="mathematics/identities.md#sinusoidal-positions-and-slopes-in-the-position; "
        "Vaswani et al. 2017, section 3.5; blog/sinusoidal",
        cases=cases.rotating,
        residual=residual,
        # Two waves, and sqrt(2) for the turned one being a sum of two: less than four errors of a sine.
        tolerance=lambda case: 4 * (_full_rounding(case) + 2 * epsilon(case.q)),
    )


def relative_waves(subject: str, waves: Waves) -> Identity[Rotating]:
    """Products of sinusoids know the distance of their positions only."""

    def product(case: Rotating, move: int) -> float:
        pair = host(waves(jnp.array([case.t + move, case.s + move]), 6, base=case.base))
        return float(pair[0] @ pair[1])

    return Identity(
        family="relative-waves",
        subject=subject,
        statement=r"$PE(t) \cdot PE(s)$ depends on $t - s$ only.",
        source="mathematics/identities.md#sinusoidal-positions-and-slopes-in-the-position; blog/sinusoidal",
        cases=cases.rotating,
        residual=lambda case: abs(product(case, case.move) - product(case, 0)),
        # Two products of six pairs of numbers of at most one, each number wrong by a sine's error.
        tolerance=lambda case: 2 * 6 * 2 * 1.01 * (_product_rounding(case) + 2 * epsilon(case.q)),
    )


def position_slope(
    subject: str, encode: Callable[..., Array], by_formula: Callable[[np.ndarray, np.ndarray], list[np.ndarray]]
) -> Identity[Rotating]:
    """How fast waves and rotations turn.

    Args:
        subject: what is differentiated.
        encode: a function of (x, positions, base=) to a row of pairs for every position.
        by_formula: a function of (the pairs of x, angles). It turns every pair by its angle and a right angle more,
            and gives both coordinates.
    """

    def at(position: Array, x: Array, base: Array) -> Array:
        return encode(x[None, :], position[None], base=base)[0]

    slope = in_double(jax.jacfwd(at))

    def residual(case: Rotating) -> float:
        q = host(case.q)
        frequencies = case.base ** (-np.arange(0, q.size, 2) / q.size)
        ahead = np.stack(by_formula(q.reshape(-1, 2), case.t * frequencies), axis=1)
        return gap(slope(np.float64(case.t), q, np.float64(case.base)), (frequencies[:, None] * ahead).reshape(-1))

    def tolerance(case: Rotating) -> float:
        """In float64, both ways, as in `rotation_rounding`; the frequency is rounded as the angle of position 1."""
        longest = np.sqrt(2) * max(peak(case.q), 1.0)
        return float(2 * longest * (angle_rounding(abs(case.t) + 1.0, case.base, EPS) + 4 * EPS))

    return Identity(
        family="position-slope",
        subject=subject,
        statement=r"The derivative by the position turns pair $j$ a right angle further, times its frequency "
        r"$b^{-2j/d}$.",
        source="mathematics/identities.md#sinusoidal-positions-and-slopes-in-the-position; "
        "Vaswani et al. 2017, section 3.5; Su et al. 2021, eq. (15)",
        cases=cases.rotating,
        residual=residual,
        tolerance=tolerance,
    )


def waves_only(x: Array, positions: Array, *, base: Array) -> Array:
    """Sinusoidal positions as a function of what `rotary` takes."""
    return sinusoidal(positions, x.shape[1], base=base)


def _waves_ahead(pairs: np.ndarray, angles: np.ndarray) -> list[np.ndarray]:
    return [np.cos(angles), -np.sin(angles)]


def _pairs_ahead(pairs: np.ndarray, angles: np.ndarray) -> list[np.ndarray]:
    cos, sin, (even, odd) = np.cos(angles), np.sin(angles), pairs.T
    return [-even * sin - odd * cos, even * cos - odd * sin]


def sinusoidal_slope(encode: Callable[..., Array] = waves_only) -> Identity[Rotating]:
    """The slope of sines and cosines."""
    return position_slope("sinusoidal", encode, _waves_ahead)


def rotary_slope(encode: Callable[..., Array] = rotary) -> Identity[Rotating]:
    """The slope of rotated queries and keys."""
    return position_slope("rotary", encode, _pairs_ahead)


IDENTITIES = (
    *(kept_lengths(*form) for form in (INTERLEAVED, HALF, BY_COMPLEX, STRETCHED, PARTIAL)),
    *(relative(*form) for form in (INTERLEAVED, HALF, BY_COMPLEX, STRETCHED, PARTIAL)),
    relative("q interleaved, k half", rotary, _half, broken=True),
    matrix_form(*INTERLEAVED),
    matrix_form(*BY_COMPLEX),
    same_up_to_order(*HALF),
    moved_waves("sinusoidal", sinusoidal),
    relative_waves("sinusoidal", sinusoidal),
    sinusoidal_slope(),
    rotary_slope(),
)
