"""Judging somebody's own answer: contracts, and a child process for code that nobody can trust."""
