"""The entry points, by what they have in common."""
