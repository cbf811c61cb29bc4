"""The inverse problem: find a query, or matrices, that give the wanted weights, subset or routing."""

from attnlab_theory.construct.routing import Routing, route, shared_route
from attnlab_theory.construct.subsets import SubsetQuery, query_for_subset
from attnlab_theory.construct.subspaces import extractor, intersection_dimension
from attnlab_theory.construct.weights import WeightsQuery, query_for_weights

__all__ = [
    "Routing",
    "SubsetQuery",
    "WeightsQuery",
    "extractor",
    "intersection_dimension",
    "query_for_subset",
    "query_for_weights",
    "route",
    "shared_route",
]
