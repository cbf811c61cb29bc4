"""Everything that a run of the lab found, as files: findings, numbers, answers, curves and figures."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from attnlab_theory import files
from attnlab_theory.labs import judged_again
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.judged_again import Again
from attnlab_theory.labs.knowledge import drawing, evaluate, exposure, findings, lookup
from attnlab_theory.labs.knowledge.answered import UNTRAINED, Answered, Answers
from attnlab_theory.labs.knowledge.corpora.biographies import Group
from attnlab_theory.labs.knowledge.lab import Lab, answered
from attnlab_theory.labs.knowledge.variants import VARIANTS
from attnlab_theory.labs.verdicts import ERROR_RATE, Verdicts, judged
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.report import record

ABOUT = "knowledge.run.json"
"""The file that says what was run. A folder with this file belongs to a run."""

POINTS = 100
"""How many points a loss curve has. Each is a mean over equally many steps."""


@dataclasses.dataclass(frozen=True)
class Results:
    """What was found."""

    answers: Answers
    estimates: Estimates
    verdicts: Verdicts
    curves: tuple[Mapping[str, Any], ...]
    """Rows with variant, seed, step of pretraining, and its loss in nats or the accuracy that it led to."""
    maps: tuple[lookup.Map, ...]
    """Attention maps of the first seed, for every pretrained variant that has attention weights."""

    def table(self) -> Table:
        """Right answers by variant and group, the mean over all seeds."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        groups = list(dict.fromkeys(answer.group for answer in self.answers))
        table.add_column("right answers")
        for group in groups:
            table.add_column(group, justify="right", no_wrap=True)
        for variant in self.answers.variants:
            each = [self.estimates.of("mean accuracy", variant=variant, group=group)[0] for group in groups]
            counts = [len(self.answers.of(group, variant=variant)) for group in groups]
            table.add_row(variant, *(f"{e.value:.1%} of {n}" for e, n in zip(each, counts, strict=True)))
        return table

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return self.verdicts.as_expected


def results(lab: Lab) -> Results:
    """Ask all models, measure, judge.

    Raises:
        ValueError: if a stage has not been trained, or as `findings.measure`.
    """
    answers = lab.answers()
    worlds = {seed: lab.material(seed) for seed in lab.seeds}
    truth = {(seed, person.name): person for seed, world in worlds.items() for person in world.persons}
    places = frozenset[str]().union(*(world.places for world in worlds.values()))
    estimates = [
        *findings.measure(answers, places, error_rate=ERROR_RATE),
        *exposure.by_exposure(answers, truth, ERROR_RATE),
    ]
    maps = []
    for variant in lab.variants:
        if variant != UNTRAINED:
            looking, found = _looked_up(lab, answers, variant)
            estimates += looking
            maps += found
    measured = Estimates(estimates)
    verdicts = findings.verdicts(answers, measured)
    return Results(answers, measured, verdicts, tuple(_curves(lab, answers)), tuple(maps))


def again(folder: Path) -> Again:
    """A finished run, judged again on its answers.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    answers = judged_again.read(folder / "answers.json", lambda rows: Answers(map(Answered.from_json, rows)))
    measured = judged_again.renewed(judged_again.stored(folder), findings.by_training(answers, ERROR_RATE))
    return Again(measured, findings.verdicts(answers, measured))


def of_one(said: evaluate.Answers, places: Collection[str], *, variant: str) -> Results:
    """What the answers of one model say of it: nothing is judged, for nobody has said what to expect.

    Args:
        said: to questions about held-out persons, with their places.
        places: that exist.
        variant: of the model.

    Raises:
        ValueError: as `lab.answered`.
    """
    groups: list[Group] = ["held-out"] * len(said.questions)
    answers = answered(said, groups, variant=variant, seed=0)
    measured = findings.measure(answers, places, error_rate=ERROR_RATE)
    return Results(answers, measured, judged((), experiment="knowledge"), (), ())


def write(found: Results, folder: Path) -> None:
    """Write the tables and draw the figures, each file whole or not at all.

    What an earlier run had besides goes, if the folder is one's.

    Raises:
        OSError: if the folder cannot be written.
    """
    tables = {
        "answers": [answer.as_json() for answer in found.answers],
        "estimates": [estimate.as_json() for estimate in found.estimates],
        "curves": list(found.curves),
        "attention": [each.as_json() for each in found.maps],
        "knowledge": [record.as_json(finding) for finding in found.verdicts.findings],
    }
    empty = [name for name, rows in tables.items() if not rows]
    if found.verdicts.unjudged and "knowledge" in empty:
        empty.remove("knowledge")  # A run whose seeds are too few has found nothing, and says so.
    for name, rows in tables.items():
        if name not in empty:
            files.write_text(folder / f"{name}.json", record.to_text(rows))
    drawn = drawing.draw(found.estimates, found.curves, found.maps, folder)
    if (folder / ABOUT).exists():
        perhaps = {"learning_curves", *(f"attention_of_{variant}" for variant in VARIANTS)}
        old = [f"{name}.json" for name in empty]
        old += [f"{name}{suffix}" for name in perhaps - drawn for suffix in (".svg", ".png")]
        for name in old:
            (folder / name).unlink(missing_ok=True)


def _looked_up(lab: Lab, answers: Answers, variant: str) -> tuple[Estimates, Sequence[lookup.Map]]:
    """Which head looks names up, in the model of the first seed."""
    seed = lab.seeds[0]
    saved = load_model(lab.finetuned(variant, seed))
    if not saved.model.config.mixer.scored:
        return Estimates(), ()
    chosen = answers.of("held-out", variant=variant, seed=seed)
    looking = lookup.on_the_name(saved.model, saved.text, chosen, ERROR_RATE)
    return looking, (lookup.lookup(saved.model, saved.text, chosen, looking),)


def _curves(lab: Lab, answers: Answers) -> list[dict[str, Any]]:
    """The loss of pretraining, and behind it the accuracy on held-out persons."""
    rows = []
    for seed in lab.seeds:
        for variant in lab.variants:
            if variant == UNTRAINED:
                continue
            losses = np.array(load_model(lab.pretrained(variant, seed)).about["losses"])
            row = {"variant": variant, "seed": seed}
            steps = np.arange(1, len(losses) + 1)
            for some, lost in zip(*(np.array_split(x, min(POINTS, len(x))) for x in (steps, losses)), strict=True):
                rows.append({**row, "step": float(np.mean(some)), "loss": float(np.mean(lost))})
            right = answers.of("held-out", variant=variant, seed=seed).right
            rows.append({**row, "step": float(len(losses)), "accuracy": float(np.mean(right))})
    return rows
