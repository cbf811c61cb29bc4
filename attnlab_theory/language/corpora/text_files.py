"""Text files. An error about one is one clear line."""

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
