"""The options of a run. They stand apart from its loop, because the command line reads them before it imports jax.

Bad usage gets one line that names the value and the remedy. Only the box that tyro draws around a mistake holds
both, so `parsed_in_one_line` reads that box. tyro's hook for errors, `tyro._errors`, is private: any release may
drop it.
"""

import contextlib
import dataclasses
import io
import os
import re
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

T = TypeVar("T")

MEANT = {
    "--lr": ("learning_rate", "learningrate", "rate", "pretrain_lr", "finetune_lr", "max_lr"),
    "--epochs": ("num_epochs", "max_epochs", "n_epochs", "num_train_epochs", "passes"),
    "--batch-size": ("batch", "bs", "per_device_train_batch_size", "train_batch_size"),
    "--layers": ("n_layer", "n_layers", "num_layers", "num_hidden_layers", "depth"),
    "--heads": ("n_head", "n_heads", "num_heads", "num_attention_heads"),
    "--width": ("n_embd", "hidden", "hidden_size", "hidden_dim", "embed_dim", "d_model", "dim"),
    "--length": ("seq_len", "sequence_length", "max_length", "n_tokens"),
    "--features": ("num_features", "n_features"),
    "--queries": ("q", "query"),
    "--keys": ("k", "key"),
    "--question": ("problem", "exercise", "task"),
    "--rubric": ("assignment", "hw"),
    "--block-size": ("block", "max_length", "max_len", "context", "context_length", "seq_len", "n_positions"),
    "--dropout": ("drop", "dropout_rate", "resid_pdrop", "hidden_dropout_prob"),
    "--seed": ("random_seed", "manual_seed", "rng_seed"),
    "--out": ("output", "output_dir", "outdir", "out_dir", "save_dir", "folder"),
    "--outputs-path": ("output_path", "predictions_path", "predictions"),
    "--writing-params-path": ("save_path", "checkpoint_path", "save_to"),
    "--reading-params-path": ("load_path", "model_path", "load_from"),
}
"""The names of options in other programs. The option that looks most alike may mean something else."""

DEVICE = "chooses a device, and jax does that: set JAX_PLATFORMS=cpu before the command, or leave it out"
RECIPE = "belongs to the recipe, which the homework gives: leave it out"
LOG = "names a log of another program, and none is written here: leave it out"
NOWHERE: Mapping[str, str] = {
    **dict.fromkeys(
        ("--device", "--d", "--gpu", "--gpus", "--cuda", "--cpu", "--no_cuda", "--accelerator"), DEVICE
    ),
    **dict.fromkeys(
        ("--num_workers", "--workers"), "is for loaders of data, and none is needed here: leave it out"
    ),
    **dict.fromkeys(
        ("--compile", "--jit", "--no_compile"), "is about compiling, which is always done: leave it out"
    ),
    **dict.fromkeys(
        ("--weight_decay", "--wd", "--betas", "--grad_norm_clip", "--grad_clip", "--max_grad_norm"), RECIPE
    ),
    **dict.fromkeys(("--warmup", "--warmup_tokens", "--warmup_steps", "--final_tokens", "--lr_decay"), RECIPE),
    **dict.fromkeys(("--tb_expt_name", "--tensorboard", "--wandb", "--log_dir", "--logdir", "--run_name"), LOG),
}
"""Options of other programs that no command needs, with underscores, and the line about each."""

UNKNOWN = re.compile(
    r"(?:Unrecognized options; )?Unrecognized options: (.*?)"
    r"(?:; (?:Perhaps you meant|Arguments similar).*?)?(?=; For |$)"
)
"""What tyro says about options that a command lacks, with its suggestions."""

PAINTED = re.compile(r"\x1b\[[\d;]*m")
"""A colour. On a terminal, the box around a mistake has some."""

CHOICES = re.compile(r"Expected one of \(([^)]*)\)")
"""What tyro says about a choice that there is not: all choices, in no order if the option may be left out."""

Budget = Literal["quick", "full"]

NUMBERS = {"INT": "a whole number", "FLOAT": "a number"}
MISSING = re.compile(r"(?:Missing argument; )?Missing value for argument '(\S+)'\. .*? run:? (.+)")
"""How tyro says that a word of the command line is missing."""

NO_NUMBER = re.compile(
    r"Error parsing (?:--\S+/)?(--\S+): .*('[^']*'); "
    r"Argument helptext: (?:\S+ \S+, )*\S+ (?:\{None\}\|)?(INT|FLOAT) (.*) \(default: "
)
"""What tyro says about a word where a number should stand: option, word, kind of number, help."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run."""

    budget: Budget = "quick"
    """The largest number of random problems per claim and choice of its parameters: quick 131,072, full 2,097,152.
    It stops earlier once the claim is decided."""
    seed: int = 0
    """The seed of all random numbers."""
    out: Path = Path("lab")
    """The folder for results and figures. It is made if it does not exist."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""
    json: bool = False
    """Print one JSON value and nothing else."""
    cluster: str | None = None
    """Judge on a Dask cluster: the address of its scheduler, tcp://HOST:PORT (docs/cluster.md)."""


