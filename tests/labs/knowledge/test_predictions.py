"""Answers to questions: the homework's predictions, their probabilities, their score and their file."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.labs.knowledge import predictions as module
from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions, name_in, parse_questions, vocabulary
from attnlab_theory.labs.knowledge.predictions import Predictions, predictions
from attnlab_theory.language.generate import greedy, greedy_uncached
from attnlab_theory.language.models.gpt import GPTConfig
from attnlab_theory.language.text.characters import MASK
from tests.language.models import compiled, lively, rounding
from tests.tolerances import log_probability_atol

NAMES = ("Ada", "Bob", "Cyd Li", "Dora", "Evi", "Finn", "Gus", "Hal")
QUESTIONS = Questions(tuple(f"Where was {name} born?" for name in NAMES), None, "dev.tsv")
CHARACTERS = vocabulary("".join(NAMES))
FEW = 6
"""Steps after which some answers have ended and some have not."""
LONGEST = max(map(len, QUESTIONS.texts)) + 1
STEPS = 32
MODEL = lively(GPTConfig(vocabulary=len(CHARACTERS), block=LONGEST + STEPS, layers=1, heads=2, width=8))


def texts(questions, model=MODEL, characters=CHARACTERS, steps=STEPS):
    """Prompt and continuation of every question, all steps taken."""
    prompts = characters.encode_lines([question + MASK for question in questions])
    lengths = np.array([len(prompt) for prompt in prompts])
    padded = np.array([np.pad(prompt, (0, lengths.max() - len(prompt))) for prompt in prompts])
    tokens = greedy_uncached(model, padded, lengths, steps=steps).tokens
    return [characters.decode(np.concatenate([prompt, row])) for prompt, row in zip(prompts, tokens, strict=True)]


@pytest.fixture(scope="module")
def answered() -> Predictions:
    return predictions(MODEL, QUESTIONS, CHARACTERS)


@pytest.fixture(scope="module")
def unfinished() -> Predictions:
    return predictions(MODEL, QUESTIONS, CHARACTERS, steps=FEW)


@pytest.mark.slow("generation by the homework's loop, for one model, stays inside")
def test_predictions_are_the_homeworks(answered, unfinished):
    """Compiles generation by the homework's loop and, in fixtures, by ours."""
    whole = texts(QUESTIONS.texts)
    early = [text[: len(asked) + 1 + FEW] for asked, text in zip(QUESTIONS.texts, whole, strict=True)]
    assert {text.count(MASK) > 1 for text in early} == {True, False}
    for found, generated in ((answered, whole), (unfinished, early)):
        assert list(found.predictions) == [text.split(MASK)[1] for text in generated]


def test_all_devices_share_the_questions(monkeypatch):
    mesh, meshes = jax.make_mesh((1,), ("data",)), []

    def noted(*arguments, mesh, **named):
        meshes.append(mesh)
        return greedy(*arguments, mesh=mesh, **named)

    monkeypatch.setattr(module.meshes, "of_this_process", lambda: mesh)
    monkeypatch.setattr(module, "greedy", noted)
    assert predictions(MODEL, QUESTIONS, CHARACTERS).predictions
    assert meshes == [mesh]


@compiled
def nats(model, tokens):
    """Log-probabilities of every token but the first."""
    rows = jax.nn.log_softmax(model(tokens))
    return jnp.take_along_axis(rows[:-1], tokens[1:, None], axis=1)[:, 0]


@pytest.mark.slow("log-probabilities of drawn tokens, with and without a cache, stay inside")
def test_log_probabilities_are_those_of_the_prediction_and_its_mark(unfinished):
    """Generates answers, compiles log-probabilities, and runs the model operation by operation."""

    def of(question, prediction):
        text = question + MASK + prediction + (MASK if len(prediction) < FEW else "")
        tokens = np.zeros(MODEL.config.block, np.int32)
        tokens[: len(text)] = CHARACTERS.encode(text)
        found = np.asarray(nats(MODEL, jnp.asarray(tokens)), np.float64)
        return found[len(question) : len(text) - 1].sum()

    expected = [of(*pair) for pair in zip(QUESTIONS.texts, unfinished.predictions, strict=True)]
    moved = rounding(lambda m: m(jnp.arange(m.config.block) % 7), MODEL)
    atol = FEW * log_probability_atol(len(CHARACTERS), moved)
    assert np.max(np.abs(unfinished.log_probability - expected)) <= atol
    assert unfinished.log_probability.dtype == np.float64


