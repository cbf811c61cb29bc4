"""The board from beginning to end: environments, cells, and the page and the figure of what was found."""

from pathlib import Path

from attnlab_theory import files
from attnlab_theory.conform.peers import catalogue, cells, environments, figure, page, run
from attnlab_theory.cores import cores
from attnlab_theory.report.progress import Messages


def judged_and_written(
    library: str | None, board: Path, folder: Path | None, *, install: bool = False, again: bool = False
) -> int:
    """Judge other libraries, and write the board.

    Args:
        library: the only one that is judged; None judges all.
        board: the folder of the results, the page and the figure.
        folder: of the environments; None is one in the cache.
        install: whether to make the environments first.
        again: whether to judge also what is judged already.

    Returns:
        The exit code: 1 if a library could not be judged, or nothing was found.
    """
    entries = catalogue.entries_of(library)
    folder = (folder or environments.default_folder()).resolve()
    troubles = []
    with Messages() as messages:
        if install:
            names = dict.fromkeys(entry.environment for entry in entries)
            troubles += environments.install(folder, [*names], messages.tell)
    troubles += run.board(entries, board, folder, processes=cores(), again=again, tell=print)
    found = cells.results(board, catalogue.ENTRIES)
    for trouble in troubles:
        print(trouble)
    if any(trouble.endswith("not installed") for trouble in troubles):
        print("Type: attnlab conform --peers --install")
    if not found:
        return 1
    files.write_text(board / "README.md", page.page(found))
    with files.replacing_all(board / "board", (".svg", ".png")) as paths:
        figure.draw(found, [*paths.values()])
    print(f"Wrote {board / 'README.md'}")
    return int(bool(troubles))
