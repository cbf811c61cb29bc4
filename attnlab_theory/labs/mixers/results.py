"""Everything that a run of the lab found, as files."""

import dataclasses
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.table import Table

from attnlab_theory import files
from attnlab_theory.claims import Findings
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.mixers import findings
from attnlab_theory.labs.mixers.honest import leak_map
from attnlab_theory.labs.mixers.lab import Lab
from attnlab_theory.labs.mixers.presets import CAUSAL, LEAKING
from attnlab_theory.labs.sentences import encoded
from attnlab_theory.language.decode import Sampling
from attnlab_theory.language.generate import Stop, sample, sample_uncached
from attnlab_theory.report import record
from attnlab_theory.seeds import key_for

ABOUT = "mixers.run.json"
"""The file that says what was run."""

SAMPLES = 6
"""Sentences that each model of the first seed writes."""

SHOWN = 10
"""Places of a leak map, if a sentence is as long."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What was found."""

    estimates: Estimates
    findings: Findings
    maps: dict[str, Float[np.ndarray, "t t"]]
    samples: str

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return all(finding.as_expected for finding in self.findings)

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
    return Results(estimates=measured, findings=findings.verdicts(measured), maps=maps, samples=samples)


def _written(lab: Lab, arm: str, seed: int) -> str:
    saved = lab.saved(arm, seed)
    begin = np.full((SAMPLES, 1), saved.text.bos, np.int32), np.ones(SAMPLES, np.int32)
    draw: Any = sample if saved.model.config.mixer.scored else sample_uncached
    key = key_for(seed, "samples", arm)
    drawn = draw(key, saved.model, *begin, sampling=Sampling(), steps=30, stop=Stop(saved.text.eos))
    return "\n    ".join([arm, *(saved.text.decode_text(row) for row in drawn.tokens)]) + "\n"


def seconds_per_step(lab: Lab, arm: str) -> float:
    """How long a step of training takes once it is compiled: the median of 20."""
    from attnlab_theory.language.train import started, train

    stage = next(stage for stage in lab.stages() if stage.run.origin["variant"] == arm)
    began, seconds = time.monotonic(), []
    for _, metrics in train(started(stage.run.first(), stage.run.training), stage.run.epochs, stage.run.training):
        seconds.append(metrics.seconds)
        if len(seconds) == 40 or time.monotonic() - began > 60:
            break
    return float(np.median(seconds[-20:]))


def write(found: Results, folder: Path) -> None:
    """Write the tables and draw the figures, each file whole or not at all.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.mixers import figures
    from attnlab_theory.report import style

    tables = {
        "mixers": [record.as_json(finding) for finding in found.findings],
        "estimates": [estimate.as_json() for estimate in found.estimates],
        "leaks": {name: np.round(each, 5).tolist() for name, each in found.maps.items()},
    }
    for name, rows in tables.items():
        files.write_text(folder / f"{name}.json", record.to_text(rows))
    files.write_text(folder / "samples.txt", found.samples)
    drawn = {"routing": functools.partial(figures.routing, found.estimates)}
    compared = {e.setting["arm"] for e in found.estimates if e.quantity == "test loss less that of separate"}
    if compared & set(CAUSAL):
        drawn["equivalence"] = functools.partial(figures.equivalence, found.estimates)
    drawn["honesty"] = functools.partial(figures.honesty, found.estimates)
    if found.maps:
        drawn["leaks"] = functools.partial(figures.leaks, found.maps)
    for name, figure in drawn.items():
        with files.replacing_all(folder / name, (".svg", ".png")) as written:
            style.save(figure, list(written.values()))
