"""What `attnlab --help` prints: every command and its line of help, in the form of tyro's help but without tyro."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence

ABOUT = "Check claims about attention: predict a number, measure it, judge."
OPTIONS = (("-h, --help", "show this help message and exit"), ("--version", "show the version and exit"))
BOLD, DIM = "1", "2"
NARROWEST = 40
"""Columns of the narrowest box."""
ASCII = str.maketrans("╭╮╰╯│─•", "++++|-*")


class Overview:
    """The help on all commands."""

    def __init__(self, abouts: Mapping[str, str]) -> None:
        """Take one line on each command."""
        self.abouts = abouts

    def run(self) -> int:
        """Print it, on a terminal with bold and faint letters; always 0."""
        if sys.stdout is None:  # closed from the start
            return 0
        plain = not sys.stdout.isatty() or os.environ.get("TERM") in (None, "dumb") or os.environ.get("NO_COLOR")
        text = "\n".join(self._lines(shutil.get_terminal_size().columns, plain=bool(plain)))
        print(text if sys.stdout.encoding.lower() == "utf-8" else text.translate(ASCII))
        return 0

    def _lines(self, columns: int, *, plain: bool) -> Iterator[str]:
        indent = len("  • ") + max(map(len, self.abouts)) + 2
        room = min(max(NARROWEST, columns) - 4, indent + max(map(len, self.abouts.values()))) - indent

        def painted(style: str, text: str) -> str:
            return text if plain else f"\x1b[{style}m{text}\x1b[0m"

        def box(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
            yield painted(DIM, f"╭─ {title} ".ljust(indent + room + 3, "─") + "╮")
            for name, about in rows:
                for i, line in enumerate(textwrap.wrap(about, room, break_on_hyphens=False) or [""]):
                    head = f"{'' if i else name:<{indent}}"
                    yield painted(DIM, "│ ") + head + painted(DIM, f"{line:<{room}} │")
            yield painted(DIM, f"╰{'─' * (indent + room + 2)}╯")

        yield f"{painted(BOLD, 'usage:')} attnlab [-h] [--version] {{{','.join(self.abouts)}}}"
        yield f"\n{ABOUT}\n"
        yield from box("options", OPTIONS)
        bullets = [(f"  • {name}", about) for name, about in self.abouts.items()]
        yield from box("subcommands", [("(required)", ""), *bullets])
