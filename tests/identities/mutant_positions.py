"""Positions broken in one place each: the mutants of the identities of rotations and waves."""

import jax.numpy as jnp

from attnlab_theory.attention import rotary, sinusoidal
from attnlab_theory.identities import rotation
from attnlab_theory.museum.bugs import rotations


def turned(x, positions, base, *, exponent=-2):
    """Rotary, interleaved, with something to get wrong."""
    width = x.shape[1]
    frequencies = base ** (exponent * jnp.arange(width // 2, dtype=x.dtype) / width)
    angles = positions[:, None].astype(x.dtype) * frequencies[None, :]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    even, odd = x[:, 0::2], x[:, 1::2]
    return jnp.stack((even * cos - odd * sin, even * sin + odd * cos), axis=2).reshape(x.shape)


def angles_are_halved(x, positions, *, base):
    return turned(x, positions, base, exponent=-1)


def turned_the_other_way(x, positions, *, base):
    return rotary(x, -positions, base=base)


def positions_are_squared(x, positions, *, base):
    return rotary(x, positions * positions % 100, base=base)


def sines_first(positions, width, *, base):
    """All sines, then all cosines: another order, and not what the block rotation expects."""
    waves = sinusoidal(positions, width, base=base)
    return jnp.concatenate((waves[:, 0::2], waves[:, 1::2]), axis=1)


def sines_only(positions, width, *, base):
    return sinusoidal(positions, width, base=base).at[:, 1::2].set(0)


def waves_of_whole_positions(x, positions, *, base):
    return sinusoidal(jnp.round(positions), x.shape[1], base=base)


def waves_of_another_base(x, positions, *, base):
    return sinusoidal(positions, x.shape[1], base=base * 1.001)


ROTATION = (
    rotation.kept_lengths("sign of one sine", rotations.sine_without_its_sign),
    rotation.relative("sign of one sine", rotations.sine_without_its_sign),
    rotation.relative("positions squared", positions_are_squared),
    rotation.relative("key turned the other way", rotary, turned_the_other_way),
    rotation.matrix_form("frequencies of another power", angles_are_halved),
    rotation.matrix_form("turned the other way", turned_the_other_way),
    rotation.same_up_to_order("interleaved", rotary),
    rotation.moved_waves("sines first", sines_first),
    rotation.relative_waves("sines only", sines_only),
    rotation.sinusoidal_slope(waves_of_whole_positions),
    rotation.sinusoidal_slope(waves_of_another_base),
    rotation.rotary_slope(turned_the_other_way),
)
