"""How many positions a coarse type tells apart (docs/mathematics/precision.md)."""


def positions_told_apart(octaves: int) -> int:
    """Different bfloat16 numbers among 0 ... 2^k - 1, k = `octaves` >= 8: 128 (k - 6) + 1.

    Source: docs/mathematics/precision.md#bf16-counts-to-256.
    """
    return 128 * (octaves - 6) + (octaves > 8)


def without_rounding_up(octaves: int) -> int:
    """The numbers below 2^k alone: the last positions round up to 2^k itself."""
    return 128 * (octaves - 6)
