"""What latent attention keeps for each token, and which maps of scores it has."""


def absorbed_matrices(d: int, distances: int) -> int:
    """How many dimensions the absorbed matrices W_Q^T R_delta W_K span over so many distances: min(distances, d).

    Each pair of coordinates contributes cos(delta theta) and sin(delta theta), and no more.

    Source: docs/mathematics/shared_keys.md#absorption-under-rotary-positions.
    """
    return min(distances, d)


def cache_saved(
    *, layers: int, latent: int, turned: int, bits: int, by_layers: int, by_groups: int, by_width: int, by_bits: int
) -> float:
    """The share of a cache that latent attention saves: 1 - layers (latent + turned) bits over the other's numbers.

    Source: docs/mathematics/shared_keys.md#what-a-cache-keeps; DeepSeek-AI 2024.
    """
    return 1 - layers * (latent + turned) * bits / (by_layers * 2 * by_groups * by_width * by_bits)


def lost_at_equal_cache() -> float:
    """What the best grouped heads lose of latent heads that read disjoint parts: half of the squared norm.

    Source: docs/mathematics/shared_keys.md#equal-caches-unequal-maps.
    """
    return 0.5
