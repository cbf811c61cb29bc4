"""The measurements of a run of the lab: losses, gradients by distance, garbled words, tuning runs."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab_theory.labs.engine.record import Results, drawing, stored
from attnlab_theory.labs.estimates import Estimate, Estimates, over_seeds
from attnlab_theory.labs.perplexity import floor, losses
from attnlab_theory.labs.recurrent import tuning
from attnlab_theory.labs.recurrent.arms import FURTHEST
from attnlab_theory.labs.recurrent.claims import (
    FADED,
    GAIN,
    GAIN_BY_SIZE,
    GARBLED,
    GARBLED_BY_RATE,
    LESS,
    STATEMENTS,
)
from attnlab_theory.labs.recurrent.distances import gradient_norms
from attnlab_theory.labs.recurrent.lab import Networks
from attnlab_theory.labs.recurrent.letters import SPACE, in_a_row
from attnlab_theory.labs.recurrent.samples import garbled, texts
from attnlab_theory.labs.verdicts import verdicts_on
from attnlab_theory.language.models.gpt import parameter_count
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

POSITIVE = Interval.at_least(0.0)

WRITTEN = 200
"""How many texts a model of characters writes."""

LOG_NORM = "log of the gradient's norm"

DRAWN = {"losses": LESS, "growth": GAIN_BY_SIZE, "garbled": GARBLED, "gradients": LOG_NORM}
"""The figures of a run, and the quantity that each needs."""


def results(lab: Networks, tell: Callable[[str], None]) -> Results:
    """Measure and judge. Then repeat the homework's tuning runs, if they are among the lab's parts.

    Args:
        lab: whose models are trained.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if a model is missing.
    """
    from attnlab_theory.labs.recurrent import figures

    parts = {"equal": _equal, "growth": _growth, "rates": _rates}
    found = [each for part, measured in parts.items() if part in lab.parts for each in measured(lab, tell)]
    has = {each.quantity for each in found}
    rows: list[dict[str, Any]] = []
    for seed in lab.seeds if "tuning" in lab.parts else ():
        letters, told = lab.letters(seed), {"windows": lab.windows, "seed": seed, "tell": tell}
        rows += tuning.curves(tuning.SETTINGS, in_a_row(letters), len(letters.text), **told)
    curves = tuning.last_losses(rows)
    measured = Estimates((*found, *curves))
    drawn = drawing(figures, [name for name, quantity in DRAWN.items() if quantity in has], measured)
    return Results(
        estimates=measured,
        verdicts=verdicts(measured),
        # `tune` may have written into the same folder what a run without this part would have to leave alone.
        tables={"tuning": rows} if rows else {},
        figures=drawn | (drawing(figures, ["tuning"], rows, curves) if rows else {}),
    )


def again(folder: Path) -> Results:
    """Judge a finished run again.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    measured = stored(folder)
    return Results(estimates=measured, verdicts=verdicts(measured))


verdicts = functools.partial(verdicts_on, STATEMENTS, experiment="recurrent")
"""The claims about recurrent networks, judged on what was measured."""


