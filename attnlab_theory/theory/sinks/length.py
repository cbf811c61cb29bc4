"""What a sink keeps beside more and more independent scores (docs/mathematics/sinks.md)."""

import math

from attnlab_theory.theory import independent_scores


def mean_share(n: int, spread: float, sink: float) -> float:
    """The mean weight of a sink of score `sink` beside n independent scores N(0, spread^2).

    Source: docs/mathematics/sinks.md#a-sink-fades-with-length.
    """
    return independent_scores.share(independent_scores.normal(spread), n, sink)


def share_variance(n: int, spread: float, sink: float) -> float:
    """The variance of that weight. A difference of moments: at least a millionth of the second."""
    second = independent_scores.share(independent_scores.normal(spread), n, sink, power=2)
    return max(second - mean_share(n, spread, sink) ** 2, 1e-6 * second)


def share_beside_the_mean_sum(n: int, spread: float, sink: float) -> float:
    """The weight of the sink if the sum of the others is replaced by its mean, n e^(spread^2 / 2)."""
    return 1 / (1 + n * math.exp(spread**2 / 2 - sink))
