"""What the review lab trains: every optimizer at the shared rate and at its chosen one, every order, and trials.

The chosen rate of an optimizer is known only after the rates of the first seed are trained. So there are three
waves: the rates of the first seed, all other arms, and the trials of a random search.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attnlab_theory.labs.engine.lab import Lab, Stage, Unit
from attnlab_theory.labs.reviews.arms import (
    ARMS,
    BASE,
    BEST,
    NEVER_ZEROED,
    ORDER,
    SHARED,
    Arm,
    ArmName,
    OptimizerName,
    OrderName,
    Preset,
    named,
)
from attnlab_theory.labs.reviews.divergence import noted
from attnlab_theory.labs.reviews.material import Material
from attnlab_theory.labs.reviews.stages import training
from attnlab_theory.labs.reviews.starts import Start
from attnlab_theory.labs.reviews.trials import Trial
from attnlab_theory.language.checkpoint import Saved

Curve = tuple[dict[str, float], ...]
"""The numbers that were watched, epoch by epoch."""

Part = tuple[str, Arm]
"""The role in which an arm is compared, and the arm."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reviews(Lab):
    """Classifiers that differ in how they are trained."""

    arms: tuple[ArmName, ...] = ARMS
    preset: Preset
    material: Callable[[int], Material]
    """The reviews of a seed."""
    start: Callable[[Material], Start]
    trials: tuple[Trial, ...] = ()
    """The trials of the random search, for the first seed."""

    @property
    def optimizers(self) -> tuple[OptimizerName, ...]:
        """The optimizers among the arms; AdamW if there is none."""
        return named(self.arms, OptimizerName) or ("adamw",)

    @property
    def orders(self) -> tuple[OrderName, ...]:
        """The orders among the arms."""
        return named(self.arms, OrderName)

    @property
    def base(self) -> Arm:
        """The arm with which others are compared: AdamW at the recipe's rate, in the preset's order."""
        return self.shared("adamw")

    def shared(self, optimizer: OptimizerName) -> Arm:
        """The optimizer at the shared rate."""
        return self._at(optimizer, self.preset.recipe.rate)

    def _at(self, optimizer: OptimizerName, rate: float) -> Arm:
        return Arm(optimizer=optimizer, rate=rate, order=self.preset.order)

    def swept(self) -> tuple[Arm, ...]:
        """Every optimizer at every rate of its sweep."""
        return tuple(self._at(name, rate) for name in self.optimizers for rate in self.preset.rates[name])

    def best(self, optimizer: OptimizerName) -> Arm | None:
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
        return max(candidates, key=lambda each: self.curve(each, first)[-1]["validation accuracy"])

    def compared(self) -> tuple[Arm, ...]:
        """All that is compared. The rates of the first seed must be trained.

        Raises:
            ValueError: if a model of the first seed is missing, or all rates of an optimizer diverged.
        """
        shared = [self.shared(name) for name in self.optimizers]
        best = [found for name in self.optimizers if (found := self.best(name)) is not None]
        ordered = [dataclasses.replace(self.base, order=order) for order in self.orders]
        kept = [dataclasses.replace(self.base, zeroed=False)] if "never-zeroed" in self.arms else []
        return tuple(dict.fromkeys([self.base, *shared, *best, *ordered, *kept]))

    def parts(self) -> tuple[Part, ...]:
        """The arms by the roles in which they are compared. One arm may have several roles.

        Raises:
            ValueError: if a model of the first seed is missing, or all rates of an optimizer diverged.
        """
        found: list[Part] = [(BASE, self.base)]
        for name in self.optimizers:
            found.append((SHARED[name], self.shared(name)))
            if (best := self.best(name)) is not None:
                found.append((BEST[name], best))
        arms = self.compared()
        found += [(ORDER[each.order], each) for each in arms if each.order != self.base.order]
        return (*found, *((NEVER_ZEROED, each) for each in arms if not each.zeroed))

    def arms_of(self, seed: int) -> tuple[Arm, ...]:
        """The arms of `compared`, the same for every seed.

        Raises:
            ValueError: if a model of the first seed is missing, or all rates of an optimizer diverged.
        """
        return self.compared()

    def waves(self) -> Iterator[Sequence[Unit]]:
        """The three waves: the rates of the first seed, all other arms, and the trials of the search.

        Raises:
            ValueError: if a model of the first seed is missing, or all rates of an optimizer diverged.
        """
        rates = [Unit(arm, self.seeds[0]) for arm in self.swept()]
        yield rates
        arms = self.compared()
        yield [unit for seed in self.seeds for arm in arms if (unit := Unit(arm, seed)) not in rates]
        yield self.search()

    def search(self) -> list[Unit]:
        """The trials of the search."""
        return [Unit(trial, self.seeds[0]) for trial in self.trials]

    def path(self, arm: Arm | Trial, seed: int) -> Path:
        """The file of a model. Its folder is made."""
        if isinstance(arm, Arm):
            return super().path(arm, seed)
        path = self.folder / "search" / arm.name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def stages(self, arm: Arm | Trial, seed: int) -> Iterator[Stage]:
        """The one stage of an arm. That of a trial has AdamW, and the order of the base.

        Raises:
            ValueError: if a number is out of range, or the model has another vocabulary.
        """
        material, recipe = self.material(seed), dataclasses.replace(self.preset.recipe, seed=seed)
        start, path = self.start(material), self.path(arm, seed)
        if isinstance(arm, Arm):
            yield Stage(training(material, start, recipe, arm), path)
        else:
            own = dataclasses.replace(self.base, rate=arm.rate)
            yield Stage(training(material, start, arm.of(recipe), own, stage="trial"), path)

    def diverged(self) -> dict[Arm, str]:
        """The arms that diverged for at least one seed, and how. They are left out of comparisons.

        Raises:
            ValueError: if the base is among them. Without it nothing can be compared.
        """
        found: dict[Arm, str] = {}
        for arm in (*self.swept(), *self.compared()):
            said = [line for seed in self.seeds if (line := noted(self.path(arm, seed))) is not None]
            if said:
                found[arm] = said[0]
        if self.base in found:
            raise ValueError(f"the base arm, with which all others are compared, diverged: {found[self.base]}")
        return found

    def curve(self, arm: Arm | Trial, seed: int) -> Curve:
        """The numbers that were watched while a model was trained.

        Raises:
            ValueError: if it is missing.
        """
        return curve_of(self.saved(arm, seed))


def curve_of(saved: Saved) -> Curve:
    """The numbers of all epochs in the file of a model."""
    watched: Any = saved.about.get("watched", ())
    return tuple(watched)
