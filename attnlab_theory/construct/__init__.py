"""The inverse problem: weights, a subset or a routing wanted; a query or matrices found."""
