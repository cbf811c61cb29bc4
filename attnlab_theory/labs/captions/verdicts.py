"""The verdicts of the caption lab: what ann-hw3 and this lab say of captions, judged on what was measured."""

from collections.abc import Callable
from typing import Any

from attnlab_theory.labs.captions.findings import BASE
from attnlab_theory.labs.captions.rules import HOMEWORK
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.verdicts import ERROR_RATE, LEAST, Statement, Verdicts, judged
from attnlab_theory.stats import Interval

SAME = 0.02
"""Losses that differ by less, in nats per token, are called the same: 2 % of a perplexity."""

ENTROPY_RESOLUTION = 0.5
"""Nats of one caption: a language with one choice between two equal ones fewer differs by 0.69."""

DERIVED_ROUNDING = 1e-12
"""Both are sums of the same logarithms in the same order."""


def verdicts(measured: Estimates) -> Verdicts:
    """The claims about captions, judged on what was measured."""
    rules: dict[str, Callable[[Estimate], Statement | None]] = {
        "log-probability of a caption": _entropy,
        "log-probability by derivation less by parsing": _one_derivation,
        "loss above the grammar": _floor,
        "forward gained": _sharper,
        "backward gained": _narrower,
        "commonest_opening gained": _same_beginnings,
        "training loss less that of the best epoch": _goes_on_falling,
        "test loss gained": _arm,
        "epochs gained": _fewer_epochs,
        "gap gained": _wider_gap,
    }
    over_runs = sum(e.runs >= LEAST and e.quantity in (*rules, "harmonic gained") for e in measured)
    rules["harmonic gained"] = _by_perplexity(measured, ERROR_RATE / max(over_runs, 1))
    found = (rules[estimate.quantity](estimate) for estimate in measured if estimate.quantity in rules)
    return judged((stated for stated in found if stated), experiment="captions")


def _of(estimate: Estimate, claim: str, statement: str, predicted: Interval, **more: Any) -> Statement:
    kept: dict[str, Any] = {"source": "ann-hw3"} | more
    return Statement(estimate=estimate, claim=claim, statement=statement, predicted=predicted, **kept)


def _entropy(estimate: Estimate) -> Statement:
    statement = "Captions that are drawn have the mean log-probability that the grammar states."
    point = Interval.point(-estimate.setting["entropy"])
    told = {"resolution": ENTROPY_RESOLUTION, "of_training": False}
    return _of(estimate, "captions-have-the-stated-entropy", statement, point, **told)


def _one_derivation(estimate: Estimate) -> Statement:
    statement = "Parsing finds the derivation by which a caption was drawn: there is no other."
    rounding = Interval(-DERIVED_ROUNDING, DERIVED_ROUNDING)
    told = {"source": "Aho and Ullman 1972", "of_training": False}
    return _of(estimate, "captions-have-one-derivation", statement, rounding, **told)


def _floor(estimate: Estimate) -> Statement:
    statement = "No model's loss is below that of the grammar itself: a model that passes it has looked ahead."
    positive = Interval.at_least(0.0)
    told = {"source": "Gibbs's inequality", "of_training": False}
    return _of(estimate, "nobody-beats-the-grammar", statement, positive, **told)


def _is_setting(estimate: Estimate) -> bool:
    """Whether it compares one of the homework's decodings with drawing at random."""
    return estimate.setting["against"] == "random" and estimate.setting["decoding"] in HOMEWORK


def _sharper(estimate: Estimate) -> Statement | None:
    if not _is_setting(estimate):
        return None
    statement = "A lower temperature and top-p raise forward BLEU: single sentences are better formed."
    return _of(estimate, "sharper-is-better-formed", statement, Interval.at_least(0.0))


def _narrower(estimate: Estimate) -> Statement | None:
    if not _is_setting(estimate):
        return None
    statement = "A lower temperature and top-p lower backward BLEU: less of the language is covered."
    return _of(estimate, "sharper-covers-less", statement, Interval.at_most(0.0))


def _same_beginnings(estimate: Estimate) -> Statement | None:
    if not _is_setting(estimate):
        return None
    statement = "With a lower temperature or top-p more sentences begin in the commonest way."
    return _of(estimate, "openings-lose-diversity", statement, Interval.at_least(0.0))


def _by_perplexity(measured: Estimates, error_rate: float) -> Callable[[Estimate], Statement | None]:
    """Whether the arm of lower perplexity has the higher harmonic BLEU: where it is known which one that is.

    Args:
        measured: with the losses.
        error_rate: at which it must be known; that of every verdict of the lab, or less.
    """
    losses_gained = {e.setting["arm"]: e for e in measured if e.quantity == "test loss gained" and e.runs >= LEAST}

    def judge(estimate: Estimate) -> Statement | None:
        lost = losses_gained.get(estimate.setting["arm"])
        if estimate.setting["against"] != BASE or lost is None:
            return None
        if lost.at(error_rate).contains(Interval.point(0.0)):
            return None
        statement = "Of two models, the one with the lower perplexity has the higher harmonic BLEU."
        better = Interval.at_least(0.0) if lost.value < 0 else Interval.at_most(0.0)
        return _of(estimate, "perplexity-orders-bleu", statement, better, conjecture=True)

    return judge


def _goes_on_falling(estimate: Estimate) -> Statement:
    statement = "After the epoch with the lowest validation loss, the training loss goes on falling."
    falling = Interval.at_most(0.0)
    return _of(estimate, "training-loss-goes-on-falling", statement, falling, conjecture=True)


def _arm(estimate: Estimate) -> Statement | None:
    name, same = estimate.setting["arm"], Interval(-SAME, SAME)
    if name == "permuted":
        statement = f"Features permuted before they are cut into heads change the loss by at most {SAME:g} nats."
        return _of(estimate, "permuted-features-stay-within-the-margin", statement, same)
    if name == "dropped-heads":
        statement = "Dropping whole heads while training lowers the loss."
        return _of(estimate, "dropping-heads-helps", statement, Interval.at_most(0.0), conjecture=True)
    if name.startswith("heads-"):
        statement = f"The number of heads changes the loss by at most {SAME:g} nats per token."
        return _of(estimate, "number-of-heads-stays-within-the-margin", statement, same, conjecture=True)
    if name == "pretrained":
        statement = "Pretraining lowers the loss."
        return _of(estimate, "pretraining-helps", statement, Interval.at_most(0.0), conjecture=True)
    if name == "shuffled":
        statement = "Another order in every epoch lowers the loss."
        return _of(estimate, "shuffling-helps", statement, Interval.at_most(0.0), conjecture=True)
    return None


def _fewer_epochs(estimate: Estimate) -> Statement | None:
    if estimate.setting["arm"] != "pretrained":
        return None
    statement = "A pretrained model is at its best after fewer epochs."
    return _of(estimate, "pretraining-saves-epochs", statement, Interval.at_most(0.0), conjecture=True)


def _wider_gap(estimate: Estimate) -> Statement | None:
    if estimate.setting["arm"] != "pretrained":
        return None
    statement = "A pretrained model's gap between validation and training loss is the smaller."
    return _of(estimate, "pretraining-narrows-the-gap", statement, Interval.at_most(0.0), conjecture=True)
