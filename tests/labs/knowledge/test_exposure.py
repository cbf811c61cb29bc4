"""More wordings, better recalled: when is that so, and what does it cost to say it."""

import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.knowledge.answers import Answers
from attnlab_theory.labs.knowledge.corpora.biographies import Person
from attnlab_theory.labs.knowledge.exposure import by_exposure
from attnlab_theory.labs.knowledge.measure import verdicts
from tests.labs.knowledge.models import answered

SUPPORTED, REFUTED, INCONCLUSIVE = Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE


def measured(fewest, most):
    """Answers of seeds: so many of 20 persons with one wording, and with four, are answered right."""
    answers, truth = [], {}
    for seed, rights in enumerate(zip(fewest, most, strict=True)):
        for wordings, right in zip((1, 4), rights, strict=True):
            for number in range(20):
                name = f"N{seed} {wordings} {number}"
                predicted = "Bern" if number < right else "Cairo"
                answers.append(answered(name=name, predicted=predicted, variant="rope", seed=seed))
                told = {"name": name, "place": "Bern", "job": "baker", "group": "held-out", "statements": 4}
                truth[seed, name] = Person(**told, wordings=tuple(map(str, range(wordings))))
    return by_exposure(Answers(answers), truth, 0.05)


@pytest.mark.parametrize(
    ("fewest", "most", "verdict"),
    [
        ((2, 3, 2, 4), (18, 18, 17, 18), SUPPORTED),
        ((18, 17, 18, 18), (2, 3, 2, 4), REFUTED),
        ((0, 0, 0, 0), (0, 0, 0, 0), INCONCLUSIVE),
        ((9, 11, 10, 9), (11, 10, 9, 10), INCONCLUSIVE),
    ],
)
def test_nothing_recalled_supports_nothing(fewest, most, verdict):
    found = measured(fewest, most)
    (finding,) = verdicts(found).findings
    assert (finding.verdict, finding.draws) == (verdict, 4)
    assert [e.draws for e in found.of("accuracy by exposure")] == [80, 80]


def test_one_model_says_nothing_of_wordings():
    (left,) = verdicts(measured((2,), (18,))).unjudged
    assert (left.claim, left.runs, left.needs) == ("more-wordings-are-recalled-better", 1, 3)
