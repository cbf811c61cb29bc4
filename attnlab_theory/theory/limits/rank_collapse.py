"""How fast pure self-attention makes all tokens alike (docs/mathematics/limits.md).

Tokens x_i are mixed by softmax(X A X^T). D is their diameter, the largest distance of two of them, and a is the
norm of A. Log weights of two rows differ by (x_i - x_k)^T A x_j, which varies over j by at most a D^2. Two laws
whose log ratio varies by s are at most tanh(s / 4) apart in total variation, and two means under them at most D
times that. So D' <= tanh(a D^2 / 4) D <= (a / 4) D^3: the exponent of the decay triples with every layer.
"""

import math


def next_diameter(diameter: float, strength: float, *, values: float = 1.0) -> float:
    """The most that is left of a diameter after a layer of pure self-attention.

    Reached by two opposite tokens with A a multiple of the identity and values that are the tokens.

    Args:
        diameter: the largest distance of two tokens.
        strength: the norm of A, in scores x_i^T A x_j.
        values: the norm of V, in values V x_j.

    Source: docs/mathematics/limits.md#any-tokens-collapse-and-skip-connections-stop-it;
    Dong et al. 2021, for the order.
    """
    return values * math.tanh(strength * diameter**2 / 4) * diameter


def diameter_after(layers: int, diameter: float, strength: float, *, values: float = 1.0) -> float:
    """The same after several layers."""
    for _ in range(layers):
        diameter = next_diameter(diameter, strength, values=values)
    return diameter


def two_with_skip_after(layers: int, diameter: float, strength: float) -> float:
    """The distance of two opposite tokens after layers x + attention(x), which add what pure layers leave.

    Each layer multiplies the distance by 1 + tanh(strength D^2 / 4).
    """
    for _ in range(layers):
        diameter += next_diameter(diameter, strength)
    return diameter


def least_with_skip(diameter: float, strength: float, *, values: float = 1.0) -> float:
    """The least that x + attention(x) leaves of a diameter: attention takes away no more than it hands on."""
    return diameter - next_diameter(diameter, strength, values=values)


def tripling_band(layers: int, diameter: float, tokens: int, d: int) -> float:
    """How far from three the last layer's growth of the exponent may be: A = I or -I, V = I, tokens of mean zero.

    With D' = e^c D^3 a layer adds 2 ln D + c to the logarithm. The next one adds three times that and what their c
    differ by. So the band is how much c may vary over the least that the layer before the last takes off. c is
    -ln 4 at most. It is ln 2 g (sqrt(g) - kappa) at least: the covariance has an eigenvalue of g D^2 or more, the
    tokens spread by two deviations along its direction, and a layer is cubic to within kappa.

    Returns:
        Infinity where kappa leaves nothing, after too few layers.

    Source: docs/mathematics/limits.md#what-a-layer-leaves-of-small-differences.
    """
    largest = diameter_after(layers - 2, diameter, 1.0)
    least_weight = math.exp(-diameter * largest) / tokens
    eigenvalue = least_weight / (2 * min(d, tokens - 1))
    cubic = math.sqrt(eigenvalue) - cubing_error(largest, 1.0)
    if cubic <= 0:
        return math.inf
    return (-math.log(4) - math.log(2 * eigenvalue * cubic)) / -math.log(math.tanh(largest**2 / 4))


def cubing_error(diameter: float, strength: float) -> float:
    """How far a layer may be from R A Sigma V^T, in units of |V| |Sigma|^(1/2) |Sigma^(1/2) u|, u = A^T r_i.

    It is (e^s - 1 - s) / s, s = a D^2.

    The output of a token is a mean of values under weights tilted by e^(u r_j). The mean's derivative in u is the
    covariance under them. Weights tilted by tau u differ from the centre's by factors between e^(-tau s) and
    e^(tau s), and so do the covariances. The mean of e^(tau s) - 1 over tau in [0, 1] is the bound.

    Source: docs/mathematics/limits.md#what-a-layer-leaves-of-small-differences.
    """
    s = strength * diameter**2
    return (math.expm1(s) - s) / s
