"""Copying one value, averaging a set, extracting a subspace: what one query can ask for."""
