"""What the committed runs of the experiments measured, in figures/*.json."""

import functools
import json
from pathlib import Path

from attnlab_theory.claims import Claim, Finding, Setting
from attnlab_theory.report import record

FIGURES = Path(__file__).parents[2] / "figures"


def findings_of(claim: Claim, setting: Setting) -> list[Finding]:
    """The committed findings of a claim at a setting: one of each experiment that asks it there."""
    return _every().get((claim.name, _text(setting.as_json())), [])


@functools.cache
def _every() -> dict[tuple[str, str], list[Finding]]:
    found: dict[tuple[str, str], list[Finding]] = {}
    for path in sorted(FIGURES.glob("*.json")):
        if not path.name.endswith(".run.json"):
            for finding in record.read_findings(path):
                found.setdefault((finding.claim, _text(finding.setting)), []).append(finding)
    return found


def _text(setting: object) -> str:
    return json.dumps(setting, sort_keys=True)
