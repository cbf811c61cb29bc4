"""How fast the output of self-attention can move with its input (docs/mathematics/limits.md)."""

import math

import numpy as np
import scipy.special


def dot_product_slope(n: int, size: float, strength: float) -> float:
    """Slope of dot-product self-attention in a token at zero. Half of the n - 1 others are at +size, half at -size.

    The width is one. The token's scores are all zero and its weights uniform. The derivative of its output is the
    strength times the variance of the tokens, size^2 (n - 1) / n, plus its own weight 1 / n. No constant bounds it.

    Source: docs/mathematics/limits.md#attention-by-dot-products-has-no-lipschitz-constant;
    Kim et al. 2021, theorem 3.1.
    """
    return strength * size**2 * (n - 1) / n + 1 / n


def distance_slope(n: int, size: float) -> float:
    """The sum of the norms of the Jacobian's blocks in the row of a token at zero.

    The n - 1 others are at +-size, and the width is one. The scores are -|x_i - x_j|^2. The token's weight on
    itself is p = 1 / (1 + (n - 1) e^(-size^2)), its weight on each other q = p e^(-size^2), and its output is 0.
    Its own block is p + 2 (n - 1) q size^2. The block of each other token is q |1 - 2 size^2|.

    Source: docs/mathematics/limits.md#attention-by-distances-has-a-lipschitz-constant.
    """
    return own_distance_slope(n, size) + (n - 1) * _weight_of_another(n, size) * abs(1 - 2 * size**2)


def own_distance_slope(n: int, size: float) -> float:
    """The token's own block of these alone: p + 2 (n - 1) q size^2."""
    others = (n - 1) * _weight_of_another(n, size)
    return 1 - others + 2 * others * size**2


def _weight_of_another(n: int, size: float) -> float:
    return 1 / (math.exp(size**2) + n - 1)


def offset_slope(n: int, offset: float) -> float:
    """Slope in a token at zero, when scores see only the first axis.

    Half of the others are at (1, offset), half at (-1, -offset). Scores are -|W (x_i - x_j)|^2 with W = diag(1,
    0), and values are the tokens. The others together have the weight alpha = (n - 1) / (e + n - 1). A step along
    the first axis moves the output by 2 alpha times the step along that axis, and by 2 alpha offset times the step
    along the second. On each axis comes the token's own weight, 1 - alpha.

    Source: docs/mathematics/limits.md#tied-projections-are-not-enough.
    """
    others = (n - 1) / (math.e + n - 1)
    jacobian = np.array([[2 * others + 1 - others, 0.0], [2 * others * offset, 1 - others]])
    return float(np.linalg.norm(jacobian, ord=2))


def most_score_lost(n: int) -> float:
    """The largest E[u] under weights in proportion to e^-u, where one u is zero and n - 1 are free.

    It is W_0((n - 1) / e), about ln n. If all N = n - 1 are equal, it is N u / (e^u + N). That is largest where (u
    - 1) e^(u - 1) = N / e, and its value there is u - 1.
    """
    return float(scipy.special.lambertw((n - 1) / math.e).real)


def distance_constant(n: int) -> float:
    """A Lipschitz constant of distance self-attention, f_i = sum_j p_ij x_j with p_ij ~ exp(-|x_i - x_j|^2).

    The norm is max_i |x_i|. The blocks of row i are p_ik (I + 2 (x_k - f_i) (x_i - x_k)^T) off the diagonal, and
    p_ii I + 2 Cov on it. Let w = E|x - x_i|^2 <= W_0((n - 1) / e). Then |Cov| and E|x - f_i| |x - x_i| are at most
    w, so the norms of the blocks add up to at most 1 + 4 w. Tied projections W are the metric |W x|.

    Source: docs/mathematics/limits.md#attention-by-distances-has-a-lipschitz-constant;
    Kim et al. 2021, theorem 3.2.
    """
    return 1 + 4 * most_score_lost(n)
