"""The stages of the knowledge lab: pretraining on a text, finetuning on questions.

Each gives a `Run`, which `language.runs` trains. The vocabulary is always that of the pretraining corpus, even if
nothing is pretrained.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from attnlab_theory import refuse
from attnlab_theory.labs import batching
from attnlab_theory.labs.knowledge.arms import RuleName
from attnlab_theory.labs.knowledge.corpora import labels
from attnlab_theory.labs.knowledge.corpora.birthplaces import NameDataset, Questions, vocabulary
from attnlab_theory.labs.knowledge.variants import name_of, variant
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.starts import Start, config_of, first, origin
from attnlab_theory.language.checkpoint import Saved, fingerprint, load_model
from attnlab_theory.language.corpora.corruption import Corruption
from attnlab_theory.language.corpora.span_corruption import CharCorruptionDataset
from attnlab_theory.language.corpora.text_files import read_text
from attnlab_theory.language.runs import Run
from attnlab_theory.language.text.characters import Characters


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The text of pretraining, one document on each line, and its characters, the vocabulary of all stages."""

    text: str
    characters: Characters
    source: str = "the corpus"
    """The name of the corpus in error messages: as a rule its file."""

    @classmethod
    def read(cls, path: Path) -> "Corpus":
        """The corpus in a file.

        Raises:
            ValueError: if the file is missing, empty or not UTF-8, or holds one of the marks.
        """
        text = read_text(path)
        return cls(text, vocabulary(text, source=str(path)), str(path))

    @property
    def documents(self) -> int:
        """The number of lines, with the empty one after the last newline."""
        return self.text.count("\n") + 1


def pretraining(corpus: Corpus, start: Start, recipe: Recipe, how: Corruption | None = None) -> Run:
    """Pretraining by span corruption of the corpus, drawn again in every epoch.

    Args:
        corpus: the text.
        start: a configuration, for first weights from the recipe's seed, or a trained model.
        recipe: epochs, learning rate and batches.
        how: the variant of the corruption.

    Raises:
        ValueError: if a number of the recipe is out of range, the block is too short, or a character is unknown.
    """
    how = how or Corruption()
    block = config_of(start).block
    dataset = CharCorruptionDataset(
        corpus.text, block, how=how, characters=corpus.characters, seed=recipe.seed, source=corpus.source
    )
    return _run("pretrain", corpus, start, recipe, dataset, {"corruption": dataclasses.asdict(how)})


def finetuning(corpus: Corpus, questions: Questions, start: Start, recipe: Recipe) -> Run:
    """Finetuning on questions with their places. Only the places are targets.

    Args:
        corpus: the text of pretraining, whose characters are the vocabulary.
        questions: with their places.
        start: a configuration, for first weights from the recipe's seed, or a trained model.
        recipe: epochs, learning rate and batches.

    Raises:
        ValueError: if a number of the recipe is out of range, there are no places, a line is too long for the
            block, or a character is unknown.
    """
    dataset = NameDataset(questions, config_of(start).block, characters=corpus.characters)
    told = fingerprint(*questions.texts, *questions.answers)
    return _run("finetune", corpus, start, recipe, dataset, {"questions": told})


