"""attnlab captions train: one model, from first weights or from another model."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab_theory import files
from attnlab_theory.labs.captions.presets import PRESETS, PresetName
from attnlab_theory.labs.options import ModelSizes, RecipeChanges
from attnlab_theory.labs.texts import Texts
from attnlab_theory.labs.training import Checkpoints, train_and_report

if TYPE_CHECKING:
    from attnlab_theory.labs.captions.stages import Start
    from attnlab_theory.labs.sentences import Material


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes(ModelSizes):
    """The size of a new model. What is left out is the preset's."""

    dropout: float | None = None
    """Dropout rate."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Changes(RecipeChanges):
    """How the model is trained. What is left out is the preset's."""

    shuffled: bool = False
    """Read the sentences in another order in every epoch. The homework keeps the order of the file."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train:
    """Train a model to continue captions. Training ends when the validation loss no longer falls.

    The model of the best epoch is written.
    """

    checkpoint: Checkpoints
    preset: PresetName = "tiny"
    """Model size and recipe. tiny: trained in seconds. homework: the homework's 3 layers of width 768."""
    texts: Texts = dataclasses.field(default_factory=Texts)
    reading_params_path: Path | None = None
    """File of a model of this lab to start from. Its size is kept."""
    gpt2: Path | None = None
    """File of GPT-2's weights, .safetensors, to start from. For --unit bpe. Its first --layers layers are taken."""
    recipe: Changes = dataclasses.field(default_factory=Changes)
    model: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train and write."""
        from attnlab_theory.labs.captions import stages

        read = (*self.texts.paths, self.reading_params_path, self.gpt2)
        files.refuse_input(self.checkpoint.writing_params_path, *read)
        material = self.texts.material(self.recipe.seed)
        recipe = dataclasses.replace(self.recipe.of(PRESETS[self.preset].recipe), shuffled=self.recipe.shuffled)
        start = self._start(material)
        variant = "scratch" if self.reading_params_path is None and self.gpt2 is None else "pretrained"
        run = stages.training(
            material,
            start,
            recipe,
            variant=variant,
            longer=self.texts.longer,
            mean=self.texts.mean,
        )
        return train_and_report(run, self.checkpoint)

    def _start(self, material: "Material") -> "Start":
        from attnlab_theory.labs.captions.starts import cut_gpt2, read_model
        from attnlab_theory.language.models.config import GPTConfig

        if self.reading_params_path is not None and self.gpt2 is not None:
            raise ValueError("a model starts from one file: name --reading-params-path or --gpt2, not both")
        sizes = self.model.given
        if self.reading_params_path is not None:
            return read_model(self.reading_params_path, **sizes)
        preset = PRESETS[self.preset]
        rate = {} if self.model.dropout is None else {"dropout": self.model.dropout}
        chosen = dataclasses.replace(preset, **sizes, **rate)
        if self.gpt2 is not None:
            return cut_gpt2(self.gpt2, layers=chosen.layers, block=chosen.block, dropout=chosen.dropout)
        return GPTConfig(vocabulary=len(material.text), **chosen.model)
