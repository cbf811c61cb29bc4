"""The inverse problem: weights, a subset or a routing wanted; a query or matrices found."""

from attnlab_theory.construct.subsets import SubsetQuery, query_for_subset
from attnlab_theory.construct.weights import WeightsQuery, query_for_weights

__all__ = ["SubsetQuery", "WeightsQuery", "query_for_subset", "query_for_weights"]
