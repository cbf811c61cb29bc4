import functools
import io
import os
import tempfile

import pytest
from rich.console import Console

from attnlab_theory.grader.submission import Submission


@pytest.fixture
def text_of():
    """What a renderable looks like on a page of 100 columns."""

    def render(renderable) -> str:
        console = Console(file=io.StringIO(), width=200, color_system=None)
        console.print(renderable)
        return console.file.getvalue()

    return render


@functools.cache
def missing() -> tuple[str, ...]:
    """The fences that this system does not allow, by an attack that is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mine.py")
        with open(path, "w") as file:
            file.write("def f(): return 1")
        with Submission(f"{path}::f") as submission:
            return tuple(fence.name for fence in submission.missing)


@pytest.fixture
def fenced():
    """Nobody is attacked where not every fence can be had, as in a container."""
    if missing():
        pytest.skip(f"this system allows no fence {', '.join(missing())}")
