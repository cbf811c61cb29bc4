"""A model's predictions of birthplaces, their probabilities, and how many are right.

Source: Stanford CS224n, assignment 5 of 2021 (assignment 4 from 2024), `run.py evaluate`.
"""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float64

from attnlab_theory import files
from attnlab_theory.labs.knowledge.answers import Answered, Answers
from attnlab_theory.labs.knowledge.corpora.biographies import Group
from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions, Score, score
from attnlab_theory.language import meshes
from attnlab_theory.language.generate import greedy
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.prompts import Stop
from attnlab_theory.language.text.characters import MASK, MASK_ID, PAD, Characters

ROWS = 512
"""How many questions one program answers. Their cache must fit into memory."""


@dataclasses.dataclass(frozen=True)
class Predictions:
    """The predictions of one model, one for each question."""

    questions: Questions
    predictions: tuple[str, ...]
    """The texts between the first mark and the second; or all that was generated, if there is no second mark."""
    log_probability: Float64[np.ndarray, " n"]
    """The natural logarithm of the probability of each prediction, with its closing mark if there is one."""

    def score(self) -> Score:
        """How many are right, character by character. `Score.interval` has the interval of the share.

        Raises:
            ValueError: if the questions have no places.
        """
        return score(self.predictions, self.questions)

    def of(self, groups: Sequence[Group], *, arm: str, seed: int) -> Answers:
        """The predictions as `Answers`.

        Args:
            groups: the group of the person in each question.
            arm, seed: of the model.

        Raises:
            ValueError: if the questions have no places, or one is no "Where was X born?".
        """
        asked = self.questions
        rows = zip(asked.names, asked.answers, self.predictions, self.log_probability, groups, strict=True)
        return Answers(
            Answered(
                name=name,
                gold=gold,
                predicted=predicted,
                log_probability=float(log_probability),
                group=group,
                variant=arm,
                seed=seed,
            )
            for name, gold, predicted, log_probability, group in rows
        )

    def write(self, path: Path) -> None:
        """Write one prediction on each line, in the order of the questions. The file is whole or absent.

        A line break inside a prediction is written as the padding character, which no place holds.

        Raises:
            OSError: if the folder cannot be written.
        """
        files.write_text(path, "".join(f"{_on_one_line(place)}\n" for place in self.predictions))


def predictions(model: GPT, questions: Questions, characters: Characters, *, steps: int = 32) -> Predictions:
    """The model's greedy continuations of each question and a mark, up to the next mark.

    The predictions are those of the homework, which takes all steps in any case. Characters that are not ASCII
    stay, as in the homework's evaluation, but unlike in `NameDataset`. All devices of this process share the
    questions.

    Args:
        model: trained on these characters.
        questions: with or without places.
        characters: the vocabulary, always that of pretraining.
        steps: the most characters that are generated.

    Raises:
        ValueError: if there are no questions, the model has another vocabulary, or its logits are no numbers. Also
            if a question holds an unknown character, a mark or a padding character, or is too long for the block.
            The message then has its line.
    """
    if model.config.vocabulary != len(characters):
        raise ValueError(
            f"the model has {model.config.vocabulary} tokens and the vocabulary {len(characters)} characters: "
            "take the vocabulary of the corpus on which the model was trained"
        )
    rows = prompts(questions, characters, model.config.block)
    lengths = np.array([len(row) for row in rows])
    padded = np.zeros((len(rows), lengths.max()), np.int32)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    said, sums, mesh = [], [], meshes.of_this_process()
    for first in range(0, len(rows), ROWS):
        part = slice(first, first + ROWS)
        found = greedy(model, padded[part], lengths[part], steps=steps, stop=Stop(MASK_ID), mesh=mesh)
        said += [characters.decode(row).split(MASK)[0] for row in found.tokens]
        sums.append(found.log_probability.sum(axis=1, dtype=np.float64))
    return Predictions(questions, tuple(said), np.concatenate(sums))


def prompts(questions: Questions, characters: Characters, block: int) -> list[np.ndarray]:
    """The prompts of a model with such a block, one for each question.

    Args:
        questions: with or without places.
        characters: the vocabulary, always that of pretraining.
        block: of the model.

    Raises:
        ValueError: if there are no questions, or one holds an unknown character, a mark or a padding character, or
            is too long for the block.
    """
    if not len(questions):
        raise ValueError(f"{questions.source}: there are no questions")
    asked = []
    for number, question in enumerate(questions.texts, 1):
        where = f"line {number} of {questions.source}"
        for mark in (MASK, PAD):
            if mark in question:
                raise ValueError(f"{where} holds {mark!r}, which is put after every question; take it out")
        asked.append(question + MASK)
    rows = characters.encode_lines(asked, where=questions.source)
    for number, row in enumerate(rows, 1):
        if len(row) > block:
            raise ValueError(
                f"line {number} of {questions.source} takes {len(row)} characters with its mark, more than the "
                f"block of the model, {block}; take a model with a longer block"
            )
    return rows


def _on_one_line(text: str) -> str:
    """The text without the characters that some program reads as the end of a line."""
    return re.sub("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", PAD, text)
