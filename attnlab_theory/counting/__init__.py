"""What a function costs, counted before it runs: a walk over its jaxpr. Opens no other room."""

from attnlab_theory.counting.chain import longest_chain
from attnlab_theory.counting.cost import Cost
from attnlab_theory.counting.walk import count

__all__ = ["Cost", "count", "longest_chain"]
