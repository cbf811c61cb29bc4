"""What the tests of several labs share."""

import pytest

from attnlab_theory.report import style
from tests.labs.titles import titled


@pytest.fixture
def unpainted(monkeypatch):
    """Runs draw their figures and write the titles. Of every lab one test paints, or compares, its figures."""
    monkeypatch.setattr(style, "save", titled)
