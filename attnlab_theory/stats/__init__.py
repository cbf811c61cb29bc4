"""Draws to intervals. Knows nothing of attention."""

from attnlab_theory.stats.bounds import Bound, bounded, exact, known_variance, normal, paired, proportion, student
from attnlab_theory.stats.interval import Interval

__all__ = ["Bound", "Interval", "bounded", "exact", "known_variance", "normal", "paired", "proportion", "student"]
