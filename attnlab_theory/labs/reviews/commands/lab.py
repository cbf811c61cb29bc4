"""attnlab reviews run: every optimizer, every order and a search, then what the models learned."""

import dataclasses
import functools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab_theory import files
from attnlab_theory.interrupts import Interrupts
from attnlab_theory.labs import folders
from attnlab_theory.labs.judged_again import JudgeAgain
from attnlab_theory.labs.options import ParallelRun
from attnlab_theory.labs.reviews.commands.data import Data
from attnlab_theory.labs.reviews.commands.searching import declared, of_batch, tell, train_every
from attnlab_theory.labs.reviews.commands.training import Sizes
from attnlab_theory.labs.reviews.diverging import Ended, trained
from attnlab_theory.labs.reviews.presets import PRESETS, Preset, PresetName
from attnlab_theory.labs.reviews.rules import OptimizerName, OrderName
from attnlab_theory.labs.reviews.trials import Trial

if TYPE_CHECKING:
    from attnlab_theory.labs.processes import Workers
    from attnlab_theory.labs.reviews.lab import Lab, Stage
    from attnlab_theory.labs.reviews.results import Results
    from attnlab_theory.labs.reviews.searching import Outcome
    from attnlab_theory.labs.reviews.variants import Variant

QUESTION = "What decides how often an encoder labels reviews right, and what does it look at?"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustments(Sizes):
    """Changes to the preset."""

    epochs: int | None = None
    """Passes over the training reviews."""
    batch_size: int | None = None
    """Reviews behind one step."""
    train_reviews: int = 2000
    """How many reviews are drawn for training, without files."""
    test_reviews: int = 2000
    """How many are drawn for test, without files."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judge(JudgeAgain):
    """Judge a finished run again, from the numbers in its folder. Nothing is trained.

    Findings are written anew, and the numbers over seeds that they rest on. The record of the run keeps the commit
    that trained it, and names the one that judged it. `tested.json` is judged again, too, if the folder has it.
    """

    def run(self) -> int:
        """Read, judge, write; 1 if a verdict is not the expected one."""
        from attnlab_theory.labs.reviews.results import again
        from attnlab_theory.labs.reviews.tested import judge_again
        from attnlab_theory.report import record

        of_tests = judge_again(self.folder)
        code = self.judge("reviews", again)
        if of_tests is not None:
            rows = [record.as_json(finding) for finding in of_tests.findings]
            files.write_text(self.folder / "tested.json", record.to_text(rows))
            code = code or int(not of_tests.as_expected)
        return code


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunLab(ParallelRun):
    """Train every optimizer at the shared rate and at its own best, every order, and the trials of a search.

    Then ask all models about test reviews, explain their answers, judge and draw. Without files, reviews are
    drawn from an embedded grammar, for which the accuracy of Bayes's rule is known exactly.
    """

    data: Data = dataclasses.field(default_factory=Data)
    preset: PresetName = "tiny"
    """Model and recipe. tiny: first weights. minilm: a pretrained encoder, with the extra pretrained."""
    optimizers: tuple[OptimizerName, ...] = ("adamw", "sgd", "rmsprop")
    """Optimizers. Each is trained at the shared rate and at its own best one. AdamW is trained in any case."""
    sweep: bool = True
    """Whether each optimizer is also trained at its own best rate, which a sweep with the first seed finds."""
    orders: tuple[OrderName, ...] = ("shuffled", "file", "by-label")
    """Orders of the training reviews. shuffled: another in every epoch. alike: the same, but reviews of similar
    length share a batch. file: as they come. by-label: all unfavourable ones first."""
    forgetful: bool = True
    """Whether AdamW is also trained as by a loop that never zeroes gradients."""
    trials: int | None = None
    """Trials of the random search, for the first seed; 0: no search. By default the preset's."""
    seeds: int = 5
    """How many seeds to run. Reviews that are drawn, first weights and dropout follow from the seed.
    Three took 160 seconds on two cores. Fewer than four decide nothing."""
    out: Path = Path("lab/reviews")
    """Folder for models, JSON and figures. It is made if it does not exist."""
    training: Adjustments = dataclasses.field(default_factory=Adjustments)

    def run(self) -> int:
        """Train, ask, write; 1 if a verdict is not the expected one, 130 after Ctrl-C."""
        from attnlab_theory.labs.processes import workers
        from attnlab_theory.labs.reviews import results
        from attnlab_theory.report import record

        began = time.monotonic()
        trials, lab = self.drawn_trials(), self.lab()
        processes = workers(self.processes, small=PRESETS[self.preset].model is not None, tell=tell)
        about = self._about(trials)
        with folders.begun(self.out, "reviews", "search"):
            if not self.resume:
                lab.refuse_left_over()
            with processes as pool:
                for wave in lab.waves():
                    if not self._wave_trained(lab, wave, pool):
                        return 130
                outcomes = self._search(lab, trials, pool)
            if outcomes is None:
                return 130
            found = results.results(lab, outcomes, tell=tell)
            results.write(found, self.out)
            about["diverged"] = {variant.name: said for variant, said in lab.diverged().items()}
            about["seconds"] = round(time.monotonic() - began, 2)
            about |= found.verdicts.as_json()
            files.write_text(self.out / results.ABOUT, record.to_text(about))
        self._report(found, about)
        return 0 if found.as_expected else 1

    def _wave_trained(self, lab: "Lab", wave: "list[tuple[Variant, int]]", pool: "Workers | None") -> bool:
        if pool is not None:
            return pool.finished(train_one, [(self, variant, seed) for variant, seed in wave])
        return all(self.ended(lab.stage(variant, seed)) is not Ended.STOPPED for variant, seed in wave)

    def ended(self, stage: "Stage", interrupts: Interrupts | None = None) -> Ended:
        """Train a stage, and say how that ended."""
        trial = stage.run.origin["stage"] == "trial"
        told = of_batch(stage.run) if trial else f", seed {stage.run.training.seed}"
        return trained(stage.run, self.checkpoints(stage.path), told=told, interrupts=interrupts)

    def _preset(self) -> Preset:
        changed = self.training.of(PRESETS[self.preset])
        if not self.sweep:
            changed = dataclasses.replace(changed, rates={name: () for name in changed.rates})
        recipe = changed.recipe
        if self.training.epochs is not None:
            recipe = dataclasses.replace(recipe, epochs=self.training.epochs)
        if self.training.batch_size is not None:
            recipe = dataclasses.replace(recipe, batch=self.training.batch_size)
        return dataclasses.replace(changed, recipe=recipe)

    def drawn_trials(self) -> tuple[Trial, ...]:
        """The trials of the search."""
        preset = self._preset()
        number = preset.trials if self.trials is None else self.trials
        return preset.space.drawn(number, self.seed) if number else ()

    def lab(self) -> "Lab":
        """What is trained on what.

        Raises:
            ValueError: of bad input, before anything is written.
        """
        from attnlab_theory.labs.reviews.commands.starting import beginning
        from attnlab_theory.labs.reviews.lab import Lab
        from attnlab_theory.labs.reviews.material import Sizes
        from attnlab_theory.labs.reviews.measured import refuse_unexplainable

        preset = self._preset()
        sizes = Sizes(train=self.training.train_reviews, test=self.training.test_reviews)
        reviews, start = beginning(preset, self.data, sizes)
        reviews = functools.cache(reviews)
        # Both complain of bad input before anything is written.
        config = start(reviews(self.seed)).config
        refuse_unexplainable(reviews(self.seed), config.encoder.block)
        given = self.data.train is not None
        return Lab(
            preset=preset,
            seeds=self.every_seed(),
            material=(lambda _: reviews(self.seed)) if given else reviews,
            start=start,
            folder=self.out / "models",
            optimizers=self.optimizers,
            orders=self.orders,
            forgetful=self.forgetful,
        )

    def _search(
        self, lab: "Lab", trials: tuple[Trial, ...], pool: "Workers | None"
    ) -> "tuple[Outcome, ...] | None":
        from attnlab_theory.labs.reviews.searching import search

        if not trials:
            return ()
        tell(declared(trials))
        if pool is not None and not pool.finished(train_one, [(self, trial, self.seed) for trial in trials]):
            return None
        # What these processes trained is whole: the search looks at it, and does not train it again.
        resume = self.resume or pool is not None
        train = functools.partial(train_every, resume=resume, save_every=self.save_every)
        return search(lab, trials, self.seed, train)

    def _about(self, trials: tuple[Trial, ...]) -> dict[str, Any]:
        """What was run; asked for before anything is written, which may be a change to the checkout."""
        from attnlab_theory.labs.verdicts import ERROR_RATE
        from attnlab_theory.report import provenance

        return {
            "question": QUESTION,
            "preset": self.preset,
            "seed": self.seed,
            "seeds": self.seeds,
            "optimizers": list(self.optimizers),
            "orders": list(self.orders),
            "trials": len(trials),
            **provenance.of_this_process(),
            "error_rate": ERROR_RATE,
        }

    def _report(self, found: "Results", about: dict[str, Any]) -> None:
        from attnlab_theory.labs.verdicts import report
        from attnlab_theory.report.table import show

        if not self.json:
            show(found.table())
            for name, said in about["diverged"].items():
                show(f"{name} diverged and is left out: {said}")
        report(found.verdicts, found.estimates, about, self.out, json=self.json)


def train_one(command: RunLab, what: "Variant | Trial", seed: int, interrupts: Interrupts) -> bool:
    """Train a variant or a trial, in a process of its own; False if it was stopped."""
    from attnlab_theory.labs.reviews.lab import trial_stage

    lab = _lab_of(command)
    stage = trial_stage(lab, what, seed) if isinstance(what, Trial) else lab.stage(what, seed)
    return command.ended(stage, interrupts) is not Ended.STOPPED


@functools.lru_cache(maxsize=1)
def _lab_of(command: RunLab) -> "Lab":
    return command.lab()
