"""What is lost if heads share a key projection."""


def mean_key_loss(heads: int, correlation: float) -> float:
    """The mean squared norm that score maps lose to the mean key projection, relative to theirs: (1 - c)(1 - 1/r).

    Heads have K_h = sqrt(c) K_0 + sqrt(1 - c) G_h with standard normal entries, and queries with orthonormal rows.

    Source: docs/mathematics/shared_keys.md#one-key-for-several-heads.
    """
    return (1 - correlation) * (1 - 1 / heads)


def first_key_loss(heads: int, correlation: float) -> float:
    """The same if all heads get the key projection of the first: twice as much."""
    return 2 * mean_key_loss(heads, correlation)


def mean_key_variance(heads: int, correlation: float, entries: int) -> float:
    """The variance of the loss: `entries` sums of squares about a mean, each of r - 1 degrees of freedom."""
    return 2 * (1 - correlation) ** 2 * (heads - 1) / (heads**2 * entries)
