"""Sinks, and other ways to give no weight: predictions (docs/mathematics/sinks.md)."""
