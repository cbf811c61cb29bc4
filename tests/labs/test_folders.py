"""The folder of a run is that of one lab."""

import contextlib

import pytest

from attnlab_theory.cli import main
from attnlab_theory.labs.folders import begun, make_folder
from attnlab_theory.language import runs

LABS = {
    "knowledge": ["run"],
    "captions": ["run"],
    "mixers": ["run", "--arms", "separate"],
    "recurrent": ["run"],
    "reviews": ["run", "--train-reviews", "100", "--test-reviews", "20"],
}

ALONE = {lab: ["--processes", "1"] for lab in ("mixers", "recurrent", "reviews")}
"""What has a lab train in this process."""


@pytest.mark.slow("two of ten members stay inside", but=2)
@pytest.mark.parametrize("left", ["run.json", "begun"])
@pytest.mark.parametrize("lab", LABS)
def test_no_lab_runs_into_the_folder_of_another(capsys, tmp_path, lab, left):
    """Imports all that a lab needs, and reads its command line."""
    about = tmp_path / f"{'mixers' if lab == 'captions' else 'captions'}.{left}"
    about.write_text("{}")
    code = main([lab, *LABS[lab], "--out", str(tmp_path)])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"holds another run, which wrote {about.name}" in err
    assert [path.name for path in tmp_path.iterdir()] == [about.name], "nothing is trained before that"


def test_a_folder_of_the_same_lab_is_written_again(tmp_path):
    (tmp_path / "search.run.json").write_text("{}")
    make_folder(tmp_path, "reviews", "search")
    with pytest.raises(ValueError, match=r"another run, which wrote search\.run\.json"):
        make_folder(tmp_path, "reviews")


def test_a_run_says_whose_folder_it_is_until_its_record_does(tmp_path):
    with begun(tmp_path, "captions"):
        pass
    assert list(tmp_path.iterdir()) == [], "nothing was written"
    with contextlib.suppress(KeyboardInterrupt), begun(tmp_path, "captions"):
        (tmp_path / "models").mkdir()
        raise KeyboardInterrupt
    with pytest.raises(ValueError, match=r"another run, which wrote captions\.begun"), begun(tmp_path, "mixers"):
        pass
    with begun(tmp_path, "captions"):
        (tmp_path / "captions.run.json").write_text("{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["captions.run.json", "models"]


@pytest.mark.slow("one begun folder, refused to another lab, stays inside")
@pytest.mark.parametrize("lab", LABS)
def test_every_lab_says_so_while_it_trains(monkeypatch, tmp_path, lab):
    """Makes the texts of a lab, up to its first training."""

    def training(run, path, **_):
        found.append([path.name for path in out.glob("*.begun")])
        (out / "kept").write_text("")
        raise KeyboardInterrupt

    found: list[list[str]] = []
    out = tmp_path / "out"
    monkeypatch.setattr(runs, "standing", training)
    assert main([lab, *LABS[lab], *ALONE.get(lab, []), "--out", str(out)]) == 130
    assert found == [[f"{lab}.begun"]]
    assert (out / f"{lab}.begun").exists()
