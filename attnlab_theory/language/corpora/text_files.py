"""Text files. An error about one is one clear line."""

import contextlib
import json
import re
import unicodedata
from pathlib import Path

from attnlab_theory import inputs


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, with every line end read as a newline.

    A line ends with a newline, which carriage returns may precede. In a file without newlines it ends with a
    carriage return. A carriage return inside a line, which somebody's program left there, is a space.

    Raises:
        ValueError: if the file is missing, a folder, empty, or not UTF-8 (naming the line).
    """
    text = decoded(path)
    if not text.strip():
        raise ValueError(f"{path} is empty; it needs at least one line of text")
    return text


def decoded(path: Path) -> str:
    """The text of a file in UTF-8, with every line end read as a newline. All lines may be empty."""
    content = inputs.content(Path(path))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path} is not UTF-8: line {line} holds the byte 0x{content[error.start]:02x}") from None
    return re.sub("\r+(?!\n)", " ", re.sub("\r+\n", "\n", text)) if "\n" in text else text.replace("\r", "\n")


def composed(text: str) -> str:
    """The text in Unicode's composed form (NFC): a letter and its accent are one character, where there is one.

    Unicode has two ways to write "é". Words that are compared must be written in one of them.
    """
    return unicodedata.normalize("NFC", text)


NAMED = re.compile(r"[^\s#]+\.(\w+#\d+|(?i:jpe?g|png|gif|bmp|webp))[\s,;|]+\S")
"""How a line of captions begins in Flickr8k or Flickr30k: the name of a picture, often a number."""

NO_SENTENCES = {
    r"[^\t]*[^\s][^\t]*\t.*\S": "has columns, parted by tabs; keep the one with the sentences: cut -f1, or -f2",
    r"\".*\"\s*": "has each line in quotation marks; take them away",
    r".*\S \|\|\| \S.*": "has several sentences in a line, parted by |||; write one a line",
}
"""What no line of a file may be, if all its lines are so, and the remedy."""

COLUMN = re.compile(
    r"(image|file|picture|img)[ _]?(name|id|path|url)?|path|url|id|split|"
    r"(caption|comment|sentence)s?([ _](number|id|text))?"
)
"""The names of columns that tables of captions have."""


def sentences_of(path: Path) -> str:
    """A text with one sentence a line, in Unicode's composed form.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8. Also for captions with names of pictures, for
            headings of tables and for JSON, which would count as words.
    """
    text = composed(read_text(path))
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"{path} is no text in UTF-8: line {line} holds the byte 0x00, as UTF-16 has")
    lines = [line for line in text.split("\n")[:100] if line.strip()]
    if lines and all(NAMED.match(line) for line in lines):
        name, sign = re.split(r"([\s,;|])", lines[0], maxsplit=1)[:2]
        fields = "-f2" if "\t" in lines[0] else f"-d'{sign}' -f2-"
        what = f"the name of a picture{' and a number' * ('#' in lines[0])}"
        raise ValueError(
            f"{path}: each line begins with {what}, as {name!r}; keep "
            f"the captions alone: cut {fields} {path.name} > captions.txt"
        )
    if lines[1:] and _is_heading(lines[0]):
        raise ValueError(
            f"{path} is a table with the heading {lines[0].strip()[:60]!r}; keep the column of captions alone, one "
            "a line and without a heading"
        )
    if lines[1:] and all(re.match(rf"{number}[.):]?\s.*[^\W\d_]", line) for number, line in enumerate(lines, 1)):
        raise ValueError(f"{path} numbers its lines; keep the sentences alone: cut -d' ' -f2- {path.name}")
    if any(re.match(r"[\d:,.]+ --> [\d:,.]+", line) for line in lines):
        raise ValueError(f"{path} has times, as subtitles have; keep the sentences alone, one a line")
    for pattern, said in NO_SENTENCES.items():
        if lines[1:] and all(re.fullmatch(pattern, line) for line in lines):
            raise ValueError(f"{path} {said}")
    found = _json(text) if lines and lines[0].lstrip()[0] in "{[" else None
    if isinstance(found, dict) and "annotations" in found:
        raise ValueError(
            f"{path} is JSON of captions, as COCO has; write them into a file, one a line: "
            "for each in json.load(open(FILE))['annotations']: print(each['caption'].strip())"
        )
    if isinstance(found, dict | list) or (lines and all(isinstance(_json(line), dict | list) for line in lines)):
        raise ValueError(f"{path} is JSON; write its sentences into a file, one a line")
    return text


def _is_heading(line: str) -> bool:
    """Whether a line names two columns or more, and nothing else. pandas has one without a name first."""
    names = [each.strip(" \"'").lower() for each in re.split(r"[,|;\t]", line.lstrip(","))]
    return len(names) > 1 and all(COLUMN.fullmatch(name) for name in names)


def _json(text: str) -> object:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return None
