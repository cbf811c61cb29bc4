"""Findings to JSON, terminal tables and one plot style."""
