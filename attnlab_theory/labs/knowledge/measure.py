"""What a run of the lab measures of its models' answers, and how it is judged, also later from its files."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from attnlab_theory import files, inputs
from attnlab_theory.labs.engine.record import Results, draw, read, renewed, stored
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.knowledge import accuracy, confidence, lookup, names
from attnlab_theory.labs.knowledge.answers import Answered, Answers, independent
from attnlab_theory.labs.knowledge.arms import UNTRAINED
from attnlab_theory.labs.knowledge.claims import STATEMENTS
from attnlab_theory.labs.knowledge.corpora.biographies import Group
from attnlab_theory.labs.knowledge.exposure import by_exposure
from attnlab_theory.labs.knowledge.lab import Knowledge
from attnlab_theory.labs.knowledge.predictions import Predictions
from attnlab_theory.labs.verdicts import ERROR_RATE, Verdicts, verdicts_on
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.report import record

POINTS = 100
"""How many points a loss curve has. Each is a mean over equally many steps."""


def results(lab: Knowledge) -> Results:
    """Ask all models, measure, judge.

    Args:
        lab: whose models are trained.

    Raises:
        ValueError: if a model is missing, or as `measure`.
    """
    from attnlab_theory.labs.knowledge import figures

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
    """A finished run, judged again on its answers.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    answers = read(folder / "answers.json", lambda rows: Answers(map(Answered.from_json, rows)))
    measured = renewed(stored(folder), by_training(answers))
    return Results(estimates=measured, verdicts=verdicts(measured))


def redraw(folder: Path) -> int:
    """Draw the figures of a folder again, from the JSON files in it. Nothing is trained or measured.

    Returns:
        How many figures there are.

    Raises:
        ValueError: if the folder holds no estimates, or a file is damaged.
        OSError: if the folder cannot be written.
    """
    if not (folder / "estimates.json").is_file():
        raise ValueError(f"{folder} holds no estimates.json: name a folder that `run` or `evaluate --out` wrote")

    def rows(name: str) -> list[Any]:
        return inputs.json_of(folder / name) if (folder / name).exists() else []

    try:
        maps = [lookup.Map.from_json(row) for row in rows("attention.json")]
        return _draw(stored(folder), rows("curves.json"), maps, folder)
    except inputs.DAMAGED as error:
        raise ValueError(
            f"a JSON file in {folder} is damaged: {inputs.reason_in(error)}; run the lab again"
        ) from error


def write_one(predictions: Predictions, places: Collection[str], folder: Path, *, arm: str) -> None:
    """Write what the answers of one model say of it. Nothing is judged, for nobody has said what to expect.

    Args:
        predictions: in reply to questions about held-out persons, with their places.
        places: that exist.
        folder: that exists. What else is in it stays.
        arm: what the model is called.

    Raises:
        ValueError: as `Predictions.of`.
        OSError: if the folder cannot be written.
    """
    groups: list[Group] = ["held-out"] * len(predictions.questions)
    answers = predictions.of(groups, arm=arm, seed=0)
    measured = measure(answers, places)
    for name, rows in (("answers", answers), ("estimates", measured)):
        files.write_text(folder / f"{name}.json", record.to_text([each.as_json() for each in rows]))
    _draw(measured, (), (), folder)


def _draw(
    measured: Estimates, curves: Sequence[Mapping[str, Any]], maps: Sequence[lookup.Map], folder: Path
) -> int:
    """Draw what there is to draw, and remove nothing; returns how many figures that is."""
    from attnlab_theory.labs.knowledge import figures

    drawn = {name: each for name, each in figures.of_run(measured, curves, maps).items() if each is not None}
    draw(drawn, folder)
    return len(drawn)


def verdicts(measured: Estimates) -> Verdicts:
    """The claims about what models know, judged on what was measured."""
    return verdicts_on(STATEMENTS, measured, experiment="knowledge")


def measure(answers: Answers, places: Collection[str], *, shuffles: int = 9_999) -> Estimates:
    """Every number about what models know, as far as their answers have it.

    Args:
        answers: of one or several arms and seeds.
        places: those that exist.
        shuffles: of each permutation test.

    Raises:
        ValueError: if there are no answers, or arms were not asked the same questions.
    """
    if not answers:
        raise ValueError("there are no answers to look at; evaluate a model first")
    apart = independent(answers)
    tested = _tested(apart)
    return Estimates(
        (
            *by_training(answers),
            *accuracy.wrong_but_places(apart, places, ERROR_RATE),
            *confidence.discrimination(tested, ERROR_RATE),
            *confidence.reliability(tested, ERROR_RATE, bins=min(8, len(tested) // len(tested.arms))),
            *confidence.abstention(tested, ERROR_RATE),
            *confidence.histogram(tested, ERROR_RATE),
            *names.confident_places(answers, places, ERROR_RATE),
            *names.same_part(answers, "first", ERROR_RATE, shuffles=shuffles),
            *names.same_part(answers, "last", ERROR_RATE, shuffles=shuffles),
            *names.like_the_nearest(answers, ERROR_RATE, shuffles=shuffles),
        )
    )


def by_training(answers: Answers) -> Estimates:
    """What `measure` says of how often answers are right and of how sure they are, over seeds or pooled.

    These numbers need the answers alone: a finished run is judged again on them.
    """
    found = [
        *accuracy.by_seed(answers, ERROR_RATE),
        *accuracy.over_seeds(answers, ERROR_RATE),
        *accuracy.pooled(independent(answers), ERROR_RATE),
        *accuracy.commonest(answers),
        *confidence.discrimination_over_seeds(_tested(answers), ERROR_RATE),
    ]
    if any(answer.group == "held-out" for answer in answers):
        for first, second in itertools.combinations(answers.arms, 2):
            found += accuracy.compared(answers, first, second, "held-out", ERROR_RATE)
    return Estimates(found)


def _tested(answers: Answers) -> Answers:
    """Whoever was finetuned on a question answers it by rote: that is no test of knowing what one knows."""
    return Answers(a for a in answers if a.group != "finetuned") or answers


def _looked_up(lab: Knowledge, answers: Answers) -> tuple[Estimates, Sequence[lookup.Map]]:
    """Which head looks names up, in the first seed's pretrained models that have attention weights."""
    looked, maps, seed = [], [], lab.seeds[0]
    for arm in lab.arms:
        if arm == UNTRAINED:
            continue
        saved = load_model(lab.finetuned(arm, seed))
        if saved.model.config.mixer.scored:
            chosen = answers.of("held-out", variant=arm, seed=seed)
            heads = lookup.on_the_name(saved.model, saved.text, chosen, ERROR_RATE)
            looked += heads
            maps.append(lookup.lookup(saved.model, saved.text, chosen, heads))
    return Estimates(looked), maps


def _curves(lab: Knowledge, answers: Answers) -> list[Mapping[str, Any]]:
    """The loss of pretraining, in nats, and after it the accuracy on held-out persons."""
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
    """Right answers by arm and group, the mean over all seeds."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    groups = list(dict.fromkeys(answer.group for answer in answers))
    table.add_column("right answers")
    for group in groups:
        table.add_column(group, justify="right", no_wrap=True)
    for arm in answers.arms:
        each = [measured.of("mean accuracy", variant=arm, group=group)[0] for group in groups]
        counts = [len(answers.of(group, variant=arm)) for group in groups]
        table.add_row(arm, *(f"{e.value:.1%} of {n}" for e, n in zip(each, counts, strict=True)))
    return table
