"""What stands beside the labs knows none of them."""

import re
from pathlib import Path

LABS = Path(__file__).parents[2] / "attnlab_theory" / "labs"


def test_no_word_of_one_lab_stands_beside_the_labs():
    word = re.compile("person|birthplace|knowledge|caption|review", re.IGNORECASE)
    texts = {path.name: path.read_text("utf-8") for path in LABS.glob("*.py")}
    assert len(texts) > 10
    found = [f"{name}: {each}" for name, text in texts.items() for each in word.findall(text)]
    assert not found, "\n".join(found)
