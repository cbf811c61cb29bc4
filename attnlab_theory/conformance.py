"""Other people's attention under pytest: the names that their tests import."""

from attnlab_theory.conform.door import conforms, suite

__all__ = ["conforms", "suite"]
