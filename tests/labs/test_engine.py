"""The engine of the labs, seen with a toy: it runs, resumes, is extended by seeds, stops, judges and reports."""

import dataclasses
import functools
import json
import math
import shutil
import signal

import pytest

from attnlab_theory import exits
from attnlab_theory.claims import Instead, Statement
from attnlab_theory.labs.engine import record
from attnlab_theory.labs.engine.lab import Lab, Stage, each_once
from attnlab_theory.labs.engine.run import JudgeLab, RunLab
from attnlab_theory.labs.estimates import Estimates, over_seeds
from attnlab_theory.labs.next_token import next_token
from attnlab_theory.labs.perplexity import losses
from attnlab_theory.labs.progress import Progress
from attnlab_theory.labs.recipes import Recipe, Size
from attnlab_theory.labs.sentences import Material, encoded
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.text.words import Words
from attnlab_theory.report import provenance
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

SENTENCES = ("a cat runs", "a dog runs", "the dog sits", "the cat sits")
WORDS = Words(("a", "cat", "dog", "runs", "sits", "the"))
TEXT = Material(train=SENTENCES, validation=(), test=SENTENCES, text=WORDS)

# The lab begins here.

LEARNS = Statement(
    name="toys-learn",
    statement="After training the loss is below 1.5 nats.",
    source="nobody",
    quantity="loss",
    predicted=Interval.at_most(1.5),
    control=Instead("a uniform guess", Interval.point(math.log(len(WORDS)))),
)
judged = functools.partial(record.judged, "toy", [LEARNS])


class Toys(Lab):
    def stages(self, arm, seed):
        size = Size(layers=1, heads=1, width=2 * len(arm), block=4)
        config = GPTConfig(vocabulary=len(WORDS), **size.model)
        recipe = Recipe(epochs=8, batch=2, rate=0.05, rows=2, seed=seed)
        told = {"block": 4, "origin": {"stage": "train", "variant": arm}, "stops_early": False}
        run = next_token(TEXT, lambda: GPT(config, key=key_for(seed)), config, recipe, **told)
        yield Stage(run, self.path(arm, seed))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(RunLab):
    name, question = "toy", "Does a toy learn?"
    arms: tuple[str, ...] = ("narrow", "wide")

    def lab(self):
        return Toys(**self.every_lab())

    def results(self, lab):
        test = encoded(SENTENCES, WORDS, 4)
        lost = {a: [losses(lab.saved(a, seed).model, test).per_token for seed in lab.seeds] for a in lab.arms}
        return judged(Estimates(over_seeds("loss", values, arm=arm) for arm, values in lost.items()))


class Judge(JudgeLab):
    name = "toy"

    def again(self):
        return judged(record.stored(self.folder))


# And here it ends.


@pytest.fixture(scope="module", autouse=True)
def _commit():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "commit", lambda: "of-the-test")
        yield


def run(folder, **options):
    return exits.exit_code(Run(out=folder, processes=1, **options).run)


def files_of(folder):
    """The bytes of a run by name, and of its record all that depends neither on the clock nor on the command."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    about = json.loads(found.pop("toy.run.json"))
    assert about.pop("seconds") >= 0
    del about["command"]
    return {name: data for name, data in found.items() if not name.endswith(".lock")}, about


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a run with three seeds."""
    folder = tmp_path_factory.mktemp("done")
    assert run(folder, seeds=3) == 0
    return folder


@pytest.mark.slow("two labs of five, judged again, stay inside")
def test_a_run_leaves_models_numbers_findings_and_its_record(done, capsys):
    """Trains six models: two arms with three seeds."""
    found, about = files_of(done)
    models = {f"models/seed-{seed}/{arm}" for seed in range(3) for arm in ("narrow", "wide")}
    assert set(found) == {"toy.json", "estimates.json", "README.md", *models}
    claims = [(each["claim"], each["setting"], each["verdict"]) for each in json.loads(found["toy.json"])]
    assert claims == [("toys-learn", {"arm": arm}, "SUPPORTED") for arm in ("narrow", "wide")]
    assert list(about)[:4] == ["question", "seed", "seeds", "arms"]
    assert about["verdicts"]["family"] == 2


