"""The options of a run, apart from the loop that runs: the command line reads them before it imports jax."""

import contextlib
import dataclasses
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

T = TypeVar("T")

Budget = Literal["quick", "full"]

NUMBERS = {"INT": "a whole number", "FLOAT": "a number"}
NO_NUMBER = re.compile(
    r"Error parsing (--\S+): .*('[^']*'); Argument helptext: \S+ (?:\{None\}\|)?(INT|FLOAT) (.*) \(default: "
)
"""What tyro says of a word where a number should stand: option, word, kind of number, help."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run."""

    budget: Budget = "quick"
    """The most draws of a claim at one setting: quick 131,072, full 2,097,152. Drawing stops when the verdict is
    decided, so for many claims both cost the same. The committed results are full."""
    seed: int = 0
    """The seed of all random numbers."""
    out: Path = Path("lab")
    """The folder for results and figures. It is made if it does not exist."""
    json: bool = False
    """Print one JSON value on standard output and nothing else."""


def parsed_in_one_line(parse: Callable[[], T]) -> T:
    """What tyro makes of a command line; it explains a mistake in a box, here it is one line as everywhere.

    tyro itself does not know the variable NO_COLOR: where it is set, the help is plain.

    Raises:
        ValueError: if the command line is mistaken.
    """
    import tyro

    if os.environ.get("NO_COLOR"):
        tyro._experimental_options["ansi_codes"] = False
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return parse()
    except SystemExit as leaving:
        if leaving.code:
            raise ValueError(_one_line(complaint.getvalue())) from None
        raise


def _one_line(box: str) -> str:
    # Where a terminal knows ASCII alone, so are the box's edges.
    edges = re.compile("[╭╰+][─-].*")
    lines = [re.sub(r"^[│|] ?| ?[│|]$", "", line).strip() for line in box.splitlines() if not edges.match(line)]
    lines = ["; " if re.fullmatch("[─-]+", line) else line for line in lines]
    text = re.sub(r"\s*; ", "; ", " ".join(" ".join(lines).split()))
    if number := NO_NUMBER.search(text):
        return "{0} takes {2}, not {1}: {3}".format(*number.group(1, 2), NUMBERS[number[3]], number[4])
    return text or "bad usage; see --help"
