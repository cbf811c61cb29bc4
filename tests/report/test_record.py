"""The result files: the contract's keys, no NaN, whole or absent."""

import dataclasses
import json
import math

import pytest

from attnlab_theory import files, inputs
from attnlab_theory.claims import Finding, Verdict
from attnlab_theory.claims.claim import ControlFinding, RivalFinding
from attnlab_theory.report import record
from attnlab_theory.stats import Interval, VarianceCheck, VarianceState

FINDING = Finding(
    experiment="copying",
    claim="leak",
    statement=r"The weight is $\leq 1$ — always.",
    source="docs/mathematics/selecting.md",
    setting={"n": 4, "beta": 0.5, "layout": "half"},
    predicted=Interval.at_most(1.0),
    measured=Interval(0.1, 0.2),
    draws=8192,
    error_rate=1e-8,
    resolution=0.25,
    bound="proportion: draws are 0 or 1",
    verdict=Verdict.SUPPORTED,
    expect=Verdict.REFUTED,
    variance=VarianceCheck(assumed=2.0, sample=1.5, state=VarianceState.CONFIRMED),
    rival=RivalFinding(
        statement="The weight is at least 2.",
        source="nobody",
        predicted=Interval.at_least(2.0),
        verdict=Verdict.REFUTED,
    ),
    control=ControlFinding(
        what="a guess", number=Interval.at_least(0.25), is_difference=True, verdict=Verdict.SUPPORTED
    ),
    stated=True,
    compared=("one head", 0.5),
)

BESIDE = ("variance", "rival", "control", "stated", "compared")
"""What findings of older versions lack."""


def test_a_finding_has_the_contracts_keys_in_order_and_ours_behind_them():
    assert list(record.as_json(FINDING)) == [
        "experiment", "claim", "statement", "source", "setting", "predicted", "measured", "draws",
        "error_rate", "resolution", "bound", "verdict", "expect", "variance", "rival",
        "control", "stated", "compared",
    ]  # fmt: skip


def test_a_finding_loses_no_field():
    assert set(record.as_json(FINDING)) == {field.name for field in dataclasses.fields(Finding)}


def test_infinite_ends_are_null_and_verdicts_are_words():
    written = json.loads(record.to_text(record.as_json(FINDING)))
    assert written["predicted"] == [None, 1.0]
    assert written["measured"] == [0.1, 0.2]
    assert (written["verdict"], written["expect"]) == ("SUPPORTED", "REFUTED")
    assert record.ends(Interval(-math.inf, math.inf)) == [None, None]


@pytest.mark.parametrize("number", [None, Interval.at_most(0.5), Interval.point(1 / 3)])
@pytest.mark.parametrize("verdict", Verdict)
def test_a_control_comes_back_from_its_file(tmp_path, number, verdict):
    control = ControlFinding(what="chance – ½", number=number, is_difference=number is None, verdict=verdict)
    findings = (dataclasses.replace(FINDING, control=control), dataclasses.replace(FINDING, control=None))
    files.write_text(tmp_path / "x.json", record.to_text([*map(record.as_json, findings)]))
    assert record.read_findings(tmp_path / "x.json") == findings


@pytest.mark.parametrize("predicted", [Interval.at_most(1.0), Interval.at_least(0.1), Interval.point(1 / 3)])
def test_a_finding_comes_back_from_its_file(tmp_path, predicted):
    finding = dataclasses.replace(FINDING, predicted=predicted)
    files.write_text(tmp_path / "x.json", record.to_text([record.as_json(finding)]))
    assert record.read_findings(tmp_path / "x.json") == (finding,)


def test_a_setting_comes_back_with_its_tuples(tmp_path):
    finding = dataclasses.replace(FINDING, setting={"copies": (), "places": ((0.5, 1.0), (2.0, 3.0))})
    files.write_text(tmp_path / "x.json", record.to_text([record.as_json(finding)]))
    assert record.read_findings(tmp_path / "x.json") == (finding,)
    assert record.read_findings(tmp_path / "x.json").of(FINDING.claim, copies=()) == (finding,)


def test_a_finding_of_an_older_version_is_read(tmp_path):
    older = {name: value for name, value in record.as_json(FINDING).items() if name not in BESIDE}
    files.write_text(tmp_path / "x.json", record.to_text([older]))
    assert record.read_findings(tmp_path / "x.json") == (
        dataclasses.replace(FINDING, **{**dict.fromkeys(BESIDE), "stated": False}),
    )


def test_a_confirmed_variance_of_an_older_version_is_read(tmp_path):
    older = record.as_json(FINDING)
    older["variance"]["state"] = "confirmed"
    files.write_text(tmp_path / "x.json", record.to_text([older]))
    assert record.read_findings(tmp_path / "x.json") == (FINDING,)


def test_a_sample_variance_that_overflowed_comes_back(tmp_path):
    check = VarianceCheck(assumed=2.0, sample=math.inf, state=VarianceState.STRAINED)
    finding = dataclasses.replace(FINDING, variance=check)
    files.write_text(tmp_path / "x.json", record.to_text([record.as_json(finding)]))
    assert record.read_findings(tmp_path / "x.json") == (finding,)


@pytest.mark.parametrize("text", ["", "{}]", "[1]", '[{"experiment": "x"}]', "[[]]"])
def test_a_file_without_findings_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=r"x\.json does not hold findings"):
        record.read_findings(tmp_path / "x.json")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_number_that_json_lacks_is_written(number):
    with pytest.raises(ValueError, match="JSON"):
        record.to_text({"resolution": number})


def test_text_ends_with_one_newline_and_keeps_its_letters():
    text = record.to_text(record.as_json(FINDING))
    assert text.endswith("}\n")
    assert "—" in text


@pytest.mark.parametrize(
    "change",
    [
        {"error_rate": -1},
        {"error_rate": 1.5},
        {"draws": -5},
        {"resolution": -0.1},
        {"measured": [2.0, 1.0]},
        {"predicted": [1e400, 1e400]},
    ],
    ids=str,
)
def test_numbers_that_no_judge_gives_are_refused_by_name(tmp_path, change):
    told = [record.as_json(FINDING) | change]
    # Python writes an infinity as a word; a file may have the digits of one.
    (tmp_path / "one.json").write_text(json.dumps(told).replace("Infinity", "1e999"))
    with pytest.raises(ValueError, match=r"1e999 is|cannot be|cannot end at"):
        record.read_findings(tmp_path / "one.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [("1e999", "1e999 is beyond every float"), ("-1e400", "beyond"), ('{"a": 1, "a": 2}', "holds a field twice")],
)
def test_json_that_others_would_read_otherwise_is_refused(tmp_path, text, said):
    (tmp_path / "one.json").write_text(text)
    with pytest.raises(ValueError, match=said):
        inputs.json_of(tmp_path / "one.json")
