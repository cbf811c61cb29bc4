"""Positions: word order and rotary scores."""
