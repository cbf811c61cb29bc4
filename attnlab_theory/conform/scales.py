"""The scale of a product of queries and keys, by its name or as a number."""

NAMES = ("rsqrt", "one", "inverse")
"""1/sqrt(width), 1, or 1/width."""

WORDS = {"rsqrt": "1/sqrt(width)", "one": "1", "inverse": "1/width"}
"""The same, as a profile says it."""


def factor(scale: str, width: int) -> float:
    """The scale at a width, by one of `NAMES` or by a number."""
    match scale:
        case "rsqrt":
            return width**-0.5
        case "one":
            return 1.0
        case "inverse":
            return 1 / width
    return float(scale)
