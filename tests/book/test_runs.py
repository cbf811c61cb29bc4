"""What the book reads of folders: the first that has a run, labs inside, and nothing of what is damaged."""

import json
import shutil
from pathlib import Path

import pytest

from attnlab_theory.answers.declarations import declared
from attnlab_theory.book import runs

FIGURES = Path(__file__).parents[2] / "figures"
FRESH, _ = declared()


@pytest.fixture
def folder(tmp_path):
    for end in (".json", ".run.json"):
        shutil.copy(FIGURES / f"copying{end}", tmp_path)
    return tmp_path


def test_the_first_folder_that_has_a_run_gives_it(folder, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    about = json.loads((folder / "copying.run.json").read_text())
    (mine / "copying.run.json").write_text(json.dumps({**about, "seed": 7}))
    shutil.copy(folder / "copying.json", mine)
    names = ["copying", "averaging"]
    assert [runs.read(order, names, []).every["copying"].seed for order in ([mine, folder], [folder, mine])] == [
        "7",
        "0",
    ]
    assert "averaging" not in runs.read([folder], names, []).every
    assert runs.read([mine, FIGURES], names, []).every["averaging"].folder == FIGURES


def test_a_damaged_run_of_the_first_folder_is_not_taken_from_the_next(folder):
    (folder / "copying.json").write_text("[{")
    found = runs.read([folder, FIGURES], ["copying"], [])
    assert (len(found.problems), "copying" in found.every) == (1, False)


def test_a_record_without_its_findings_is_named(folder):
    (folder / "copying.json").unlink()
    (said,) = runs.read([folder], ["copying"], []).problems
    assert "copying.json" in said


def test_labs_lie_in_folders_of_their_names_with_runs_of_fresh_seeds_beside():
    found = runs.read([FIGURES], [], ["captions", "heads"], FRESH).every
    assert {run.lab for run in FRESH if run.lab == "captions"} == {"captions"}
    decided = {claim for run in FRESH if run.lab == "captions" for claim in run.decides}
    assert {f.claim for f in found["captions"].fresh} == decided
    assert found["captions"].seed == "0 to 4"
    assert {f.experiment for f in found["heads"].findings} == {"heads"}
    alone = runs.read([FIGURES / "captions"], [], ["captions"], FRESH)
    assert alone.every["captions"].findings == found["captions"].findings
    assert alone.own == ()


def test_a_folder_that_is_missing_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(ValueError, match=r"there is no folder .*absent: make it with attnlab run --out"):
        runs.read([tmp_path / "absent"], [], [])