def parsed_in_one_line(
    parse: Callable[[], T],
    elsewhere: Mapping[str, str] | None = None,
    *,
    given: Sequence[str] = (),
    known: Collection[str] | None = None,
) -> T:
    """Parse a command line with tyro. A mistake gets one line instead of tyro's box.

    Where the variable NO_COLOR is set, the help has no colours. tyro itself does not know the variable.

    Args:
        parse: calls tyro.
        elsewhere: options of other programs or older versions, with underscores, and the line about each.
        given: the words of the command line.
        known: the options that the command has, such as --block-size. No other is suggested. None: all are known.

    Raises:
        ValueError: if the command line is mistaken.
    """
    import tyro

    if os.environ.get("NO_COLOR"):
        tyro._experimental_options["ansi_codes"] = False
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return parse()
    except SystemExit as leaving:
        if leaving.code:
            said = _one_line(complaint.getvalue(), {**NOWHERE, **(elsewhere or {})}, known)
            # A word is missing where an older homework gave it by an option.
            if missing := MISSING.fullmatch(said):
                said = _told(given, elsewhere or {}) or _without(missing, given, known)
            raise ValueError(said) from None
        raise


def _one_line(box: str, elsewhere: Mapping[str, str], known: Collection[str] | None) -> str:
    # Where a terminal knows ASCII alone, so are the box's edges.
    edges = re.compile("[╭╰+][─-].*")
    plain = PAINTED.sub("", box).splitlines()
    lines = [re.sub(r"^[│|] ?| ?[│|]$", "", line).strip() for line in plain if not edges.match(line)]
    lines = ["; " if re.fullmatch("[─-]+", line) else line for line in lines]
    text = re.sub(r"\s*; ", "; ", " ".join(" ".join(lines).split()))
    unknown = UNKNOWN.search(text)
    if unknown and (said := _unknown(unknown[1], elsewhere, known)):
        return text[: unknown.start()] + said + text[unknown.end() :]
    if number := NO_NUMBER.search(text):
        return "{0} takes {2}, not {1}: {3}".format(*number.group(1, 2), NUMBERS[number[3]], number[4])
    return CHOICES.sub(_choices, text) or "bad usage; see --help"


def _without(missing: re.Match[str], given: Iterable[str], known: Collection[str] | None) -> str:
    """The line about a value that is missing. Where a word of the command is, an option may stand for it."""
    name, command = missing.groups()
    if name.startswith("-"):
        return f"{name} needs a value after it; see {command}"
    # The word that is missing has a name, too, and is no option.
    ours = {*(known or ()), "--help"} - {f"--{name.replace('_', '-')}"}
    options = [word.partition("=")[0] for word in given if word.startswith("--")]
    plain = {option: option.replace("_", "-").replace("--no-", "--") for option in options}
    unknown = [option for option in options if known is not None and plain[option] not in ours]
    there = f"there is no {unknown[0]}, and " if unknown else ""
    return f"{there}{name.upper()} is missing; see {command}"


def _choices(said: re.Match[str]) -> str:
    """The choices that can be typed. Left out is what stands for an option that was not given."""
    choices = said[1].split(", ")
    if "'None'" not in choices:
        return said[0]
    return f"Expected one of ({', '.join(sorted(choice for choice in choices if choice != repr('None')))})"


def _told(words: Iterable[str], elsewhere: Mapping[str, str]) -> str:
    """The line about the first option that has one; empty if none has."""
    for option in (word.partition("=")[0] for word in words if word.startswith("-")):
        if (named := f"--{option.lstrip('-').replace('-', '_')}") in elsewhere:
            return f"{option} {elsewhere[named]}"
    return ""


def _unknown(said: str, elsewhere: Mapping[str, str], known: Collection[str] | None) -> str:
    """The line about options that a command lacks. Empty if no other option means the same."""
    words = re.split(r"[,\s]+", said)
    if told := _told(words, elsewhere):
        return told
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    meant = {option: meaning for option in options if (meaning := _meaning(option, known))}
    if not meant:
        return ""
    others = [option for option in options if option not in meant]
    unknown = f"; unknown are also {', '.join(others)}" if others else ""
    names = ", ".join(f"{option} (is it {meaning}?)" for option, meaning in meant.items())
    return f"there is no {names}{unknown}"


def _meaning(option: str, known: Collection[str] | None) -> str | None:
    """The option of the command that other programs call by this name."""
    name = option.lstrip("-").replace("-", "_").lower()
    ours = (ours for ours, theirs in MEANT.items() if name in theirs)
    return next((each for each in ours if known is None or each in known), None)


def names_of(options: Any) -> Iterator[str]:
    """The options of a class and of the classes inside it, such as --block-size."""
    if dataclasses.is_dataclass(options):
        for name, hint in typing.get_type_hints(options).items():
            yield f"--{name.replace('_', '-')}"
            yield from names_of(hint)
    for part in typing.get_args(options):
        yield from names_of(part)
