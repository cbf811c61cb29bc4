"""Memories of outer products: what a sum, the delta rule and gates recall."""
