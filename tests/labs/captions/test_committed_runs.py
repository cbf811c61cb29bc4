"""The page quotes what the committed runs on the homework's captions found, and that lies where it should."""

import json
from pathlib import Path

import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.captions import measure
from attnlab_theory.labs.captions.arms import ASKED_WITH
from attnlab_theory.labs.captions.claims import STATEMENTS
from attnlab_theory.labs.captions.tasks import Run
from attnlab_theory.labs.engine.record import stored
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.texts import Texts

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "labs" / "captions.md").read_text(encoding="utf-8").replace("−", "-")
DECODINGS = {"random": "random", "random-t0.7": "temperature 0.7", "top_p0.9": "top-p 0.9", "top_p0.9-t0.7": "both"}


@pytest.fixture(scope="module")
def joined():
    return Estimates(
        map(Estimate.from_json, json.loads((ROOT / "figures/captions/joined/estimates.json").read_text()))
    )


def said(estimate, digits):
    return f"{estimate.value:.{digits}f} ± {estimate.interval.width / 2:.{digits}f}"


def test_a_run_by_default_asks_only_what_its_five_seeds_decide():
    """The committed run has the seeds of the default one, and more models."""
    run = Run()
    of_default = [
        each
        for each in stored(ROOT / "figures/captions")
        if each.setting.get("arm", "scratch") in run.arms
        and each.setting.get("decoding", "random") in run.decodings
    ]
    found = measure.verdicts(of_default, asked_with=run.asked_with)
    assert {each.verdict for each in found.findings} == {Verdict.SUPPORTED}
    assert {each.runs for each in found.not_asked} == {run.seeds}
    assert {each.claim for each in found.not_asked} == {*ASKED_WITH}
    everything = measure.verdicts(of_default)
    assert len(everything.findings) == len(found.findings) + len(found.not_asked) == 35
    assert not everything.as_expected


def test_what_seeds_decide_is_known_of_the_built_in_captions_alone():
    assert Run().asked_with == ASKED_WITH
    assert Run(preset="homework").asked_with == Run(texts=Texts(train=Path("mine"))).asked_with == {}
    assert {*ASKED_WITH} <= {each.name for each in STATEMENTS}


def test_the_page_quotes_every_model(subtests, joined):
    for arm, name in [
        ("scratch", "scratch, 12 heads"),
        ("shuffled", "shuffled, 12 heads"),
        ("heads-1", "scratch, 1 head"),
        ("heads-6", "scratch, 6 heads"),
        ("heads-8", "scratch, 8 heads"),
    ]:
        with subtests.test(arm=arm, name=name):
            (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {name} |")]
            (perplexity,) = joined.of("perplexity of sentences", arm=arm)
            scores = [joined.of(score, arm=arm, decoding="random")[0] for score in ("forward", "backward")]
            assert [cell.split(" (")[0].strip() for cell in row.split("|")[2:6]] == [
                str(perplexity.draws),
                said(perplexity, 2),
                *(said(score, 3) for score in scores),
            ]


def test_the_page_quotes_every_way_to_draw(subtests, joined):
    for arm in ["scratch", "shuffled"]:
        for decoding in DECODINGS:
            with subtests.test(decoding=decoding, arm=arm):
                told = [
                    said(joined.of(score, arm=arm, decoding=decoding)[0], 3)
                    for score in ("forward", "backward", "harmonic", "commonest_opening")
                ]
                assert f"| {arm}, {DECODINGS[decoding]} | {' | '.join(told)} |" in PAGE


def test_the_page_quotes_what_heads_and_shuffling_change(joined):
    for arm in ("shuffled", "heads-1", "heads-6", "heads-8"):
        (gained,) = joined.of("test loss gained", arm=arm)
        assert said(gained, 3).removeprefix("-" if arm == "shuffled" else "") in PAGE


def test_the_homeworks_captions_are_learned_as_well_as_others_learned_them(subtests, joined):
    """In the ranges in which published runs predict another one."""
    for arm, perplexity, backward in [
        ("scratch", (18.4, 19.4), (0.42, 0.435)),
        ("shuffled", (14.8, 16.0), (0.50, 0.52)),
    ]:
        with subtests.test(arm=arm, perplexity=perplexity, backward=backward):
            found = [
                joined.of("perplexity of sentences", arm=arm)[0],
                joined.of("backward", arm=arm, decoding="random")[0],
                joined.of("forward", arm=arm, decoding="random")[0],
            ]
            for each, (low, high) in zip(found, (perplexity, backward, (0.56, 0.60)), strict=True):
                assert low <= each.interval.low <= each.interval.high <= high
                assert each.draws >= 4


def test_the_page_says_how_many_seeds_would_decide_what_is_open():
    """About a second: the committed run is judged again, and further seeds are drawn for what it leaves open."""
    undecided = measure.again(ROOT / "figures" / "captions").verdicts.undecided

    def decide(claim, **setting):
        return [e.decide for e in undecided if e.claim == claim and setting.items() <= e.setting.items()]

    def chance(claim, **setting):
        return [e.chance for e in undecided if e.claim == claim and setting.items() <= e.setting.items()]

    page = " ".join(PAGE.split())
    for claim in ("pretraining-helps", "pretraining-saves-epochs", "pretraining-narrows-the-gap"):
        assert f"| {decide(claim)[0]} | {chance(claim)[0]:.2f} |" in page
    ways = ("sharper-is-better-formed", "sharper-covers-less", "openings-lose-diversity")
    open_ways = [number for claim in ways for number in decide(claim, arm="scratch")]
    assert sorted(filter(None, open_ways)) == [6, 6, 6, 8]
    # Fresh seeds have decided these, and the number of heads: the page says so where it told how many would.
    for name in ("decodings", "losses"):
        assert f"--out figures/captions/fresh/{name}" in page
    assert decide("number-of-heads-stays-within-the-margin") == [6]
    assert "For 6 heads five seeds do not decide." in page
    assert decide("dropping-heads-helps") == [None]
    assert f"would take {decide('shuffling-helps')[0]} seeds." in page
    assert f"Even they decide only with probability {chance('shuffling-helps')[0]:.2f}." in page
    # The answer sheet says these numbers in words.
    assert decide("training-loss-goes-on-falling", arm="scratch") == [12]
    assert decide("openings-lose-diversity", arm="scratch") == [6, 8]


def test_the_page_says_how_many_seeds_would_decide_what_the_homeworks_captions_leave_open():
    """The committed run is judged again, and further seeds are drawn for what it leaves open."""
    undecided = measure.again(ROOT / "figures" / "captions" / "joined").verdicts.undecided
    covers = {each.setting["arm"]: each.decide for each in undecided if each.claim == "sharper-covers-less"}
    assert covers == {"scratch": 7, "shuffled": 17}
    chances = " and ".join(f"{each.chance:.2f}" for each in undecided if each.claim == "sharper-covers-less")
    said = f"It would take 7 seeds of `scratch` and 17 of `shuffled`, which decide with probability {chances}."
    assert said in " ".join(PAGE.split())