def _equal(lab: Networks, tell: Callable[[str], None]) -> list[Estimate]:
    found: list[Estimate] = []
    arms = lab.of("equal")
    lost: dict[str, list[float]] = {arm.name: [] for arm in arms}
    norms: dict[tuple[str, str], list[np.ndarray]] = {}
    parameters: dict[str, int] = {}
    for seed in lab.seeds:
        tell(f"losses and gradients, seed {seed}")
        material, test = lab.material(seed), lab.test_rows(seed)
        for arm in arms:
            model = lab.saved(arm, seed).model
            here = losses(model, test)
            lost[arm.name].append(here.per_token)
            parameters.setdefault(arm.name, parameter_count(model))
            told = {"arm": arm.name, "seed": seed, "parameters": parameters[arm.name]}
            found += floor(here, material.test, material.grammar, lab.preset.block, **told)
            for weights, each in (("first weights", lab.untrained(arm, seed)), ("trained", model)):
                norms.setdefault((arm.name, weights), []).append(_by_distance(each, lab, seed))
    for arm, values in lost.items():
        told = {"model": arm, "parameters": parameters[arm]}
        found.append(over_seeds("test loss", values, within=POSITIVE, **told))
    for other, one in itertools.combinations(lost, 2):
        values = [a - b for a, b in zip(lost[one], lost[other], strict=True)]
        found.append(over_seeds(LESS, values, model=one, against=other))
    for (arm, weights), each in norms.items():
        for distance in range(1, FURTHEST + 1):
            told = {"arm": arm, "weights": weights, "distance": distance}
            found.append(over_seeds(LOG_NORM, [float(logs[distance]) for logs in each], **told))
    for arm in [name for name in lost if name != "gpt" and "gpt" in lost]:
        pairs = zip(norms[arm, "trained"], norms["gpt", "trained"], strict=True)
        far = [float(a[FURTHEST] - b[FURTHEST]) for a, b in pairs]
        found.append(over_seeds(FADED, far, arm=arm, against="gpt", distance=FURTHEST))
    return found


def _by_distance(model: Any, lab: Networks, seed: int) -> Float[np.ndarray, " distances"]:
    """The logarithm of the mean gradient norm at each distance, minus that at distance 0."""
    bos = lab.material(seed).text.bos
    rows = np.stack([np.concatenate([[bos], tokens[: FURTHEST + 1]]) for tokens in lab.far(seed)])
    norms = gradient_norms(model, rows.astype(np.int32))
    logs = np.log(np.maximum(norms.mean(axis=0), 1e-300))
    return logs - logs[0]


def _growth(lab: Networks, tell: Callable[[str], None]) -> list[Estimate]:
    arms = lab.of("growth")
    lost: dict[str, list[float]] = {arm.name: [] for arm in arms}
    for seed in lab.seeds:
        tell(f"losses by hidden size, seed {seed}")
        test = lab.test_rows(seed)
        for arm in arms:
            lost[arm.name].append(losses(lab.saved(arm, seed).model, test).per_token)
    found = [over_seeds("test loss", values, within=POSITIVE, model=name) for name, values in lost.items()]
    of = {(arm.cell, arm.hidden): lost[arm.name] for arm in arms}
    both = [hidden for hidden in lab.preset.hidden if ("w-rnn", hidden) in of and ("rnn", hidden) in of]
    gains = {hidden: np.subtract(of["w-rnn", hidden], of["rnn", hidden]).tolist() for hidden in both}
    found += [over_seeds(GAIN, values, hidden=hidden) for hidden, values in gains.items()]
    return [*found, *_slope(GAIN_BY_SIZE, {np.log2(hidden): values for hidden, values in gains.items()})]


def _rates(lab: Networks, tell: Callable[[str], None]) -> list[Estimate]:
    arms = lab.of("rates")
    shares: dict[float, list[float]] = {arm.recipe.rate: [] for arm in arms}
    for seed in lab.seeds:
        tell(f"texts of characters, seed {seed}")
        material = lab.letters(seed)
        known = {word for sentence in material.train for word in sentence.replace(" ", "").split(SPACE)}
        for arm in arms:
            saved = lab.saved(arm, seed)
            key = key_for(seed, "texts", arm.name)
            drawn = texts(key, saved.model, saved.text, count=WRITTEN, steps=lab.preset.letters)
            shares[arm.recipe.rate].append(garbled(drawn, known))
    within = Interval(0.0, 1.0)
    found = [over_seeds(GARBLED, values, within=within, rate=rate) for rate, values in shares.items()]
    return [*found, *_slope(GARBLED_BY_RATE, {np.log10(rate): values for rate, values in shares.items()})]


def _slope(quantity: str, values: Mapping[float, Sequence[float]]) -> list[Estimate]:
    """The slope of a line through the values of each seed. None through a single point."""
    if len(values) < 2:
        return []
    slopes = np.polyfit([*values], np.stack([*values.values()]), 1)[0]
    return [over_seeds(quantity, slopes.tolist())]
