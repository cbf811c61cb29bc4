import json
import math

import pytest

from attnlab_theory.labs.knowledge.answers import Answered, Answers, in_pairs
from tests.labs.knowledge.models import answered, row


def test_an_answer_survives_json():
    one = answered(name="Ōe 北", predicted="")
    assert Answered.from_json(json.loads(json.dumps(one.as_json()))) == one


def test_an_answer_is_right_to_the_letter():
    assert answered(gold="Bern", predicted="Bern").is_right
    assert not answered(gold="Bern", predicted="bern").is_right


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": " "}, "name of the person"),
        ({"group": "unseen"}, "one of finetuned, held-out, never-seen, not 'unseen'"),
        ({"log_probability": math.nan}, "not nan"),
        ({"log_probability": -math.inf}, "not -inf"),
        ({"log_probability": 0.5}, "not 0.5"),
    ],
    ids=["name", "group", "NaN", "infinite", "above one"],
)
def test_what_no_model_can_answer_is_refused(unchecked_shapes, fields, said):
    with pytest.raises(ValueError, match=said):
        answered(**fields)


def test_json_that_is_no_answer_is_refused_in_a_line():
    with pytest.raises(ValueError, match=r"\{'name': 'Bada'\} is not an answer"):
        Answered.from_json({"name": "Bada"})


def test_a_log_probability_a_rounding_above_zero_is_certainty():
    assert Answers([answered(log_probability=1e-6)]).confidences == [1.0]


def test_answers_are_chosen_by_group_and_field():
    answers = Answers((*row("rr", group="held-out"), *row("w", group="never-seen", seed=1)))
    assert len(answers.of()) == 3
    assert len(answers.of("held-out", "never-seen", seed=0)) == 2
    assert answers.seeds == (0, 1)
    with pytest.raises(ValueError, match="no answer is of finetuned"):
        answers.of("finetuned")


def test_the_arm_without_pretraining_comes_first():
    answers = Answers((*row("r", variant="rope"), *row("r", variant="none"), *row("r", variant="alibi")))
    assert answers.arms == ("none", "rope", "alibi")


def test_arms_are_paired_question_by_question():
    answers = Answers((*row("rw", variant="none"), *row("wr", variant="rope")))
    first, second = in_pairs(answers, "none", "rope", "held-out")
    assert [a.is_right for a in first] == [True, False]
    assert [a.is_right for a in second] == [False, True]


def test_arms_that_were_asked_other_questions_are_no_pairs():
    for other in (
        row("rww", variant="rope"),
        row("rw", variant="rope", gold="Essen"),
        row("rw", variant="rope", seed=1),
    ):
        with pytest.raises(ValueError, match="not asked the same questions"):
            in_pairs(Answers((*row("rw", variant="none"), *other)), "none", "rope")