@pytest.mark.slow("seeds that were trained apart and are joined stay inside")
def test_a_run_that_is_extended_by_seeds_is_one_from_the_beginning(done, tmp_path, capsys):
    """Trains six toys, and compiles steps for both of their sizes."""
    assert run(tmp_path, seeds=2) == 0
    found, about = files_of(tmp_path)
    assert (json.loads(found["toy.json"]), len(about["not_judged"])) == ([], 2)
    assert run(tmp_path, seeds=3, resume=True) == 0
    assert files_of(tmp_path) == files_of(done)
    assert capsys.readouterr().err.count("takes 16 steps") == 6, "every model is trained once"


@pytest.mark.slow("a single training that is closed and goes on stays inside")
def test_a_run_that_ctrl_c_stops_goes_on_to_the_same_bytes(done, tmp_path, capsys, monkeypatch):
    """Trains the six models of a run, which is stopped three times."""
    advance, presses = Progress.advance, iter((3, 20, 7))
    left = [next(presses)]

    def press(progress, metrics):
        advance(progress, metrics)
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "advance", press)
    assert run(tmp_path, seeds=3) == 130
    for left[0] in presses:
        assert run(tmp_path, seeds=3, resume=True) == 130
        capsys.readouterr()
        assert run(tmp_path, seeds=3) == 2
        said = capsys.readouterr().err
        assert "partial is left of a stopped run: go on with --resume" in said
        assert said.count("\n") == 1, "it is said before anything is trained"
    assert not (tmp_path / "toy.run.json").exists()
    assert run(tmp_path, seeds=3, resume=True) == 0
    assert files_of(tmp_path) == files_of(done)


@pytest.mark.slow("two labs of five, judged again, stay inside")
def test_a_run_that_is_judged_again_says_so_and_a_moved_number_falls(done, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(done, folder)
    assert exits.exit_code(Judge(folder=folder).run) == 0
    found, about = files_of(folder)
    assert about.pop("judged")["commit"] == "of-the-test"
    assert (found, about) == files_of(done)
    rows = json.loads((folder / "estimates.json").read_text())
    rows[0] = {**rows[0], "values": [1.6, 1.61, 1.62], "value": 1.61, "interval": [1.6, 1.62]}
    (folder / "estimates.json").write_text(json.dumps(rows))
    assert exits.exit_code(Judge(folder=folder).run) == 1
    fallen, kept = json.loads((folder / "toy.json").read_text())
    assert (fallen["verdict"], kept["verdict"]) == ("REFUTED", "SUPPORTED")


@pytest.mark.slow("of two labs, verdicts that share an error rate stay inside")
def test_a_run_reports_its_verdicts_or_one_json_value(done, tmp_path, capsys):
    """Measures six trained models twice."""
    folder = tmp_path / "run"
    shutil.copytree(done, folder)
    capsys.readouterr()
    assert run(folder, seeds=3, resume=True) == 0
    said = capsys.readouterr().out
    (row,) = [line.split() for line in said.splitlines() if line.strip().startswith("toys-learn ")]
    assert (row[0], row[1], row[-1]) == ("toys-learn", "2", "SUPPORTED")
    assert (
        "2 numbers about training decide, those of controls included. They share an error rate of 0.05"
        in " ".join(said.split())
    )
    assert "Figures and data:" in said
    assert run(folder, seeds=3, resume=True, json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert [len(told["findings"]), len(told["estimates"]), told["run"]["seeds"]] == [2, 2, 3]


def test_what_is_compared_is_named_once():
    with pytest.raises(ValueError, match="a run needs at least one arm"):
        each_once("arm", [])
    with pytest.raises(ValueError, match="arm wide is named twice; once is enough"):
        each_once("arm", ["wide", "narrow", "wide"])
