import io

import pytest
from rich.console import Console

from tests.sandbox.system import missing_fences


@pytest.fixture
def text_of():
    """What a renderable looks like on a page of 100 columns."""

    def render(renderable) -> str:
        console = Console(file=io.StringIO(), width=200, color_system=None)
        console.print(renderable)
        return console.file.getvalue()

    return render


@pytest.fixture
def fenced():
    """Nobody is attacked where not every fence can be had, as in a container."""
    if missing_fences():
        pytest.skip(f"this system allows no fence {', '.join(missing_fences())}")
