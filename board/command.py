"""The board from beginning to end: environments, cells, and the page, the JSON and the figure of what was found."""

import json
import sys
from pathlib import Path

from attnlab_theory import files
from attnlab_theory.cores import cores
from attnlab_theory.report.progress import Messages
from board import catalogue, cells, environments, figure, page, run

JSON = "board.json"
"""The board without lines and snippets. The wheel has the committed one."""


def judged_and_written(
    library: str | None,
    board: Path,
    folder: Path | None,
    *,
    install: bool = False,
    again: bool = False,
    as_json: bool = False,
) -> int:
    """Judge other libraries, and write the board.

    Args:
        library: the only one that is judged; None judges all.
        board: the folder of the results, the page and the figure.
        folder: of the environments; None is one in the cache.
        install: whether to make the environments first.
        again: whether to judge also what is judged already.
        as_json: whether to print the board, and whatever else there is to say on standard error.

    Returns:
        The exit code: 1 if a library could not be judged, or nothing was found.
    """

    def tell(line: str) -> None:
        print(line, file=sys.stderr if as_json else sys.stdout)

    files.make_folder(board, "README.md", JSON, "board.svg", "board.png")
    entries = catalogue.entries_of(library)
    folder = (folder or environments.default_folder()).resolve()
    troubles = []
    with Messages() as messages:
        if install:
            names = dict.fromkeys(entry.environment for entry in entries if entry.can_be_judged)
            troubles += environments.install(folder, [*names], messages.tell)
    troubles += run.board(entries, board, folder, processes=cores(), again=again, tell=tell)
    found = cells.results(board, catalogue.ENTRIES)
    for trouble in troubles:
        tell(trouble)
    if not found:
        return 1
    summary = written(found, board)
    if as_json:
        print(json.dumps(summary, indent=1))
    tell(f"Wrote {board / 'README.md'}")
    return int(bool(troubles))


def written(found: list[cells.Result], board: Path) -> dict[str, object]:
    """Write the page, the JSON and the figure of results into a folder; what the JSON says."""
    text, summary = page.page(found), cells.summary(found)
    files.write_text(board / "README.md", text)
    files.write_text(board / JSON, json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    with files.replacing_all(board / "board", (".svg", ".png")) as paths:
        figure.draw(summary, [*paths.values()])
    return summary
