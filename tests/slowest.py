"""Where the time of a test run goes: `python -m tests.slowest LOG` prints it as Markdown.

LOG is what pytest said with `--durations=0`. `make slowest` runs the tests so and renews tests/slowest.md.
"""

import collections
import re
import sys
from pathlib import Path

LINE = re.compile(r"([\d.]+)s (?:call|setup|teardown) +tests/([^:]+\.py)::(.+)")
FILES, TESTS = 40, 40


def durations(text: str) -> dict[tuple[str, str], float]:
    """Seconds of each test, by its file and its name: setup, call and teardown, over all runs in the text."""
    found: dict[tuple[str, str], float] = collections.Counter()
    for seconds, file, name in LINE.findall(text):
        found[file, name] += float(seconds)
    return found


def page(text: str) -> str:
    """Two tables: the files that take most, and the tests.

    Raises:
        ValueError: if the text tells of no test.
    """
    tests = durations(text)
    if not tests:
        raise ValueError("no durations: run pytest with --durations=0")
    files: dict[str, list[float]] = collections.defaultdict(list)
    for (file, _), seconds in tests.items():
        files[file].append(seconds)
    total = sum(tests.values())
    told = [line for line in text.splitlines() if re.search(r"\d passed|^peak memory", line)]
    by_file = sorted(files.items(), key=lambda pair: -sum(pair[1]))[:FILES]
    by_test = sorted(tests.items(), key=lambda pair: -pair[1])[:TESTS]
    return "\n".join(
        [
            "# Where the time of the tests goes",
            "",
            "`make slowest` wrote this. Seconds are those of two workers together; tests under 5 ms are left out.",
            "",
            *(f"    {line}" for line in told),
            "",
            f"The {len(by_file)} files that take most, of {len(files)}; all take {total:.0f} s.",
            "",
            "| file | tests | seconds |",
            "|---|--:|--:|",
            *(f"| `{file}` | {len(each)} | {sum(each):.1f} |" for file, each in by_file),
            "",
            f"The {len(by_test)} tests that take most.",
            "",
            "| test | seconds |",
            "|---|--:|",
            *(f"| `{file}::{name}` | {seconds:.1f} |" for (file, name), seconds in by_test),
            "",
        ]
    )


def main(arguments: list[str]) -> int:
    """Print the page of one log."""
    if len(arguments) != 1:
        print("usage: python -m tests.slowest LOG", file=sys.stderr)
        return 2
    try:
        print(page(Path(arguments[0]).read_text("utf-8")), end="")
    except (OSError, ValueError) as error:
        print(f"tests.slowest: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
