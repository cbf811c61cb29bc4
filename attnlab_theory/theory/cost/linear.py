"""What mixing in linear time costs, and from which length on it is cheaper (docs/mathematics/cost.md)."""

import math

from attnlab_theory.theory.cost.layers import FLOAT, mixing


def mixing_traffic(t: int, d: int, heads: int = 1) -> int:
    """Bytes that the products of exact attention read and write, the weights of every head included.

    Scores read q and k and write T^2; the mean reads T^2 and v and writes T d.
    """
    return FLOAT * (4 * t * d + 2 * heads * t**2)


def feature_mixing(t: int, d: int, m: int, *, chunk: int = 0) -> int:
    """Operations of feature attention with m features: 4 T d m to make them, 4 T m (d + 1) for the two sums.

    The values have one more column, whose outputs are the normalizers. Under a causal mask (chunk > 0) each chunk
    of positions also has its own weights, 2 T chunk m, and their mean, 2 T chunk (d + 1).

    Source: docs/mathematics/cost.md; Katharopoulos et al. 2020, section 3.
    """
    return 4 * t * d * m + 4 * t * m * (d + 1) + 2 * t * chunk * (m + d + 1)


def linformer_mixing(t: int, d: int, m: int) -> int:
    """Operations of Linformer: 4 T m d for two sketches, 4 T m d for attention over them."""
    return 8 * t * m * d


def bigbird_mixing(t: int, d: int, *, block: int, near: int, global_blocks: int) -> int:
    """Operations of BigBird in both directions.

    Global rows see everything. Each other block of queries sees the global blocks and `near` blocks more: its
    window and its random links, with the places that no block fills.

    Source: docs/mathematics/cost.md; Zaheer et al. 2020, appendix D.
    """
    whole = global_blocks * block
    return mixing(whole, d, sources=t) + mixing(t - whole, d, sources=(global_blocks + near) * block)


def feature_traffic(t: int, d: int, m: int) -> int:
    """Bytes that the products of feature attention read and write, with no causal mask.

    Features are made twice, from x and the projection. Each of the two sums reads its factors and writes itself.
    """
    features = t * d + m * d + t * m
    sums = t * (d + 1) + t * m + (d + 1) * m
    return FLOAT * (2 * features + 2 * sums)


def feature_crossing(d: int, m: int) -> int:
    """The first length at which exact attention costs no fewer operations: 4 T^2 d = 4 T m (2 d + 1)."""
    return -(-m * (2 * d + 1) // d)


def feature_traffic_crossing(d: int, m: int) -> int:
    """The same for bytes: the root of T^2 - (2 m + 1) T - m (2 d + 1) = 0, rounded up."""
    middle = (2 * m + 1) / 2
    return math.ceil(middle + math.sqrt(middle**2 + m * (2 * d + 1)))


def linformer_crossing(m: int) -> int:
    """The same for Linformer: 4 T^2 d = 8 T m d at T = 2 m."""
    return 2 * m
