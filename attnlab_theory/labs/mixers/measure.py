"""The measurements of a run of the lab: losses, leaks, time, and heads that route."""

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.table import Table

from attnlab_theory.labs.engine.record import Draw, Results, drawing, renewed, stored
from attnlab_theory.labs.estimates import Estimate, Estimates, known, mean, over_seeds
from attnlab_theory.labs.mixers.arms import CAUSAL, HONEST_SEEDS, LEAKING
from attnlab_theory.labs.mixers.claims import DIFFERENCE, GAP, LEAKED, NEAREST, STATEMENTS
from attnlab_theory.labs.mixers.honest import Beginnings, beginnings, leak_map
from attnlab_theory.labs.mixers.lab import Mixers
from attnlab_theory.labs.mixers.routing import routed
from attnlab_theory.labs.perplexity import (
    FLOOR_ERROR_RATE,
    OVER_SENTENCES,
    beside_a_unigram,
    floor,
    losses,
    of_a_unigram,
)
from attnlab_theory.labs.sentences import encoded
from attnlab_theory.labs.tables import table
from attnlab_theory.labs.verdicts import ERROR_RATE, Verdicts, verdicts_on
from attnlab_theory.language.decode import Sampling
from attnlab_theory.language.generate import sample, sample_uncached
from attnlab_theory.language.models.gpt import parameter_count
from attnlab_theory.language.prompts import Stop
from attnlab_theory.language.runs import Run
from attnlab_theory.language.train import started, train
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

SCORED = 200
"""How many sentences are scored one prefix at a time."""

ONE_SHARED = "shared-qk"

ROUTED = {
    "separate": (False, 1),
    ONE_SHARED: (True, 1),
    "shared-qk, two heads": (True, 2),
    "shared-qk, three heads": (True, 3),
}
"""Heads of the routing task: whether queries are keys, and how many there are."""

SAMPLES = 6
"""How many sentences each model of the first seed writes."""

WARM, TIMED = 8, 24
"""How many steps of training come first, to compile, and how many are then timed."""

SHOWN = 10
"""The number of places in a leak map, if a sentence is long enough."""

POSITIVE = Interval(0.0, math.inf)


def results(lab: Mixers, tell: Callable[[str], None]) -> Results:
    """Measure all models, and judge what is claimed of them.

    Args:
        lab: whose models are trained.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if a model is missing.
    """
    seconds = seconds_per_step(lab)
    measured = measure(lab, tell)
    seed = lab.seeds[0]
    material = lab.material(seed)
    test = encoded(material.test, material.text, lab.preset.block)
    maps = {
        arm: leak_map(lab.saved(arm, seed).model, test, length=min(SHOWN, int(test.lengths.max())))
        for arm in lab.arms
        if arm in ("separate", *LEAKING)
    }
    tell("samples")
    judged = verdicts(measured)
    return Results(
        estimates=measured,
        verdicts=judged,
        tables={"leaks": {name: np.round(each, 5).tolist() for name, each in maps.items()}},
        texts={"samples.txt": "\n".join(_written(lab, arm, seed) for arm in lab.arms)},
        figures=_equivalence(measured, judged) | _figures(measured, maps),
        about={"seconds_per_step": seconds},
        shown=(_table(measured), *(_per_step(arm, *quartiles) for arm, quartiles in seconds.items())),
    )


