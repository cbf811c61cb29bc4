"""CI runs the tests that need torch by their marker, so each of them has it."""

import ast
from pathlib import Path

HERE = Path(__file__).parent
WANTS, MARK = "importorskip('torch')", "pytest.mark.torch"
FILES = [
    path
    for path in sorted(HERE.rglob("test_*.py"))
    if "importorskip" in path.read_text() and path.name != "test_markers.py"
]


def unmarked(code: str) -> list[str]:
    """The functions that skip themselves without torch, and have no marker; `file` for the whole of it."""
    module = ast.parse(code)
    parts = [(node, getattr(node, "name", "file")) for node in module.body if WANTS in ast.unparse(node)]
    if f"pytestmark = {MARK}" in ast.unparse(module):
        return []
    return [name for node, name in parts if MARK not in map(ast.unparse, getattr(node, "decorator_list", []))]


def test_what_skips_itself_without_torch_has_the_marker():
    assert len(FILES) > 10
    found = [f"{path.name}: {each}" for path in FILES for each in unmarked(path.read_text())]
    assert not found, "\n".join(found)


def test_a_missing_marker_is_seen():
    skips = "import pytest\ntorch = pytest.importorskip('torch')\n"
    assert unmarked(skips) == ["file"]
    assert unmarked(skips + "pytestmark = pytest.mark.torch\n") == []
    function = "def test_it():\n    pytest.importorskip('torch')\n"
    assert unmarked(function) == ["test_it"]
    assert unmarked("@pytest.mark.torch\n" + function) == []
