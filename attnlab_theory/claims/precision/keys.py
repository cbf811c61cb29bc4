"""Rounding keys that have a common offset in one channel (docs/mathematics/precision.md)."""

import enum

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.attention.precision import quantise_absmax
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.precision import keys as theory
from attnlab_theory.theory.sharpness.participation import participation


class Treatment(enum.StrEnum):
    """What is done to the keys before they are rounded."""

    NONE = "none"
    ROTATED = "rotated"
    HADAMARD = "Hadamard"
    CENTRED = "centred"


LARGEST = {
    Treatment.NONE: theory.largest_as_they_are,
    Treatment.ROTATED: theory.largest_if_rotated,
    Treatment.HADAMARD: theory.largest_if_mixed,
    Treatment.CENTRED: theory.largest_if_centred,
}


class Offset(Setting):
    """Keys of d independent entries N(0, 1), with an offset in the first, rounded to multiples of max / levels."""

    d: int
    levels: int
    offset: Traced[float]
    treatment: Treatment


def _hadamard(x: Float[Array, " d"]) -> Float[Array, " d"]:
    """Sums and differences of halves, again and again; the length stays."""
    d = x.shape[0]
    for _ in range(d.bit_length() - 1):
        x = jnp.concatenate([x[0::2] + x[1::2], x[0::2] - x[1::2]])
    return x / d**0.5


def _error(key: PRNGKeyArray, setting: Offset) -> Float[Array, ""]:
    for_noise, for_turn = jax.random.split(key)
    noise = jax.random.normal(for_noise, (setting.d,))
    keys = noise.at[0].add(setting.offset)
    match setting.treatment:
        case Treatment.ROTATED:
            # The reflection that takes the first axis to an even direction.
            direction = jax.random.normal(for_turn, (setting.d,))
            mirror = (direction / jnp.linalg.norm(direction)).at[0].add(-1.0)
            keys = keys - 2 * mirror * (mirror @ keys) / (mirror @ mirror)
        case Treatment.HADAMARD:
            keys = _hadamard(jax.random.rademacher(for_turn, (setting.d,), jnp.float32).astype(keys.dtype) * keys)
        case Treatment.CENTRED:
            # A vector added to every key cancels in the softmax, so it may be taken off.
            keys = keys.at[0].add(-setting.offset)
        case Treatment.NONE:
            pass
    return jnp.sum((quantise_absmax(keys[None], setting.levels)[0] - keys) ** 2)


def _square(setting: Offset) -> float:
    return LARGEST[setting.treatment](setting.d, setting.offset, 2)


def _predicted(setting: Offset) -> float:
    return theory.squared_error(setting.d, setting.levels, _square(setting))


def _rival(setting: Offset) -> float:
    """That of keys rotated, for keys as they are; else E_d replaced by 2 ln d."""
    if setting.treatment is Treatment.NONE:
        square = theory.largest_if_rotated(setting.d, setting.offset, 2)
    else:
        square = _square(setting) * theory.largest_of_many(setting.d) / theory.largest_if_centred(setting.d, 0.0, 2)
    return theory.squared_error(setting.d, setting.levels, square)


def _bound(setting: Offset):
    fourth = LARGEST[setting.treatment](setting.d, setting.offset, 4)
    return known_variance(1.02 * theory.squared_error_variance(setting.d, setting.levels, _square(setting), fourth))


ROUNDED = Claim(
    name="rounding-keys-with-a-common-offset",
    statement=r"Keys rounded to whole multiples of their largest entry over $\ell$ err by $(d - "
    r"1)E[\max^2]/(12\ell^2)$: $\max^2$ is $M^2 + 1$ with an offset $M$, $(M^2 + d)E_d/d$ rotated, and $E_d = "
    r"E\max g_i^2$ without it.",
    source="mathematics/precision.md#keys-with-a-common-offset; Ashkboos et al. 2024; Zhang et al. 2024",
    hypotheses=at_least(d=16, levels=15, offset=20)
    | {
        "steps of 1.5 standard deviations at most": lambda s: (s.offset + 6) / s.levels <= 1.5,
        "d is a power of two": lambda s: s.d & (s.d - 1) == 0,
    },
    predict=lambda s: Interval.around(_predicted(s), 0.005 * _predicted(s)),
    draw=_error,
    bound=_bound,
    resolution=lambda s: 0.06 * _predicted(s),
    settings=tuple(Offset(d=64, levels=127, offset=50.0, treatment=treatment) for treatment in Treatment),
    rival=Rival(
        statement=r"A rotation changes nothing; and $E_d = 2\ln d$.",
        source="the law of very many entries, and of keys without an offset",
        predict=lambda s: Interval.point(_rival(s)),
    ),
    chunk=512,
)

REMOVES = foil(
    ROUNDED,
    name="a-rotation-removes-outliers",
    statement="Rotated keys err at most twice as much with an offset of 50 in one channel as without it.",
    source="mathematics/precision.md#keys-with-a-common-offset; Ashkboos et al. 2024, outliers of one token read "
    "as an offset of all",
    predict=lambda s: Interval.at_most(
        2 * theory.squared_error(s.d, s.levels, theory.largest_if_centred(s.d, s.offset, 2))
    ),
    settings=ROUNDED.settings[1:3],
)


class Averaged(Setting):
    """Values of d independent entries N(0, 1), rounded as keys are, read over n scores N(0, spread^2)."""

    n: int
    d: int
    levels: int
    spread: Traced[float]


def _error_of_the_output(key: PRNGKeyArray, setting: Averaged) -> Float[Array, ""]:
    for_keys, for_values = jax.random.split(key)
    q, keys = jnp.ones((1, 1)), jax.random.normal(for_keys, (setting.n, 1))
    values = jax.random.normal(for_values, (setting.n, setting.d))
    errors = quantise_absmax(values, setting.levels) - values
    return jnp.sum(attention(q, keys, errors, scale=setting.spread) ** 2)


def _of_a_mean(setting: Averaged) -> float:
    return theory.error_of_a_mean(setting.d, setting.levels, participation(setting.n, setting.spread))


AVERAGED = Claim(
    name="rounded-values-average-out",
    statement=r"Values that are rounded one by one err in the output by $E\sum\alpha_i^2$ times what one of them "
    r"errs: by a third of it over 64 scores of spread 3.",
    source="mathematics/precision.md#rounded-values-average-out; Zhang et al. 2024",
    hypotheses=at_least(n=2, d=16, levels=15) | at_most(n=1024, spread=6) | more_than(spread=0),
    predict=lambda s: Interval.around(_of_a_mean(s), 0.005 * _of_a_mean(s)),
    draw=_error_of_the_output,
    bound=lambda s: known_variance(1.02 * theory.error_of_a_mean_variance(s.d, s.levels)),
    resolution=lambda s: 0.5 * _of_a_mean(s),
    settings=(Averaged(n=64, d=32, levels=127, spread=3.0),),
    rival=Rival(
        statement="They err as one of them does, as keys do.",
        source="errors taken for alike, though values are rounded independently",
        predict=lambda s: Interval.point(theory.error_of_a_mean(s.d, s.levels, 1.0)),
    ),
    chunk=128,
)

CLAIMS = (ROUNDED, REMOVES, AVERAGED)