def storing(
    corpus: Corpus,
    questions: Questions,
    start: Start,
    recipe: Recipe,
    rule: RuleName,
    *,
    questions_too: bool = False,
) -> Run:
    """Training on questions about everybody in the corpus. The training file answers them, or else a rule.

    All characters are kept: evaluation asks about "Håvard", and the homework's finetuning would make it "Hvard".

    Args:
        corpus: one person on each line.
        questions: of the training file.
        start: a configuration, for first weights from the recipe's seed, or a trained model.
        recipe: epochs, learning rate and batches.
        rule: how a place is found in a line (`corpora.labels`).
        questions_too: whether the questions are targets as well as the answers. Then less is recalled.

    Raises:
        ValueError: if there is no such rule, or it finds no place. Also if a number of the recipe is out of range,
            a line is too long for the block, or a character is unknown.
    """
    if rule not in get_args(RuleName):
        raise ValueError(f"rule is one of {', '.join(get_args(RuleName))}, not {rule!r}")
    found = labels.capitalised if rule == "capitalised" else labels.known(questions.answers)
    asked = labels.labelled(corpus.text, found, questions)
    if len(asked) == len(set(questions.texts)):
        raise ValueError(
            f"the rule {rule!r} finds nobody's place in {corpus.source}; a line needs a name, a full stop and "
            "sentences about its bearer"
        )
    as_data = functools.partial(NameDataset, characters=corpus.characters, ascii_only=False, whole=questions_too)
    as_data(questions, config_of(start).block)  # Complains of a line of the file by its number there.
    dataset = as_data(asked, config_of(start).block)
    told = {
        "rule": rule,
        "questions_too": questions_too,
        "questions": fingerprint(*asked.texts, *asked.answers),
    }
    return _run("store", corpus, start, recipe, dataset, told)


def read_model(path: Path, name: str, corpus: Corpus, **fields: Any) -> Saved:
    """The model of a file. It must be of this variant and read the characters of this corpus.

    Args:
        path: of a file that `language.checkpoint` wrote.
        name: of the variant.
        corpus: whose vocabulary it must have.
        fields: of its configuration, with the wanted values. None allows any value.

    Raises:
        ValueError: if the file cannot be read, or holds another model. The message says what differs.
    """
    wanted, saved = variant(name), load_model(path)
    config = saved.model.config
    if (config.mixer, config.positions) != wanted:
        raise ValueError(
            f"{path} was trained as {name_of(config)}, not as {name}; name that variant, or another file"
        )
    for field, number in fields.items():
        if number not in (None, getattr(config, field)):
            raise ValueError(
                f"{path} holds a model with {field} {getattr(config, field)}, not {number}; leave the option out"
            )
    if not isinstance(saved.text, Characters):
        raise ValueError(
            f"{path} reads words, not characters; name a file that knowledge pretrain or finetune wrote"
        )
    theirs, ours = set(saved.text.symbols), set(corpus.characters.symbols)
    if theirs != ours:
        one = min(theirs ^ ours)
        raise ValueError(
            f"{path} was trained with another vocabulary than that of {corpus.source}: {one!r} (U+{ord(one):04X}) "
            f"is only in {'that' if one in ours else 'the former'}; name the corpus of its pretraining"
        )
    if saved.text.symbols != corpus.characters.symbols:
        raise ValueError(
            f"{path} has the characters of {corpus.source} in another order: it was written by no attnlab"
        )
    return saved


def _run(
    stage: str,
    corpus: Corpus,
    start: Start,
    recipe: Recipe,
    dataset: CharCorruptionDataset | NameDataset,
    told: Mapping[str, Any],
) -> Run:
    # Questions are half as long as documents.
    rows = batching.rows(recipe, on_processor=4 if stage == "pretrain" else 8)
    recipe = dataclasses.replace(recipe, rows=rows)
    refuse.not_a_size(epochs=recipe.epochs, batch_size=recipe.batch, rows=recipe.rows)
    refuse.not_positive(learning_rate=recipe.rate)
    if recipe.rate == math.inf:
        raise ValueError("the learning rate must be finite, not inf; the homework's is 6e-3")
    config = config_of(start)
    if recipe.micro_batches == "packed" and not config.mixer.scored:
        raise ValueError(
            f"{name_of(config)} cannot keep apart the documents of a packed row; take sorted micro-batches"
        )
    data = batching.batched(dataset, recipe, width=config.block)
    training = batching.training(recipe, corpus.documents * config.block, data.steps)
    told = {
        "stage": stage,
        "variant": name_of(config),
        "recipe": dataclasses.asdict(recipe),
        "corpus": fingerprint(corpus.text),
        **told,
        "start": origin(start),
    }
    return Run(
        first=functools.partial(first, start, recipe.seed),
        config=config,
        text=corpus.characters,
        epochs=data.batches,
        training=training,
        steps=data.steps,
        origin=told,
    )
