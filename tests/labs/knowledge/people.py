"""A few persons, a small model, and the command line that trains it within a second or two."""

from pathlib import Path

from attnlab_theory.cli import main

PLACES = ("Bonn", "Rome", "Oslo")
NAMES = ("Ada", "Bob", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hal", "Ida", "Jo", "Kim", "Lou")
BORN = {name: PLACES[number % len(PLACES)] for number, name in enumerate(NAMES)}

SMALL = ["--layers", "1", "--heads", "2", "--width", "8", "--block-size", "32", "--dropout", "0.1"]
"""The options of a small new model."""

BRIEF = ["--epochs", "2", "--batch-size", "8", "--rows", "8"]
"""The options of a short stage."""


def write_people(folder: Path) -> None:
    """wiki.txt, train.tsv (with places), dev.tsv (with places) and test.tsv (without)."""
    (folder / "wiki.txt").write_text("".join(f"{name} was born in {place}.\n" for name, place in BORN.items()))
    lines = [f"Where was {name} born?\t{place}\n" for name, place in BORN.items()]
    (folder / "train.tsv").write_text("".join(lines[:8]))
    (folder / "dev.tsv").write_text("".join(lines[8:]))
    (folder / "test.tsv").write_text("".join(line.split("\t")[0] + "\n" for line in lines[8:]))


def run(capsys, *arguments):
    """Exit code, standard output and standard error of `attnlab knowledge …`."""
    capsys.readouterr()
    code = main(["knowledge", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err
