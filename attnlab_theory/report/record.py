"""Findings to JSON, and back."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

from attnlab_theory import inputs
from attnlab_theory.claims import Finding, Findings, Verdict
from attnlab_theory.claims.claim import ControlFinding, RivalFinding
from attnlab_theory.stats import Interval, VarianceCheck, VarianceState


def as_json(finding: Finding) -> dict[str, Any]:
    """A finding as plain values, in the contract's order; infinite ends become None."""
    return {
        "experiment": finding.experiment,
        "claim": finding.claim,
        "statement": finding.statement,
        "source": finding.source,
        "setting": finding.setting,
        "predicted": ends(finding.predicted),
        "measured": ends(finding.measured),
        "draws": finding.draws,
        "error_rate": finding.error_rate,
        "resolution": finding.resolution,
        "bound": finding.bound,
        "verdict": str(finding.verdict),
        "expect": None if finding.expect is None else str(finding.expect),
        "variance": None if finding.variance is None else _variance_as_json(finding.variance),
        "rival": None if finding.rival is None else _rival_as_json(finding.rival),
        **({} if finding.control is None else {"control": _control_as_json(finding.control)}),
        **({"stated": True} if finding.stated else {}),
        **({} if finding.compared is None else {"compared": dict(zip(COMPARED, finding.compared, strict=True))}),
    }


def _variance_as_json(variance: VarianceCheck) -> dict[str, Any]:
    sample = variance.sample if math.isfinite(variance.sample) else None
    return {"assumed": variance.assumed, "sample": sample, "state": str(variance.state)}


def _rival_as_json(rival: RivalFinding) -> dict[str, Any]:
    return {**dataclasses.asdict(rival), "predicted": ends(rival.predicted), "verdict": str(rival.verdict)}


def _control_as_json(control: ControlFinding) -> dict[str, Any]:
    number = None if control.number is None else ends(control.number)
    return {**dataclasses.asdict(control), "number": number, "verdict": str(control.verdict)}


def ends(interval: Interval) -> list[float | None]:
    """The two ends; None where the interval has no end."""
    return [end if math.isfinite(end) else None for end in (interval.low, interval.high)]


COMPARED = ("what", "number")
"""The fields of that with which a claim compares."""

FIELDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("experiment", "claim", "statement", "source", "bound", "verdict"), str),
    **dict.fromkeys(("error_rate", "resolution"), (int, float)),
    "setting": dict,
    "draws": int,
}
"""The type of each field of a finding in its file."""


def from_json(value: dict[str, Any]) -> Finding:
    """The finding that `as_json` wrote. The last five keys may be missing."""
    inputs.refuse_other_fields(value, FIELDS)
    refuse_impossible(value)
    intervals = {name: from_ends(value[name]) for name in ("predicted", "measured")}
    expect = value["expect"]
    judged = {"verdict": Verdict(value["verdict"]), "expect": None if expect is None else Verdict(expect)}
    variance, rival, control = value.get("variance"), value.get("rival"), value.get("control")
    compared = value.get("compared")
    beside = {
        "variance": None if variance is None else _variance_from_json(variance),
        "rival": None if rival is None else _rival_from_json(rival),
        "control": None if control is None else _control_from_json(control),
        "compared": None if compared is None else (str(compared["what"]), float(compared["number"])),
    }
    setting = {name: _with_tuples(given) for name, given in value["setting"].items()}
    return Finding(**{**value, "setting": setting, **intervals, **judged, **beside})


def refuse_impossible(value: dict[str, Any]) -> None:
    """Refuse numbers that no judge gives: fewer draws than none, or an error rate that is no probability.

    Raises:
        ValueError: naming the field and its value.
    """
    for name, most in (("draws", math.inf), ("error_rate", 1), ("resolution", math.inf)):
        if not 0 <= value.get(name, 0) <= most:
            raise ValueError(f"{name} cannot be {value[name]!r:.40}")


def _with_tuples(value: Any) -> Any:
    """A value of a setting as a run has it: JSON knows no tuples, settings no lists."""
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _variance_from_json(value: dict[str, Any]) -> VarianceCheck:
    sample = math.inf if value["sample"] is None else value["sample"]
    # Older files say "confirmed", and do not say against what.
    state = VarianceState.CONFIRMED if value["state"] == "confirmed" else VarianceState(value["state"])
    return VarianceCheck(**{**value, "sample": sample, "state": state})


def _rival_from_json(value: dict[str, Any]) -> RivalFinding:
    read = {"predicted": from_ends(value["predicted"]), "verdict": Verdict(value["verdict"])}
    return RivalFinding(**{**value, **read})


def _control_from_json(value: dict[str, Any]) -> ControlFinding:
    number = None if value["number"] is None else from_ends(value["number"])
    return ControlFinding(**{**value, "number": number, "verdict": Verdict(value["verdict"])})


def read_findings(path: Path) -> Findings:
    """The findings of one result file.

    Raises:
        ValueError: if the file cannot be read, or does not hold findings.
    """
    try:
        return Findings(map(from_json, inputs.json_of(path)))
    except inputs.DAMAGED as error:
        raise ValueError(
            f"{path} does not hold findings: {inputs.reason_in(error)}; run the experiment again"
        ) from None


def from_ends(pair: list[float | None]) -> Interval:
    """The interval that `ends` wrote."""
    low, high = pair
    for end in pair:
        if not isinstance(end, int | float | None) or isinstance(end, bool):
            raise ValueError(f"an end of an interval is a number or null, not {end!r:.40}")
    if low is not None and high is not None and low > high:
        raise ValueError(f"an interval cannot end at {high!r:.40} and begin at {low!r:.40}")
    return Interval(-math.inf if low is None else low, math.inf if high is None else high)


def to_text(value: Any) -> str:
    """One JSON value as text with a final newline; refuses NaN rather than write it."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
