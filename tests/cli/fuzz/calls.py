"""Good calls of every command, and bad ones: one option is bad, the others are good.

What options there are, and what they take, is read off their classes: a new option is tried without a line here.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.cli.every_option import EVERY, Option

GOOD: dict[tuple[str, ...], str] = {
    ("list",): "",
    ("run",): "copying --out {at}/text.txt/out",
    ("answers",): "zzz",
    ("check",): "{at}/absent.py::f --question uw/1.2.1",
    ("grade",): "{at}/absent --rubric practical4",
    ("homework", "new"): "{at}/absent/new.toml",
    ("homework", "try"): "{at}/absent.toml",
    ("construct", "subset"): "--keys {at}/x.npy --select 0",
    ("construct", "routing"): "--inputs {at}/x.npy --outputs {at}/x.npy --routes 0,1",
    ("leaks",): "{at}/absent.py::f",
    ("conform",): "{at}/absent.py::f",
    ("estimators",): "--queries {at}/x.npy --keys {at}/x.npy",
    ("museum",): "absent",
    ("report",): "{at}/absent --out {at}/book",
    ("knowledge", "pretrain"): "vanilla {at}/text.txt --writing-params-path {at}/new",
    (
        "knowledge",
        "finetune",
    ): "vanilla {at}/text.txt --writing-params-path {at}/new --finetune-corpus-path {at}/asked.tsv",
    (
        "knowledge",
        "evaluate",
    ): "vanilla {at}/text.txt --reading-params-path {at}/model --eval-corpus-path {at}/asked.tsv",
    ("knowledge", "score"): "{at}/asked.tsv {at}/answered.txt",
    (
        "knowledge",
        "store",
    ): "vanilla {at}/text.txt --writing-params-path {at}/new --finetune-corpus-path {at}/asked.tsv",
    ("knowledge", "baseline"): "{at}/asked.tsv",
    ("knowledge", "run"): "--out {at}/new",
    ("knowledge", "judge"): "{at}/run",
    ("knowledge", "draw"): "{at}/run",
    ("knowledge", "data"): "charcorruption {at}/text.txt",
    ("captions", "train"): "--writing-params-path {at}/new",
    ("captions", "evaluate"): "{at}/model",
    ("captions", "generate"): "{at}/model",
    ("captions", "score"): "{at}/text.txt {at}/text.txt",
    ("captions", "sweep"): "{at}/model --out {at}/new",
    ("captions", "run"): "--out {at}/new",
    ("captions", "join"): "{at}/run {at}/other --out {at}/new",
    ("captions", "judge"): "{at}/run",
    ("captions", "draw"): "{at}/run",
    ("mixers", "run"): "--out {at}/new --processes 1",
    ("mixers", "judge"): "{at}/run",
    ("mixers", "score"): "{at}/model --text {at}/text.txt",
    ("recurrent", "run"): "--out {at}/new --processes 1",
    ("recurrent", "judge"): "{at}/run",
    ("recurrent", "tune"): "{at}/text.txt --out {at}/new",
    ("heads",): "{at}/model {at}/text.txt --out {at}/new",
    ("reviews", "train"): "--writing-params-path {at}/new",
    ("reviews", "evaluate"): "{at}/model",
    ("reviews", "predict"): "{at}/model {at}/text.txt",
    ("reviews", "explain"): "{at}/model {at}/text.txt",
    ("reviews", "search"): "--out {at}/new",
    ("reviews", "run"): "--out {at}/new --processes 1",
    ("reviews", "judge"): "{at}/run",
    ("doctor",): "",
}
"""What each command is called with besides. Words are parted by spaces; {at} is a folder."""

WORKING: dict[tuple[str, ...], str] = {
    ("check",): "{at}/answer.py::mean --question uw/1.2.1",
    ("leaks",): "{at}/answer.py::running_sum",
    ("conform",): "{at}/answer.py::running_sum --as mixer",
    ("knowledge", "pretrain"): "vanilla {at}/text.txt --writing-params-path {at}/pretrained",
    ("knowledge", "run"): "--out {at}/knowledge",
    ("captions", "train"): "--writing-params-path {at}/captions.model",
    ("captions", "evaluate"): "{at}/model --test {at}/text.txt",
    ("captions", "run"): "--out {at}/captions",
    ("mixers", "run"): "--out {at}/mixers --processes 1",
    ("recurrent", "run"): "--out {at}/recurrent --processes 1",
    ("recurrent", "tune"): "{at}/text.txt --out {at}/tuned",
    ("heads",): "{at}/model {at}/text.txt --out {at}/heads",
    ("reviews", "train"): "--writing-params-path {at}/reviews.model",
    ("reviews", "search"): "--out {at}/searched",
    ("reviews", "run"): "--out {at}/reviews --processes 1",
}
"""Where the good call above is refused for its file: one that does the work, or comes to where it would train."""

WORKING_ELSEWHERE: dict[tuple[str, ...], str] = {
    ("run",): "cli/test_run.py",
    ("answers",): "answers/test_sheet.py",
    ("museum",): "museum/test_museum.py",
    ("report",): "test_wheel.py",
    ("grade",): "grader/test_gradebook.py",
    ("homework", "new"): "grader/test_own_questions.py",
    ("homework", "try"): "grader/test_own_questions.py",
    ("knowledge", "finetune"): "cli/test_knowledge_files.py",
    ("knowledge", "evaluate"): "cli/test_knowledge_files.py",
    ("knowledge", "store"): "labs/knowledge/test_store.py",
    ("knowledge", "judge"): "labs/test_judged_again.py",
    ("knowledge", "draw"): "labs/knowledge/test_drawing.py",
    ("captions", "sweep"): "labs/captions/test_commands.py",
    ("captions", "join"): "labs/captions/test_joins.py",
    ("captions", "judge"): "labs/test_judged_again.py",
    ("captions", "draw"): "labs/captions/test_commands.py",
    ("mixers", "judge"): "labs/test_judged_again.py",
    ("recurrent", "judge"): "labs/test_judged_again.py",
    ("reviews", "evaluate"): "labs/reviews/test_commands.py",
    ("reviews", "predict"): "labs/reviews/test_commands.py",
    ("reviews", "explain"): "labs/reviews/test_commands.py",
    ("reviews", "judge"): "labs/test_judged_again.py",
}
"""Commands that need what another one wrote, or much time, and the tests in which they do their work."""

NO_NUMBER = ("x", "", "nan", "-inf", "inf", f"{10**20}", "9" * 5000, "1e400", "0x10", "-1e300", "\x1b[2J")
"""What no option takes that wants a number."""

NO_WHOLE_NUMBER = (*NO_NUMBER, "1.5", "1e3", "-5")

NEGATIVE = ("scale",)
"""Numbers below zero that mean something, or that arithmetic refuses."""

NO_NAME = ("", "x", "\x1b[2J\x07x", "a/b::c", "::", "é\udcff", "x" * 5000, "../..", "-", "$\\frac{$", "<b>", "{}")
"""What is the name of nothing."""

ALL_WITHOUT = (("answers",), ("run",), ("museum",))
"""Commands for which no name means all of them, which takes minutes."""

WRITTEN = ("out", "file", "writing_params_path", "outputs_path")
"""Options whose files are written."""

NO_PLACE = ("{at}/text.txt/new", "{at}/absent/new", "{at}/" + "x" * 300, "/proc/new/new", "{at}/\x1b[2J/new")
"""Where nothing can be written: not even a folder can be made there."""

NO_FILE = (
    "absent",
    "{at}",
    "{at}/empty",
    "{at}/noise",
    "{at}/zeros",
    "{at}/deep.json",
    "{at}/damaged.npy",
    "{at}/pickle.npy",
    "{at}/archive.npz",
    "{at}/damaged.model",
    "{at}/foreign.model",
    "{at}/sparse",
    "{at}/pipe",
    "{at}/loop",
    "{at}/unreadable\x1b[2J",
    "{at}/" + "x" * 300,
    "{at}/model/below",
    "/dev/zero",
    "/dev/urandom",
    "/dev/null",
    "",
)
"""What no option takes that wants a file. Some are good files of another kind."""


class Call(NamedTuple):
    """One bad call."""

    option: Option
    bad: str
    words: tuple[str, ...]
    new: bool = False
    """Whether it was drawn, so that nobody knows whether its value is good."""

    def __str__(self) -> str:
        return f"attnlab {' '.join(self.option.words)}, {self.option.name} {self.bad[:40]!r}"


def kinds_of(option: Option) -> tuple[str, ...]:
    """The bad values that are tried."""
    if bool in option.kinds:
        return ()
    if int in option.kinds:
        return NO_WHOLE_NUMBER
    if float in option.kinds:
        return NO_NUMBER
    if Path in option.kinds:
        return NO_PLACE if option.name in WRITTEN else NO_FILE
    return NO_NAME[1:] if option.words in ALL_WITHOUT else NO_NAME


def calls_of(words: tuple[str, ...], at: Path, *, each: int | None) -> Iterator[Call]:
    """The bad calls of one command.

    Args:
        words: the command and its subcommand.
        at: the folder with the files.
        each: bad values of each option, other ones for the next; None: all of them.
    """
    options = [option for option in EVERY if option.words == words]
    for number, option in enumerate(options):
        values = kinds_of(option)
        chosen = (
            range(len(values))
            if each is None
            else {(each * number + i) % len(values) for i in range(min(each, len(values)))}
        )
        for i in sorted(chosen):
            yield call(option, values[i], at)


def call(option: Option, value: str, at: Path) -> Call:
    """One option of a command with a value, besides the good ones of the others."""
    good = [word.replace("{at}", str(at)) for word in GOOD[option.words].split()]
    value = value.replace("{at}", str(at))
    flag = f"--{option.name.replace('_', '-')}"
    if option.positional:
        place = [each.name for each in EVERY if each.words == option.words and each.positional].index(option.name)
        flags = next((i for i, word in enumerate(good) if word.startswith("--")), len(good))
        places = good[:flags]
        places[place : place + 1] = [value]
        return Call(option, value, (*option.words, *places, *good[flags:]))
    if flag in good:
        where = good.index(flag)
        del good[where : where + 2]
    # With an equals sign, a value may begin with a dash.
    bad = [flag, value] if option.several else [f"{flag}={value}"]
    return Call(option, value, (*option.words, *good, *bad))


def drawn(rng: random.Random, option: Option) -> str:
    """A bad value that nobody thought of: a good or bad one with something changed in it."""
    seed = rng.choice([*kinds_of(option), "0", "1", "-0", "1e-320", "{at}/model", "{at}/text.txt", "{at}/x.npy"])
    pieces = [
        "\0",
        "\ud800",
        "𝟙",
        "١",
        "+",
        "-",
        "_",
        ",",
        " ",
        "\n",
        "%s",
        "e5",
        "0" * 50,
        "/",
        "//",
        ".",
        "\x1b",
        "∞",
    ]
    where = rng.randrange(len(seed) + 1)
    return seed[:where] + rng.choice(pieces) + seed[where:]
