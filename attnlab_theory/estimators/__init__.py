"""Which random features somebody's own queries and keys need: errors predicted, measured, and compared."""

from attnlab_theory.estimators.advice import Advice, Line, advise
from attnlab_theory.estimators.problem import Problem, pose

__all__ = ["Advice", "Line", "Problem", "advise", "pose"]
