"""All that the lab measures, and the verdicts on what the homework's report guesses."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attnlab_theory.claims import Finding, Findings
from attnlab_theory.labs.estimates import Estimate, Estimates, judged, mean, over_seeds
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE, OVER_SENTENCES, above_the_grammar, losses
from attnlab_theory.labs.recurrent.distances import gradient_norms
from attnlab_theory.labs.recurrent.lab import CELLS, RATES, SPACE, Lab, at_rate, grown
from attnlab_theory.labs.recurrent.presets import ARMS
from attnlab_theory.labs.recurrent.writing import garbled, texts
from attnlab_theory.labs.sentences import Material, encoded
from attnlab_theory.language.models.gpt import parameter_count
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

ERROR_RATE = 0.05
"""The error rate of each interval and verdict, but that of the floor."""

FINE = 0.001
"""The resolution of a claim that one number is not the larger: support must show it, or be as narrow as this."""

ANY = Interval(-math.inf, math.inf)

FURTHEST = 10
"""The largest distance at which gradients are looked at, in tokens."""

WRITTEN = 200
"""Texts that a model of characters writes."""


def measure(lab: Lab, tell: Callable[[str], None]) -> Estimates:
    """Losses, distances from the grammar, gradients and garbled words.

    Args:
        lab: whose models are trained.
        tell: is told what is being done.

    Raises:
        ValueError: if a model is missing.
    """
    found: list[Estimate] = []
    lost: dict[tuple[str, int], float] = {}
    norms: dict[tuple[str, str], list[np.ndarray]] = {}
    for seed in lab.seeds:
        tell(f"losses and gradients, seed {seed}")
        material = lab.material(seed)
        test = encoded(material.test, material.text, lab.preset.block)
        for arm in ARMS:
            model = lab.saved(arm, seed).model
            here = losses(model, test)
            lost[arm, seed] = here.per_token
            if material.grammar is not None:
                above = above_the_grammar(here, material.test, material.grammar, lab.preset.block)
                told = {"arm": arm, "seed": seed, "parameters": parameter_count(model)}
                found.append(mean("loss above the grammar", above, OVER_SENTENCES, FLOOR_ERROR_RATE, **told))
            for stage, each in (("first weights", lab.untrained(arm, seed)), ("trained", model)):
                norms.setdefault((arm, stage), []).append(_by_distance(each, material))
        for cell in CELLS:
            for hidden in lab.preset.hidden:
                lost[grown(cell, hidden), seed] = losses(lab.saved(grown(cell, hidden), seed).model, test).per_token
    found += _losses(lab, lost)
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
    found += _garbled(lab, tell)
    return Estimates(found)


def _losses(lab: Lab, lost: dict[tuple[str, int], float]) -> list[Estimate]:
    found = []
    positive = Interval(0.0, math.inf)
    for name in dict.fromkeys(name for name, _ in lost):
        values = [lost[name, seed] for seed in lab.seeds]
        found.append(over_seeds("test loss", values, ERROR_RATE, within=positive, model=name))
    for one, other in (("w-rnn", "rnn"), ("gpt", "rnn"), ("gpt", "w-rnn")):
        values = [lost[one, seed] - lost[other, seed] for seed in lab.seeds]
        told = {"model": one, "against": other}
        found.append(over_seeds("loss at equal parameters, less", values, ERROR_RATE, within=ANY, **told))
    gains = {
        hidden: [lost[grown("w-rnn", hidden), seed] - lost[grown("rnn", hidden), seed] for seed in lab.seeds]
        for hidden in lab.preset.hidden
    }
    for hidden, values in gains.items():
        told = {"hidden": hidden}
        found.append(over_seeds("loss of the W-RNN less the RNN's", values, ERROR_RATE, within=ANY, **told))
    doublings = np.log2(lab.preset.hidden)
    slopes = [float(np.polyfit(doublings, [gains[h][n] for h in gains], 1)[0]) for n in range(len(lab.seeds))]
    found.append(over_seeds("slope of that by doublings of the hidden layer", slopes, ERROR_RATE, within=ANY))
    return found


def _by_distance(model: Any, material: Material) -> np.ndarray:
    """Log of the mean gradient norm at each distance, less that at distance 0."""
    encode = material.text.encode_text
    long = [tokens for tokens in map(encode, material.test) if len(tokens) > FURTHEST]
    rows = np.stack([np.concatenate([[material.text.bos], tokens[: FURTHEST + 1]]) for tokens in long[:200]])
    norms = gradient_norms(model, rows.astype(np.int32))
    logs = np.log(np.maximum(norms.mean(axis=0), 1e-300))
    return logs - logs[0]


def _garbled(lab: Lab, tell: Callable[[str], None]) -> list[Estimate]:
    shares: dict[float, list[float]] = {rate: [] for rate in RATES}
    for seed in lab.seeds:
        tell(f"texts of characters, seed {seed}")
        material = lab.letters(seed)
        known = {word for sentence in material.train for word in sentence.replace(" ", "").split(SPACE)}
        for rate in RATES:
            saved = lab.saved(at_rate(rate), seed)
            key = key_for(seed, "texts", at_rate(rate))
            drawn = texts(key, saved.model, saved.text, count=WRITTEN, steps=2 * lab.preset.block)
            shares[rate].append(garbled(drawn, known))
    within = Interval(0.0, 1.0)
    found = [
        over_seeds("garbled words", values, ERROR_RATE, within=within, rate=rate) for rate, values in shares.items()
    ]
    slopes = [
        float(np.polyfit(np.log10(RATES), [shares[r][n] for r in RATES], 1)[0]) for n in range(len(lab.seeds))
    ]
    return [*found, over_seeds("slope of that by decades of the rate", slopes, ERROR_RATE, within=ANY)]


def verdicts(measured: Estimates) -> Findings:
    """The claims about recurrent networks, judged on what was measured."""
    return Findings(finding for finding in map(_verdict, measured) if finding)


def _verdict(estimate: Estimate) -> Finding | None:
    told = estimate.setting
    match estimate.quantity:
        case "loss above the grammar":
            statement = "No model's loss is below that of the grammar itself."
            return _judged(
                estimate, "nobody-beats-the-grammar", statement, Interval.at_least(0.0), conjecture=False
            )
        case "loss at equal parameters, less" if told["against"] == "rnn":
            name = {"w-rnn": "W-RNN", "gpt": "GPT"}[told["model"]]
            statement = f"With equal parameters and sentences the {name} has a lower loss than the RNN."
            return _judged(estimate, f"{told['model']}-beats-the-rnn", statement, Interval.at_most(0.0))
        case "slope of that by doublings of the hidden layer":
            statement = "The larger the hidden layer, the more the W-RNN gains on the RNN."
            return _judged(estimate, "w-rnn-gains-as-it-grows", statement, Interval.at_most(0.0))
        case "slope of that by decades of the rate":
            statement = "A lower learning rate gives more garbled text, after equally many steps."
            return _judged(estimate, "lower-rates-garble-more", statement, Interval.at_most(0.0))
        case "log gradient less the GPT's":
            statement = f"At a distance of {FURTHEST} tokens less of the gradient is left than in a GPT."
            return _judged(estimate, "recurrence-forgets", statement, Interval.at_most(0.0))
        case _:
            return None


def _judged(estimate: Estimate, claim: str, statement: str, predicted: Interval, **more: Any) -> Finding:
    told: dict[str, Any] = {"source": "cs224n/rnn", "resolution": FINE, "conjecture": True} | more
    return judged(estimate, experiment="recurrent", claim=claim, statement=statement, predicted=predicted, **told)


def curves_of_tuning(rows: Sequence[dict[str, Any]]) -> Estimates:
    """The last smoothed loss of every tuning run, over seeds."""
    found = []
    for name in dict.fromkeys(row["name"] for row in rows):
        chosen = [row for row in rows if row["name"] == name]
        told = {"setting": name, "published": chosen[0]["published"]}
        values = [row["losses"][-1] for row in chosen]
        positive = Interval(0.0, math.inf)
        found.append(over_seeds("smoothed loss", values, ERROR_RATE, within=positive, **told))
    return Estimates(found)
