"""The measurements of a run on its models' answers, and its verdicts, also later from its files."""

import functools
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from attnlab_theory import files, inputs
from attnlab_theory.labs.engine.record import Draw, Results, draw, read, renewed, stored
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.knowledge import accuracy, confidence, lookup, names
from attnlab_theory.labs.knowledge.answers import Answered, Answers, independent
from attnlab_theory.labs.knowledge.arms import UNTRAINED
from attnlab_theory.labs.knowledge.claims import STATEMENTS
from attnlab_theory.labs.knowledge.corpora.biographies import Group
from attnlab_theory.labs.knowledge.exposure import by_exposure
from attnlab_theory.labs.knowledge.lab import Knowledge
from attnlab_theory.labs.knowledge.predictions import Predictions
from attnlab_theory.labs.tables import table
from attnlab_theory.labs.verdicts import ERROR_RATE, verdicts_on
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.report import record

POINTS = 100
"""How many points a loss curve has. Each is a mean over equally many steps."""


def results(lab: Knowledge, tell: Callable[[str], None]) -> Results:
    """Ask all models, measure, judge.

    Args:
        lab: whose models are trained.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if a model is missing, or there are no answers.
    """
    from attnlab_theory.labs.knowledge import figures

    tell("answers of all models")
    answers = lab.answers()
    worlds = {seed: lab.material(seed) for seed in lab.seeds}
    truth = {(seed, person.name): person for seed, world in worlds.items() for person in world.persons}
    places = frozenset[str]().union(*(world.places for world in worlds.values()))
    looked, maps = _looked_up(lab, answers)
    measured = Estimates((*measure(answers, places), *by_exposure(answers, truth, ERROR_RATE), *looked))
    curves = _curves(lab, answers)
    return Results(
        estimates=measured,
        verdicts=verdicts(measured),
        tables={
            "answers": [answer.as_json() for answer in answers],
            "curves": curves or None,
            "attention": [each.as_json() for each in maps] or None,
        },
        figures=figures.of_run(measured, curves, maps),
        shown=(_table(answers, measured),),
    )


def again(folder: Path) -> Results:
    """Judge a finished run again on its answers.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    answers = read(folder / "answers.json", lambda rows: Answers(map(Answered.from_json, rows)))
    new = by_training(answers)
    # An older version gave other settings to what is asked of confidence. They have no successor, and go.
    known = {(each.quantity, str(each.setting)) for each in new}
    old = (
        each
        for each in stored(folder)
        if each.quantity not in confidence.QUANTITIES or (each.quantity, str(each.setting)) in known
    )
    measured = renewed(Estimates(old), new)
    return Results(estimates=measured, verdicts=verdicts(measured))


def figures_in(folder: Path) -> dict[str, Draw | None]:
    """The figures of a folder, from the JSON files in it; None where there is nothing to draw.

    Raises:
        ValueError: if it holds no estimates, or a file is damaged.
    """
    from attnlab_theory.labs.knowledge import figures

    def rows(name: str) -> list[Any]:
        return inputs.json_of(folder / name) if (folder / name).exists() else []

    try:
        maps = [lookup.Map.from_json(row) for row in rows("attention.json")]
        return figures.of_run(stored(folder), rows("curves.json"), maps)
    except inputs.DAMAGED as error:
        raise ValueError(
            f"a JSON file in {folder} is damaged: {inputs.reason_in(error)}; run the lab again"
        ) from error


def write_one(predictions: Predictions, places: Collection[str], folder: Path, *, arm: str) -> None:
    """Measure the answers of one model, and write files and figures. No claim is about one model.

    Args:
        predictions: for questions about held-out persons, with their places.
        places: all places that exist.
        folder: an existing folder. Other files in it stay.
        arm: the name of the model.

    Raises:
        ValueError: if the questions have no places, or one is no "Where was X born?".
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.knowledge import figures

    groups: list[Group] = ["held-out"] * len(predictions.questions)
    answers = predictions.of(groups, arm=arm, seed=0)
    measured = measure(answers, places)
    for name, rows in (("answers", answers), ("estimates", measured)):
        files.write_text(folder / f"{name}.json", record.to_text([each.as_json() for each in rows]))
    draw({name: each for name, each in figures.of_run(measured, (), ()).items() if each}, folder)


