"""Four bits of several kinds (docs/mathematics/precision.md)."""

import enum

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention.precision import quantise_absmax, to_nearest
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.precision import formats as theory

SIGNED = tuple(-x for x in reversed(theory.E2M1[1:])) + theory.E2M1


class Format(enum.StrEnum):
    """Four bits, and the scale of a group."""

    MXFP4 = "MXFP4"
    NVFP4 = "NVFP4"
    E2M1 = "e2m1"
    INT4 = "int4"


PARTS = {
    Format.MXFP4: (theory.E2M1, theory.power_of_two),
    Format.NVFP4: (theory.E2M1, theory.by_rounded_sixth),
    Format.E2M1: (theory.E2M1, theory.by_sixth),
    Format.INT4: (theory.WHOLE, theory.by_seventh),
}


class Group(Setting):
    """Normal numbers in groups of this size with one scale. The first of a group has an offset."""

    size: int
    format: Format
    offset: Traced[float]


def _error(key: PRNGKeyArray, setting: Group) -> Float[Array, ""]:
    x = jax.random.normal(key, (1, setting.size)).at[0, 0].add(setting.offset)
    largest = jnp.max(jnp.abs(x))
    match setting.format:
        case Format.INT4:
            stored = quantise_absmax(x, 7)
        case Format.E2M1:
            stored = largest / 6 * to_nearest(6 * x / largest, SIGNED)
        case Format.MXFP4:
            scale = 2.0 ** (jnp.floor(jnp.log2(largest)) - 2)
            stored = scale * to_nearest(x / scale, SIGNED)
        case Format.NVFP4:
            # The four binary digits of e4m3, whatever the exponent: another scale of the whole tensor sees to it.
            power = 2.0 ** jnp.floor(jnp.log2(largest / 6))
            scale = power * jnp.round(8 * largest / 6 / power) / 8
            stored = scale * to_nearest(x / scale, SIGNED)
    return jnp.mean((stored - x) ** 2)


def _moments(setting: Group, format: Format) -> tuple[float, float]:
    return theory.error_moments(*PARTS[format], setting.size, float(setting.offset))


def _error_of(setting: Group) -> float:
    return _moments(setting, setting.format)[0]


def _other(setting: Group) -> float:
    """The error of whole numbers for floating ones, and of MXFP4 for whole numbers."""
    return _moments(setting, Format.MXFP4 if setting.format is Format.INT4 else Format.INT4)[0]


FOUR = Claim(
    name="four-bits-of-two-kinds",
    statement="Normal numbers in groups of 32 have the mean squared error 0.0132 in MXFP4, 0.0102 in e2m1 with an "
    "exact scale and 0.0094 as whole numbers up to 7: floating numbers are the coarser ones. With an offset of 10 "
    "in one entry MXFP4 is finer, and coarser again with one of 20.",
    source="mathematics/precision.md#four-bits-of-several-kinds",
    hypotheses=at_most(offset=64)
    | {
        "groups of 4 to 256": lambda s: 4 <= s.size <= 256,
        "no offset, or one of 8 at least": lambda s: s.offset == 0 or s.offset >= 8,
    },
    predict=lambda s: Interval.around(_error_of(s), 1e-5 if s.offset == 0 else 1e-3 * _error_of(s)),
    draw=_error,
    bound=lambda s: known_variance(1.02 * _moments(s, s.format)[1]),
    resolution=lambda s: 0.4 * abs(_error_of(s) - _other(s)),
    settings=(
        *(
            Group(size=32, format=format, offset=offset)
            for format in (Format.MXFP4, Format.INT4)
            for offset in (0.0, 10.0, 20.0)
        ),
        Group(size=32, format=Format.E2M1, offset=0.0),
        Group(size=16, format=Format.NVFP4, offset=0.0),
    ),
    rival=Rival(
        statement="Whole numbers have the error of MXFP4, and floating numbers that of whole numbers.",
        source="the order turned round: more resolution near 0, where most numbers are",
        predict=lambda s: Interval.point(_other(s)),
    ),
)

FINER = foil(
    FOUR,
    name="floating-point-is-finer-than-whole-numbers-at-four-bits",
    statement="MXFP4 rounds normal numbers at most as coarsely as whole numbers of four bits.",
    source="mathematics/precision.md#four-bits-of-several-kinds; Egiazarian et al. 2025, who say that it need not",
    predict=lambda s: Interval.at_most(_moments(s, Format.INT4)[0]),
    settings=FOUR.settings[:1],
)

CLAIMS = (FOUR, FINER)
