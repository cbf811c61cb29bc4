"""The page quotes what the committed runs measured."""

import json
import math
from pathlib import Path

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.mixers import measure
from attnlab_theory.labs.mixers.arms import ASKED, CAUSAL, LEAKING
from attnlab_theory.labs.mixers.honest import LONGEST
from attnlab_theory.labs.mixers.terms import TERMS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "labs" / "mixers.md").read_text(encoding="utf-8")
NAMES = {
    "additive": "additive attention",
    "shared-qk": "queries are keys",
    "shared-qkv": "queries, keys and values are one",
}


def estimates_of(folder):
    return Estimates(map(Estimate.from_json, json.loads((ROOT / folder / "estimates.json").read_text())))


def test_the_page_quotes_the_differences_in_loss(subtests):
    for arm in NAMES:
        with subtests.test(arm=arm):
            (found,) = estimates_of("figures/mixers").of("test loss less that of separate", arm=arm)
            half = (found.interval.high - found.interval.low) / 2
            assert f"| {NAMES[arm]} | {found.value:+.4f} ± {half:.4f} |" in PAGE


def test_the_page_quotes_what_masks_of_zeros_lose(subtests):
    for arm, name in [("zero-after", "zeros after"), ("zero-before", "zeros before")]:
        with subtests.test(arm=arm, name=name):
            (found,) = estimates_of("figures/mixers").of("mean honest less teacher-forced loss", arm=arm)
            half = (found.interval.high - found.interval.low) / 2
            assert f"| {name} the softmax | {found.value:+.2f} ± {half:.2f} |" in PAGE


def test_the_words_of_the_page_name_the_tokens_and_sentences_that_were_scored(subtests):
    for folder in ["figures/mixers", "figures/mixers/news"]:
        with subtests.test(folder=folder):
            meaning = TERMS["mixers"]["teacher-forced loss"]
            assert {each.draws for each in estimates_of(folder) if each.quantity == "teacher-forced loss"} == {200}
            assert f"first {LONGEST} tokens" in meaning
            assert f"{measure.SCORED} test sentences" in meaning


def test_the_page_says_how_much_longer_a_step_with_additive_attention_takes():
    about = json.loads((ROOT / "figures" / "mixers" / "mixers.run.json").read_text())
    times = about["seconds_per_step"]
    assert f"takes {times['additive'][1] / times['separate'][1]:.1f} times as long" in PAGE
    assert f"It took {about['seconds']:.0f} seconds" in PAGE


def test_the_page_quotes_losses_and_perplexities_of_sentences(subtests):
    for arm in [*CAUSAL, *LEAKING]:
        with subtests.test(arm=arm):
            news = estimates_of("figures/mixers/news")
            each = [news.of("loss of a sentence", arm=arm, sentence=sentence) for sentence in ASKED]
            values = [found.value for (found,) in (*each, news.of("test loss", arm=arm))]
            cells = " | ".join(f"{value:.2f} ({math.exp(value):,.0f})" for value in values)
            assert f"| {arm} | {cells} |" in PAGE


def test_the_page_quotes_what_a_look_ahead_is_worth(subtests):
    for arm in LEAKING:
        with subtests.test(arm=arm):
            gaps = estimates_of("figures/mixers/news").of("honest less teacher-forced loss", arm=arm)
            cells = (f"{e.value:+.3f} ± {(e.interval.high - e.interval.low) / 2:.3f}" for e in gaps)
            assert f"| {arm} | {' | '.join(cells)} |" in PAGE


def test_the_page_says_how_many_seeds_would_decide_what_is_open():
    """Judges two committed runs again, and imports matplotlib on the way."""
    assert measure.again(ROOT / "figures" / "mixers").verdicts.undecided == ()
    left = measure.again(ROOT / "figures" / "mixers" / "news").verdicts.undecided
    after, before = (each for each in left if each.claim == "zero-masks-lose-without-the-future")
    assert [after.decide, before.decide] == [4, 5]
    assert (
        "it is INCONCLUSIVE whether the loss rises on average over models. Five seeds would decide it for "
        f"`zero-before` with probability {before.chance:.2f}, and four for `zero-after` with probability "
        f"{after.chance:.2f}." in " ".join(PAGE.split())
    )
