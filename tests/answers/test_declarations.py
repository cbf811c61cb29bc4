"""Fresh seeds decide what a run left undecided. What no run of this size decides is declared, and only that."""

import dataclasses
import fnmatch
import functools
import importlib
import json
import tomllib
from pathlib import Path

import pytest

from attnlab_theory.answers import declarations, questions, sheet
from attnlab_theory.answers.declarations import Fresh, Undecidable
from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.cli import laws, library
from attnlab_theory.labs.verdicts import MANY
from attnlab_theory.report import record
from tests.answers.test_sheet import committed, text_of

ROOT = Path(__file__).parents[2]
FRESH, DECLARED = declarations.declared()
HEADS = "number-of-heads-stays-within-the-margin"
SIX = Undecidable(
    lab="captions", claim=HEADS, setting="arm=heads-6", seeds=5, decide=6, chance=0.625, why="Nobody has time."
)
RUN = Fresh(lab="captions", name="heads", first=100, seeds=9, options="--arms scratch heads-6", decides=(HEADS,))
RECORD = {"command": RUN.command, "seed": 100, "seeds": 9}
YES, NO, UNKNOWN = Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE


def about_heads(*, six=UNKNOWN, eight=YES, permuted=YES, seeds=5, more=None):
    """Findings of the bonus question, with these verdicts."""
    verdicts = {"heads-1": YES, "heads-6": six, "heads-8": eight, "permuted": permuted}
    return Findings(
        dataclasses.replace(
            f, verdict=verdicts[f.setting["arm"]], draws=seeds, setting={**f.setting, **(more or {})}
        )
        for f in committed("captions")
        if f.claim in (HEADS, "permuted-features-stay-within-the-margin")
    )


def only_six(verdict, **more):
    return Findings(
        f
        for f in about_heads(six=verdict, seeds=9, more=more)
        if f.setting["arm"] == "heads-6" and f.claim == HEADS
    )


def bonus(recorded, fresh=None, declared=(SIX,)):
    (answer,) = sheet.answered(
        questions.chosen("ann-hw3/bonus"), recorded=recorded, fresh=fresh, undecidable=declared
    )
    return answer


def test_what_no_run_of_this_size_decides_is_no_reason_for_exit_code_1():
    answer = bonus(about_heads())
    assert answer.status == "undecidable-here"
    assert sheet.exit_code([answer]) == 0
    shown = " ".join(text_of([answer]).split())
    assert shown.startswith("ann-hw3/bonus undecidable-here")
    assert (
        "arm=heads-6: about 6 training runs would decide with probability 0.62; there are 5. Nobody has time."
        in shown
    )
    told = answer.as_json()
    assert list(told) == ["id", "question", "answer", "evidence", "status", "undecidable"]
    assert told["status"] == "undecidable-here"
    assert told["undecidable"] == [
        {
            "claim": HEADS,
            "setting": {"arm": "heads-6"},
            "runs": 5,
            "runs_that_decide": 6,
            "probability": 0.625,
            "why": "Nobody has time.",
        }
    ]


def test_an_expected_verdict_may_be_undecidable_here_too():
    """INCONCLUSIVE is not as expected of a statement that is no conjecture."""
    found = Findings(dataclasses.replace(f, expect=YES) for f in about_heads())
    answer = bonus(found)
    assert (answer.status, sheet.exit_code([answer])) == ("undecidable-here", 0)
    assert "not as expected" not in text_of([answer])


@pytest.mark.parametrize(
    ("found", "declared"),
    [
        (about_heads(), ()),
        (about_heads(eight=UNKNOWN), (SIX,)),
        (about_heads(permuted=NO), (SIX,)),
        (about_heads(permuted=UNKNOWN), (SIX,)),
        (about_heads(seeds=6), (SIX,)),
        (Findings(f for f in about_heads() if f.setting["arm"] != "heads-8"), (SIX,)),
        (Findings(f for f in about_heads() if f.claim == HEADS), (SIX,)),
        (about_heads(), (dataclasses.replace(SIX, lab="reviews"),)),
        (about_heads(), (dataclasses.replace(SIX, setting="arm=heads-8"),)),
    ],
    ids=[
        "nothing is declared",
        "another setting is undecided",
        "another finding contradicts",
        "another finding is undecided",
        "the run is larger",
        "a setting is not judged",
        "a finding is not judged",
        "of another lab",
        "of another setting",
    ],
)
def test_all_else_stays_open(found, declared):
    answer = bonus(found, declared=declared)
    assert answer.status == "open"
    assert sheet.exit_code([answer]) == 1
    assert "undecidable" not in answer.as_json()


