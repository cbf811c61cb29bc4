"""The folder of a run is that of one lab."""

import pytest

from attnlab_theory.cli import main
from attnlab_theory.labs.folders import make_folder

LABS = {
    "knowledge": ["run"],
    "captions": ["run"],
    "mixers": ["run", "--arms", "separate"],
    "recurrent": ["run"],
    "reviews": ["run", "--train-reviews", "100", "--test-reviews", "20"],
}


@pytest.mark.parametrize("lab", LABS)
def test_no_lab_runs_into_the_folder_of_another(capsys, tmp_path, lab):
    about = tmp_path / f"{'mixers' if lab == 'captions' else 'captions'}.run.json"
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
