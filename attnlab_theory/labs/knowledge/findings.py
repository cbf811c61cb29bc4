"""All that the lab asks of a model's answers: the numbers, and the verdicts of practical4/4a-4c."""

import itertools
from collections.abc import Collection, Iterator

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.knowledge import accuracy, confidence, exposure, names
from attnlab_theory.labs.knowledge.answered import UNTRAINED, Answers, independent
from attnlab_theory.labs.verdicts import ERROR_RATE, Statement, Verdicts, judged
from attnlab_theory.stats import Interval

MARK = 0.10
"""The homework's mark: practical4/4a asks why the pretrained model answers more than this share right, and the
other does not. Five seeds can tell: whoever guesses among 40 places is right about 2.5 %, and if models differ as
shares of 60 persons do, the interval reaches 5 points further."""

CONJECTURED = 0.80
"""Once expected of pretrained models. But these differ by more than their 60 questions make them differ."""


def measure(
    answers: Answers, places: Collection[str], *, error_rate: float = ERROR_RATE, shuffles: int = 9_999
) -> Estimates:
    """Every number about what models know, as far as their answers have it.

    Args:
        answers: of one or several variants and seeds.
        places: those that exist.
        error_rate: of each interval.
        shuffles: of each permutation test.

    Raises:
        ValueError: if there are no answers, or variants were not asked the same questions.
    """
    if not answers:
        raise ValueError("there are no answers to look at; evaluate a model first")
    apart = independent(answers)
    tested = _tested(apart)
    found = [
        *by_training(answers, error_rate),
        *accuracy.wrong_but_places(apart, places, error_rate),
        *confidence.discrimination(tested, error_rate),
        *confidence.reliability(tested, error_rate, bins=min(8, len(tested) // len(tested.variants))),
        *confidence.abstention(tested, error_rate),
        *confidence.histogram(tested, error_rate),
        *names.confident_places(answers, places, error_rate),
        *names.same_part(answers, "first", error_rate, shuffles=shuffles),
        *names.same_part(answers, "last", error_rate, shuffles=shuffles),
        *names.like_the_nearest(answers, error_rate, shuffles=shuffles),
    ]
    return Estimates(found)


def by_training(answers: Answers, error_rate: float) -> Estimates:
    """What `measure` says of how often answers are right and of how sure they are, over seeds or pooled.

    These numbers need the answers alone: a finished run is judged again on them.
    """
    found = [
        *accuracy.by_seed(answers, error_rate),
        *accuracy.over_seeds(answers, error_rate),
        *accuracy.pooled(independent(answers), error_rate),
        *confidence.discrimination_over_seeds(_tested(answers), error_rate),
    ]
    if any(answer.group == "held-out" for answer in answers):
        for first, second in itertools.combinations(answers.variants, 2):
            found += accuracy.compared(answers, first, second, "held-out", error_rate)
    return Estimates(found)


def _tested(answers: Answers) -> Answers:
    """Whoever was finetuned on a question answers it by rote: that is no test of knowing what one knows."""
    return Answers(a for a in answers if a.group != "finetuned") or answers


def verdicts(answers: Answers, measured: Estimates) -> Verdicts:
    """All claims about what models know, judged; args as `statements`."""
    return judged((*statements(answers, measured), *exposure.statements(measured)), experiment="knowledge")


def statements(answers: Answers, measured: Estimates) -> Iterator[Statement]:
    """The claims about what models know, on what `measure` found over seeds.

    Args:
        answers: those that were measured.
        measured: what `measure` made of them.
    """
    for estimate in measured:
        told = estimate.setting
        if estimate.quantity == "mean accuracy":
            yield from _accuracy(estimate, answers)
        elif estimate.quantity == "mean accuracy gained" and told["first"] == UNTRAINED:
            yield Statement(
                estimate=estimate,
                claim="pretraining-raises-accuracy",
                statement="The pretrained model answers more held-out persons right than the untrained one.",
                source="practical4/4a",
                predicted=Interval.at_least(0.0),
            )
        elif estimate.quantity == "mean auroc" and told["variant"] != UNTRAINED:
            yield Statement(
                estimate=estimate,
                claim="confidence-tells-right-from-wrong",
                statement="A right answer has more confidence than a wrong one, more often than not.",
                source="practical4/4b",
                predicted=Interval.at_least(0.5),
            )


def _accuracy(estimate: Estimate, answers: Answers) -> Iterator[Statement]:
    """The claims about the accuracy of one variant on one group; there is none about those it was finetuned on."""
    variant, group = estimate.setting["variant"], estimate.setting["group"]
    if group == "held-out" and variant == UNTRAINED:
        yield Statement(
            estimate=estimate,
            claim="untrained-is-ignorant",
            statement=f"Without pretraining, at most {_percent(MARK)} of held-out persons are answered right.",
            source="practical4/4a",
            predicted=Interval.at_most(MARK),
        )
    elif group == "held-out":
        yield Statement(
            estimate=estimate,
            claim="pretraining-is-recalled",
            statement=f"With pretraining, at least {_percent(MARK)} of held-out persons are answered right.",
            source="practical4/4a",
            predicted=Interval.at_least(MARK),
        )
        yield Statement(
            estimate=estimate,
            claim="four-of-five-are-recalled",
            statement=f"With pretraining, at least {_percent(CONJECTURED)} of held-out persons are answered right.",
            source="the recipe, chosen on the persons of seed 0",
            predicted=Interval.at_least(CONJECTURED),
            conjecture=True,
        )
    elif group == "never-seen":
        commonest = accuracy.majority(answers.of(group, variant=variant))
        yield Statement(
            estimate=estimate,
            claim="nobody-knows-the-never-seen",
            statement=f"Of persons never seen at most {_percent(MARK)} are answered right, "
            "or as many as their commonest place has.",
            source="practical4/4c",
            predicted=Interval.at_most(max(MARK, commonest)),
        )


def _percent(share: float) -> str:
    """Statements are typeset, and there a bare percent sign begins a comment."""
    return f"{share:.0%}".replace("%", r"\%")
