"""How often fresh scores exceed the largest that was seen (docs/mathematics/sinks.md)."""


def chance_of_a_record(seen: int, fresh: int) -> float:
    """The chance that the largest of all exchangeable scores without ties is among the fresh ones: M / (M + N).

    Source: docs/mathematics/sinks.md#a-clip-holds-for-what-was-seen.
    """
    return fresh / (fresh + seen)
