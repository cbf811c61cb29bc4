"""Figures drawn again from the JSON files of a run."""

import json
import shutil
from pathlib import Path

import pytest

from tests.labs.knowledge.people import run

COMMITTED = Path(__file__).parents[3] / "figures" / "knowledge"


@pytest.fixture
def folder(tmp_path):
    for name in ("estimates", "curves", "attention"):
        shutil.copy(COMMITTED / f"{name}.json", tmp_path)
    return tmp_path


@pytest.mark.slow("figures of scores, and folders that are damaged, stay inside")
def test_every_committed_figure_is_drawn_again_from_the_committed_numbers(capsys, folder):
    """Draws seven figures, each in two formats."""
    code, out, err = run(capsys, "draw", folder)
    assert (code, err) == (0, "")
    assert out == f"7 figures are drawn in {folder}\n"
    drawn = {path.name: path.read_bytes() for path in folder.glob("*.png")}
    assert drawn.keys() == {path.name for path in COMMITTED.glob("*.png")}


@pytest.mark.slow("folders without estimates, or with damaged numbers, stay inside")
def test_a_folder_with_nothing_but_estimates_has_figures_of_them(capsys, folder):
    """Draws four figures, each in two formats."""
    (folder / "curves.json").unlink()
    (folder / "attention.json").unlink()
    code, out, _ = run(capsys, "draw", folder, "--json")
    assert (code, json.loads(out)) == (0, {"folder": str(folder), "figures": 4})
    assert {path.stem for path in folder.glob("*.svg")} == {"knowledge", "reliability", "abstention", "confidences"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("estimates.json", None, "holds no estimates.json: name a folder"),
        ("estimates.json", "[{}]", "estimates.json"),
        ("attention.json", "no JSON", "attention.json is not JSON"),
        ("curves.json", "[{}]", "a learning curve needs rows with 'loss'"),
    ],
)
def test_a_damaged_folder_is_one_line_and_exit_code_2(capsys, folder, name, text, said):
    (folder / name).unlink() if text is None else (folder / name).write_text(text)
    code, out, err = run(capsys, "draw", folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
