"""All that the lab asks of a model's answers: the numbers, and the verdicts of practical4/4a-4c."""

import dataclasses
import itertools
from collections.abc import Collection

from attnlab_theory.claims import Finding, Findings
from attnlab_theory.labs.estimates import Estimate, Estimates, judged
from attnlab_theory.labs.knowledge import accuracy, confidence, names
from attnlab_theory.labs.knowledge.answered import UNTRAINED, Answers, independent
from attnlab_theory.stats import Interval

RESOLUTION = 0.2
"""The resolution of a share. The 60 held-out persons of one seed allow it where accuracy is near 0 or 1."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Expected:
    """What should come out; the defaults are those of the embedded biographies."""

    pretrained: float = 0.80
    """Least accuracy on held-out persons with pretraining."""
    untrained: float = 0.06
    """Highest accuracy on held-out persons without."""
    p: float = 1e-6
    """Highest p-value of McNemar's test between the two."""


def measure(
    answers: Answers, places: Collection[str], *, error_rate: float = 0.05, shuffles: int = 9_999
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
    # Whoever was finetuned on a question answers it by rote: that is no test of knowing what one knows.
    tested = Answers(a for a in apart if a.group != "finetuned") or apart
    found = [
        *accuracy.by_seed(answers, error_rate),
        *accuracy.over_seeds(answers, error_rate),
        *accuracy.pooled(apart, error_rate),
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
    if any(answer.group == "held-out" for answer in answers):
        for first, second in itertools.combinations(answers.variants, 2):
            found += accuracy.compared(answers, first, second, "held-out", error_rate)
    return Estimates(found)


def verdicts(answers: Answers, measured: Estimates, expected: Expected | None = None) -> Findings:
    """The claims about what models know, judged on what `measure` found.

    Args:
        answers: those that were measured.
        measured: what `measure` made of them.
        expected: by default, that of the embedded biographies.
    """
    expected = expected or Expected()
    chosen = [_accuracy_claim(estimate, answers, expected) for estimate in measured.of("pooled accuracy")]
    for estimate in measured:
        if estimate.quantity == "mcnemar p" and estimate.setting["first"] == UNTRAINED:
            chosen.append(
                judged(
                    estimate,
                    experiment="knowledge",
                    claim="pretraining-changes-the-answers",
                    statement="McNemar's exact test tells the pretrained model from the untrained one.",
                    source="practical4/4a; McNemar 1947",
                    predicted=Interval.at_most(expected.p),
                    resolution=expected.p,
                )
            )
        elif estimate.quantity == "auroc" and estimate.setting["variant"] != UNTRAINED:
            chosen.append(
                judged(
                    estimate,
                    experiment="knowledge",
                    claim="confidence-tells-right-from-wrong",
                    statement="A right answer has more confidence than a wrong one, more often than not.",
                    source="practical4/4b",
                    predicted=Interval.at_least(0.5),
                    resolution=RESOLUTION,
                )
            )
    return Findings(finding for finding in chosen if finding)


def _accuracy_claim(estimate: Estimate, answers: Answers, expected: Expected) -> Finding | None:
    """The claim about the accuracy of one variant on one group; there is none about those it was finetuned on."""
    variant, group = estimate.setting["variant"], estimate.setting["group"]
    if group == "held-out" and variant == UNTRAINED:
        claim, source, predicted = "untrained-is-ignorant", "practical4/4a", Interval.at_most(expected.untrained)
        statement = f"Without pretraining, at most {expected.untrained:.0%} of held-out persons are answered right."
    elif group == "held-out":
        claim, source, predicted = (
            "pretraining-is-recalled",
            "practical4/4a",
            Interval.at_least(expected.pretrained),
        )
        statement = f"With pretraining, at least {expected.pretrained:.0%} of held-out persons are answered right."
    elif group == "never-seen":
        chance = accuracy.majority(answers.of(group, variant=variant))
        claim, source, predicted = "nobody-knows-the-never-seen", "practical4/4c", Interval.at_most(chance)
        statement = "Persons never seen are answered right no oftener than their commonest place would be."
    else:
        return None
    return judged(
        estimate,
        experiment="knowledge",
        claim=claim,
        statement=statement.replace("%", r"\%"),
        source=source,
        predicted=predicted,
        resolution=RESOLUTION,
    )
