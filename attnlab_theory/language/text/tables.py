"""The files before there was tokenizer.json: a vocab.json of numbers of tokens, and a merges.txt of pairs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab_theory.language.text.subwords import text_of


def numbered(file: Path) -> dict[str, int]:
    """The number of every token.

    Raises:
        ValueError: if the file is missing or no such table.
    """
    fields = fields_of(file, what="the number of every token")
    for token, number in fields.items():
        if type(number) is not int or not 0 <= number < 2**31:
            raise ValueError(f"{file} must hold the number of every token, and {token!r:.40} has {number!r:.40}")
    return fields


def pairs_of(merges: Path, table: Mapping[str, int]) -> list[tuple[str, str]]:
    """The pairs of a merges.txt, with one on each line, the most frequent first.

    Args:
        merges: the file.
        table: the number of every token.

    Raises:
        ValueError: if the file is missing or no UTF-8, or a line is not a pair of tokens that is a token itself.
    """
    pairs = []
    for line, text in enumerate(text_of(merges).split("\n"), 1):
        if not text.strip() or (line == 1 and text.startswith("#version")):
            continue
        pair = text.removesuffix("\r").split(" ")
        if len(pair) != 2 or not {*pair, "".join(pair)} <= table.keys():
            raise ValueError(f"{merges}: line {line} is not a pair of tokens that is a token: {text!r:.60}")
        pairs.append((pair[0], pair[1]))
    return pairs


def fields_of(file: Path, *, what: str = "fields") -> dict[str, Any]:
    """The fields of a JSON file. `what` is their name in error messages.

    Raises:
        ValueError: if it is missing, no UTF-8, no JSON or no object.
    """
    try:
        fields = json.loads(text_of(file))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{file} is not JSON: {' '.join(str(error).split())}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{file} must hold {what}: a JSON object, not {type(fields).__name__}")
    return fields
