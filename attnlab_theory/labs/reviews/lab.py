"""The whole lab: every optimizer at the shared rate and at its own best, every order, and a random search.

`waves` says what is to be trained; whoever iterates trains. What is finished under the folder need not be trained
again: `language.runs` knows whether it is the same. Which rate is an optimizer's best is known only after the rates
of the first seed are trained: these are the first wave, and all others the second.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.reviews.diverging import noted
from attnlab_theory.labs.reviews.material import Material
from attnlab_theory.labs.reviews.presets import Preset
from attnlab_theory.labs.reviews.rules import OptimizerName, OrderName
from attnlab_theory.labs.reviews.stages import training
from attnlab_theory.labs.reviews.starts import Start
from attnlab_theory.labs.reviews.trials import Trial
from attnlab_theory.labs.reviews.variants import Variant
from attnlab_theory.language.checkpoint import Saved, load_model
from attnlab_theory.language.runs import Run, refuse_left_over

Curve = tuple[dict[str, float], ...]
"""What was watched, epoch by epoch."""


class Stage(NamedTuple):
    """A run, and the file for its model."""

    run: Run
    path: Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lab:
    """Which models are trained on what, and where they are kept.

    Raises:
        ValueError: if there is no seed.
    """

    preset: Preset
    seeds: tuple[int, ...]
    material: Callable[[int], Material]
    """The reviews of a seed."""
    start: Callable[[Material], Start]
    folder: Path
    """The folder for the models."""
    optimizers: tuple[OptimizerName, ...] = get_args(OptimizerName)
    orders: tuple[OrderName, ...] = get_args(OrderName)
    forgetful: bool = True
    """Whether the base is also trained without zeroing gradients."""

    def __post_init__(self) -> None:
        if not self.seeds:
            raise ValueError("a run needs at least one seed")
        if not self.optimizers:
            raise ValueError("a run needs at least one optimizer; adamw alone is the least")
        for kind, names in (("optimizer", self.optimizers), ("order", self.orders)):
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{kind} {name} is named twice; once is enough")

    @property
    def base(self) -> Variant:
        """What the others are compared with: AdamW at the recipe's rate, in another order in every epoch."""
        return self._at("adamw", self.preset.recipe.rate)

    def path(self, variant: Variant, seed: int) -> Path:
        """The file of a trained model."""
        return self.folder / f"seed-{seed}" / variant.name

    def waves(self) -> Iterator[list[tuple[Variant, int]]]:
        """All variants and seeds that are to be trained; each wave before the next is asked for.

        Raises:
            ValueError: as `variants`.
        """
        first, swept = self.seeds[0], self.swept()
        yield [(variant, first) for variant in swept]
        variants = self.variants()
        yield [(each, seed) for seed in self.seeds for each in variants if seed != first or each not in swept]

    def stage(self, variant: Variant, seed: int) -> Stage:
        """How a variant is trained.

        Raises:
            ValueError: as `stages.training`.
        """
        material, path = self.material(seed), self.path(variant, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        recipe = dataclasses.replace(self.preset.recipe, seed=seed)
        return Stage(_run(material, self.start(material), recipe, variant), path)

    def variants(self) -> tuple[Variant, ...]:
        """All that every seed trains; the rates of the first seed must be trained.

        Raises:
            ValueError: if one of those models is missing, or as `best`.
        """
        shared = [self.shared(name) for name in self.optimizers]
        ordered = [dataclasses.replace(self.base, order=order) for order in self.orders]
        kept = [dataclasses.replace(self.base, zeroed=False)] if self.forgetful else []
        best = [found for name in self.optimizers if (found := self.best(name)) is not None]
        return tuple(dict.fromkeys([self.base, *shared, *best, *ordered, *kept]))

    def shared(self, optimizer: OptimizerName) -> Variant:
        """The optimizer at the rate that all share."""
        return self._at(optimizer, self.preset.recipe.rate)

    def _at(self, optimizer: OptimizerName, rate: float) -> Variant:
        return Variant(optimizer=optimizer, rate=rate, order=self.preset.order)

    def best(self, optimizer: OptimizerName) -> Variant | None:
        """The optimizer at the rate with the highest validation accuracy after the last epoch, for the first seed.

        None if no rates are swept.

        Raises:
            ValueError: if one of the models is missing, or all of them diverged.
        """
        first = self.seeds[0]
        rates = [each for each in self.swept() if each.optimizer == optimizer]
        if not rates:
            return None
        candidates = [each for each in rates if noted(self.path(each, first)) is None]
        if not candidates:
            raise ValueError(f"{optimizer} diverged at all of its {len(rates)} rates: sweep lower ones")
        scores = [self.curve(each, first)[-1]["validation accuracy"] for each in candidates]
        return candidates[scores.index(max(scores))]

    def diverged(self) -> dict[Variant, str]:
        """The variants that diverged for at least one seed, and how: nothing is compared with them.

        Raises:
            ValueError: if the base is among them, without which nothing can be compared.
        """
        found: dict[Variant, str] = {}
        for variant in (*self.swept(), *self.variants()):
            said = [line for seed in self.seeds if (line := noted(self.path(variant, seed))) is not None]
            if said:
                found[variant] = said[0]
        if self.base in found:
            raise ValueError(f"what all others are compared with diverged: {found[self.base]}")
        return found

    def curve(self, variant: Variant, seed: int) -> Curve:
        """What was watched while a model was trained.

        Raises:
            ValueError: if it is missing.
        """
        return curve_of(load_model(self.path(variant, seed)))

    def saved(self, variant: Variant, seed: int) -> Saved:
        """A trained model.

        Raises:
            ValueError: if it is missing.
        """
        return load_model(self.path(variant, seed))

    def refuse_left_over(self) -> None:
        """Refuse to start anew where a stopped run has left a checkpoint.

        Raises:
            ValueError: naming the checkpoint.
        """
        for partial in sorted(self.folder.glob("*/*.partial")):
            refuse_left_over(partial.with_suffix(""))

    def swept(self) -> tuple[Variant, ...]:
        """Every optimizer at every rate of its sweep."""
        return tuple(self._at(name, rate) for name in self.optimizers for rate in self.preset.rates[name])


def trial_stage(lab: Lab, trial: Trial, seed: int) -> Stage:
    """One trial of a random search, with AdamW.

    Raises:
        ValueError: as `stages.training`.
    """
    material = lab.material(seed)
    recipe = dataclasses.replace(trial.of(lab.preset.recipe), seed=seed)
    path = lab.folder / "search" / trial.name
    path.parent.mkdir(parents=True, exist_ok=True)
    variant = dataclasses.replace(lab.base, rate=trial.rate)
    return Stage(_run(material, lab.start(material), recipe, variant, stage="trial"), path)


def curve_of(saved: Saved) -> Curve:
    """What a file keeps of the epochs of its training."""
    watched: Any = saved.about.get("watched", ())
    return tuple(watched)


def _run(material: Material, start: Start, recipe: Recipe, variant: Variant, *, stage: str = "train") -> Run:
    def first() -> Any:
        return start.first(recipe.seed)

    return training(material, first, start.config, recipe, variant, start=start.about, stage=stage)
