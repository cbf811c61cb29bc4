"""Everything that a run of the lab found, as files."""

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.table import Table

from attnlab_theory import files
from attnlab_theory.labs import judged_again
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.judged_again import Again, Draw
from attnlab_theory.labs.mixers import findings
from attnlab_theory.labs.mixers.honest import leak_map
from attnlab_theory.labs.mixers.lab import Lab
from attnlab_theory.labs.mixers.presets import CAUSAL, LEAKING
from attnlab_theory.labs.sentences import encoded
from attnlab_theory.labs.verdicts import Verdicts
from attnlab_theory.language.decode import Sampling
from attnlab_theory.language.generate import sample, sample_uncached
from attnlab_theory.language.prompts import Stop
from attnlab_theory.language.runs import Run
from attnlab_theory.report import record
from attnlab_theory.seeds import key_for

ABOUT = "mixers.run.json"
"""The file that says what was run."""

SAMPLES = 6
"""Sentences that each model of the first seed writes."""

WARM, TIMED = 8, 24
"""Steps of training that compile what is needed, and those that are timed."""

SHOWN = 10
"""Places of a leak map, if a sentence is as long."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What was found."""

    estimates: Estimates
    verdicts: Verdicts
    maps: dict[str, Float[np.ndarray, "t t"]]
    samples: str

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return self.verdicts.as_expected

    def table(self) -> Table:
        """Loss and perplexity by arm."""
        shown = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("mixer", "parameters", "test loss", "perplexity"):
            shown.add_column(column, justify="left" if column == "mixer" else "right", no_wrap=True)
        for each in self.estimates.of("test loss"):
            (perplexity,) = self.estimates.of("perplexity", arm=each.setting["arm"])
            numbers = f"{each.setting['parameters']:,}", f"{each.value:.4f}", f"{perplexity.value:.3f}"
            shown.add_row(each.setting["arm"], *numbers)
        return shown


def results(lab: Lab, *, tell: Callable[[str], None] = lambda _: None) -> Results:
    """Measure and judge; draw leak maps and samples of the first seed.

    Args:
        lab: whose models are trained.
        tell: is told what is being done.

    Raises:
        ValueError: if a model is missing.
    """
    measured = findings.measure(lab, tell)
    seed = lab.seeds[0]
    material = lab.material(seed)
    test = encoded(material.test, material.text, lab.preset.block)
    maps = {
        arm: leak_map(lab.saved(arm, seed).model, test, length=min(SHOWN, int(test.lengths.max())))
        for arm in lab.arms
        if arm in ("separate", *LEAKING)
    }
    tell("samples")
    samples = "\n".join(_written(lab, arm, seed) for arm in lab.arms)
    return Results(estimates=measured, verdicts=findings.verdicts(measured), maps=maps, samples=samples)


def _written(lab: Lab, arm: str, seed: int) -> str:
    saved = lab.saved(arm, seed)
    begin = np.full((SAMPLES, 1), saved.text.bos, np.int32), np.ones(SAMPLES, np.int32)
    draw: Any = sample if saved.model.config.mixer.scored else sample_uncached
    key = key_for(seed, "samples", arm)
    drawn = draw(key, saved.model, *begin, sampling=Sampling(), steps=30, stop=Stop(saved.text.eos))
    return "\n    ".join([arm, *(saved.text.decode_text(row) for row in drawn.tokens)]) + "\n"


def seconds_per_step(lab: Lab) -> dict[str, list[float]]:
    """How long a step of training takes in each arm once it is compiled: quartiles and median of `TIMED` steps.

    The arms take turns, so that whatever else the machine does slows all of them alike.
    """
    from attnlab_theory.language.train import started, train

    runs = {stage.path.name: stage.run for stage in lab.stages() if stage.path.parent == lab.path("", lab.seeds[0])}

    def endless(run: Run) -> Iterator[Any]:
        while True:
            yield from train(started(run.first(), run.training), run.epochs, run.training)

    steps = {arm: endless(run) for arm, run in runs.items()}
    seconds: dict[str, list[float]] = {arm: [] for arm in steps}
    for turn, (arm, each) in itertools.product(range(WARM + TIMED), steps.items()):
        began = time.perf_counter()
        next(each)
        if turn >= WARM:
            seconds[arm].append(time.perf_counter() - began)
    return {
        arm: [round(float(x), 5) for x in np.quantile(each, (0.25, 0.5, 0.75))] for arm, each in seconds.items()
    }


def write(found: Results, folder: Path) -> None:
    """Write the tables and draw the figures, each file whole or not at all.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.mixers import figures

    tables = {
        "mixers": [record.as_json(finding) for finding in found.verdicts.findings],
        "estimates": [estimate.as_json() for estimate in found.estimates],
        "leaks": {name: np.round(each, 5).tolist() for name, each in found.maps.items()},
    }
    for name, rows in tables.items():
        files.write_text(folder / f"{name}.json", record.to_text(rows))
    files.write_text(folder / "samples.txt", found.samples)
    drawn = _equivalence(found.estimates, found.verdicts)
    drawn["routing"] = functools.partial(figures.routing, found.estimates)
    drawn["honesty"] = functools.partial(figures.honesty, found.estimates)
    if found.maps:
        drawn["leaks"] = functools.partial(figures.leaks, found.maps)
    judged_again.draw(drawn, folder)


def again(folder: Path) -> Again:
    """A finished run, judged again.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    stored = judged_again.stored(folder)
    measured = judged_again.renewed(stored, findings.leaks_over_seeds(stored))
    judged = findings.verdicts(measured)
    return Again(measured, judged, _equivalence(measured, judged))


def _equivalence(measured: Estimates, judged: Verdicts) -> dict[str, Draw]:
    from attnlab_theory.labs.mixers import figures

    compared = {e.setting["arm"] for e in measured if e.quantity == "test loss less that of separate"}
    if not compared & set(CAUSAL):
        return {}
    return {"equivalence": functools.partial(figures.equivalence, measured, judged.findings)}
