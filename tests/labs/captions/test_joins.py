"""Runs that are joined give what one run of all their models gives, or are refused."""

import json

import pytest

from attnlab_theory.cli import main
from attnlab_theory.labs.captions import measure, models, sweep
from attnlab_theory.labs.captions.models import Summary
from attnlab_theory.labs.captions.scores import Scores
from attnlab_theory.labs.captions.sweep import Row
from attnlab_theory.labs.engine.record import Results
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.report import record

REAL = [("a", "cat", "runs"), ("a", "dog", "sits"), ("the", "cat", "sits")]
RUN = {"question": "?", "preset": "tiny", "decodings": ["random"], "count": 3, "generations": 1, "seeds": 1}
ABOUT = "captions.run.json"


def summary(arm, seed):
    numbers = {"perplexity of sentences": 9.0 + seed / 7, "perplexity of tokens": 8.0 - seed / 3}
    numbers |= {"test loss": 2.0 + seed / 9 - 0.3 * (arm != "scratch"), "best epoch": 4.0 + seed}
    return Summary(arm=arm, seed=seed, numbers=numbers)


def row(arm, seed):
    shares = {"commonest_opening": 0.1, "openings": 3, "distinct": 0.9, "repeating": 0.0}
    scores = Scores(forward=0.5 + seed / 100, backward=0.4 + 0.01 * (arm != "scratch"), **shares)
    return Row(arm=arm, seed=seed, decoding="random", generation=0, scores=scores)


def written(folder, pairs, *, real=REAL, **about):
    """The JSON files of a run of these arms and seeds, without figures."""
    known, rows = [summary(*pair) for pair in pairs], [row(*pair) for pair in pairs]
    estimates = Estimates((*models.compare(known), *sweep.compare(rows), *sweep.about_real(real)))
    tables = {
        "sweep": [each.as_json() for each in rows],
        "models": [each.as_json() for each in known],
        "curves": [{"arm": arm, "seed": seed, "epoch": 1, "loss": 2.0, "training": 2.0} for arm, seed in pairs],
    }
    folder.mkdir()
    Results(estimates=estimates, verdicts=measure.verdicts(estimates), tables=tables).write("captions", folder)
    (folder / ABOUT).write_text(record.to_text({**RUN, **about}))
    return folder


def joined(capsys, *arguments):
    code = main(["captions", "join", *map(str, arguments)])
    return code, capsys.readouterr()


def test_seeds_and_arms_that_were_trained_apart_are_compared_as_if_together(capsys, monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr("attnlab_theory.labs.engine.record.draw", lambda figures, _: drawn.append({*figures}))
    both = [("scratch", 0), ("shuffled", 0)]
    first = written(tmp_path / "first", both)
    second = written(tmp_path / "second", [("scratch", 1)])
    third = written(tmp_path / "third", [("shuffled", 1)])
    whole = written(tmp_path / "whole", [*both, ("scratch", 1), ("shuffled", 1)])
    assert joined(capsys, third, first, second, "--out", tmp_path / "out")[0] == 0
    for name in ("captions", "estimates", "models", "sweep"):
        same = [json.loads((folder / f"{name}.json").read_text()) for folder in (tmp_path / "out", whole)]
        one, other = (sorted(rows, key=json.dumps) for rows in same)
        assert one == other, name
    about = json.loads((tmp_path / "out" / ABOUT).read_text())
    assert [run["seeds"] for run in about["runs"]] == [1] * 3
    assert drawn[-1] == {"quality_and_diversity", "openings", "perplexities", "heads", "validation"}


def test_a_number_that_one_model_lacks_is_left_out(tmp_path):
    known = [summary("scratch", 0), summary("scratch", 1)]
    less = Summary(arm="scratch", seed=2, numbers={"test loss": 2.0})
    assert len(models.compare(known).of("best epoch")) == 1
    kept = models.compare([*known, less])
    assert kept.of("test loss")[0].draws == 3
    with pytest.raises(KeyError):
        kept.of("best epoch")


def test_what_is_left_out_is_told(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("attnlab_theory.labs.engine.record.draw", lambda *_: None)
    first, second = (written(tmp_path / str(seed), [("scratch", seed)]) for seed in (0, 1))
    known = json.loads((second / "models.json").read_text())
    del known[0]["best epoch"]
    (second / "models.json").write_text(json.dumps(known))
    code, said = joined(capsys, first, second, "--out", tmp_path / "out")
    assert code == 0
    assert said.err == "scratch: only 1 of 2 runs has the best epoch, which is left out\n"


@pytest.mark.parametrize(
    ("told", "about", "real"),
    [
        ("both hold the model scratch of seed 0", {}, REAL),
        ("runs that differ in their preset cannot be joined: tiny in", {"preset": "homework"}, REAL),
        ("have other test sentences", {}, REAL[:2]),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(capsys, tmp_path, told, about, real):
    one = written(tmp_path / "one", [("scratch", 0)])
    other = written(tmp_path / "other", [("scratch", 0)], real=real, **about)
    code, (out, err) = joined(capsys, one, other, "--out", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert not (tmp_path / "out").exists()


def test_folders_without_a_run_are_refused(capsys, tmp_path):
    one = written(tmp_path / "one", [("scratch", 0)])
    for arguments, told in (
        ([one], "at least two folders"),
        ([one, one], "named twice"),
        ([one, tmp_path / "other", "--out", tmp_path / "other" / ".." / "one"], "named twice"),
        ([one, tmp_path / "none"], "is missing: name a folder that a run of the lab wrote"),
    ):
        code, (_, err) = joined(capsys, *arguments)
        assert (code, err.count("\n")) == (2, 1)
        assert told in err
    (one / "models.json").write_text("[{}]")
    code, (_, err) = joined(capsys, one, written(tmp_path / "other", [("scratch", 1)]))
    assert code == 2
    assert "models.json is damaged" in err


@pytest.mark.usefixtures("unpainted")
def test_curves_that_cannot_be_drawn_are_refused_in_one_line(capsys, tmp_path):
    one, other = (written(tmp_path / str(seed), [("scratch", seed)]) for seed in (0, 1))
    (other / "curves.json").write_text('[{"arm": "scratch", "seed": 1, "epoch": 1, "loss": "low"}, 3]')
    code, (out, err) = joined(capsys, one, other, "--out", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{one}, {other} hold numbers that cannot be joined" in err
    code = main(["captions", "draw", str(other)])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{other} holds numbers that cannot be drawn" in err
