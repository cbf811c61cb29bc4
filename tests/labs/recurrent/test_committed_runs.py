"""What the page of the recurrent lab and the answer sheet quote is what the committed runs found."""

import json
import math
from pathlib import Path

from attnlab_theory.answers import questions
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.recurrent import measure, tuning
from attnlab_theory.report import record
from attnlab_theory.report.table import measured_text

ROOT = Path(__file__).parents[3]
RUNS = {"grammar": ROOT / "figures" / "recurrent", "Shakespeare": ROOT / "figures" / "recurrent" / "shakespeare"}


def plain(text):
    """A text on one line, without typographic signs."""
    return " ".join(text.replace("−", "-").replace("+", "").split())


PAGE = plain((ROOT / "docs" / "labs" / "recurrent.md").read_text(encoding="utf-8"))


def answer(name):
    (entry,) = questions.chosen(name)
    return plain(entry.answer)


def judged(run):
    return record.read_findings(RUNS[run] / "recurrent.json")


def estimates(run):
    return Estimates(map(Estimate.from_json, json.loads((RUNS[run] / "estimates.json").read_text())))


def test_the_page_quotes_every_conjecture_of_both_runs(subtests):
    for run in RUNS:
        with subtests.test(run=run):
            found = [finding for finding in judged(run) if finding.expect is None]
            assert len(found) >= 4
            for finding in found:
                assert measured_text(finding.measured) in PAGE, finding.claim


def test_all_arms_of_both_runs_have_read_as_many_tokens_as_the_page_says(subtests):
    for run in RUNS:
        with subtests.test(run=run):
            about = json.loads((RUNS[run] / "recurrent.run.json").read_text())
            tokens = about["equal"]["tokens_read_by_each_arm"]
            assert len(tokens) == about["seeds"]
            epochs = about["equal"]["epochs"]
            assert {1: "makes 1 pass over the lines", 6: "reads them 6 times"}[epochs] in PAGE
            low, high = (f"{round(end, -3):,}" for end in (min(tokens), max(tokens)))
            assert (low if low == high else f"{low} to {high}") in PAGE


def test_the_page_says_how_far_a_gradient_reaches():
    found = estimates("grammar")
    for arm in ("rnn", "w-rnn", "gpt"):
        for distance in (1, 10):
            told = {"arm": arm, "weights": "trained", "distance": distance}
            (estimate,) = found.of("log of the gradient's norm", **told)
            assert f"{math.exp(estimate.value):.3f}" in PAGE


def test_the_page_quotes_the_tuning_runs_on_shakespeare():
    rows = json.loads((RUNS["Shakespeare"] / "tuning.json").read_text())
    found = tuning.last_losses(rows)
    assert len(found) == 8
    for each in found:
        low, high = each.interval.low, each.interval.high
        assert f"| {each.value:.3f} ({low:.3f} to {high:.3f}) |" in PAGE


def test_the_sheet_quotes_the_run_on_shakespeare():
    text = answer("cs224n/rnn")
    for claim in ("w-rnn-beats-the-rnn", "gpt-beats-the-rnn"):
        (finding,) = judged("Shakespeare").of(claim)
        assert measured_text(finding.measured) in text
    (loss,) = estimates("Shakespeare").of("test loss", model="gpt")
    assert f"{measured_text(loss.interval)} nats per character" in answer("practical4/3a")
    assert f"{round(loss.setting['parameters'], -3):,} parameters" in answer("practical4/3a")


def test_the_page_and_the_sheet_say_how_many_seeds_would_decide_what_is_open():
    assert measure.again(RUNS["grammar"]).verdicts.undecided == ()
    (left,) = measure.again(RUNS["Shakespeare"]).verdicts.undecided
    assert (left.claim, left.runs, left.decide) == ("w-rnn-beats-the-rnn", 3, 4)
    assert f"Four seeds would decide the first question with probability {left.chance:.2f}." in PAGE
    told = f"three seeds leave the first open, four would decide it with probability {left.chance:.2f}"
    assert told in " ".join(answer("cs224n/rnn").split())


def test_the_sheet_shows_the_numbers_of_the_report_whose_conclusion_falls():
    text = answer("cs224n/rnn")
    assert "168.96" in text
    assert "189.53" in text
    assert "{recurrent-gradients-fade-further arm=rnn}" in text
