"""All that the lab measures, and the verdicts on what the homework's report guesses."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attnlab_theory.labs.estimates import Estimate, Estimates, mean, over_seeds
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE, OVER_SENTENCES, above_the_grammar, losses
from attnlab_theory.labs.recurrent.distances import gradient_norms
from attnlab_theory.labs.recurrent.lab import CELLS, RATES, Lab, at_rate, grown
from attnlab_theory.labs.recurrent.letters import SPACE
from attnlab_theory.labs.recurrent.presets import ARMS
from attnlab_theory.labs.recurrent.writing import garbled, texts
from attnlab_theory.labs.sentences import Material, encoded
from attnlab_theory.labs.verdicts import ERROR_RATE, Statement, Verdicts, judged
from attnlab_theory.language.models.gpt import parameter_count
from attnlab_theory.language.models.recurrent import Cell
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

ANY = Interval(-math.inf, math.inf)
POSITIVE = Interval(0.0, math.inf)

FURTHEST = 10
"""The largest distance at which gradients are looked at, in tokens."""

LOOKED_AT = 200
"""Sentences whose gradients are averaged, at most."""

WRITTEN = 200
"""Texts that a model of characters writes."""


def refuse_unmeasurable(lab: Lab) -> None:
    """Refuse, before anything is trained, sentences of which something could not be measured afterwards.

    Sentences of files are the same for every seed, and those of the grammar are long enough.

    Raises:
        ValueError: naming what is too short, and how long it must be; or as `encoded`.
    """
    seed = lab.seeds[0]
    if "equal" in lab.parts:
        _long_ones(lab.material(seed))
    if {"equal", "growth"} & set(lab.parts):
        lab.read(seed)
        lab.asked(seed)
    if "rates" in lab.parts:
        letters = lab.letters(seed)
        encoded(letters.train, letters.text, lab.block_of_letters, longer=lab.longer, source=letters.source)


def measure(lab: Lab, tell: Callable[[str], None]) -> Estimates:
    """Losses, distances from the grammar, gradients and garbled words: all parts that the lab has.

    Args:
        lab: whose models are trained.
        tell: is told what is being done.

    Raises:
        ValueError: if a model is missing.
    """
    parts = {"equal": _equal, "growth": _growth, "rates": _garbled}
    return Estimates(e for part, measured in parts.items() if part in lab.parts for e in measured(lab, tell))


def _equal(lab: Lab, tell: Callable[[str], None]) -> list[Estimate]:
    found: list[Estimate] = []
    lost: dict[str, list[float]] = {arm: [] for arm in ARMS}
    norms: dict[tuple[str, str], list[np.ndarray]] = {}
    for seed in lab.seeds:
        tell(f"losses and gradients, seed {seed}")
        material, test = lab.material(seed), lab.asked(seed)
        for arm in ARMS:
            model = lab.saved(arm, seed).model
            here = losses(model, test)
            lost[arm].append(here.per_token)
            if material.grammar is not None:
                above = above_the_grammar(here, material.test, material.grammar, lab.preset.block)
                told = {"arm": arm, "seed": seed, "parameters": parameter_count(model)}
                found.append(mean("loss above the grammar", above, OVER_SENTENCES, FLOOR_ERROR_RATE, **told))
            for stage, each in (("first weights", lab.untrained(arm, seed)), ("trained", model)):
                norms.setdefault((arm, stage), []).append(_by_distance(each, material))
    for arm in ARMS:
        told = {"model": arm, "parameters": parameter_count(lab.saved(arm, lab.seeds[0]).model)}
        found.append(over_seeds("test loss", lost[arm], ERROR_RATE, within=POSITIVE, **told))
    for one, other in (("w-rnn", "rnn"), ("gpt", "rnn"), ("gpt", "w-rnn")):
        told = {"model": one, "against": other}
        values = [a - b for a, b in zip(lost[one], lost[other], strict=True)]
        found.append(over_seeds("loss at equal parameters, less", values, ERROR_RATE, within=ANY, **told))
    return found + _gradients(norms)


def _gradients(norms: dict[tuple[str, str], list[np.ndarray]]) -> list[Estimate]:
    found = []
    for (arm, stage), each in norms.items():
        for distance in range(1, FURTHEST + 1):
            told = {"arm": arm, "weights": stage, "distance": distance}
            values = [float(logs[distance]) for logs in each]
            found.append(over_seeds("log of the gradient's norm", values, ERROR_RATE, within=ANY, **told))
    for arm in ("rnn", "w-rnn"):
        far = [
            float(a[FURTHEST] - b[FURTHEST])
            for a, b in zip(norms[arm, "trained"], norms["gpt", "trained"], strict=True)
        ]
        told = {"arm": arm, "against": "gpt", "distance": FURTHEST}
        found.append(over_seeds("log gradient less the GPT's", far, ERROR_RATE, within=ANY, **told))
    return found


def _growth(lab: Lab, tell: Callable[[str], None]) -> list[Estimate]:
    lost: dict[tuple[Cell, int], list[float]] = {(c, h): [] for c in CELLS for h in lab.preset.hidden}
    for seed in lab.seeds:
        tell(f"losses by hidden size, seed {seed}")
        test = lab.asked(seed)
        for (cell, hidden), values in lost.items():
            values.append(losses(lab.saved(grown(cell, hidden), seed).model, test).per_token)
    found = [
        over_seeds("test loss", values, ERROR_RATE, within=POSITIVE, model=grown(cell, hidden))
        for (cell, hidden), values in lost.items()
    ]
    gains = {h: np.subtract(lost["w-rnn", h], lost["rnn", h]).tolist() for h in lab.preset.hidden}
    for hidden, values in gains.items():
        told = {"hidden": hidden}
        found.append(over_seeds("loss of the W-RNN less the RNN's", values, ERROR_RATE, within=ANY, **told))
    slopes = np.polyfit(np.log2(lab.preset.hidden), np.stack([*gains.values()]), 1)[0].tolist()
    return [*found, over_seeds("slope of that by doublings of the hidden layer", slopes, ERROR_RATE, within=ANY)]


def _by_distance(model: Any, material: Material) -> np.ndarray:
    """Log of the mean gradient norm at each distance, less that at distance 0."""
    bos, long = material.text.bos, _long_ones(material)
    rows = np.stack([np.concatenate([[bos], tokens[: FURTHEST + 1]]) for tokens in long])
    norms = gradient_norms(model, rows.astype(np.int32))
    logs = np.log(np.maximum(norms.mean(axis=0), 1e-300))
    return logs - logs[0]


def _long_ones(material: Material) -> list[np.ndarray]:
    """The first test sentences that reach back far enough, as tokens."""
    every = [material.text.encode_text(sentence) for sentence in material.test]
    long = [tokens for tokens in every if len(tokens) > FURTHEST]
    if not long:
        raise ValueError(
            f"the longest test sentence has {max(map(len, every))} tokens, and gradients at a distance of "
            f"{FURTHEST} need one of {FURTHEST + 1} or more: give longer ones, or leave out equal (--parts)"
        )
    return long[:LOOKED_AT]


def _garbled(lab: Lab, tell: Callable[[str], None]) -> list[Estimate]:
    shares: dict[float, list[float]] = {rate: [] for rate in RATES}
    for seed in lab.seeds:
        tell(f"texts of characters, seed {seed}")
        material = lab.letters(seed)
        known = {word for sentence in material.train for word in sentence.replace(" ", "").split(SPACE)}
        for rate in RATES:
            saved = lab.saved(at_rate(rate), seed)
            key = key_for(seed, "texts", at_rate(rate))
            drawn = texts(key, saved.model, saved.text, count=WRITTEN, steps=lab.block_of_letters)
            shares[rate].append(garbled(drawn, known))
    within = Interval(0.0, 1.0)
    found = [
        over_seeds("garbled words", values, ERROR_RATE, within=within, rate=rate) for rate, values in shares.items()
    ]
    slopes = [
        float(np.polyfit(np.log10(RATES), [shares[r][n] for r in RATES], 1)[0]) for n in range(len(lab.seeds))
    ]
    return [*found, over_seeds("slope of that by decades of the rate", slopes, ERROR_RATE, within=ANY)]


def verdicts(measured: Estimates) -> Verdicts:
    """The claims about recurrent networks, judged on what was measured."""
    return judged((stated for stated in map(_stated, measured) if stated), experiment="recurrent")


def _stated(estimate: Estimate) -> Statement | None:
    told = estimate.setting
    match estimate.quantity:
        case "loss above the grammar":
            statement = "No model's loss is below that of the grammar itself."
            more = Interval.at_least(0.0)
            return _of(estimate, "nobody-beats-the-grammar", statement, more, conjecture=False, of_training=False)
        case "loss at equal parameters, less" if told["against"] == "rnn":
            name = {"w-rnn": "W-RNN", "gpt": "GPT"}[told["model"]]
            statement = f"With equal parameters and equally many tokens the {name} has a lower loss than the RNN."
            return _of(estimate, f"{told['model']}-beats-the-rnn", statement, Interval.at_most(0.0))
        case "slope of that by doublings of the hidden layer":
            statement = "The larger the hidden layer, the more the W-RNN gains on the RNN."
            return _of(estimate, "w-rnn-gains-as-it-grows", statement, Interval.at_most(0.0))
        case "slope of that by decades of the rate":
            statement = "A lower learning rate gives more garbled text, after equally many steps."
            return _of(estimate, "lower-rates-garble-more", statement, Interval.at_most(0.0))
        case "log gradient less the GPT's":
            statement = f"At a distance of {FURTHEST} tokens less of the gradient is left than in a GPT."
            return _of(estimate, "recurrent-gradients-fade-further", statement, Interval.at_most(0.0))
        case _:
            return None


def _of(estimate: Estimate, claim: str, statement: str, predicted: Interval, **more: Any) -> Statement:
    told: dict[str, Any] = {"source": "cs224n/rnn", "conjecture": True} | more
    return Statement(estimate=estimate, claim=claim, statement=statement, predicted=predicted, **told)


def curves_of_tuning(rows: Sequence[dict[str, Any]]) -> Estimates:
    """The last smoothed loss of every tuning run, over seeds."""
    found = []
    for name in dict.fromkeys(row["name"] for row in rows):
        chosen = [row for row in rows if row["name"] == name]
        told = {"setting": name, "published": chosen[0]["published"]}
        values = [row["losses"][-1] for row in chosen]
        found.append(over_seeds("smoothed loss", values, ERROR_RATE, within=POSITIVE, **told))
    return Estimates(found)
