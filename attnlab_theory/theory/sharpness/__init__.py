"""Sharpness over random scores, and differences of two maps: predictions (docs/mathematics/sharpness.md)."""