def again(folder: Path) -> Results:
    """Judge a finished run again.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    old = stored(folder)
    old = Estimates(map(_surer, old))
    measured = renewed(old, Estimates((*leaks_over_seeds(old), *beside_a_unigram(old, "separate"))))
    judged = verdicts(measured)
    return Results(estimates=measured, verdicts=judged, figures=_equivalence(measured, judged))


verdicts = functools.partial(verdicts_on, STATEMENTS, experiment="mixers")
"""The claims about mixers, judged on what was measured."""


def measure(lab: Mixers, tell: Callable[[str], None]) -> Estimates:
    """Measure losses, honest losses, distances from the grammar, and routing.

    Args:
        lab: whose models are trained.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if a model is missing.
    """
    found: list[Estimate] = []
    lost: dict[tuple[str, int], float] = {}
    single: dict[tuple[str, int], Float[np.ndarray, " asked"]] = {}
    for seed in lab.seeds:
        tell(f"losses, seed {seed}")
        material = lab.material(seed)
        test = encoded(material.test, material.text, lab.preset.block, source=material.source)
        if seed == lab.seeds[0]:
            found.append(of_a_unigram(material.grammar, test))
        few = encoded(material.test[:SCORED], material.text, lab.preset.block)
        asked = encoded(lab.own_sentences, material.text, lab.preset.block) if lab.own_sentences else None
        for arm in lab.arms_of(seed):
            model = lab.saved(arm, seed).model
            told = {"arm": arm, "seed": seed}
            here = losses(model, test)
            lost[arm, seed] = here.per_token
            found += floor(here, material.test, material.grammar, lab.preset.block, **told)
            if asked is not None:
                each = losses(model, asked)
                single[arm, seed] = each.total / each.targets
            if seed in lab.seeds[:HONEST_SEEDS]:
                begun = beginnings(model, few, bare=arm in LEAKING)
                for quantity, values in {
                    "teacher-forced loss": begun.forced,
                    "honest loss, filled up with PAD": begun.filled,
                    "honest loss": begun.bare,
                }.items():
                    if values is not None:
                        found.append(mean(quantity, values, OVER_SENTENCES, ERROR_RATE, **told))
                found.append(_gap(begun, **told))
    for arm in lab.arms:
        seeds = lab.seeds_of(arm)
        values = [lost[arm, seed] for seed in seeds]
        told = {"arm": arm, "parameters": parameter_count(lab.saved(arm, lab.seeds[0]).model)}
        found.append(over_seeds("test loss", values, within=POSITIVE, **told))
        found.append(over_seeds("perplexity", [math.exp(v) for v in values], within=POSITIVE, **told))
        if arm != "separate" and "separate" in lab.arms:
            less = [lost[arm, seed] - lost["separate", seed] for seed in seeds]
            found.append(over_seeds(DIFFERENCE, less, arm=arm))
        for number, sentence in enumerate(lab.own_sentences):
            told = {"arm": arm, "sentence": sentence}
            values = [float(single[arm, seed][number]) for seed in seeds]
            found.append(over_seeds("loss of a sentence", values, within=POSITIVE, **told))
            values = [math.exp(value) for value in values]
            found.append(over_seeds("perplexity of a sentence", values, within=POSITIVE, **told))
    tell("routing")
    for name, (shared, heads) in ROUTED.items():
        least = [routed(seed, shared=shared, heads=heads).least for seed in range(5)]
        found.append(over_seeds("least wanted weight", least, within=Interval(-1.0, 2.0), head=name))
        if name == ONE_SHARED:
            # The head that comes nearest to a bound, where no single head may pass it.
            told = "counted: the greatest of these very heads"
            found.append(known(NEAREST, max(least), len(least), told, head=ONE_SHARED))
    return Estimates((*found, *leaks_over_seeds(found), *beside_a_unigram(found, "separate")))


def leaks_over_seeds(found: Iterable[Estimate]) -> Estimates:
    """`mean honest less teacher-forced loss` of each mask of zeros, over its models of all seeds."""
    gaps: dict[str, list[float]] = {}
    for each in found:
        if each.quantity == GAP and each.setting["arm"] in LEAKING:
            gaps.setdefault(each.setting["arm"], []).append(each.value)
    return Estimates(over_seeds(LEAKED, values, arm=arm) for arm, values in gaps.items())


def _gap(begun: Beginnings, *, arm: str, seed: int) -> Estimate:
    """How much later tokens lower the loss: the mean, or for a causal model the range."""
    gap, quantity = begun.filled - begun.forced, GAP
    if arm not in CAUSAL:
        return mean(quantity, gap, OVER_SENTENCES, FLOOR_ERROR_RATE, arm=arm, seed=seed)
    return Estimate(
        quantity=quantity,
        setting={"arm": arm, "seed": seed},
        value=float(np.mean(gap)),
        interval=Interval(float(gap.min()), float(gap.max())),
        draws=len(gap),
        bound="counted: the least and the greatest of these very sentences",
        error_rate=0.0,
    )


def _surer(old: Estimate) -> Estimate:
    """The gap of a model that looks ahead, as wide as `_gap` makes it. An older version wrote it too narrow."""
    if old.quantity != GAP or old.error_rate in (0, FLOOR_ERROR_RATE):
        return old
    return dataclasses.replace(old, interval=old.stretched(FLOOR_ERROR_RATE), error_rate=FLOOR_ERROR_RATE)


def seconds_per_step(lab: Mixers) -> dict[str, list[float]]:
    """The seconds of a compiled training step in each arm: quartiles and median of `TIMED` steps.

    The arms take turns, so that other work of the machine slows all of them alike.
    """
    seed = lab.seeds[0]
    runs = {arm: stage.run for arm in lab.arms_of(seed) for stage in lab.stages(arm, seed)}

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


def _written(lab: Mixers, arm: str, seed: int) -> str:
    saved = lab.saved(arm, seed)
    begin = np.full((SAMPLES, 1), saved.text.bos, np.int32), np.ones(SAMPLES, np.int32)
    draw: Any = sample if saved.model.config.mixer.scored else sample_uncached
    key = key_for(seed, "samples", arm)
    drawn = draw(key, saved.model, *begin, sampling=Sampling(), steps=30, stop=Stop(saved.text.eos))
    return "\n    ".join([arm, *(saved.text.decode_text(row) for row in drawn.tokens)]) + "\n"


def _table(measured: Estimates) -> Table:
    """Loss and perplexity by arm."""
    shown = table(["mixer"], ["parameters", "test loss", "perplexity"])
    for each in measured.of("test loss"):
        (perplexity,) = measured.of("perplexity", arm=each.setting["arm"])
        numbers = f"{each.setting['parameters']:,}", f"{each.value:.4f}", f"{perplexity.value:.3f}"
        shown.add_row(each.setting["arm"], *numbers)
    return shown


def _per_step(arm: str, low: float, middle: float, high: float) -> str:
    return f"{arm}: {1e3 * middle:.1f} ms per step of training (quartiles {1e3 * low:.1f}, {1e3 * high:.1f})"


def _equivalence(measured: Estimates, judged: Verdicts) -> dict[str, Draw]:
    from attnlab_theory.labs.mixers import figures

    compared = {e.setting["arm"] for e in measured if e.quantity == DIFFERENCE}
    if not compared & set(CAUSAL):
        return {}
    return {"equivalence": functools.partial(figures.equivalence, measured, judged.findings)}


def _figures(measured: Estimates, maps: dict[str, Float[np.ndarray, "t t"]]) -> dict[str, Draw]:
    from attnlab_theory.labs.mixers import figures

    drawn = drawing(figures, ("routing", "honesty"), measured)
    return drawn | (drawing(figures, ("leaks",), maps) if maps else {})