verdicts = functools.partial(verdicts_on, STATEMENTS, experiment="knowledge")
"""The claims about what models know, judged on what was measured."""


def measure(answers: Answers, places: Collection[str], *, shuffles: int = 9_999) -> Estimates:
    """Every number about what models know that their answers give.

    Args:
        answers: of one or several arms and seeds.
        places: all places that exist.
        shuffles: of each permutation test.

    Raises:
        ValueError: if there are no answers, or arms answered different questions.
    """
    if not answers:
        raise ValueError("there are no answers to look at; evaluate a model first")
    apart = independent(answers)
    return Estimates(
        (
            *by_training(answers),
            *accuracy.wrong_but_places(apart, places, ERROR_RATE),
            *names.confident_places(answers, places, ERROR_RATE),
            *names.same_part(answers, "first", ERROR_RATE, shuffles=shuffles),
            *names.same_part(answers, "last", ERROR_RATE, shuffles=shuffles),
            *names.like_the_nearest(answers, ERROR_RATE, shuffles=shuffles),
        )
    )


def by_training(answers: Answers) -> Estimates:
    """The numbers of `measure` about accuracy and confidence, over seeds or pooled.

    They need the answers alone, so a finished run can be judged again.
    """
    found = [
        *accuracy.by_seed(answers, ERROR_RATE),
        *accuracy.over_seeds(answers, ERROR_RATE),
        *accuracy.pooled(independent(answers), ERROR_RATE),
        *accuracy.commonest(answers),
        *confidence.measured(_tested(answers), ERROR_RATE),
    ]
    if any(answer.group == "held-out" for answer in answers):
        for first, second in itertools.combinations(answers.arms, 2):
            found += accuracy.compared(answers, first, second, "held-out", ERROR_RATE)
    return Estimates(found)


def _tested(answers: Answers) -> Answers:
    """The answers without those to finetuning questions, which a model knows by rote."""
    return Answers(a for a in answers if a.group != "finetuned") or answers


def _looked_up(lab: Knowledge, answers: Answers) -> tuple[Estimates, Sequence[lookup.Map]]:
    """The heads that look up names, in the first seed's pretrained models that have attention weights."""
    looked, maps, seed = [], [], lab.seeds[0]
    for arm in lab.arms:
        if arm == UNTRAINED:
            continue
        saved = load_model(lab.finetuned(arm, seed))
        if saved.model.config.mixer.scored:
            chosen = answers.of("held-out", variant=arm, seed=seed)
            heads = lookup.on_the_name(saved.model, saved.text, chosen, ERROR_RATE)
            looked += heads
            maps += lookup.lookup(saved.model, saved.text, chosen, heads)
    return Estimates(looked), maps


def _curves(lab: Knowledge, answers: Answers) -> list[Mapping[str, Any]]:
    """The loss of pretraining, in nats, and the accuracy on held-out persons at its end."""
    rows: list[Mapping[str, Any]] = []
    pretrained = ((arm, seed) for seed in lab.seeds for arm in lab.arms if arm != UNTRAINED)
    for arm, seed in pretrained:
        losses = np.array(load_model(lab.pretrained(arm, seed)).about["losses"])
        row = {"variant": arm, "seed": seed}
        steps = np.arange(1, len(losses) + 1)
        for some, lost in zip(*(np.array_split(x, min(POINTS, len(x))) for x in (steps, losses)), strict=True):
            rows.append({**row, "step": float(np.mean(some)), "loss": float(np.mean(lost))})
        right = answers.of("held-out", **row).right
        rows.append({**row, "step": float(len(losses)), "accuracy": float(np.mean(right))})
    return rows


def _table(answers: Answers, measured: Estimates) -> Table:
    """The mean accuracy over all seeds, by arm and group."""
    groups = list(dict.fromkeys(answer.group for answer in answers))
    shown = table(["right answers"], groups)
    for arm in answers.arms:
        each = [measured.of("mean accuracy", variant=arm, group=group)[0] for group in groups]
        counts = [len(answers.of(group, variant=arm)) for group in groups]
        shown.add_row(arm, *(f"{e.value:.1%} of {n}" for e, n in zip(each, counts, strict=True)))
    return shown
