"""The page counts the verdicts that the committed runs on MiniLM gave."""

import collections
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.heads import premises, results
from attnlab_theory.report.record import read_findings

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "labs" / "heads.md").read_text(encoding="utf-8")
FOLDERS = ("figures/heads", "figures/heads/all_reviews")
ESTIMATES = {
    folder: [Estimate.from_json(e) for e in json.loads((ROOT / folder / "premises.estimates.json").read_text())]
    for folder in FOLDERS
}
ROWS = {
    "the-noisy-length-matters": (
        "a noisy length explains at least 10 % of the variance of scores, beyond what all words share"
    ),
    "scores-are-normal": "scores of one query are normal within a type, up to a difference of 0.1",
    "theory-predicts-beyond-length-and-word": (
        "theory predicts weights better than length, position and a type's mean weight do"
    ),
    "noise-adds-to-the-prediction": "theory predicts weights better than the mean scores without noise",
    "queries-leave-keys-alone": "on average the sentence's own query scores a key like the mean key of its type",
    "own-scores-vary-as-fitted": "scores for the sentence's own query have the variance of the fitted law",
    "keys-move-alone": "keys of a sentence do not vary together",
    "rarer-types-do-as-well": "the weights of rarer types are predicted as well",
    "neighbours-drive-the-choice": "neighbours explain at least 10 % of a gamble",
    "the-layer-hedges": "of 6 layers instead of 72 heads: the layer hedges",
}


@pytest.fixture(scope="module")
def counted():
    found = []
    for folder in FOLDERS:
        findings = json.loads((ROOT / folder / "premises.findings.json").read_text())
        found.append(collections.Counter((each["claim"], each["verdict"]) for each in findings))
    return found


def test_the_page_counts_every_verdict(subtests, counted):
    for claim in ROWS:
        with subtests.test(claim=claim):
            cells = [
                ", ".join(str(count[claim, verdict]) for verdict in ("SUPPORTED", "REFUTED", "INCONCLUSIVE"))
                for count in counted
            ]
            assert f"| {ROWS[claim]} | {' | '.join(cells)} |" in PAGE


def test_the_page_counts_verdicts_on_every_claim(counted):
    assert {claim for count in counted for claim, _ in count} == set(ROWS)


SIDES = {
    "slope of the variance": "slope of the variance of scores on the squared mean score",
    "variance along own mean beyond that along others'": (
        "variance of keys along their own word's mean minus that along other words' means"
    ),
}
"""Numbers without a verdict: how the page says that they are above 0, and below."""

MEDIANS = {
    "variance explained by the stretch": "share of the variance of scores that the slope explains",
    "variance along own mean beyond that along others'": (
        "variance of keys along their own word's mean minus that along other words' means"
    ),
    "variance explained along own mean": (
        "share of the variance of scores that the component along the own word's mean explains"
    ),
    "weights explained by theory": "share of the variance of weights that theory explains",
    "weights explained without noise": (
        "share of the variance of weights that the mean scores explain without noise"
    ),
    "weights explained by the type": "share of the variance of weights that a type's mean weight explains",
    "explained by theory less without noise": (
        "share that theory explains minus the share that the mean scores explain"
    ),
}


def estimates_of(folder, quantity):
    return Estimates(e for e in ESTIMATES[folder] if e.quantity == quantity)


def test_the_page_counts_what_gets_no_verdict(subtests):
    for quantity in SIDES:
        with subtests.test(quantity=quantity):
            cells = []
            for folder in FOLDERS:
                found = estimates_of(folder, quantity)
                above, below = sum(e.interval.low > 0 for e in found), sum(e.interval.high < 0 for e in found)
                cells.append(f"{above}, {below}")
            assert f"| {SIDES[quantity]} | {' | '.join(cells)} |" in PAGE


def test_the_page_counts_excesses_that_go_beyond_means_dealt_anew():
    cells = []
    for folder in FOLDERS:
        excess = [e.value > 0 for e in estimates_of(folder, "variance along own mean beyond that along others'")]
        beyond = [e.value <= e.error_rate for e in estimates_of(folder, "p of means dealt anew")]
        pairs = list(zip(beyond, excess, strict=True))
        cells.append(f"{pairs.count((True, True))}, {pairs.count((True, False))}")
    assert f"| the same, compared with randomly shuffled means | {' | '.join(cells)} |" in PAGE


def test_the_page_quotes_least_median_and_greatest_of_all_reviews(subtests):
    for quantity in MEDIANS:
        with subtests.test(quantity=quantity):
            values = [e.value for e in estimates_of(FOLDERS[1], quantity)]
            assert len(values) == 72
            cells = (f"{x:.3f}".replace("-", "−") for x in (min(values), np.median(values), max(values)))
            assert f"| {MEDIANS[quantity]} | {' | '.join(cells)} |" in PAGE


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
    assert len(said) == 5
    assert said[0].startswith("Shown in 0 of 72 heads, refuted in 72, undecided in 0: the noisy length explains")
    assert said[0].endswith(" of the variance, beyond what all words share.")
    columns = [list(column.cells) for column in premises.reasons(findings, 72).columns]
    rows = list(zip(*columns, strict=True))
    assert rows[0][1:] == ("0", "5", "67", "0", "5")
    assert rows[-1] == ("equal neighbours make at least 10% of the gamble", "0", "0", "1", "71", "0")


def test_the_table_counts_what_is_refuted_where_theory_is_not_the_better_one():
    findings = read_findings(ROOT / "figures/heads/premises.findings.json")
    refuted = [dataclasses.replace(f, verdict=Verdict.REFUTED) for f in findings]
    columns = [list(column.cells) for column in premises.reasons(Findings(refuted), 72).columns]
    assert next(row[1:] for row in zip(*columns, strict=True)) == ("0", "72", "0", "0", "72")
