"""The page and the answer sheet quote what the committed run found."""

import collections
import functools
import json
from pathlib import Path

import pytest

from attnlab_theory.answers import questions
from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.knowledge import measure
from attnlab_theory.labs.verdicts import miss_rate
from attnlab_theory.report import record

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "figures" / "knowledge"
PAGE = " ".join((ROOT / "docs" / "labs" / "knowledge.md").read_text(encoding="utf-8").replace("−", "-").split())
NAMES = {
    "none": "`none`: not pretrained",
    "vanilla": "`vanilla`: learned positions",
    "rope": "`rope`: rotary positions",
}


@functools.cache
def found():
    return Estimates(map(Estimate.from_json, json.loads((FOLDER / "estimates.json").read_text())))


@functools.cache
def right():
    """How many persons each model is right about, by variant and group, in the order of the seeds."""
    rows = json.loads((FOLDER / "answers.json").read_text())
    counts = collections.Counter((row["variant"], row["group"], row["seed"]) for row in rows if is_right(row))
    keys = dict.fromkeys((row["variant"], row["group"]) for row in rows)
    seeds = sorted({row["seed"] for row in rows})
    return {key: [counts[(*key, seed)] for seed in seeds] for key in keys}


def is_right(row):
    return row["gold"] == row["predicted"]


def percent(estimate):
    return f"{100 * estimate.value:.1f} %"


def interval(estimate):
    low, high = (100 * end for end in (estimate.interval.low, estimate.interval.high))
    return f"{low:.1f} to {high:.1f}".replace("100.0", "100").replace("0.0 to", "0 to")


def test_the_page_quotes_every_model(subtests):
    for variant in NAMES:
        with subtests.test(variant=variant):
            held_out, never_seen = (right()[variant, group] for group in ("held-out", "never-seen"))
            (mean,) = found().of("mean accuracy", variant=variant, group="held-out")
            (pooled,) = found().of("pooled accuracy", variant=variant, group="never-seen")
            assert sum(never_seen) / pooled.draws == pytest.approx(pooled.value)
            cells = (", ".join(map(str, held_out)), f"{percent(mean)} ({interval(mean)})", percent(pooled))
            assert f"| {NAMES[variant]} | {' | '.join(cells)} |" in PAGE


def test_the_page_quotes_every_comparison(subtests):
    for first, second in [("none", "vanilla"), ("none", "rope"), ("vanilla", "rope")]:
        with subtests.test(first=first, second=second):
            (gained,) = found().of("mean accuracy gained", first=first, second=second)
            assert f"| `{second}` minus `{first}` | {100 * gained.value:.1f} points ({interval(gained)}) |" in PAGE


def test_the_page_quotes_how_sure_right_answers_are(subtests):
    for variant in ["vanilla", "rope"]:
        with subtests.test(variant=variant):
            (auroc,) = found().of("mean auroc", variant=variant)
            assert auroc.setting["groups"] == "300 held-out and 500 never-seen"
            assert "a mixture of 60 held-out and 100 never-seen persons per seed" in PAGE
            ends = f"{auroc.interval.low:.2f} to {auroc.interval.high:.2f}"
            (verdict,) = [
                f.verdict
                for f in record.read_findings(FOLDER / "knowledge.json").of("confidence-tells-right-from-wrong")
                if f.setting["variant"] == variant
            ]
            assert f"| `{variant}` | {auroc.value:.2f} ({ends}) | {verdict} |" in PAGE


def test_the_page_tells_of_each_group_whether_models_are_too_confident(subtests):
    """Not confident enough on held-out persons, all ten, and far too confident on never-seen ones."""
    for variant in ["vanilla", "rope"]:
        for group, sign in (("held-out", -1), ("never-seen", 1)):
            with subtests.test(variant=variant, group=group):
                (off,), (area,) = (
                    found().of(quantity, variant=variant, group=group)
                    for quantity in ("confidence minus accuracy", "mean auroc of a group")
                )
                assert len(off.values) == 5
                assert all(sign * each > 0 for each in off.values)
                low, high = off.interval.low, off.interval.high
                cells = (
                    f"{100 * off.value:{'+' if sign > 0 else ''}.1f} points ({100 * low:.1f} to {100 * high:.1f})",
                    f"{area.value:.2f} ({area.interval.low:.2f} to {area.interval.high:.2f})",
                )
                assert f"| `{variant}` | {group} | {' | '.join(cells)} |" in PAGE


