"""A command of the lab."""
