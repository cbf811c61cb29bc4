"""A finished run that is judged again gives the bytes of the run itself, and says who judged it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.labs import verdicts
from attnlab_theory.labs.engine.record import OLDER, renewed, stored
from attnlab_theory.labs.estimates import OVER_SEEDS, Estimates, over_seeds
from attnlab_theory.labs.mixers import measure
from attnlab_theory.labs.mixers.routing import NEXT, Routed
from attnlab_theory.report import provenance, record, style
from attnlab_theory.stats import Interval
from tests.labs.titles import titled

KNOWLEDGE = (
    *("knowledge", "run", "--seeds", "3", "--variants", "none", "vanilla", "--layers", "1", "--heads", "1"),
    *("--width", "8", "--epochs", "2", "--finetuned", "4", "--held-out", "4", "--never-seen", "4", "--places", "2"),
)
CAPTIONS = (
    *("captions", "run", "--seeds", "3", "--arms", "scratch", "permuted", "--count", "20", "--generations", "1"),
    *("--epochs", "1", "--layers", "1", "--block-size", "40", "--decodings", "random", "top_p0.9"),
)
MIXERS = ("mixers", "run", "--seeds", "3", "--arms", "separate", "additive", "zero-after", "--processes", "1")
RECURRENT = ("recurrent", "run", "--seeds", "3", "--parts", "equal", "--epochs", "1", "--processes", "1")
REVIEWS = (
    *("reviews", "run", "--layers", "1", "--heads", "1", "--width", "8", "--epochs", "1", "--seeds", "3"),
    *("--train-reviews", "64", "--test-reviews", "64", "--optimizers", "adamw", "--orders", "shuffled"),
    *("--no-sweep", "--trials", "0", "--processes", "1"),
)
LINES = ["the cat sat on the mat and saw a big dog go home", "a dog saw the cat on the mat", "a cat sat down"]


@pytest.fixture(scope="module", params=[KNOWLEDGE, CAPTIONS, MIXERS, RECURRENT, REVIEWS], ids=lambda p: p[0])
def run(request, tmp_path_factory):
    """The name of a lab, and the folder of a small run of it with three seeds."""
    lab, folder = request.param[0], tmp_path_factory.mktemp("run")
    texts = tmp_path_factory.mktemp("texts")
    for name in ("train", "validation", "test"):
        (texts / name).write_text("\n".join(LINES * 8))
    files = {"mixers": ("train", "validation", "test"), "recurrent": ("train", "test")}.get(lab, ())
    given = [part for name in files for part in (f"--{name}", str(texts / name))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "save", titled)
        patch.setattr(provenance, "commit", lambda: "of-training")
        patch.setattr(measure, "routed", lambda seed, **_: Routed(np.eye(3)[NEXT] * (0.4 + 0.01 * seed)))
        main([*request.param, *given, "--out", str(folder)])
    return lab, folder


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def judged(run, tmp_path, monkeypatch):
    """The lab, a copy of the run, and its files after it was judged again, by another commit."""
    lab, folder = run
    shutil.copytree(folder, tmp_path / "run", ignore=shutil.ignore_patterns("models"))
    monkeypatch.setattr(style, "save", titled)
    monkeypatch.setattr(provenance, "commit", lambda: "of-judging")
    before = files_of(tmp_path / "run")
    code = main([lab, "judge", str(tmp_path / "run")])
    return lab, code, before, files_of(tmp_path / "run")


@pytest.mark.slow("one lab of five stays inside", but=("knowledge",))
def test_a_run_that_is_judged_again_has_the_same_bytes(judged):
    """Trains the arms of a lab with three seeds."""
    lab, _, before, after = judged
    record_of_run = Path(f"{lab}.run.json")
    told, about = (json.loads(files.pop(record_of_run)) for files in (before, after))
    assert after == before
    by = about.pop("judged")
    assert about == told
    assert (about["commit"], by["commit"]) == ("of-training", "of-judging")
    assert set(by) == {"commit", "versions", "command"}
    assert about["verdicts"]["family"] + len(about["not_judged"]) > 0


@pytest.mark.slow("one lab of five stays inside", but=("knowledge",))
def test_the_exit_code_is_that_of_the_findings(judged):
    """Judges a small run of every lab again."""
    lab, code, _, after = judged
    found = json.loads(after[Path(f"{lab}.json")])
    assert code == int(any(f["expect"] not in (None, f["verdict"]) for f in found))


@pytest.mark.slow("one lab of five stays inside", but=("knowledge",))
def test_findings_of_a_run_share_one_error_rate(judged):
    """Judges a small run of every lab again."""
    lab, _, _, after = judged
    about, found = (json.loads(after[Path(f"{lab}{end}.json")]) for end in (".run", ""))
    over_runs = [f for f in found if f["bound"].endswith(OVER_SEEDS.assumption)]
    assert len(over_runs) <= about["verdicts"]["family"]
    assert {f["error_rate"] for f in over_runs} <= {about["verdicts"]["error_rate_of_each"]}
    apart = {each["error_rate"]: each["verdicts"] for each in about["verdicts"]["apart"]}
    rest = [f["error_rate"] for f in found if f not in over_runs]
    assert {rate: rest.count(rate) for rate in rest} == apart


@pytest.mark.slow("one lab of five stays inside", but=("knowledge",))
def test_a_verdict_that_was_written_into_the_folder_is_not_believed(run, tmp_path, monkeypatch):
    """Judges a small run of every lab again."""
    lab, folder = run
    shutil.copytree(folder, tmp_path / "run", ignore=shutil.ignore_patterns("models"))
    path = tmp_path / "run" / f"{lab}.json"
    before = path.read_bytes()
    path.write_text("[]")
    monkeypatch.setattr(style, "save", titled)
    main([lab, "judge", str(tmp_path / "run")])
    assert path.read_bytes() == before


@pytest.mark.parametrize("lab", ["knowledge", "captions", "mixers", "recurrent", "reviews"])
@pytest.mark.parametrize("missing", ["estimates.json", "{}.run.json"])
def test_a_folder_that_lacks_something_is_refused_in_one_line(lab, missing, tmp_path, capsys):
    for name in {"estimates.json", "{}.run.json"} - {missing}:
        (tmp_path / name.format(lab)).write_text("{}")
    assert main([lab, "judge", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    name = missing.format(lab)
    assert (out, err) == ("", f"attnlab: {tmp_path} has no {name}: name a folder that `attnlab {lab} run` wrote\n")


@pytest.mark.parametrize(("lab", "name"), [("knowledge", "answers.json"), ("captions", "sweep.json")])
def test_what_verdicts_rest_on_must_be_there(lab, name, tmp_path, capsys):
    (tmp_path / "estimates.json").write_text("[]")
    (tmp_path / f"{lab}.run.json").write_text('{"preset": "tiny"}')
    assert main([lab, "judge", str(tmp_path)]) == 2
    _, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert f"{name} is missing" in err


def test_a_damaged_file_is_refused_in_one_line(tmp_path, capsys):
    (tmp_path / "recurrent.run.json").write_text("{}")
    (tmp_path / "estimates.json").write_text('[{"quantity": "test loss"}]')
    assert main(["recurrent", "judge", str(tmp_path)]) == 2
    _, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "estimates.json is damaged" in err


def test_intervals_of_older_files_are_called_what_they_are(tmp_path):
    estimate = over_seeds("test loss", [1.0, 2.0, 2.5], 0.05, within=Interval(0.0, 9.0))
    (tmp_path / "estimates.json").write_text(record.to_text([{**estimate.as_json(), "bound": OLDER}]))
    (read,) = stored(tmp_path)
    assert (read.bound, read.runs) == (estimate.bound, 3)
    assert "accuracies" not in read.bound


def test_numbers_are_renewed_where_they_stand():
    one, two, three = (over_seeds("loss", [x, x + 1.0], 0.05, within=Interval(0.0, 9.0), arm=x) for x in (1, 2, 3))
    again = over_seeds("loss", [4.0, 5.0], 0.05, within=Interval(0.0, 9.0), arm=1)
    assert renewed(Estimates((one, two)), Estimates((three, again))) == (again, two, three)


@pytest.mark.slow("one lab of five stays inside", but=("knowledge",))
def test_json_is_one_value_with_what_is_not_judged(judged, capsys, tmp_path, monkeypatch):
    """Judges a small run of every lab again, twice."""
    lab, code, *_ = judged
    monkeypatch.setattr(style, "save", titled)
    capsys.readouterr()
    assert main([lab, "judge", str(tmp_path / "run"), "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["findings", "estimates", "run"]
    assert set(told["run"]) >= {"verdicts", "not_judged", "judged"}
    assert told["run"]["verdicts"]["error_rate_of_the_family"] == verdicts.ERROR_RATE