def test_the_page_says_how_often_intervals_of_shares_near_one_miss():
    for variant, rate, name in (
        ("vanilla", 0.05, "5 %"),
        ("vanilla", 0.05 / 12, "0.42 %"),
        ("rope", 0.05 / 12, "0.42 %"),
    ):
        (share,) = found().of("mean accuracy", variant=variant, group="held-out")
        assert f"| `{variant}` | {name} | {100 * miss_rate(share, rate):.2g} % |" in PAGE
    # Five shares are all 1 by chance, each with this probability, as often as one end of the interval may miss.
    one_end = 0.05 / 12 / 2
    assert round(one_end ** (1 / 5), 2) == 0.29
    assert round(1 / one_end) == 480


def test_the_page_quotes_what_is_said_of_the_never_seen(subtests):
    for variant in ["vanilla", "rope"]:
        with subtests.test(variant=variant):
            rows = json.loads((FOLDER / "answers.json").read_text())
            said = [row for row in rows if row["variant"] == variant and row["group"] == "never-seen"]
            (wrong,) = found().of("wrong answers that are places", variant=variant, group="never-seen")
            assert wrong.draws == sum(not is_right(row) for row in said)
            places = wrong.value * wrong.draws + sum(map(is_right, said))
            assert f"| answers that are places, `{variant}` | {100 * places / len(said):.0f} % |" in PAGE


def test_the_page_quotes_how_often_a_guess_is_as_sure_as_knowledge():
    shares = [e.value for e in found().of("confident places") if e.setting["variant"] != "none"]
    assert f"| {100 * min(shares):.0f} to {100 * max(shares):.0f} % |" in PAGE


def p_values(part):
    return sorted(e.value for e in found().of("p of same part", part=part) if e.setting["variant"] != "none")


def test_the_page_and_the_sheet_quote_what_the_sound_of_a_name_does():
    first, last = p_values("first"), p_values("last")
    assert (len(first), sum(p <= 0.003 for p in first)) == (10, 8)
    assert [f"{p:.2f}" for p in first[8:]] == ["0.03", "0.21"]
    assert "| first syllable | at most 0.003 in eight, 0.03 and 0.21 in the others |" in PAGE
    (entry,) = questions.chosen("practical4/4c")
    assert "eight of ten pretrained models (p ≤ 0.003," in entry.answer
    assert "0.03 and 0.21 in the others" in entry.answer
    assert [f"{p:.2g}" for p in last[:4]] == ["0.014", "0.03", "0.036", "0.12"]
    assert "| last syllable | 0.014, 0.03 and 0.04 in three, at least 0.12 in the others |" in PAGE


@pytest.mark.slow("that the page quotes every model and every comparison stays inside")
def test_the_page_says_what_is_open_and_how_many_seeds_would_decide():
    """Judges the committed run again."""
    again = measure.again(FOLDER).verdicts
    decide = {(each.claim, each.setting["variant"]): each.decide for each in again.undecided}
    claim = "four-of-five-are-recalled"
    assert decide == {(claim, "vanilla"): 6, (claim, "rope"): 6}
    chances = " and ".join(f"{each.chance:.2f}" for each in again.undecided)
    assert f"INCONCLUSIVE; six seeds would decide with probability {chances} |" in PAGE
    for finding in again.findings:
        if finding.claim != claim:
            assert finding.verdict == Verdict.SUPPORTED
            assert f"(`{finding.claim}`) | " in PAGE or finding.claim == "confidence-tells-right-from-wrong"
