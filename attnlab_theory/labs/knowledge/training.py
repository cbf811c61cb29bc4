"""attnlab knowledge pretrain, finetune and store: the homework's command lines, and one stage beyond."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from attnlab_theory import files
from attnlab_theory.labs.knowledge.arms import (
    FINETUNING,
    FINETUNING_FROM_SCRATCH,
    PRETRAINING,
    STORING,
    RuleName,
)
from attnlab_theory.labs.options import ModelSizes, RecipeChanges, given
from attnlab_theory.labs.recipes import MicroBatches, Recipe
from attnlab_theory.labs.training import Checkpoints, Told, train_and_report
from attnlab_theory.language.corpora.corruption import Corruption

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions
    from attnlab_theory.labs.knowledge.stages import Corpus
    from attnlab_theory.language.checkpoint import Saved
    from attnlab_theory.language.models.config import GPTConfig

VariantName = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="VARIANT",
        help="The model. By its positions: vanilla (learned), rope, sinusoidal, alibi, nope (none). By its "
        "attention: synthesizer, random-synthesizer, additive, shared (one matrix for queries and keys), features "
        "(random, no softmax).",
    ),
]
"""The type of a variant's name: any string. `variants.variant` has the names, and refuses an unknown one."""

PretrainCorpus = Annotated[
    Path,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="PRETRAIN_CORPUS",
        help="The text of pretraining, one document per line. It fixes the vocabulary: give all commands the same.",
    ),
]

