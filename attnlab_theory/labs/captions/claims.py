"""The claims about captions, of ann-hw3 and of this lab."""

import math
from collections.abc import Sequence

from attnlab_theory.claims import Identity, Instead, Paired, Statement
from attnlab_theory.claims.statement import LEAST
from attnlab_theory.labs.captions.arms import BASE, HOMEWORK
from attnlab_theory.labs.estimates import Estimate
from attnlab_theory.labs.perplexity import MARGIN, without_context
from attnlab_theory.labs.verdicts import ERROR_RATE
from attnlab_theory.stats import Interval

ENTROPY_RESOLUTION = 0.5
"""The resolution for an entropy, in nats for a caption. A language that lacked one choice between two equal ones
would differ by 0.69.
"""

DERIVED_ROUNDING = 1e-12
"""How far the two log-probabilities may differ. Both are sums of the same logarithms in the same order."""

SHARPER = {"against": "random", "decoding": HOMEWORK}
"""Comparisons of the homework's decodings with drawing at random."""

AT_RANDOM = Paired("the same models, drawing at random")

THE_BASE = Paired(f"the arm {BASE} with the same seeds")

BY_A_UNIGRAM = without_context(BASE)

UP, DOWN, SAME = Interval.at_least(0.0), Interval.at_most(0.0), Interval(-MARGIN, MARGIN)


def _of_lower_perplexity(gained: Estimate, every: Sequence[Estimate]) -> Interval | None:
    """The prediction for an arm's BLEU minus that of `BASE`, if it is known which one has the lower perplexity.

    It is known at the error rate of a verdict of the lab, or at a lower one.
    """
    quantities = {each.quantity for each in STATEMENTS}
    judged = sum(each.runs >= LEAST and each.quantity in quantities for each in every)
    for lost in reversed(every):
        if (
            lost.quantity == "test loss gained"
            and lost.setting["arm"] == gained.setting["arm"]
            and lost.runs >= LEAST
        ):
            unknown = lost.at(ERROR_RATE / max(judged, 1)).contains(Interval.point(0.0))
            return None if unknown else UP if lost.value < 0 else DOWN
    return None


STATEMENTS = (
    Statement(
        name="captions-have-the-stated-entropy",
        statement="Captions that are drawn have the mean log-probability that the grammar states.",
        source="ann-hw3",
        quantity="log-probability of a caption",
        predicted=lambda estimate, _: Interval.point(-estimate.setting["entropy"]),
        control=Instead(
            "a grammar with one choice fewer",
            lambda estimate, _: Interval.point(-estimate.setting["entropy"] + math.log(2)),
        ),
        resolution=ENTROPY_RESOLUTION,
        of_training=False,
    ),
    Statement(
        name="captions-have-one-derivation",
        statement="Parsing finds the derivation by which a caption was drawn: there is no other.",
        source="Aho and Ullman 1972",
        quantity="log-probability by derivation less by parsing",
        predicted=Interval(-DERIVED_ROUNDING, DERIVED_ROUNDING),
        control=Identity("both are sums over one derivation, since one word of lookahead parses the grammar"),
        of_training=False,
    ),
    Statement(
        name="nobody-beats-the-grammar",
        statement="No model's loss is below that of the grammar itself: a model below it has looked ahead.",
        source="Gibbs's inequality",
        quantity="loss above the grammar",
        predicted=UP,
        control=Identity("Gibbs's inequality"),
        of_training=False,
    ),
    Statement(
        name="sharper-is-better-formed",
        statement="A lower temperature and top-p raise forward BLEU: single sentences are better formed.",
        source="ann-hw3",
        quantity="forward gained",
        where=SHARPER,
        predicted=UP,
        control=AT_RANDOM,
    ),
    Statement(
        name="sharper-covers-less",
        statement="A lower temperature and top-p lower backward BLEU: less of the language is covered.",
        source="ann-hw3",
        quantity="backward gained",
        where=SHARPER,
        predicted=DOWN,
        control=AT_RANDOM,
    ),
    Statement(
        name="openings-lose-diversity",
        statement="With a lower temperature or top-p more sentences begin in the commonest way.",
        source="ann-hw3",
        quantity="commonest_opening gained",
        where=SHARPER,
        predicted=UP,
        control=AT_RANDOM,
    ),
    Statement(
        name="perplexity-orders-bleu",
        statement="Of two models, the one with the lower perplexity has the higher harmonic BLEU.",
        source="ann-hw3",
        quantity="harmonic gained",
        where={"against": BASE},
        predicted=_of_lower_perplexity,
        control=THE_BASE,
        expect=None,
    ),
    Statement(
        name="training-loss-goes-on-falling",
        statement="After the epoch with the lowest validation loss, the training loss goes on falling.",
        source="ann-hw3",
        quantity="training loss less that of the best epoch",
        predicted=DOWN,
        control=Paired("the same models after the best epoch"),
        expect=None,
    ),
    Statement(
        name="permuted-features-stay-within-the-margin",
        statement=f"Features permuted before they are cut into heads change the loss by at most {MARGIN:g} nats.",
        source="ann-hw3",
        quantity="test loss gained",
        where={"arm": "permuted"},
        predicted=SAME,
        control=BY_A_UNIGRAM,
    ),
    Statement(
        name="dropping-heads-helps",
        statement="Dropping whole heads while training lowers the loss.",
        source="ann-hw3",
        quantity="test loss gained",
        where={"arm": "dropped-heads"},
        predicted=DOWN,
        control=THE_BASE,
        expect=None,
    ),
    Statement(
        name="number-of-heads-stays-within-the-margin",
        statement=f"The number of heads changes the loss by at most {MARGIN:g} nats per token.",
        source="ann-hw3",
        quantity="test loss gained",
        where={"arm": ("heads-1", "heads-6", "heads-8")},
        predicted=SAME,
        control=BY_A_UNIGRAM,
        expect=None,
    ),
    Statement(
        name="pretraining-helps",
        statement="Pretraining lowers the loss.",
        source="ann-hw3",
        quantity="test loss gained",
        where={"arm": "pretrained"},
        predicted=DOWN,
        control=THE_BASE,
        expect=None,
    ),
    Statement(
        name="shuffling-helps",
        statement="Another order in every epoch lowers the loss.",
        source="ann-hw3",
        quantity="test loss gained",
        where={"arm": "shuffled"},
        predicted=DOWN,
        control=THE_BASE,
        expect=None,
    ),
    Statement(
        name="pretraining-saves-epochs",
        statement="A pretrained model is at its best after fewer epochs.",
        source="ann-hw3",
        quantity="epochs gained",
        where={"arm": "pretrained"},
        predicted=DOWN,
        control=THE_BASE,
        expect=None,
    ),
    Statement(
        name="pretraining-narrows-the-gap",
        statement="A pretrained model has a smaller gap between validation and training loss.",
        source="ann-hw3",
        quantity="gap gained",
        where={"arm": "pretrained"},
        predicted=DOWN,
        control=THE_BASE,
        expect=None,
    ),
)
