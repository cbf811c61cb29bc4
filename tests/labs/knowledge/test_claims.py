"""What is claimed of the knowledge lab is about arms that exist, and grants whoever guesses what guesses reach."""

import dataclasses
from pathlib import Path

import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.knowledge import measure
from attnlab_theory.labs.knowledge.arms import PRETRAINED
from attnlab_theory.labs.knowledge.claims import COMMONEST, MARK
from attnlab_theory.labs.knowledge.variants import VARIANTS

FOLDER = Path(__file__).parents[3] / "figures" / "knowledge"


def test_arms_are_called_as_their_models_are():
    assert tuple(VARIANTS) == PRETRAINED


@pytest.mark.slow("that knowing the never seen would be refuted stays inside")
def test_who_is_never_seen_may_be_guessed_as_often_as_the_commonest_place_is_right():
    """Judges the committed run again, and its numbers three times more."""
    setting = {"variant": "rope", "group": "never-seen"}
    committed = measure.again(FOLDER).estimates
    (commonest,) = committed.of(COMMONEST, **setting)
    assert (commonest.value, commonest.error_rate) == (0.03, 0.0)
    assert commonest.value < MARK

    def verdict(accuracy, guessed):
        (number,) = committed.of("mean accuracy", **setting)
        values = tuple(value + accuracy - number.value for value in number.values)
        new = {
            number.quantity: dataclasses.replace(number, value=accuracy, values=values),
            COMMONEST: dataclasses.replace(commonest, value=guessed),
        }
        moved = Estimates(new.get(e.quantity, e) if e.setting == setting else e for e in committed)
        of_claim = measure.verdicts(moved).findings.of("nobody-knows-the-never-seen")
        (found,) = [finding for finding in of_claim if finding.setting == setting]
        return found.verdict

    assert verdict(0.3, commonest.value) == Verdict.REFUTED
    assert verdict(0.3, 0.5) == Verdict.SUPPORTED
    assert verdict(0.03, commonest.value) == Verdict.SUPPORTED
