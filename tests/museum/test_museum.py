"""No bug survives, every identity has a bug planted under it that it kills, and right code is left alone."""

import collections
import contextlib
import dataclasses
import json
import re
import signal
import time
import types

import numpy as np
import pytest

from attnlab_theory import interrupts
from attnlab_theory.claims import CLAIMS, Claim, Verdict, check
from attnlab_theory.cli import main
from attnlab_theory.identities import IDENTITIES
from attnlab_theory.museum import BUGS, FOLKLORE, catalogue, exhibit, kill_matrix, survivors, trial
from attnlab_theory.museum.bugs import weights
from attnlab_theory.museum.bugs.samples import FAIR
from attnlab_theory.museum.trial import ERROR_RATE, MAX_DRAWS, evidence_of, idle_families
from attnlab_theory.seeds import key_for
from tests.tolerances import attention_atol


def few_checks():
    """Every bug with its first check, and every family under the first two bugs that are planted in it."""
    shown, bugs = collections.Counter(), []
    for bug in BUGS:
        by_column = {column(check_): check_ for check_ in reversed(bug.checks)}
        kept = tuple(c for name, c in by_column.items() if c is bug.checks[0] or shown[name] < 2)
        shown.update(map(column, kept))
        bugs.append(dataclasses.replace(bug, checks=kept))
    return bugs


def column(check_):
    return check_.name if isinstance(check_, Claim) else check_.family


@pytest.fixture(scope="module")
def matrix():
    """Every bug under its first check."""
    return kill_matrix((dataclasses.replace(bug, checks=bug.checks[:1]) for bug in BUGS), cases=4)


@pytest.mark.slow("one bug under all of its checks stays inside")
def test_no_bug_survives(matrix):
    """Plants every bug, and runs checks that must kill it."""
    assert survivors(matrix) == []
    assert len(catalogue.cells(matrix)) == len(BUGS)


@pytest.mark.slow("every bug falls to its first check")
def test_every_family_and_every_claim_kills():
    """Enough for every family and every claim; `attnlab museum --budget full` tries all that is planted."""
    matrix = kill_matrix(few_checks(), cases=4)
    assert survivors(matrix) == []
    assert idle_families(matrix) == []
    assert {identity.family for identity in IDENTITIES} <= {e.column for e in matrix if e.caught}


def test_every_identity_has_a_bug_planted_under_it():
    planted = {check_.name for bug in BUGS for check_ in bug.checks}
    # An exhibit is a bug already: its subject violates it.
    assert {identity.name for identity in IDENTITIES if not identity.broken} <= planted


def test_bugs_are_planted_where_the_right_code_is_tried():
    known = {identity.name for identity in IDENTITIES} | {claim.name for claim in CLAIMS} | {FAIR.name}
    new = {check_.name for bug in BUGS for check_ in bug.checks} - known
    # A mixer that the identities do not try on their own.
    assert new <= {"causal/Linformer under a mask"}


def test_a_bug_is_a_few_lines_with_a_place_where_it_happened(subtests):
    for bug in BUGS:
        with subtests.test(bug.name):
            assert 1 < len(bug.source.splitlines()) <= 45
            link = r"https://(github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+|arxiv\.org/abs/\d+\.\d+)"
            assert bug.where.startswith(FOLKLORE) or re.search(link, bug.where)
            assert bug.story.endswith(".")


def test_names_are_unique():
    assert len({bug.name for bug in BUGS}) == len(BUGS)


def test_right_sampling_is_supported_by_the_claim_that_refutes_the_bug():
    found = check(FAIR, key=key_for(1, FAIR.name), error_rate=ERROR_RATE, max_draws=MAX_DRAWS)
    assert {finding.verdict for finding in found} == {Verdict.SUPPORTED}


def test_an_unplanted_check_does_not_catch(matrix):
    """A bug under a check that holds anyway survives, and is said to."""
    right = next(identity for identity in IDENTITIES if identity.name == "kept-lengths/half")
    found = evidence_of(dataclasses.replace(BUGS[0], checks=(right,)), cases=2)
    assert survivors(found) == [BUGS[0].name]
    assert idle_families(found) == ["kept-lengths"]
    assert catalogue.exit_code(found) == 1
    assert "bugs are caught" not in catalogue.legend(found, everywhere=True)
    assert catalogue.exit_code(matrix) == 0


def test_the_legend_says_of_an_idle_check_only_what_was_seen():
    def evidence(check, family, *, caught):
        return trial.Evidence(
            bug="b", check=check, column=family, statement="", source="", caught=caught, observed=0.0,
            allowed=0.0, deviation=0.0, margin=0.0, cases=1, says="",
        )  # fmt: skip

    idle, busy = evidence("lone/one", "lone", caught=False), evidence("pair/one", "pair", caught=True)
    sibling = evidence("pair/two", "pair", caught=False)
    said = catalogue.legend([idle, busy], everywhere=True)
    assert "Caught nothing: lone." in said
    assert not re.search("others of their family|So do all|--budget full", said)
    said = catalogue.legend([busy, sibling], everywhere=False)
    assert (
        "Of 2 identities and claims tried, these caught nothing, though others of their family did: pair/two."
        in said
    )
    assert "--budget full" in said
    said = catalogue.legend([busy], everywhere=False)
    assert "The one bug is caught.\nThe one check catches something." in said
    assert "So does the one identity or claim of theirs." in said
    said = catalogue.legend([busy, dataclasses.replace(busy, bug="c", check="pair/two")], everywhere=False)
    assert "All 2 bugs are caught.\nThe one check catches something." in said
    assert "So do all 2 identities and claims of theirs." in said


