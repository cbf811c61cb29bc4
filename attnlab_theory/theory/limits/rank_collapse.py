"""How fast pure self-attention makes all tokens alike (docs/mathematics/limits.md).

Tokens x_i are mixed by softmax(X A X^T). D is their diameter, the largest distance of two of them, and a is the
norm of A. Log weights of two rows differ by (x_i - x_k)^T A x_j, which varies over j by at most a D^2. Two laws
whose log ratio varies by s are at most tanh(s / 4) apart in total variation, and two means under them at most D
times that. So D' <= tanh(a D^2 / 4) D <= (a / 4) D^3: the exponent of the decay triples with every layer.
"""

import math


def next_diameter(diameter: float, strength: float) -> float:
    """The most that is left of a diameter after a layer of pure self-attention, the norm of A being `strength`.

    Reached by two opposite tokens with A a multiple of the identity.

    Source: docs/mathematics/limits.md#two-tokens-collapse; Dong et al. 2021, for the order.
    """
    return math.tanh(strength * diameter**2 / 4) * diameter


def diameter_after(layers: int, diameter: float, strength: float) -> float:
    """The same after several layers."""
    for _ in range(layers):
        diameter = next_diameter(diameter, strength)
    return diameter


def two_with_skip_after(layers: int, diameter: float, strength: float) -> float:
    """The distance of two opposite tokens after layers x + attention(x), which add what pure layers leave.

    Each layer multiplies the distance by 1 + tanh(strength D^2 / 4).
    """
    for _ in range(layers):
        diameter += next_diameter(diameter, strength)
    return diameter


def least_with_skip(diameter: float, strength: float) -> float:
    """The least that x + attention(x) leaves of a diameter: attention takes away no more than it hands on."""
    return diameter - next_diameter(diameter, strength)
