"""Committed runs have the verdicts that judging again gives, and the pages say how many, and at which rate."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from attnlab_theory.labs import page
from attnlab_theory.labs.verdicts import ERROR_RATE
from attnlab_theory.report import record

ROOT = Path(__file__).parents[2]
LABS = ("knowledge", "captions", "mixers", "recurrent", "reviews")
RUNS = sorted((lab, path.parent) for lab in LABS for path in (ROOT / "figures" / lab).rglob(f"{lab}.run.json"))


def about(lab, folder):
    return json.loads((folder / f"{lab}.run.json").read_text("utf-8"))


def row(lab, folder):
    """What the page says of the verdicts of a run."""
    told = about(lab, folder)
    verdicts = told["verdicts"]
    name = folder.relative_to(ROOT)
    apart = sum(each["verdicts"] for each in verdicts["apart"])
    each = f"{verdicts['error_rate_of_each']:.2g}" if verdicts["family"] else "–"
    return f"| [{name}](../../{name}) | {verdicts['family']} | {each} | {apart} | {len(told['not_judged'])} |"


def test_every_run_is_found():
    assert len(RUNS) == 23


@pytest.mark.slow("committed findings on heads, judged again, stay inside")
def test_the_findings_are_those_of_judging_again(subtests):
    """Some seconds: every run is judged again."""
    for lab, folder in RUNS:
        with subtests.test(str(folder.relative_to(ROOT))):
            again = importlib.import_module(f"attnlab_theory.labs.{lab}.measure").again(folder)
            committed = json.loads((folder / f"{lab}.json").read_text("utf-8"))
            found = json.loads(record.to_text([record.as_json(finding) for finding in again.verdicts.findings]))
            assert committed == found
            told = about(lab, folder)
            for name, value in again.verdicts.as_json().items():
                assert told[name] == json.loads(record.to_text(value)), name
            assert told["verdicts"]["error_rate_of_the_family"] == ERROR_RATE
            said = page.text(folder, again.verdicts.sentences(), again.further)
            assert (folder / page.NAME).read_text("utf-8") == said


def test_the_record_names_the_commit_of_training_and_that_of_judging(subtests):
    """A run that nobody has judged again was judged by the commit that trained it, from a clean tree."""
    for lab, folder in RUNS:
        with subtests.test(str(folder.relative_to(ROOT))):
            told = about(lab, folder)
            again = "judged" in told
            judge = told["judged"] if again else told
            assert re.fullmatch("[0-9a-f]{12}", judge["commit"])
            assert again == (judge["commit"] != told["commit"])
            command = "judge" if again else "run --out"
            # What is finished already may have been skipped, and then the record says so.
            said = f"attnlab {lab} {command} {folder.relative_to(ROOT)}"
            assert judge["command"].removesuffix(" --resume") == said


def test_the_page_says_how_many_verdicts_there_are_at_which_rate():
    pages = {lab: (ROOT / "docs" / "labs" / f"{lab}.md").read_text("utf-8") for lab in LABS}
    missing = [row(lab, folder) for lab, folder in RUNS if row(lab, folder) not in pages[lab]]
    assert not missing, "\n".join(missing)


def test_no_verdict_on_training_is_from_fewer_than_three_runs(subtests):
    for lab, folder in RUNS:
        with subtests.test(str(folder.relative_to(ROOT))):
            for finding in record.read_findings(folder / f"{lab}.json"):
                over_runs = "training runs" in finding.bound or "trials" in finding.bound
                assert finding.error_rate in (0.0, 1e-6) or (over_runs and finding.draws >= 3), finding.claim


def test_pages_name_claims_that_exist(subtests):
    """The name is one of the findings, or of what is not judged."""
    for lab in LABS:
        with subtests.test(lab):
            page = (ROOT / "docs" / "labs" / f"{lab}.md").read_text("utf-8")
            known = {"tuned-models-reach-87"}
            for name, folder in RUNS:
                if name == lab:
                    known |= {f.claim for f in record.read_findings(folder / f"{lab}.json")}
                    known |= {each["claim"] for each in about(lab, folder)["not_judged"]}
            words = {word for word in re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+){2,})`", page)}
            assert words <= known | {"perplexity-orders-bleu", "leave-one-out"}
