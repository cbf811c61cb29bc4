"""The words of the documents: a short glossary, short sentences, usual words."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
GLOSSARY = ROOT / "docs" / "words.md"

LONGEST = 30
"""Words of a sentence. A student who is tired loses the subject of a longer one."""

LONG: dict[str, str] = {}
"""The beginnings of longer sentences that may stand, each with the reason."""

UNUSUAL = {"behind": "after", "anew": "again", "in the place of": "instead of"}
"""What a document does not say, and what it says instead."""

ALLOWED = {
    "behind the fences": "a place, not a time: a submission runs inside them",
}
"""Where such a word may stand, with the reason."""

NO_PROSE = re.compile(
    r"```.*?```"  # code
    r"|\$\$.*?\$\$"  # formulas
    r"|^ {4,}\S.*?$"  # code that is indented, and formulas
    r"|^\|.*?$"  # rows of tables
    r"|^#.*?$"  # headings
    r"|^!\[.*?$",  # figures
    re.DOTALL | re.MULTILINE,
)


def prose(text: str) -> str:
    """A document without tables, code, formulas, headings and figures."""
    return NO_PROSE.sub("\n\n", text)


def sentences(text: str) -> list[str]:
    """The sentences of a document's prose. An item of a list ends one, and so does a colon before a block."""
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )", prose(text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        plain = re.sub(r"`[^`]*`|\$[^$]*\$", "X", plain)
        found += re.split(r"(?<=[.!?])[)*_”\"]*\s+(?=[\W_]*[A-ZÄÖÜ0-9])", plain)
    return [each.strip() for each in found if each.strip()]


def words(sentence: str) -> int:
    """How many words a sentence has. A formula or a piece of code is one."""
    return len(sentence.split())


def unusual(text: str) -> list[str]:
    """Unusual words of a document, each with what stands around it."""
    text = " ".join(text.lower().split())
    for phrase in ALLOWED:
        text = text.replace(phrase, "")
    return re.findall(rf".{{0,30}}\b(?:{'|'.join(UNUSUAL)})\b.{{0,30}}", text)


def entries() -> list[tuple[str, str]]:
    """Words of the glossary, and what it says of each."""
    return re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", GLOSSARY.read_text("utf-8"), flags=re.MULTILINE)


def test_sentences_are_short():
    long = [
        f"{page.relative_to(ROOT)}: {each}"
        for page in PAGES
        for each in sentences(page.read_text("utf-8"))
        if words(each) > LONGEST and not each.startswith(tuple(LONG))
    ]
    assert not long, "\n".join(long)


def test_usual_words_are_used():
    assert len(PAGES) > 30
    found = [f"{page.relative_to(ROOT)}: {each}" for page in PAGES for each in unusual(page.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_every_exception_is_used():
    text = " ".join(" ".join(page.read_text("utf-8").split()) for page in PAGES)
    for phrase in ALLOWED:
        assert phrase in text
    every = [each for page in PAGES for each in sentences(page.read_text("utf-8"))]
    for beginning in LONG:
        assert any(each.startswith(beginning) and words(each) > LONGEST for each in every), beginning


def test_a_long_sentence_and_an_unusual_word_are_seen():
    long = " ".join(["word"] * (LONGEST + 1))
    assert [words(each) for each in sentences(f"One. {long.capitalize()}. `code` of two.\n\n| a | {long} |\n")] == [
        1,
        LONGEST + 1,
        3,
    ]
    assert unusual("Behind the fences it runs. It ends behind the last step.") == [
        " it runs. it ends behind the last step."
    ]


def test_the_glossary_is_short_in_order_and_linked():
    found = [word for word, _ in entries()]
    assert 20 <= len(found) <= 40
    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert "](docs/words.md)" in (ROOT / "README.md").read_text("utf-8")


def test_every_word_is_explained_in_one_sentence():
    for word, said in entries():
        assert said.endswith("."), word
        assert len(sentences(said)) == 1, word
        assert words(said) <= LONGEST, word


def test_no_program_reads_what_an_error_says():
    """But for one word of XLA, which has no other name for too little memory."""
    reads = re.compile(
        r"(\bin|==) str\((error|broken|trouble)\)|str\((error|broken|trouble)\)\.(startswith|endswith)"
    )
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("attnlab_theory", "board")
        for path in (ROOT / folder).rglob("*.py")
        if reads.search(path.read_text())
    }
    assert found == {"attnlab_theory/exits.py"}