FALLS = {"2021": PRETRAINING[2021].fall, "2024": PRETRAINING[2024].fall, "cosine": None}
"""The value of `Recipe.fall` for each schedule."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes(ModelSizes):
    """The size of a new model. The defaults are the homework's: 4 layers, 8 heads, width 256, block size 128.
    A model that is read from a file keeps its size. A size that is given must then agree with the file's.
    """

    dropout: float | None = None
    """Dropout rate. By default 0.1, in store 0."""

    def start(self, variant: str, corpus: "Corpus", reading: Path | None) -> "GPTConfig | Saved":
        """The configuration of a new model, or the model of a file.

        Raises:
            ValueError: if the variant is unknown, a size is out of range, or the file holds another model.
        """
        from attnlab_theory.labs.knowledge.stages import read_model
        from attnlab_theory.labs.knowledge.variants import configured

        if reading is not None:
            return read_model(reading, variant, corpus, **self.given, residual_dropout=self.dropout)
        rate = {} if self.dropout is None else {"dropout": self.dropout}
        return configured(variant, vocabulary=len(corpus.characters), **rate, **self.given)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Changes(RecipeChanges):
    """How the model is trained. By default it takes 30 epochs, batches of 48 and the learning rate 1e-3.
    A micro-batch has 8 rows on a CPU. On another device it has the whole batch.
    """

    rows: int | None = None
    """Rows of a micro-batch. A micro-batch is the part of a batch that is computed at once."""

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe with what was given."""
        return dataclasses.replace(super().of(recipe), **given({"rows": self.rows}))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scheduled(Changes):
    """The changes of what the homework trains, too."""

    schedule: Literal["2021", "2024", "cosine"] | None = None
    """How the learning rate changes. By default as in the homework.
    2021, 2024: as in the homework of that year.
    cosine: one cosine over this run, after a warm-up."""

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe with what was given."""
        fall = recipe.fall if self.schedule is None else FALLS[self.schedule]
        return dataclasses.replace(super().of(recipe), fall=fall)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainChanges(Scheduled):
    """How the model is trained. By default it takes 650 epochs, batches of 128 and the learning rate 6e-3.
    A micro-batch has 4 rows on a CPU. On another device it has the whole batch, or a quarter if packed.
    """

    lr: Annotated[float | None, tyro.conf.arg(aliases=["--pretrain-lr"])] = None
    """The highest learning rate. The homework of some years calls it --pretrain_lr."""
    seed: int = 0
    """Initial weights, dropout and the pieces that are cut out of the text follow from the seed."""
    micro_batches: MicroBatches | None = None
    """How a batch is cut into micro-batches.
    sorted: documents of similar length together, one in each row.
    packed: several documents in each row, which is faster where most documents are short."""

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe with what was given."""
        return dataclasses.replace(super().of(recipe), **given({"micro_batches": self.micro_batches}))


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuneChanges(Scheduled):
    """How the model is trained. By default it takes 10 epochs after pretraining, and 75 without it.
    Batches have 256 documents, and the learning rate is 6e-4. These are the homework's numbers.
    A micro-batch has 8 rows on a CPU. On another device it has the whole batch.
    """

    lr: Annotated[float | None, tyro.conf.arg(aliases=["--finetune-lr"])] = None
    """The highest learning rate. The homework of some years calls it --finetune_lr."""


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
    year: Literal[2021, 2024] = 2021
    """Year of the homework. From 2024 on, texts are padded to one character more than the block size."""
    recipe: PretrainChanges = dataclasses.field(default_factory=PretrainChanges)
    model: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train and write."""
        from attnlab_theory.labs.knowledge.stages import Corpus, pretraining

        read = (self.pretrain_corpus, self.reading_params_path)
        files.refuse_unwritable(self.checkpoint.writing_params_path, *read, form=files.Form.MODEL)
        corpus = Corpus.read(self.pretrain_corpus)
        start = self.model.start(self.variant, corpus, self.reading_params_path)
        recipe = self.recipe.of(PRETRAINING[self.year])
        return train_and_report(pretraining(corpus, start, recipe, Corruption(year=self.year)), self.checkpoint)


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
        from attnlab_theory.labs.knowledge.stages import Corpus, finetuning

        read = (self.pretrain_corpus, self.finetune_corpus_path, self.reading_params_path)
        files.refuse_unwritable(self.checkpoint.writing_params_path, *read, form=files.Form.MODEL)
        corpus = Corpus.read(self.pretrain_corpus)
        questions = read_questions(self.finetune_corpus_path)
        start = self.model.start(self.variant, corpus, self.reading_params_path)
        recipe = self.recipe.of(FINETUNING if self.reading_params_path else FINETUNING_FROM_SCRATCH)
        return train_and_report(finetuning(corpus, questions, start, recipe), self.checkpoint)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Store:
    """Train on the same question about every person in the text. This is not part of the homework.

    A rule reads the answers off the text; the network only stores them. It learns each fact as a
    question with its answer. So this measures how many such facts a network can store.
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
    known: the first words that are an answer in --finetune-corpus-path."""
    questions_too: bool = False
    """Compute the loss on questions and answers. By default it is computed on the answers only.
    With this option the model recalls fewer facts."""
    hold_back: int = 0
    """For how many questions of the file to ignore the answer. Training uses what the rule reads. At the end the
    model is asked them."""
    reading_params_path: Path | None = None
    """File of a model to start from. Without it, training starts from a new model."""
    recipe: Changes = dataclasses.field(default_factory=Changes)
    model: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train, write, and ask what was held back."""
        from attnlab_theory.labs.knowledge.corpora.birthplaces import read_questions
        from attnlab_theory.labs.knowledge.stages import Corpus, storing

        read = (self.pretrain_corpus, self.finetune_corpus_path, self.reading_params_path)
        files.refuse_unwritable(self.checkpoint.writing_params_path, *read, form=files.Form.MODEL)
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
    """A function that reports how many of the held-back questions a model answers right."""

    def asked(saved: "Saved") -> Told:
        from attnlab_theory.labs.knowledge.predictions import predictions
        from attnlab_theory.labs.knowledge.scores import as_json, in_words

        score = predictions(saved.model, questions, saved.text).score()
        words = in_words(saved.about["origin"]["variant"], score)
        return Told(f"held back, {words}", {"held_back": as_json(score)})

    return asked
