"""The table of commands: where the options of each lie, and its line of help. Nothing here imports the options."""

import importlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


@runtime_checkable
class Command(Protocol):
    """What the command line is parsed into."""

    def run(self) -> int:
        """Do it; the exit code."""
        ...


class Entry(NamedTuple):
    """One command."""

    module: str
    """Where its options lie, inside the package."""
    name: str
    """The class of its options."""
    about: str
    """The first line of the docstring of that class."""

    def options(self) -> type[Command]:
        """The class of its options, imported now."""
        return getattr(importlib.import_module(f"attnlab_theory.{self.module}"), self.name)


COMMANDS = {
    "list": Entry("cli.laws", "List", "List every experiment, its question and its claims."),
    "run": Entry(
        "cli.laws",
        "Run",
        "Check claims: compare each predicted number with a measured one. Writes results and figures.",
    ),
    "answers": Entry(
        "cli.laws", "Answers", "Print the answer sheet of five homeworks, with evidence that is judged now."
    ),
    "report": Entry(
        "cli.book", "Report", "Write the book: every claim, source and answer on pages that open from disk."
    ),
    "check": Entry(
        "cli.problems",
        "Check",
        "Judge your own answer to a homework question. A wrong answer gets a counterexample.",
    ),
    "grade": Entry(
        "cli.classroom",
        "Grade",
        "Grade a folder of submissions. Each file and each folder in it is a submission.",
    ),
    "homework": Entry(
        "cli.homework",
        "Homework",
        "Write a homework of your own: questions in a TOML file, judged by functions of Python beside it.",
    ),
    "construct": Entry(
        "cli.problems", "Construct", "Find the query, or the matrices, that give the attention you want."
    ),
    "leaks": Entry(
        "cli.leaks", "Leaks", "Find the outputs of your function that change when future inputs change."
    ),
    "conform": Entry(
        "cli.conform",
        "Conform",
        "Test whether an attention function does what it promises, in numpy, torch or jax.",
    ),
    "estimators": Entry(
        "cli.estimators",
        "Estimators",
        "Compute the errors of random-feature attention on your queries and keys, and choose the features.",
    ),
    "museum": Entry("cli.exhibits", "Museum", "Show well-known bugs of attention, and which checks catch them."),
    "knowledge": Entry(
        "labs.knowledge.tasks",
        "Knowledge",
        "Train a small GPT on a text about persons, and ask it where they were born.",
    ),
    "captions": Entry(
        "labs.captions.tasks",
        "Captions",
        "Train a small GPT on captions, let it write its own, and judge those.",
    ),
    "mixers": Entry(
        "labs.mixers.tasks",
        "Mixers",
        "Compare mixers, the layers by which tokens see each other.",
    ),
    "recurrent": Entry(
        "labs.recurrent.tasks",
        "Recurrent",
        "Compare recurrent networks with attention on the same sentences.",
    ),
    "heads": Entry(
        "labs.heads.commands",
        "Heads",
        "Measure the heads of a trained model: what they do, how their keys vary, which the model needs.",
    ),
    "reviews": Entry(
        "labs.reviews.tasks",
        "Reviews",
        "Train an encoder to tell favourable reviews from unfavourable ones, and ask what it learned.",
    ),
    "doctor": Entry(
        "cli.machine", "Doctor", "Show versions, devices, precision, and how long a run of all claims takes here."
    ),
}

GONE: Mapping[str, str] = {
    "captions generate --beam": "--greedy writes the likeliest token each time",
    "captions generate --min-p": "--top-p and --top-k cut unlikely tokens off",
    "captions generate --length-penalty": "it was for --beam; --greedy writes the likeliest token each time",
    **{
        f"{words} --mean": "captions weigh sentences alike, as the homework does, and mixers tokens"
        for words in ("captions train", "captions run", "mixers run")
    },
    **{
        f"{words} --longer": "sentences that do not fit are cut, and counted"
        for words in ("captions train", "captions evaluate", "captions run", "mixers run", "recurrent run")
    },
    **{
        f"{words} --{option}": "spans are masked as in the homework of --year"
        for words in ("knowledge pretrain", "knowledge data")
        for option in ("mask-lengths", "closing", "truncation")
    },
    **{
        f"{words} --{option}": "a batch is cut as its preset says; --batch-size is the number of its documents"
        for words in ("captions train", "reviews train")
        for option in ("rows", "micro-batches")
    },
    **{
        f"{words} --micro-batches": "documents of similar length stand together, one in each row"
        for words in ("knowledge finetune", "knowledge store")
    },
    **{f"{words} --dropout": "the preset says it" for words in ("captions train", "reviews train", "reviews run")},
    "knowledge store --schedule": "the learning rate falls as a cosine",
    "knowledge data --epoch": "--seed cuts other pieces out",
    "knowledge data --block-size": "a document has 128 characters, as in the homework",
    "knowledge data --pretrain-corpus": "the questions themselves have the characters",
    "captions train --shuffled": "attnlab captions run --arms shuffled trains it",
    "captions sweep --generations": "every model and decoding writes three times",
    "conform --normaliser": "it is found by trial calls, and the profile says it",
    **{
        f"{words} --precision": "every model is trained in float32"
        for words in (
            *("knowledge pretrain", "knowledge finetune", "knowledge store", "knowledge run"),
            *("captions train", "reviews train"),
        )
    },
    "knowledge score --figure": "experiments/labs/birthplaces_in_files.py draws what --json prints",
    "knowledge score --published": "experiments/labs/birthplaces_in_files.py draws what --json prints",
    "knowledge run --templates": "--wordings says how many wordings each person has",
    "reviews batch": "experiments/labs/review_batches.py shows batches and their padding",
    "reviews search --rungs": "every trial is trained to its end; fewer --trials or shorter --epochs cost less",
}
"""Commands and options that older versions had, and what took their place."""


def refuse_gone(arguments: Sequence[str]) -> None:
    """Refuse a command or an option that older versions had.

    Args:
        arguments: the words after `attnlab`.

    Raises:
        ValueError: naming what took its place.
    """
    options = {word.partition("=")[0].replace("_", "-") for word in arguments if word.startswith("--")}
    for words, successor in GONE.items():
        command = [word for word in words.split() if not word.startswith("--")]
        option = {word for word in words.split() if word.startswith("--")}
        if list(arguments[: len(command)]) == command and option <= options:
            raise ValueError(f"there is no {words} any more: {successor}")
