"""Intervals from draws. Nothing here knows of attention."""

from attnlab_theory.stats.assumed_variance import VarianceCheck, VarianceState, variance_check
from attnlab_theory.stats.bounds import (
    Bound,
    bounded,
    exact,
    known_variance,
    normal,
    paired,
    proportion,
    same_law,
    student,
)
from attnlab_theory.stats.interval import Interval

__all__ = [
    "Bound",
    "Interval",
    "VarianceCheck",
    "VarianceState",
    "bounded",
    "exact",
    "known_variance",
    "normal",
    "paired",
    "proportion",
    "same_law",
    "student",
    "variance_check",
]
