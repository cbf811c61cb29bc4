"""The claims about classifiers of reviews, of uw/3, of papers and of this lab."""

import dataclasses
import functools
from collections.abc import Sequence

from attnlab_theory.claims import Beyond, Control, Identity, Instead, Paired, Statement
from attnlab_theory.claims.statement import Measured
from attnlab_theory.labs.reviews.arms import BASE, BEST, NEVER_ZEROED, ORDER, SHARED
from attnlab_theory.language.corpora.labelled_grammar import embedded
from attnlab_theory.stats import Interval

MARGIN = 0.02
"""Accuracies and probabilities that differ by less count as equal."""

AGREE = 0.5
"""Explanations agree if their mean rank correlation is higher."""

UNMOVED = 1e-4
"""Log-odds that move by less count as unmoved: no probability moves by more than a quarter of this."""

BESIDE_BAYES = 0.1
"""The resolution of comparisons with Bayes's rule."""

WANTED = 0.87
"""The accuracy that fine-tuned models should reach on a laptop."""

OVER_MODELS = "accuracy over models"

SAME, HIGHER, LOWER = Interval(-MARGIN, MARGIN), Interval.at_least(0.0), Interval.at_most(0.0)

FURTHER = Interval.at_least(MARGIN)
"""Without a margin untrained models pass: the tokens that move their answers most do move them a little."""


def _lucky(measured: Measured, every: Sequence[Measured]) -> Interval | None:
    """The prediction for the longest search. None for shorter ones."""
    longest = max(each.setting["n"] for each in every if each.quantity == measured.quantity)
    return HIGHER if measured.setting["n"] == longest else None


def _of_the_commoner_label(measured: Measured, _: Sequence[Measured]) -> Interval | None:
    """The accuracy of one answer to all reviews of the test. None if the run did not write it down."""
    share = measured.setting.get("majority")
    return None if share is None else Interval.point(share)


COMMONER = "accuracy above the commoner label"

THE_COMMONER_LABEL = Beyond("a classifier that always gives the commoner label", COMMONER, {"part": BASE}, MARGIN)
"""Two classifiers that learned nothing are right equally often. So equality counts only beside one that learned."""

MOVED = "moved by dropout in these models"

DROPOUT = Beyond("training mode with dropout", MOVED, above=UNMOVED)
"""That nothing moves the answers says something only if dropout moves them."""

THE_BASE = Paired("the base with the same seed")

RANDOM_TOKENS = Paired("as many random tokens of the same review")

COUNTING = Instead("the best rule that counts words", lambda *_: Interval.point(embedded().counting_accuracy))

_conjecture = functools.partial(Statement, expect=None, source="uw/3.q4")
_gain = functools.partial(_conjecture, quantity="accuracy gained")
_certain = functools.partial(Statement, of_training=False)


def _of_answers(
    name: str, statement: str, quantity: str, predicted: Interval, control: Control, source: str = "uw section 3"
) -> tuple[Statement, Statement]:
    """Two statements of one conjecture: about the mean over models, and for older runs about their only model."""
    told = {"name": name, "statement": statement, "control": control, "source": source}
    mean = _conjecture(quantity=f"mean {quantity}", predicted=predicted, **told)

    def alone(_: Measured, every: Sequence[Measured]) -> Interval | None:
        return None if any(each.quantity == mean.quantity for each in every) else predicted

    return mean, _conjecture(quantity=quantity, predicted=alone, **told)