@pytest.mark.parametrize("verdicts", [{"six": NO}, {"six": UNKNOWN, "eight": NO}], ids=str)
def test_a_contradiction_cannot_be_declared_away(verdicts):
    found = Findings(dataclasses.replace(f, expect=YES) for f in about_heads(**verdicts))
    answer = bonus(found)
    assert answer.contradicted
    assert (answer.status, sheet.exit_code([answer])) == ("open", 1)


def test_a_declaration_says_nothing_of_what_is_decided():
    assert bonus(about_heads(six=YES)).status == "supported"


def test_fresh_seeds_decide_and_the_earlier_verdict_stays_visible():
    answer = bonus(about_heads(), only_six(YES), declared=())
    assert answer.status == "supported"
    assert "before, with 5 seeds: INCONCLUSIVE" in text_of([answer])
    heads = answer.as_json()["evidence"][0]
    assert heads == {"name": HEADS, "kind": "finding", "verdict": "SUPPORTED", "earlier": ["INCONCLUSIVE"]}
    assert "earlier" not in answer.as_json()["evidence"][1]


def test_the_answer_quotes_the_number_of_fresh_seeds():
    moved = Findings(dataclasses.replace(f, measured=f.predicted) for f in only_six(YES))
    assert sheet.measured_text(moved[0].predicted) in bonus(about_heads(), moved).answer


def test_fresh_seeds_decide_where_the_setting_tells_of_more():
    """The chosen rate of an optimizer is in the setting, and fresh seeds may choose another."""
    answer = bonus(about_heads(more={"rate": 1}), only_six(YES, rate=2), declared=())
    assert answer.status == "supported"


def test_fresh_seeds_decide_what_an_answer_rests_on_without_quoting_it():
    entry = dataclasses.replace(questions.chosen("ann-hw3/bonus")[0], answer="Little.", findings=(HEADS,))
    told = {"recorded": about_heads(), "undecidable": ()}
    for fresh, status in ((None, "open"), (only_six(UNKNOWN), "open"), (only_six(YES), "supported")):
        (answer,) = sheet.answered([entry], fresh=fresh, **told)
        assert answer.status == status


@pytest.mark.parametrize(
    ("before", "fresh"), [(UNKNOWN, UNKNOWN), (YES, UNKNOWN), (UNKNOWN, NO), (NO, YES)], ids=str
)
def test_fresh_seeds_cannot_hide_what_is_undecided_or_contradicts(before, fresh):
    first, later = (
        Findings(dataclasses.replace(f, expect=YES) for f in each)
        for each in (about_heads(six=before), only_six(fresh))
    )
    answer = bonus(first, later)
    assert (answer.status, sheet.exit_code([answer])) == ("open", 1)
    assert answer.contradicted == (NO in (before, fresh))


def test_what_fresh_seeds_leave_undecided_may_be_declared():
    nine = dataclasses.replace(SIX, seeds=9, decide=40)
    assert bonus(about_heads(), only_six(UNKNOWN), declared=(nine,)).status == "undecidable-here"


def test_only_the_declared_statements_of_a_fresh_run_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(library, "trained", lambda lab: tmp_path / "figures" / lab)
    assert laws._fresh(None, [RUN]) == ()
    folder = tmp_path / "figures" / "captions" / "fresh" / "heads"
    folder.mkdir(parents=True)
    (folder / "captions.json").write_text(record.to_text([record.as_json(f) for f in about_heads()]))
    assert {f.claim for f in laws._fresh(None, [RUN])} == {HEADS}
    # Who quotes a run of their own gets that run.
    assert laws._fresh(tmp_path, [RUN]) == ()
    (tmp_path / "lab" / "captions").mkdir(parents=True)
    (tmp_path / "lab" / "captions" / "captions.json").write_text("[]")
    assert laws._fresh(None, [RUN]) == ()


