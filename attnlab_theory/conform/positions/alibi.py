"""The suite of linear biases: what is added to a score falls with the distance, by a slope for each head."""

from attnlab_theory.conform.positions.alibi_judging import Biases
from attnlab_theory.conform.positions.alibi_laws import LAWS


class AlibiSuite(Biases):
    """The identities, tried on a target."""

    LAWS = LAWS
    IDENTITIES = tuple(LAWS)
