import io

import pytest
from rich.console import Console


@pytest.fixture
def text_of():
    """What a renderable looks like on a page of 100 columns."""

    def render(renderable) -> str:
        console = Console(file=io.StringIO(), width=200, color_system=None)
        console.print(renderable)
        return console.file.getvalue()

    return render
