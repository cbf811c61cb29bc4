"""attnlab knowledge pretrain, finetune and store: the homework's command lines, and one stage beyond."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab_theory import files
from attnlab_theory.labs.knowledge.commands.models import (
    Changes,
    FinetuneChanges,
    PretrainChanges,
    PretrainCorpus,
    Sizes,
    VariantName,
)
from attnlab_theory.labs.knowledge.recipes import RuleName
from attnlab_theory.labs.training import Checkpoints, Told, train_and_report
from attnlab_theory.language.corpora.corruption import Corruption

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions
    from attnlab_theory.language.checkpoint import Saved


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pretrain:
    """Train a model on a text from which pieces are cut out.

    The model learns to continue the text and to fill in the missing pieces.
    """

    variant: VariantName
    pretrain_corpus: PretrainCorpus
    checkpoint: Checkpoints
    reading_params_path: Path | None = None
    """File of a model to start from. Without it, training starts from a new model."""
    corruption: Corruption = dataclasses.field(default_factory=Corruption)
    recipe: PretrainChanges = dataclasses.field(default_factory=PretrainChanges)
    model: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train and write."""
        from attnlab_theory.labs.knowledge.recipes import PRETRAINING
        from attnlab_theory.labs.knowledge.stages import Corpus, pretraining

        files.refuse_input(self.checkpoint.writing_params_path, self.pretrain_corpus, self.reading_params_path)
        corpus = Corpus.read(self.pretrain_corpus)
        start = self.model.start(self.variant, corpus, self.reading_params_path)
        recipe = self.recipe.of(PRETRAINING[self.corruption.year])
        return train_and_report(pretraining(corpus, start, recipe, self.corruption), self.checkpoint)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finetune:
    """Train a model to answer questions.

    A pretrained model takes 10 epochs, a new one 75.
    """

    variant: VariantName
    pretrain_corpus: PretrainCorpus
    checkpoint: Checkpoints
    finetune_corpus_path: Path
    """File of questions to learn: lines of question, tab and place."""
    reading_params_path: Path | None = None
    """File of the pretrained model. Without it, training starts from a new model."""
    recipe: FinetuneChanges = dataclasses.field(default_factory=FinetuneChanges)
    model: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train and write."""
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_questions
        from attnlab_theory.labs.knowledge.recipes import FINETUNING, FINETUNING_FROM_SCRATCH
        from attnlab_theory.labs.knowledge.stages import Corpus, finetuning

        read = (self.pretrain_corpus, self.finetune_corpus_path, self.reading_params_path)
        files.refuse_input(self.checkpoint.writing_params_path, *read)
        corpus = Corpus.read(self.pretrain_corpus)
        questions = read_questions(self.finetune_corpus_path)
        start = self.model.start(self.variant, corpus, self.reading_params_path)
        recipe = self.recipe.of(FINETUNING if self.reading_params_path else FINETUNING_FROM_SCRATCH)
        return train_and_report(finetuning(corpus, questions, start, recipe), self.checkpoint)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Store:
    """Train on one question about everybody in the text. This is not part of the homework.

    A rule reads the answers off the text; the network only stores them. So this measures how many facts a network
    recalls that it has learned in the words of the question.
    """

    variant: VariantName
    pretrain_corpus: PretrainCorpus
    checkpoint: Checkpoints
    finetune_corpus_path: Path
    """File of questions whose answers are known: lines of question, tab and place.
    The answers of all other questions are read off the text."""
    rule: RuleName = "capitalised"
    """How a place is read off a line.
    capitalised: the first words with a capital letter that are no name, no month and not the first of a sentence.
    known: the first words that are an answer in --finetune-corpus-path. This is distant supervision."""
    questions_too: bool = False
    """Compute the loss on questions and answers. By default it is computed on the answers only.
    With this option the model recalls fewer facts."""
    hold_back: int = 0
    """How many questions of --finetune-corpus-path to hold back.
    Their answers are read off the text like all others. At the end the model is asked these questions."""
    reading_params_path: Path | None = None
    """File of a model to start from. Without it, training starts from a new model."""
    recipe: Changes = dataclasses.field(default_factory=Changes)
    model: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train, write, and ask what was held back."""
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_questions
        from attnlab_theory.labs.knowledge.recipes import STORING
        from attnlab_theory.labs.knowledge.stages import Corpus, storing

        read = (self.pretrain_corpus, self.finetune_corpus_path, self.reading_params_path)
        files.refuse_input(self.checkpoint.writing_params_path, *read)
        corpus = Corpus.read(self.pretrain_corpus)
        given, kept = read_questions(self.finetune_corpus_path).split(self.hold_back, seed=self.recipe.seed)
        model = self.model
        if self.reading_params_path is None and model.dropout is None:
            model = dataclasses.replace(model, dropout=0.0)
        start = model.start(self.variant, corpus, self.reading_params_path)
        recipe = self.recipe.of(STORING)
        run = storing(corpus, given, start, recipe, self.rule, questions_too=self.questions_too)
        return train_and_report(run, self.checkpoint, adding=_held_back(kept) if len(kept) else None)


def _held_back(questions: "Questions") -> "Callable[[Saved], Told]":
    """How many of the questions that were held back a model answers right."""

    def asked(saved: "Saved") -> Told:
        from attnlab_theory.labs.knowledge.commands.asking import as_json, in_words
        from attnlab_theory.labs.knowledge.evaluate import answers

        score = answers(saved.model, questions, saved.text).score()
        words = in_words(saved.about["origin"]["variant"], score)
        return Told(f"held back, {words}", {"held_back": as_json(score)})

    return asked