STATEMENTS = (
    _certain(
        name="nobody-beats-bayes",
        statement="No classifier is right more often than Bayes's rule, which follows the exact posterior.",
        source="Bayes's rule has the least error",
        quantity="accuracy above Bayes's rule",
        predicted=LOWER,
        control=Identity("no rule errs less often than Bayes's"),
        resolution=BESIDE_BAYES,
    ),
    _certain(
        name="bayes-accuracy-is-the-sum",
        statement="Bayes's rule is right as often as the sum over all sorts of reviews says.",
        source="language/corpora/labelled_grammar.py",
        quantity="accuracy of Bayes's rule",
        predicted=lambda *_: Interval.point(embedded().bayes_accuracy),
        control=COUNTING,
        resolution=BESIDE_BAYES,
    ),
    _certain(
        name="order-is-read",
        statement="This encoder is right more often than any rule that counts words: it reads their order.",
        source="language/corpora/labelled_grammar.py",
        quantity="accuracy where order counts",
        predicted=lambda *_: Interval.at_least(embedded().counting_accuracy),
        control=COUNTING,
    ),
    _gain(
        name="one-rate-favours-adamw",
        statement="At AdamW's learning rate the other optimizers are right less often.",
        where={"part": tuple(SHARED.values())},
        predicted=LOWER,
        control=Paired("AdamW at the same rate"),
    ),
    _gain(
        name="best-rates-stay-within-the-margin",
        statement="Each at the learning rate that validation chose for it, "
        f"optimizers differ by at most {MARGIN:g} in accuracy.",
        where={"part": tuple(BEST.values()), "against": BEST["adamw"]},
        predicted=SAME,
        control=dataclasses.replace(THE_COMMONER_LABEL, where={"part": BEST["adamw"]}),
    ),
    _gain(
        name="a-rate-of-its-own-helps",
        statement="The learning rate that validation chose for an optimizer raises its accuracy on test.",
        where={"part": tuple(BEST.values()), "against": tuple(SHARED.values())},
        predicted=HIGHER,
        control=Paired("the same optimizer at AdamW's rate"),
    ),
    _gain(
        name="alike-lengths-stay-within-the-margin",
        statement=f"Whether reviews of similar length share a batch changes accuracy by at most {MARGIN:g}.",
        where={"part": ORDER["alike"]},
        predicted=SAME,
        control=THE_COMMONER_LABEL,
    ),
    _gain(
        name="shuffling-stays-within-the-margin",
        statement=f"Whether reviews are shuffled in every epoch changes accuracy by at most {MARGIN:g}.",
        where={"part": ORDER["file"]},
        predicted=SAME,
        control=THE_COMMONER_LABEL,
    ),
    _gain(
        name="sorted-labels-hurt",
        statement="Reviews sorted by label, all of one first, lower the accuracy.",
        where={"part": ORDER["by-label"]},
        predicted=LOWER,
        control=THE_BASE,
    ),
    _gain(
        name="gradients-must-be-zeroed",
        statement="Without zeroing, each step follows the sum of all gradients so far, and the accuracy falls.",
        where={"part": NEVER_ZEROED},
        predicted=LOWER,
        control=THE_BASE,
    ),
    _conjecture(
        name="training-accuracy-is-higher",
        statement="After the last epoch the accuracy on training reviews exceeds that on validation.",
        quantity="training less validation accuracy",
        where={"part": BASE},
        predicted=HIGHER,
        control=Paired("the same models on validation reviews"),
    ),
    _conjecture(
        name="validation-peaks-no-later",
        statement="Validation accuracy is at its best no later than training accuracy.",
        quantity="best epoch of validation less of training",
        where={"part": BASE},
        predicted=LOWER,
        control=Paired("the best epoch of training"),
    ),
    _conjecture(
        name="dropout-costs-accuracy",
        statement="The same parameters are right less often in training mode, with dropout, than in "
        "evaluation mode.",
        source="uw/3.q3",
        quantity="accuracy lost to dropout",
        where={"part": BASE},
        predicted=HIGHER,
        control=Paired("the same models in evaluation mode"),
    ),
    _certain(
        name="modes-differ-in-dropout-alone",
        statement="With all rates of dropout at zero, training mode and evaluation mode are the same: "
        "no log-odds move.",
        source="uw/3.q3",
        quantity="moved by mode alone",
        predicted=Interval.point(0.0),
        control=DROPOUT,
        resolution=UNMOVED,
    ),
    _certain(
        name="padding-moves-rounding-alone",
        statement=f"Padding to the longest row moves no review's log-odds by more than {UNMOVED:g}.",
        source="uw/3.q1",
        quantity="moved by padding",
        predicted=Interval.at_most(UNMOVED),
        control=DROPOUT,
        resolution=UNMOVED,
    ),
    _certain(
        name="gradients-take-memory",
        statement="A gradient needs more memory than the loss alone, which forgets a layer once the next is there.",
        source="uw/3.q3",
        quantity="memory of gradients",
        predicted=Interval.at_least(1.0),
        control=Instead("the loss alone", Interval.point(1.0)),
    ),
    *_of_answers(
        "confidence-stays-near-accuracy",
        f"A model's mean confidence differs from its accuracy by at most {MARGIN:g}.",
        "confidence less accuracy",
        SAME,
        THE_COMMONER_LABEL,
    ),
    *_of_answers(
        "explanations-agree",
        f"Two explanations rank a review's tokens alike: a mean rank correlation above {AGREE:g}.",
        "rank correlation",
        Interval.at_least(AGREE),
        Instead("a random ranking", Interval.point(0.0)),
        "Jain and Wallace 2019",
    ),
    *_of_answers(
        "top-tokens-decide-by-the-margin",
        f"Hiding a review's top tokens moves the answer at least {MARGIN:g} further than hiding random ones.",
        "moved by hiding",
        FURTHER,
        RANDOM_TOKENS,
        "DeYoung et al. 2020",
    ),
    *_of_answers(
        "top-tokens-suffice-by-the-margin",
        f"A review's top tokens alone keep at least {MARGIN:g} more of the answer than random ones.",
        "held by keeping",
        FURTHER,
        RANDOM_TOKENS,
        "DeYoung et al. 2020",
    ),
    _conjecture(
        name="winners-are-lucky",
        statement="The winner of a search looks better on validation than it is, because validation chose it.",
        quantity="optimism",
        predicted=_lucky,
        control=Paired("a winner on reviews that did not choose it"),
    ),
    Statement(
        name="tuned-models-reach-87",
        statement=f"Models of this kind label at least {WANTED:.0%} of these test reviews right, on average.",
        source="uw/3.q5",
        quantity=OVER_MODELS,
        predicted=Interval.at_least(WANTED),
        control=Instead("the commoner label", _of_the_commoner_label),
    ),
)