def test_the_museum_says_what_each_bug_is_and_writes_only_when_told(capsys, tmp_path, monkeypatch, matrix):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("attnlab_theory.museum.kill_matrix", lambda *bugs, **how: matrix)
    assert main(["museum"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert all(f"{bug.name}: {' '.join(bug.story.split())}" in out for bug in BUGS)
    assert main(["museum", BUGS[0].name]) == 0
    assert [*tmp_path.iterdir()] == []
    assert main(["museum", "--out", "pictures"]) == 0
    assert "pictures/kill_matrix.svg" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"kill_matrix.svg", "kill_matrix.png"}


def test_each_bug_by_its_name_has_its_story_its_place_and_its_lines_and_json_writes_nothing(
    capsys, tmp_path, monkeypatch, matrix
):
    monkeypatch.chdir(tmp_path)
    for bug in BUGS:
        told = catalogue.bug_text(bug, [each for each in matrix if each.bug == bug.name]).split("\n\n")
        assert told[:3] == [bug.name, bug.story, f"Where: {bug.where}"]
        assert "\n\n".join(told[3:-1]).split() == bug.source.split()
        assert told[-1].startswith("  ● ")
    one = [each for each in matrix if each.bug == BUGS[1].name]
    monkeypatch.setattr("attnlab_theory.museum.kill_matrix", lambda *bugs, **how: one)
    assert main(["museum", BUGS[1].name]) == 0
    assert capsys.readouterr().out.startswith(f"{BUGS[1].name}\n\n{BUGS[1].story}\n\nWhere: ")
    assert main(["museum", "--json"]) == 0
    assert {each["name"] for each in json.loads(capsys.readouterr().out)["bugs"]} == {bug.name for bug in BUGS}
    assert [*tmp_path.iterdir()] == []


def test_the_picture_of_the_forgotten_scale_is_drawn_by_the_bug(monkeypatch):
    rounding = attention_atol(exhibit.WIDTH, exhibit.LENGTH, peak_score=30.0, peak_value=1.0)
    shown = weights.UNSCALED.exhibit()
    assert abs(shown.right - shown.wrong).max() > rounding
    monkeypatch.setattr(weights, "scale_is_forgotten", lambda right: right)
    mended = weights.UNSCALED.exhibit()
    assert abs(mended.right - mended.wrong).max() <= rounding


@pytest.mark.slow("one bug in full stays inside")
def test_every_picture_has_numbers_that_the_bug_changes(subtests):
    """Computes what each picture shows, a fifth of a second each."""
    for bug in BUGS:
        with subtests.test(bug.name):
            shown = bug.exhibit()
            right, wrong = (np.asarray(each, float) for each in (shown.right, shown.wrong))
            assert np.isfinite(right).all()
            assert np.isfinite(wrong).all()
            assert not np.array_equal(right, wrong)


def test_one_bug_in_full(capsys, tmp_path):
    """Plants a bug under all of its checks, and draws its picture."""
    code = main(["museum", "one-side-normalised", "--out", str(tmp_path), "--json"])
    out, err = capsys.readouterr()
    shown = json.loads(out)
    assert code == 0
    assert [bug["name"] for bug in shown["bugs"]] == ["one-side-normalised"]
    assert "only_keys_normalised" in shown["bugs"][0]["code"]
    assert err == ""
    assert {path.name for path in tmp_path.iterdir()} == {"one-side-normalised.svg", "one-side-normalised.png"}


def test_an_unknown_bug_names_the_nearest(capsys, tmp_path):
    code = main(["museum", "mask-of-by-one", "--out", str(tmp_path / "new")])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert "did you mean mask-off-by-one?" in err
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_a_file_is_refused_before_anything_is_planted(capsys, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr("attnlab_theory.museum.kill_matrix", lambda *bugs, **how: pytest.fail("has begun"))
    code = main(["museum", "--out", str(tmp_path / "file")])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (
        f"cannot write into {tmp_path / 'file'}: {tmp_path / 'file'} is a file; choose another folder with --out"
        in err
    )


def test_whoever_stops_behind_a_bug_does_not_wait_for_all_the_others(monkeypatch):
    planted = []

    def evidence_of(bug, **how):
        planted.append(bug)
        time.sleep(0.05)
        return (types.SimpleNamespace(bug=bug.name, caught=True),)

    def stop(line):
        raise KeyboardInterrupt

    monkeypatch.setattr(trial, "evidence_of", evidence_of)
    with pytest.raises(KeyboardInterrupt):
        kill_matrix([BUGS[0]] * 200, say=stop)
    assert len(planted) < 200


def test_planting_stops_behind_a_bug_in_which_ctrl_c_was_lost(capsys, tmp_path, monkeypatch):
    def planted(bugs, *, per_family, say):
        say("first: caught")
        pytest.fail("goes on")

    monkeypatch.setattr("attnlab_theory.museum.kill_matrix", planted)
    monkeypatch.setattr(interrupts, "remembered", lambda: contextlib.nullcontext([signal.SIGINT]))
    assert main(["museum", "--out", str(tmp_path)]) == 130
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[1:]) == ("", ["attnlab: interrupted"])
    assert err.startswith("planting and catching: ")
    assert not list(tmp_path.iterdir())


def test_claims_and_identities_are_both_at_work():
    kinds = {isinstance(check_, Claim) for bug in BUGS for check_ in bug.checks}
    assert kinds == {True, False}
