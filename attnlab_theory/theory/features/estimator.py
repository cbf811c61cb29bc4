"""The estimators that are compared, by their names."""

import enum


class Estimator(enum.StrEnum):
    """A kind of random features."""

    TRIGONOMETRIC = "trigonometric"
    POSITIVE = "positive"
    HYPERBOLIC = "hyperbolic"
    GENERALIZED = "generalized exponential"
    DENSE = "dense exponential"
