"""A table that is made once: in the type that is asked first it must not stay, nor in that of a longer text."""

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct, Fenced
from attnlab_theory.conform.suite import suite_class
from tests.conform.positions import right

SPARE = 16
"""Rows of the smallest table."""


class Rotation:
    """Tables of cosines and sines by width, that grow. They are float32, whatever is asked."""

    def __init__(self):
        self.tables = {}

    def kind(self, x):
        """The type of a new table, from the vectors."""
        del x
        return np.float32

    def is_fit(self, found, x):
        del found, x
        return True

    def __call__(self, x, positions):
        rows, width = max(int(np.max(positions)) + 1, SPARE), x.shape[-1]
        found = self.tables.get(width)
        if found is None or len(found[0]) < rows or not self.is_fit(found, x):
            found = [y.astype(self.kind(x)) for y in right.tables(np.arange(rows), width)]
            self.tables[width] = found
        cos, sin = (y[positions].astype(x.dtype) for y in found)
        if cos.ndim == 3 and x.ndim == 4:
            cos, sin = cos[:, None], sin[:, None]
        a, b = np.split(x, 2, -1)
        return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


class Stays(Rotation):
    """In the type of the first vectors."""

    def kind(self, x):
        return x.dtype


class StaysLong(Rotation):
    """Only a longer table is made in the type of the vectors."""

    def kind(self, x):
        return x.dtype if self.tables else np.float32


class Remade(Stays):
    """Made again for each type."""

    def is_fit(self, found, x):
        return found[0].dtype == x.dtype


class Widened(Stays):
    """Made again for a type that holds more."""

    def is_fit(self, found, x):
        return found[0].dtype.itemsize >= x.dtype.itemsize


class Added:
    """Tokens and a table in the type of the first ones."""

    table = np.zeros((0, 0))

    def kind(self, x):
        return x.dtype

    def __call__(self, x):
        if self.table.shape[1] != x.shape[-1] or len(self.table) < x.shape[1]:
            self.table = right.paper(max(x.shape[1], SPARE), x.shape[-1]).astype(self.kind(x))
        return x + self.table[: x.shape[1]].astype(x.dtype)


class AddedLong(Added):
    """Only a longer table is made in the type of the tokens."""

    def kind(self, x):
        return x.dtype if self.table.size else np.float32


class AddedRight(Added):
    def kind(self, x):
        del x
        return np.float32


@pytest.mark.parametrize(
    ("target", "kind", "verdict"),
    [
        (Rotation, "rotary", "holds"),
        (Remade, "rotary", "holds"),
        (Widened, "rotary", "holds"),
        (Stays, "rotary", "fails"),
        (StaysLong, "rotary", "fails"),
        (AddedRight, "sinusoidal", "holds"),
        (Added, "sinusoidal", "fails"),
        (AddedLong, "sinusoidal", "fails"),
    ],
)
def test_a_table_of_a_narrow_type_that_stays_is_found(target, kind, verdict):
    suite = suite_class(kind)(Direct(target), kind)
    assert next(suite.rows(("types in turn",))).verdict == verdict


def test_what_was_asked_of_the_first_target_hides_no_table_that_stays():
    """All other rows ask float32 first, and hold."""
    suite = suite_class("rotary")(Direct(Stays), "rotary")
    assert [row.name for row in suite.rows() if row.verdict == "fails"] == ["types in turn"]


STAYS = """
import numpy as np
KEPT = []
def stays(x, positions):
    if not KEPT:
        angles = np.arange(5000)[:, None] * 10000.0 ** (-np.arange(4) / 4)
        KEPT.extend(f(angles).astype(x.dtype) for f in (np.cos, np.sin))
    cos, sin = (y[positions].astype(x.dtype) for y in KEPT)
    a, b = x[..., :4], x[..., 4:]
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)
"""


@pytest.mark.slow("objects of a class of this process stay inside")
def test_a_function_is_asked_in_a_child_of_its_own(tmp_path):
    """Starts two children, for a function of a file keeps its table with its module."""
    path = tmp_path / "kept.py"
    path.write_text(STAYS)
    with Fenced(f"{path}::stays") as caller:
        suite = suite_class("rotary")(caller, "rotary")
        row = next(suite.rows(("types in turn",)))
        assert (row.verdict, row.line.partition(":")[0]) == ("fails", "after float16")


def test_sinusoids_that_are_handed_no_numbers_have_no_type():
    assert list(suite_class("sinusoidal")(Direct(right.paper), "sinusoidal").rows(("types in turn",))) == []
