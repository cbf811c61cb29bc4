"""What stands beside the labs knows none of them."""

import re
from pathlib import Path

import pytest

LABS = Path(__file__).parents[2] / "attnlab_theory" / "labs"


@pytest.mark.parametrize("path", sorted(LABS.glob("*.py")), ids=lambda p: p.name)
def test_no_word_of_one_lab_stands_beside_the_labs(path):
    assert not re.search(r"person|birthplace|knowledge|caption|review", path.read_text("utf-8"), re.IGNORECASE)
