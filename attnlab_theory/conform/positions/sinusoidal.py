"""The suite of sinusoidal positions: a row of sines and cosines for each position."""

from attnlab_theory.conform.positions.sinusoidal_judging import Sinusoids
from attnlab_theory.conform.positions.sinusoidal_laws import LAWS


class SinusoidalSuite(Sinusoids):
    """The identities, tried on a target."""

    LAWS = LAWS
    IDENTITIES = tuple(LAWS)
