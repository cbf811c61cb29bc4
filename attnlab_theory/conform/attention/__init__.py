"""The kinds that are functions of queries, keys and values."""
