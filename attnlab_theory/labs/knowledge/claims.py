"""The claims about models that read and answer: practical4/4a-4c, and more."""

from collections.abc import Sequence

from attnlab_theory.claims import Beyond, Instead, Paired, Statement
from attnlab_theory.claims.statement import Measured
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.knowledge.arms import PRETRAINED, UNTRAINED
from attnlab_theory.stats import Interval

MARK = 0.10
"""The homework's mark. practical4/4a asks why the pretrained model answers a larger share right, and the other not.
Five seeds can tell: a guess among 40 places is right in about 2.5 %. If models differ as shares of 60
persons do, the interval reaches 5 points further."""

CONJECTURED = 0.80
"""A share that was once expected of pretrained models. But they differ by more than 60 questions explain."""

COMMONEST = "share of the commonest place"


def _percent(share: float) -> str:
    """A share, in percent."""
    return f"{100 * share:.0f} %"


def _at_most_a_guess(estimate: Estimate, every: Sequence[Estimate]) -> Interval:
    """At most the mark, or the accuracy of one answer to all questions."""
    (commonest,) = Estimates(every).of(COMMONEST, **estimate.setting)
    return Interval.at_most(max(MARK, commonest.value))


def _gained(measured: Measured) -> dict[str, str]:
    """Which difference compares a pretrained model with the untrained one on the same persons."""
    return {"first": UNTRAINED, "second": measured.setting["variant"]}


THE_UNTRAINED = Beyond("the untrained model on the same persons", "mean accuracy gained", _gained)

THE_PRETRAINED = Beyond(
    "the pretrained models on held-out persons",
    "mean accuracy",
    {"group": "held-out", "variant": PRETRAINED},
    above=MARK,
)
"""That a model misses the mark says something only if another one passes it."""

STATEMENTS = (
    Statement(
        name="untrained-is-ignorant",
        statement=f"Without pretraining, at most {_percent(MARK)} of held-out persons are answered right.",
        source="practical4/4a",
        quantity="mean accuracy",
        where={"group": "held-out", "variant": UNTRAINED},
        predicted=Interval.at_most(MARK),
        control=THE_PRETRAINED,
    ),
    Statement(
        name="pretraining-is-recalled",
        statement=f"With pretraining, at least {_percent(MARK)} of held-out persons are answered right.",
        source="practical4/4a",
        quantity="mean accuracy",
        where={"group": "held-out", "variant": PRETRAINED},
        predicted=Interval.at_least(MARK),
        control=THE_UNTRAINED,
    ),
    Statement(
        name="four-of-five-are-recalled",
        statement=f"With pretraining, at least {_percent(CONJECTURED)} of held-out persons are answered right.",
        source="the recipe, chosen on the persons of seed 0",
        quantity="mean accuracy",
        where={"group": "held-out", "variant": PRETRAINED},
        predicted=Interval.at_least(CONJECTURED),
        control=THE_UNTRAINED,
        expect=None,
    ),
    Statement(
        name="nobody-knows-the-never-seen",
        statement=f"Of never-seen persons at most {_percent(MARK)} are answered right, "
        "or the share of their commonest place if that is larger.",
        source="practical4/4c",
        quantity="mean accuracy",
        where={"group": "never-seen"},
        predicted=_at_most_a_guess,
        control=THE_PRETRAINED,
    ),
    Statement(
        name="pretraining-raises-accuracy",
        statement="The pretrained model answers more held-out persons right than the untrained one.",
        source="practical4/4a",
        quantity="mean accuracy gained",
        where={"first": UNTRAINED},
        predicted=Interval.at_least(0.0),
        control=Paired("the untrained model on the same persons"),
    ),
    Statement(
        name="confidence-tells-right-from-wrong",
        statement="Over all questions that finetuning did not teach, in the mixture of groups that was asked, a "
        "right answer has more confidence than a wrong one, more often than not.",
        source="practical4/4b",
        quantity="mean auroc",
        where={"variant": PRETRAINED},
        predicted=Interval.at_least(0.5),
        control=Instead("confidence drawn by chance", Interval.point(0.5)),
    ),
    Statement(
        name="more-wordings-are-recalled-better",
        statement="Persons described in more wordings, with equally many sentences, are recalled more often.",
        source="Allen-Zhu and Li 2023",
        quantity="accuracy gained by wordings",
        predicted=Interval.at_least(0.0),
        control=Paired("persons described in fewer wordings"),
    ),
)
