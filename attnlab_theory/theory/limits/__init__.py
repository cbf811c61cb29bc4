"""Limits of attention heads: sharpness, depth, rank, slope, memory, distance."""
