"""The page counts the verdicts that the committed runs on MiniLM gave."""

import collections
import dataclasses
import json
from pathlib import Path

import pytest

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.heads import premises, results
from attnlab_theory.report.record import read_findings

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "heads.md").read_text(encoding="utf-8")
FOLDERS = ("figures/heads", "figures/heads/all_reviews")
ROWS = {
    "keys-have-a-noisy-length": "the variance of scores rises as a noisy length would have it",
    "the-noisy-length-matters": "that explains at least 10 % of the variance",
    "scores-are-normal": "scores of one query are normal within a type, to 0.1",
    "theory-beats-the-mean-weight": "theory predicts weights better than a type's mean weight",
    "queries-leave-keys-alone": "the sentence's own query scores keys as their mean key, on average",
    "own-scores-vary-as-fitted": "these scores vary as the fitted law says",
    "keys-move-alone": "keys of a sentence do not move together",
    "rarer-types-do-as-well": "rarer types are predicted as well",
    "neighbours-drive-the-choice": "neighbours make at least 10 % of a gamble",
    "the-layer-hedges": "of 6 layers: the mean of the heads hedges",
}


@pytest.fixture(scope="module")
def counted():
    found = []
    for folder in FOLDERS:
        findings = json.loads((ROOT / folder / "premises.findings.json").read_text())
        found.append(collections.Counter((each["claim"], each["verdict"]) for each in findings))
    return found


@pytest.mark.parametrize("claim", ROWS)
def test_the_page_counts_every_verdict(counted, claim):
    cells = [
        ", ".join(str(count[claim, verdict]) for verdict in ("SUPPORTED", "REFUTED", "INCONCLUSIVE"))
        for count in counted
    ]
    assert f"| {ROWS[claim]} | {' | '.join(cells)} |" in PAGE


def test_the_page_counts_verdicts_on_every_claim(counted):
    assert {claim for count in counted for claim, _ in count} == set(ROWS)


def test_the_page_quotes_the_features_that_heads_take():
    estimates = json.loads((ROOT / "figures/heads/approximations.estimates.json").read_text())
    by_head = collections.defaultdict(dict)
    for each in estimates:
        if (
            each["setting"].get("kind") == "generalized exponential"
            and each["setting"].get("coupling") != "orthogonal"
        ):
            by_head[each["setting"]["layer"], each["setting"]["head"]][each["quantity"]] = each
    reached = {at: found for at, found in by_head.items() if "features measured over predicted" in found}
    assert len(reached) == 3
    for (layer, head), found in reached.items():
        predicted, measured = (
            f"{round(found[quantity]['value'], -3):,.0f}"
            for quantity in ("features for a tenth, predicted", "features for a tenth")
        )
        ratio = found["features measured over predicted"]
        low, high = (f"{end:.2f}" for end in ratio["interval"])
        row = f"| {layer}, {head} | {predicted} | {measured} | {ratio['value']:.2f} ({low} to {high}) | REFUTED |"
        assert row in PAGE


def test_five_sentences_say_where_the_premises_hold_and_a_table_says_why():
    findings = read_findings(ROOT / "figures/heads/premises.findings.json")
    said = results.counted(findings, premises.TOLD)
    judged = {finding.claim for finding in findings}
    assert len(said) == sum(claim in judged for claim, _ in premises.TOLD)
    assert said[0].startswith("Shown in 0 of 72 heads, refuted in 72, undecided in 0: the noisy length explains")
    columns = [list(column.cells) for column in premises.reasons(findings).columns]
    rows = list(zip(*columns, strict=True))
    assert rows[0][1:] == ("14", "5", "53", "0", "0")
    assert rows[-1] == ("equal neighbours make at least 10% of the gamble", "0", "0", "1", "71", "0")


def test_the_table_counts_what_is_refuted_where_theory_is_not_the_better_one():
    findings = read_findings(ROOT / "figures/heads/premises.findings.json")
    refuted = [dataclasses.replace(f, verdict=Verdict.REFUTED) for f in findings]
    columns = [list(column.cells) for column in premises.reasons(Findings(refuted)).columns]
    assert next(row[1:] for row in zip(*columns, strict=True)) == ("0", "72", "0", "0", "72")
