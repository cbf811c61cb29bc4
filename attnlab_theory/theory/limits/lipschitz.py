"""How fast the output of self-attention can move with its input (docs/mathematics/limits.md)."""

import math

import numpy as np
import scipy.special


def dot_product_slope(n: int, size: float, strength: float) -> float:
    """Slope of dot-product self-attention in a token at zero, n - 1 others at +-size in equal numbers, width one.

    Its scores are all zero and its weights uniform. The derivative of the mean is strength times the variance of
    the tokens, size^2 (n - 1) / n, plus the token's own weight 1 / n. No constant bounds it.

    Source: docs/mathematics/limits.md#attention-by-dot-products-has-no-lipschitz-constant;
    Kim et al. 2021, theorem 3.1.
    """
    return strength * size**2 * (n - 1) / n + 1 / n


def distance_slope(n: int, size: float) -> float:
    """Norms of the Jacobian's blocks in the row of a token at zero, added up: n - 1 others at +-size, width one.

    The scores are -|x_i - x_j|^2. The token's weight on itself is p = 1 / (1 + (n - 1) e^(-size^2)), that on each
    other q = p e^(-size^2), and its output is 0. Its own block is p + 2 (n - 1) q size^2, that of each other
    q |1 - 2 size^2|.

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
    """Slope in a token at zero, the others half at (1, offset), half at (-1, -offset); scores see the first axis.

    Scores -|W (x_i - x_j)|^2, W = diag(1, 0), and the tokens as values. The others together have the weight
    alpha = (n - 1) / (e + n - 1). A step along the first axis moves the output by 2 alpha of itself along that axis
    and by 2 alpha offset along the second; each axis keeps the token's own weight, 1 - alpha.

    Source: docs/mathematics/limits.md#tied-projections-are-not-enough.
    """
    others = (n - 1) / (math.e + n - 1)
    jacobian = np.array([[2 * others + 1 - others, 0.0], [2 * others * offset, 1 - others]])
    return float(np.linalg.norm(jacobian, ord=2))


def most_score_lost(n: int) -> float:
    """The largest E[u] under weights in proportion to e^-u, one u zero, n - 1 free: W_0((n - 1) / e), about ln n.

    With all N = n - 1 of them equal it is N u / (e^u + N). That is largest where (u - 1) e^(u - 1) = N / e, and
    its value there is u - 1.
    """
    return float(scipy.special.lambertw((n - 1) / math.e).real)


def distance_constant(n: int) -> float:
    """A Lipschitz constant of distance self-attention, f_i = sum_j p_ij x_j with p_ij ~ exp(-|x_i - x_j|^2).

    In the norm max_i |x_i|. The blocks of row i are p_ik (I + 2 (x_k - f_i) (x_i - x_k)^T) off the diagonal, and
    p_ii I + 2 Cov on it. With w = E|x - x_i|^2 <= W_0((n - 1) / e), |Cov| and E|x - f_i| |x - x_i| are at most w,
    so that their norms add up to 1 + 4 w at most. Tied projections W are the metric |W x|.

    Source: docs/mathematics/limits.md#attention-by-distances-has-a-lipschitz-constant;
    Kim et al. 2021, theorem 3.2.
    """
    return 1 + 4 * most_score_lost(n)
