"""Findings to JSON, terminal tables, the HTML lab book and one plot style."""
