"""The corpus and the questions of a run: about generated persons, or from the homework's files."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from attnlab_theory.labs.knowledge.corpora.biographies import Group, Person, Plan, biographies
from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions, read_questions
from attnlab_theory.labs.knowledge.stages import Corpus


@dataclasses.dataclass(frozen=True)
class Material:
    """One world of persons."""

    corpus: Corpus
    by_group: Mapping[Group, Questions]
    """The questions, by group of persons. Finetuning learns those of the group "finetuned"."""
    persons: tuple[Person, ...] = ()
    """The truth about generated persons."""

    @property
    def finetuning(self) -> Questions:
        """The questions of finetuning, with their places."""
        return self.by_group["finetuned"]

    @property
    def places(self) -> frozenset[str]:
        """Every place in which somebody was born."""
        return frozenset(place for questions in self.by_group.values() for place in questions.answers)

    @functools.cached_property
    def questions(self) -> Questions:
        """All questions, group after group."""
        groups = self.by_group.values()
        texts = tuple(question for group in groups for question in group.texts)
        places = tuple(place for group in groups for place in group.answers)
        return Questions(texts, places, " and ".join(group.source for group in groups))

    @property
    def groups(self) -> tuple[Group, ...]:
        """The group of the person in each of `questions`."""
        return tuple(group for group, questions in self.by_group.items() for _ in questions.texts)


def generated(plan: Plan) -> Material:
    """The persons of a plan, and the text about them.

    Raises:
        ValueError: if the plan is impossible, or has nobody for finetuning or nobody held out.
    """
    for name in ("finetuned", "held_out"):
        if getattr(plan, name) == 0:
            raise ValueError(f"{name} is 0, but somebody must be learned from and somebody asked; take at least 1")
    world = biographies(plan)
    by_group = {group: world.questions(group) for group in get_args(Group) if world.of(group)}
    return Material(Corpus(world.text, world.characters, "the generated corpus"), by_group, world.persons)


def read(pretrain: Path, finetune: Path, evaluate: Path) -> Material:
    """The homework's files. They have no group of persons who are not in the corpus.

    Raises:
        ValueError: if a file is missing or broken, has no places, or asks another question than where somebody was
            born.
    """
    by_group: dict[Group, Questions] = {"finetuned": read_questions(finetune), "held-out": read_questions(evaluate)}
    for questions in by_group.values():
        _ = questions.names, questions.answers
    return Material(Corpus.read(pretrain), by_group)
