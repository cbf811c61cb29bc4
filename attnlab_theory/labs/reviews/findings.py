"""The verdicts of the review lab, on numbers that are measured already."""

from collections.abc import Callable
from typing import Any

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.verdicts import Statement, Verdicts, judged
from attnlab_theory.language.corpora.labelled_grammar import LabelledGrammar
from attnlab_theory.stats import Interval

SAME = 0.02
"""Accuracies that differ by less are called the same."""

AGREE = 0.5
"""Explanations agree whose mean rank correlation is higher."""

UNMOVED = 1e-4
"""Log-odds that move by less are called unmoved: no probability moves by more than a quarter of it."""

Rule = Callable[[Estimate], Statement | None]


def verdicts(measured: Estimates, grammar: LabelledGrammar | None) -> Verdicts:
    """The claims about reviews, judged on what was measured.

    Args:
        measured: from `measured`.
        grammar: the languages of the reviews, if they are known.
    """
    rules: dict[str, Rule] = {
        "accuracy above Bayes's rule": _floor,
        "accuracy gained": _gained,
        "training less validation accuracy": _overfitted,
        "best epoch of validation less of training": _earlier,
        "accuracy lost to dropout": _dropout,
        "moved by mode alone": _mode,
        "moved by padding": _padding,
        "memory of gradients": _memory,
        "optimism": _optimism(measured),
    }
    of_answers: dict[str, Rule] = {
        "confidence less accuracy": _calibrated,
        "rank correlation": _agree,
        "moved by hiding": _faithful,
        "held by keeping": _sufficient,
    }
    known = {estimate.quantity for estimate in measured}
    for quantity, rule in of_answers.items():
        # An older run looked at its first model alone: then that is what is not enough.
        over_seeds = f"mean {quantity}"
        rules[over_seeds if over_seeds in known else quantity] = rule
    if grammar is not None:
        rules |= {"accuracy of Bayes's rule": _bayes(grammar), "accuracy where order counts": _order(grammar)}
    found = (rules[estimate.quantity](estimate) for estimate in measured if estimate.quantity in rules)
    return judged((stated for stated in found if stated), experiment="reviews")


def _of(estimate: Estimate, claim: str, statement: str, predicted: Interval, **more: Any) -> Statement:
    kept: dict[str, Any] = {"source": "uw section 3"} | more
    return Statement(estimate=estimate, claim=claim, statement=statement, predicted=predicted, **kept)


def _floor(estimate: Estimate) -> Statement:
    statement = "No classifier is right more often than Bayes's rule, which follows the exact posterior."
    told = {"source": "Bayes's rule has the least error", "resolution": 0.1, "of_training": False}
    return _of(estimate, "nobody-beats-bayes", statement, Interval.at_most(0.0), **told)


def _bayes(grammar: LabelledGrammar) -> Rule:
    def judge(estimate: Estimate) -> Statement:
        statement = "Bayes's rule is right as often as the sum over all sorts of reviews says."
        exact = Interval.point(grammar.bayes_accuracy)
        told = {"source": "language/corpora/labelled_grammar.py", "resolution": 0.1, "of_training": False}
        return _of(estimate, "bayes-accuracy-is-the-sum", statement, exact, **told)

    return judge


def _order(grammar: LabelledGrammar) -> Rule:
    def judge(estimate: Estimate) -> Statement:
        statement = "This encoder is right more often than any rule that counts words: it reads their order."
        told = {"source": "language/corpora/labelled_grammar.py", "of_training": False}
        return _of(estimate, "order-is-read", statement, Interval.at_least(grammar.counting_accuracy), **told)

    return judge


def _gained(estimate: Estimate) -> Statement | None:
    part, against = estimate.setting["part"], estimate.setting["against"]
    told = {"source": "uw/3.q4", "conjecture": True}
    if part.endswith("at the shared rate"):
        statement = "At AdamW's learning rate the other optimizers are right less often."
        return _of(estimate, "one-rate-favours-adamw", statement, Interval.at_most(0.0), **told)
    if part.endswith("at its best rate") and against == "adamw at its best rate":
        statement = f"Each at its own best rate, optimizers differ by at most {SAME:g} in accuracy."
        same = Interval(-SAME, SAME)
        return _of(estimate, "best-rates-stay-within-the-margin", statement, same, **told)
    if part.endswith("at its best rate") and against.endswith("at the shared rate"):
        statement = "An optimizer's own best rate, chosen on validation, raises its accuracy on test."
        return _of(estimate, "a-rate-of-its-own-helps", statement, Interval.at_least(0.0), **told)
    if part == "order alike":
        statement = f"Whether reviews of similar length share a batch changes accuracy by at most {SAME:g}."
        same = Interval(-SAME, SAME)
        return _of(estimate, "alike-lengths-stay-within-the-margin", statement, same, **told)
    if part == "order file":
        statement = f"Whether reviews are shuffled in every epoch changes accuracy by at most {SAME:g}."
        same = Interval(-SAME, SAME)
        return _of(estimate, "shuffling-stays-within-the-margin", statement, same, **told)
    if part == "order by-label":
        statement = "Reviews sorted by label, all of one first, lower the accuracy."
        return _of(estimate, "sorted-labels-hurt", statement, Interval.at_most(0.0), **told)
    if part == "never zeroed":
        statement = "Without zeroing, each step has the sum of all gradients so far, and the accuracy is lower."
        return _of(estimate, "gradients-must-be-zeroed", statement, Interval.at_most(0.0), **told)
    return None