@pytest.mark.parametrize(
    "change", [{"seeds": 10}, {"seed": 101}, {"command": RUN.command + " --seeds 10"}], ids=str
)
def test_a_run_other_than_the_declared_one_is_refused(change):
    RUN.refuse_other({**RECORD, "command": RUN.command + " --resume"})
    with pytest.raises(ValueError, match="the run heads is declared as `attnlab captions run --seed 100 --seeds 9"):
        RUN.refuse_other({**RECORD, **change})


def test_seeds_that_have_been_looked_at_are_refused():
    RUN.refuse_seen({"seed": 95, "seeds": 5})
    with pytest.raises(ValueError, match="the committed run has seed 108"):
        RUN.refuse_seen({"seed": 108, "seeds": 5})


def test_two_runs_that_decide_one_statement_are_refused():
    with pytest.raises(ValueError, match=f"heads and again both decide {HEADS}"):
        declarations.refuse_two([RUN, dataclasses.replace(RUN, name="again")])


def test_a_declaration_has_one_number():
    with pytest.raises(ValueError, match=f"{HEADS} at arm=heads-6 needs one of decide and more_than"):
        dataclasses.replace(SIX, more_than=100)
    with pytest.raises(ValueError, match="needs chance beside decide, and only there"):
        dataclasses.replace(SIX, chance=None)
    many = dataclasses.replace(SIX, decide=None, chance=None, more_than=100)
    assert many.runs == "more than 100"
    assert "more than 100 training runs would decide; " in " ".join(
        text_of([bonus(about_heads(), None, (many,))]).split()
    )


def about(lab, folder=""):
    return json.loads((ROOT / "figures" / lab / folder / f"{lab}.run.json").read_text("utf-8"))


def test_declarations_are_about_statements_on_training(subtests):
    labs = library.labs()
    for each in (*FRESH, *DECLARED):
        for claim in getattr(each, "decides", None) or (each.claim,):
            with subtests.test(claim):
                stated = [s for s in labs[each.lab].statements if s.name == claim]
                assert stated
                assert all(s.of_training for s in stated)


def test_each_committed_run_of_fresh_seeds_is_the_declared_one(subtests):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "figures" in wheel["only-include"]
    assert wheel["sources"]["figures"] == "attnlab_theory/figures"
    for run in FRESH:
        with subtests.test(run.name):
            run.refuse_seen(about(run.lab))
            folder = Path("figures") / run.lab / "fresh" / run.name
            if (ROOT / folder).exists():
                run.refuse_other(about(run.lab, f"fresh/{run.name}"))
                assert not any(fnmatch.fnmatch(f"{run.lab}.json", left_out) for left_out in wheel["exclude"])
    made = {path.parent.name for path in ROOT.glob("figures/*/fresh/*/*.run.json")}
    assert made <= {run.name for run in FRESH}


def deciding(declared):
    """The folder of the run that decides a statement: that of fresh seeds, if somebody has made it."""
    for run in FRESH:
        if (run.lab, True) == (declared.lab, declared.claim in run.decides):
            folder = ROOT / "figures" / run.lab / "fresh" / run.name
            if folder.exists():
                return folder
    return ROOT / "figures" / declared.lab


@functools.cache
def judged_again(lab, folder):
    """The verdicts of a committed run. One run is judged once."""
    return importlib.import_module(f"attnlab_theory.labs.{lab}.measure").again(folder).verdicts


@pytest.mark.parametrize("declared", DECLARED, ids=lambda each: f"{each.claim} {each.setting}")
def test_what_is_declared_undecidable_is_undecided_and_takes_that_many_runs(declared):
    """About a second: the committed run is judged again, from its numbers."""
    wanted = questions.setting_of(declared.setting).items()
    found = [
        each
        for each in judged_again(declared.lab, deciding(declared)).undecided
        if each.claim == declared.claim and wanted <= each.setting.items()
    ]
    assert found, "it is decided by now: remove the declaration"
    assert {each.runs for each in found} == {declared.seeds}
    assert {each.decide for each in found} == {declared.decide}
    assert {None if each.chance is None else round(each.chance, 2) for each in found} == {declared.chance}
    assert declared.more_than in (None, MANY)
