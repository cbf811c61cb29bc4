"""How fast pure self-attention makes all tokens alike (docs/mathematics/limits.md).

Tokens x_i are mixed by softmax(X A X^T). D is their diameter, the largest distance of two of them, and a is the
norm of A. Log weights of two rows differ by (x_i - x_k)^T A x_j, which varies over j by at most a D^2. If the log
ratio of two laws varies by s, their total variation distance is at most tanh(s / 4). Two means under them differ
by at most D times that. So D' <= tanh(a D^2 / 4) D <= (a / 4) D^3: the exponent of the decay triples with every
layer.
"""

import math


def next_diameter(diameter: float, strength: float, *, values: float = 1.0) -> float:
    """The largest diameter that a layer of pure self-attention can leave.

    Two opposite tokens reach it, if A is a multiple of the identity and the values are the tokens.

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
    """The distance of two opposite tokens after layers with skip connections, x + attention(x).

    Each layer multiplies the distance by 1 + tanh(strength D^2 / 4).
    """
    for _ in range(layers):
        diameter += next_diameter(diameter, strength)
    return diameter


def least_with_skip(diameter: float, strength: float, *, values: float = 1.0) -> float:
    """The smallest diameter that a layer x + attention(x) can leave."""
    return diameter - next_diameter(diameter, strength, values=values)


def tripling_band(layers: int, diameter: float, tokens: int, d: int) -> float:
    """How far the growth of the exponent in the last layer may be from three.

    A = I or -I, V = I, and tokens have mean zero. Let D' = e^c D^3. Then a layer adds 2 ln D + c to the logarithm
    of D. The next layer adds three times that, plus the difference of the two c. So the band is the range of c,
    divided by the least that the layer before the last takes off. c is at most -ln 4. It is at least ln 2 g
    (sqrt(g) - kappa), for three reasons. The covariance has an eigenvalue of at least g D^2. The tokens spread by
    two deviations along its direction. A layer is cubic to within kappa.

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

    It is (e^s - 1 - s) / s with s = a D^2.

    The output of a token is a mean of values under weights tilted by e^(u r_j). The derivative of the mean in u is
    the covariance under these weights. Weights tilted by tau u differ from those at the centre by factors between
    e^(-tau s) and e^(tau s), and so do the covariances. The bound is the mean of e^(tau s) - 1 over tau in [0, 1].

    Source: docs/mathematics/limits.md#what-a-layer-leaves-of-small-differences.
    """
    s = strength * diameter**2
    return (math.expm1(s) - s) / s