def _overfitted(estimate: Estimate) -> Statement | None:
    if estimate.setting["part"] != "base":
        return None
    statement = "After the last epoch the accuracy on training reviews exceeds that on validation."
    told = {"source": "uw/3.q4", "conjecture": True}
    return _of(estimate, "training-accuracy-is-higher", statement, Interval.at_least(0.0), **told)


def _earlier(estimate: Estimate) -> Statement | None:
    if estimate.setting["part"] != "base":
        return None
    statement = "Validation accuracy is at its best no later than training accuracy."
    told = {"source": "uw/3.q4", "conjecture": True}
    return _of(estimate, "validation-peaks-no-later", statement, Interval.at_most(0.0), **told)


def _dropout(estimate: Estimate) -> Statement | None:
    if estimate.setting["part"] != "base":
        return None
    statement = "The same parameters are right less often in training mode, with dropout, than in evaluation mode."
    told = {"source": "uw/3.q3", "conjecture": True}
    return _of(estimate, "dropout-costs-accuracy", statement, Interval.at_least(0.0), **told)


def _mode(estimate: Estimate) -> Statement:
    statement = (
        "With all rates of dropout at zero, training mode and evaluation mode are the same: no log-odds move."
    )
    told = {"source": "uw/3.q3", "resolution": UNMOVED, "of_training": False}
    return _of(estimate, "modes-differ-in-dropout-alone", statement, Interval.point(0.0), **told)


def _padding(estimate: Estimate) -> Statement:
    statement = f"Padding to the longest row moves no review's log-odds by more than {UNMOVED:g}."
    told = {"source": "uw/3.q1", "resolution": UNMOVED, "of_training": False}
    return _of(estimate, "padding-moves-rounding-alone", statement, Interval.at_most(UNMOVED), **told)


def _memory(estimate: Estimate) -> Statement:
    statement = "A gradient needs more memory than the loss alone, which forgets a layer once the next is there."
    told = {"source": "uw/3.q3", "of_training": False}
    return _of(estimate, "gradients-take-memory", statement, Interval.at_least(1.0), **told)


def _calibrated(estimate: Estimate) -> Statement:
    statement = f"A model's mean confidence is its accuracy, to {SAME:g}."
    told = {"conjecture": True}
    return _of(estimate, "confidence-stays-near-accuracy", statement, Interval(-SAME, SAME), **told)


def _agree(estimate: Estimate) -> Statement:
    statement = f"Two explanations rank a review's tokens alike: a mean rank correlation above {AGREE:g}."
    told = {"conjecture": True, "source": "Jain and Wallace 2019"}
    return _of(estimate, "explanations-agree", statement, Interval.at_least(AGREE), **told)


def _faithful(estimate: Estimate) -> Statement:
    statement = "Hiding a review's top tokens moves the answer further than hiding random ones."
    told = {"conjecture": True, "source": "DeYoung et al. 2020"}
    return _of(estimate, "top-tokens-decide", statement, Interval.at_least(0.0), **told)


def _sufficient(estimate: Estimate) -> Statement:
    statement = "A review's top tokens alone keep more of the answer than random ones."
    told = {"conjecture": True, "source": "DeYoung et al. 2020"}
    return _of(estimate, "top-tokens-suffice", statement, Interval.at_least(0.0), **told)


def _optimism(measured: Estimates) -> Rule:
    largest = max((e.setting["n"] for e in measured if e.quantity == "optimism"), default=0)

    def judge(estimate: Estimate) -> Statement | None:
        if estimate.setting["n"] != largest:
            return None
        statement = "The winner of a search looks better on validation than it is, for it was chosen by that."
        told = {"source": "uw/3.q4", "conjecture": True}
        return _of(estimate, "winners-are-lucky", statement, Interval.at_least(0.0), **told)

    return judge
