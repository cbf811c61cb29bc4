"""Options that the commands of all labs share. Nothing here imports jax, because the command line reads it first.

A lab makes a subclass of each. The docstring of the subclass names the lab's defaults.
"""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from attnlab_theory.labs.recipes import Recipe

Unit = Literal["words", "bpe"]
"""What a token is: a word between spaces, or one of GPT-2's byte pairs."""

Mean = Literal["sentences", "tokens"]
"""Whether sentences have equal weights in a loss, as in the homework, or tokens."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WithJson:
    """The option of every command that prints something."""

    json: bool = False
    """Print one JSON value and nothing else."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checkpoints(WithJson):
    """Where the model is saved while it is trained and afterwards."""

    writing_params_path: Path
    """File for the trained model. Until training ends, PATH.partial holds the last checkpoint."""
    resume: bool = False
    """Continue from PATH.partial, if there is one. The result is as if training had not stopped."""
    save_every: float = 60.0
    """Seconds between two checkpoints."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folder(WithJson):
    """How training in a folder is kept and resumed."""

    resume: bool = False
    """Skip what is finished in the folder, and go on from the last checkpoint."""
    save_every: float = 60.0
    """Seconds between two checkpoints."""

    def checkpoints(self, path: Path) -> Checkpoints:
        """The checkpoints of the stage whose model is written to this path."""
        return Checkpoints(writing_params_path=path, resume=self.resume, save_every=self.save_every)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelSizes:
    """The size of a model. Options that you leave out take the preset's values."""

    layers: int | None = None
    """Layers: blocks of attention and feed-forward network."""
    heads: int | None = None
    """Attention heads in each layer."""
    width: int | None = None
    """Width of the embeddings and of every layer."""
    block_size: int | None = None
    """Longest input, in tokens."""

    @property
    def given(self) -> dict[str, Any]:
        """The sizes that were given, by the names of `GPTConfig`."""
        sizes = {"layers": self.layers, "heads": self.heads, "width": self.width, "block": self.block_size}
        return given(sizes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecipeChanges:
    """How the model is trained. Options that you leave out take the preset's values."""

    epochs: int | None = None
    """Passes over the training data."""
    batch_size: int | None = None
    """Documents in one batch, which makes one step."""
    lr: float | None = None
    """The highest learning rate."""
    seed: int = 0
    """The seed of first weights and of dropout."""

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe with the options that were given."""
        changed = {"epochs": self.epochs, "batch": self.batch_size, "rate": self.lr}
        return dataclasses.replace(recipe, **given(changed), seed=self.seed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WholeRun(Folder):
    """The options of a run that trains all models of a lab for several seeds."""

    seeds: int = 1
    """How many seeds to run. Data that is generated, first weights and dropout follow from the seed."""
    seed: int = 0
    """The first seed. The others follow it."""
    out: Path
    """Folder for models, JSON and figures. It is made if it does not exist."""

    def every_seed(self) -> tuple[int, ...]:
        """All seeds, in order.

        Raises:
            ValueError: if there is none, or one of them is no seed.
        """
        if self.seeds < 1:
            raise ValueError(f"--seeds is how many seeds there are, at least 1, not {self.seeds}")
        if not 0 <= self.seed < 2**63 - self.seeds:
            raise ValueError(f"--seed is the first seed, from 0 to 2**63 - 1 less --seeds, not {self.seed}")
        return tuple(range(self.seed, self.seed + self.seeds))


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given: those that are not None."""
    return {name: value for name, value in options.items() if value is not None}
