"""Judging somebody's own answer: contracts, what breaks them, and classes of many submissions."""