@pytest.mark.slow("exact matches and the interval of their share stay inside")
def test_right_answers_are_counted(answered):
    places = ("London",) * 3 + answered.predictions[3:]
    found = dataclasses.replace(answered, questions=dataclasses.replace(QUESTIONS, places=places)).score()
    assert (found.correct, found.total) == (len(NAMES) - 3, len(NAMES))
    assert 0 < found.interval().low < found.accuracy < found.interval().high < 1


@pytest.mark.slow("questions without places, refused where places are needed, stay inside")
def test_without_places_there_are_predictions_but_no_accuracy(answered):
    assert len(answered.predictions) == len(NAMES)
    with pytest.raises(ValueError, match=r"^dev\.tsv has no places.*lines of question, tab and place are needed$"):
        answered.score()


@pytest.mark.slow("generated rows that do not influence each other stay inside")
def test_many_questions_are_asked_in_parts(answered, monkeypatch):
    """Compiles the generation of each part."""
    monkeypatch.setattr(module, "ROWS", 5)
    assert predictions(MODEL, QUESTIONS, CHARACTERS).predictions == answered.predictions


def test_file_has_a_line_for_every_question(answered, tmp_path):
    broken = dataclasses.replace(answered, predictions=("Rome", "New\nYork\r\n", "", *answered.predictions[3:]))
    broken.write(tmp_path / "dev.predictions")
    lines = (tmp_path / "dev.predictions").read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["Rome", "New□York□□", ""]
    assert tuple(lines[3:]) == answered.predictions[3:]
    assert [path.name for path in tmp_path.iterdir()] == ["dev.predictions"]


def test_names_are_found_in_their_frame():
    assert name_in("Where was Bo born? born?") == "Bo born?"
    for question in ("Who was Ada?", "Where was  born?", "Where was born?", "Where was Ada born"):
        with pytest.raises(
            ValueError, match=r"^line 3 of dev.tsv is .*not of the form 'Where was X born.': it names"
        ):
            name_in(question, where="line 3 of dev.tsv")


def test_who_names_nobody_is_found_by_the_line():
    asked = parse_questions("Where was Ada born?\nWho was Bob?", source="dev.tsv")
    with pytest.raises(ValueError, match=r"^line 2 of dev.tsv is 'Who was Bob.', not of the form"):
        _ = asked.names
    assert parse_questions("Where was Ada born?\nWhere was Bo born?").names == ("Ada", "Bo")


@pytest.mark.parametrize(
    ("second", "options", "message"),
    [
        ("Where was Åsa born?", {}, r"^line 2 of dev.tsv holds 'Å' \(U\+00C5\), which is not among the"),
        ("Where was Ada⁇ born?", {}, "^line 2 of dev.tsv holds '⁇', which is put after every question"),
        ("Where was □ born?", {}, "^line 2 of dev.tsv holds '□'"),
        (
            "a" * MODEL.config.block,
            {},
            rf"^line 2 of dev.tsv takes {MODEL.config.block + 1} characters with its mark",
        ),
        ("Where was Bob born?", {"steps": 0}, "^steps must be positive, not 0"),
    ],
    ids=["character", "mark", "padding", "long", "steps"],
)
def test_bad_requests_are_refused_in_one_line(second, options, message, unchecked_shapes):
    questions = parse_questions(f"Where was Ada born?\n{second}", source="dev.tsv")
    with pytest.raises(ValueError, match=message) as raised:
        predictions(MODEL, questions, CHARACTERS, **options)
    assert "\n" not in str(raised.value)


def test_other_vocabularies_and_no_questions_are_refused():
    with pytest.raises(ValueError, match=r"the model has .* tokens and the vocabulary .* characters: take the"):
        predictions(MODEL, QUESTIONS, vocabulary("".join(NAMES) + "Z"))
    with pytest.raises(ValueError, match=r"^dev.tsv: there are no questions"):
        predictions(MODEL, Questions((), None, "dev.tsv"), CHARACTERS)
