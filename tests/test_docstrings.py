"""Docstrings and names of modules that a tired student stumbles over are refused, as far as a machine can tell."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("attnlab_theory", "board", "experiments", "benchmarks", "tests")
FILES = sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

MOST_WORDS = 30
"""In one sentence."""

NAMES_IN_ED = {
    "blocked": "the operator's name, as additive, linear and sparse are: blocked attention",
    "pretrained": "the field's word for a model that somebody has trained",
}
"""Modules whose names end in -ed all the same, and why."""

EXCUSED: dict[str, str] = {}
"""First words of docstrings that a rule refuses and that stay all the same, and why."""

HEADINGS = re.compile(r"^ *(?:Args|Returns|Yields|Raises|Example):$", re.MULTILINE)
ENTRY = r"[*`]*[a-z_]\w*(?:, [*`]*[a-z_]\w*)*: "
ERROR = r"[A-Z]\w*(?:Error|Exit|Interrupt|Diverged|Refused): "
"""How the line of an argument begins, and that of an error."""
LIKE = r"as (?:(?:for|of|in|those of|that of) )?(?:`[^`]+`|there)\.?$"
ELSEWHERE = re.compile(rf"\b[Aa]rgs\b[\w, ]*:? (?:otherwise )?as\b|^ *(?:{ENTRY}){LIKE}", re.MULTILINE)
"""Arguments that are explained by those of something else alone."""


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of what describes a module, a class, a function or the name above it."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value


def sentences(text: str) -> list[str]:
    """The sentences of a docstring. Each argument, error and point of a list begins one.

    Examples and tables have none.
    """
    prose = re.sub(r"^ *(?:>>>|\.\.\. |\|).*$", "", HEADINGS.sub("", text), flags=re.MULTILINE)
    pieces = re.split(rf"\n *\n|\n(?= *(?:{ENTRY}|{ERROR}|[*-] ))", prose)
    return [each for piece in pieces for each in re.split(r"(?<=[.?!])\s+(?=\S)", piece)]


def words(sentence: str) -> list[str]:
    """The words of a sentence. Numbers, symbols and whatever stands in backticks or dollars are none."""
    plain = re.sub(r"`[^`]*`|\$[^$]*\$", "", sentence)
    return [
        word for word in plain.split() if re.fullmatch(r"\W*(?:[^\W\d_]+['’-])*[^\W\d_]{2,}\W*|\W*[aAI]\W*", word)
    ]


def stumbles(text: str) -> list[str]:
    """What a rule refuses of a docstring, one line for each."""
    found = []
    if re.match(r"\s*Of\b", text):
        found.append("begins with Of: begin with the subject")
    if re.search(r"\bbehind\b", text, re.IGNORECASE):
        found.append("says behind: say after, or where")
    if ELSEWHERE.search(text):
        found.append("explains arguments by those of something else alone: explain them here")
    longest = max((words(each) for each in sentences(text)), key=len, default=[])
    if len(longest) > MOST_WORDS:
        found.append(f"has a sentence of {len(longest)} words, at most {MOST_WORDS}: {' '.join(longest[:6])} …")
    return found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Of the class: its name.", "begins with Of"),
        ("The token behind this one.", "says behind"),
        ("Weights.\n\n    Args, raises: as `attention`.", "explains arguments"),
        ("Weights; args, raises as `attention`.", "explains arguments"),
        ("Weights.\n\n    Args:\n        q, k: as for `attention`.\n        v: the values.", "explains arguments"),
        ("Weights.\n\n    Args:\n        q: as there.", "explains arguments"),
        (" ".join(["word"] * 31) + ".", "has a sentence of 31 words"),
        ("Weights.\n\n    Args:\n        q: " + "word " * 30 + "word.", "has a sentence of 31 words"),
    ],
)
def test_a_planted_docstring_is_refused(text, said):
    (line,) = stumbles(text)
    assert line.startswith(said)


@pytest.mark.parametrize(
    "text",
    [
        "Offers of the class.",
        "Weights.\n\n    Args:\n        q: the queries, as they come.\n        k: " + "word " * 20 + "\n        v: "
        "" + "word " * 20,
        "Weights as `attention` gives them; the sum over `a + b` and $x y z$.",
        "word " * 30 + "`a b c d e f` x_1 = 2.",
        "A table:\n\n    | a | b |\n    >>> " + "word " * 40,
    ],
)
def test_a_plain_docstring_is_not(text):
    assert stumbles(text) == []


def test_docstrings_are_understood_at_the_first_reading():
    """Some seconds: every file is parsed."""
    assert len(FILES) > 1000
    found = [
        f"{file}:{line} {each}"
        for file in FILES
        for line, text in docstrings((ROOT / file).read_text("utf-8"))
        if not text.startswith(tuple(EXCUSED))
        for each in stumbles(text)
    ]
    assert not found, "\n".join(["", *found])


def participles(files: list[str]) -> list[str]:
    """Files whose names end in -ed; those of tests begin with test."""
    names = {file: Path(file).stem.removeprefix("test_") for file in files}
    return [file for file, name in names.items() if name.endswith("ed") and name not in NAMES_IN_ED]


def test_modules_are_not_named_by_participles():
    assert participles(["a/asked.py", "a/test_heads_asked.py", "a/test_blocked.py", "a/seeds.py"]) == [
        "a/asked.py",
        "a/test_heads_asked.py",
    ]
    assert participles(FILES) == []
