"""The part of the lab about approximations: the error of every head, and the accuracy if all heads are
approximated.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int
from rich.table import Table

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.comparisons import gained, right
from attnlab_theory.labs.engine.record import Results, drawing
from attnlab_theory.labs.estimates import Estimates, share
from attnlab_theory.labs.heads import answers, approximating
from attnlab_theory.labs.heads.approximating import setting_of
from attnlab_theory.labs.heads.claims import APART, JUDGED_FEATURES, JUDGED_KEYS, LOST, TOLERATED
from attnlab_theory.labs.heads.controls import beside_controls
from attnlab_theory.labs.heads.encoder import EncoderReading
from attnlab_theory.labs.heads.families import ERROR_RATE, Family, Told, Unshown, alone, by_group, verdicts
from attnlab_theory.labs.heads.losses import FEATURES
from attnlab_theory.labs.heads.results import Tell, counted, judged_of, of_controls
from attnlab_theory.labs.heads.rows import ROWS
from attnlab_theory.labs.heads.traces import Reading
from attnlab_theory.labs.tables import table
from attnlab_theory.language.models.approximations import Approximation, Gauge, RandomFeatures, approximated
from attnlab_theory.language.models.classifier import Classifier
from attnlab_theory.seeds import key_for

TOLD = (
    ("the-head-survives", f"heads and approximations: the output errs by at most {TOLERATED:.0%}"),
    (
        "theory-predicts-the-features",
        "heads: theory predicts the number of features that is needed, within a quarter",
    ),
    ("the-model-survives", f"approximations: with all heads replaced the accuracy loses at most {LOST:.0%}"),
)
"""What the verdicts say."""


def results(
    reading: Reading,
    labels: Int[np.ndarray, " sentences"] | None,
    controls: Mapping[str, Sequence[Reading]] = {},
    *,
    sentences: int,
    most_features: int = FEATURES[-1],
    seed: int,
    tell: Tell = lambda _: None,
) -> Results:
    """Measure and judge.

    Args:
        reading: the model with its text.
        labels: the label of every sentence, if they are known. With them the accuracy of a classifier is measured.
        controls: the same text, read by each control, or by several draws of one.
        sentences: how many sentences are read for the heads.
        most_features: the largest number of random features that is tried.
        seed: chooses the random projections.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if `approximating.measured` refuses the reading or the number of features.
    """
    from attnlab_theory.labs.heads import figures

    is_classifier = isinstance(reading, EncoderReading) and reading.classifier is not None
    missing: tuple[str, ...] = ()
    if not is_classifier:
        missing = ("Nothing is said of accuracies: the model is not a classifier.",)
    elif labels is None:
        missing = ("Nothing is said of accuracies: the text is read without labels.",)

    def numbers(read: Reading, tell: Tell) -> list[Told]:
        found = approximating.measured(read, sentences=sentences, most_features=most_features, seed=seed, tell=tell)
        told: list[Told] = list(approximating.numbers_of(found))
        if labels is not None and isinstance(read, EncoderReading) and read.classifier is not None:
            tried = [each for each in found.tried if _is_judged(each)]
            told += accuracies_of(read, labels, tried, found.gauge, seed=seed, tell=tell)
        return told

    estimates = beside_controls(numbers(reading, tell), controls, numbers, tell)
    judged = verdicts(estimates)
    survives = judged_of(judged.findings, "the-model-survives")
    return Results(
        estimates=estimates,
        verdicts=judged,
        about={"margins": {"tolerated": TOLERATED, "apart": APART, "lost": LOST}},
        shown=(
            _table(estimates, judged.findings),
            "",
            *counted(judged.findings, TOLD),
            *missing,
            *of_controls(controls),
        ),
        figures={
            **drawing(figures, ("survival",), estimates, judged.findings),
            **drawing(figures, ("budgets", "ranks"), estimates),
            "replaced": functools.partial(figures.replaced, estimates) if survives else None,
        },
    )


def accuracies_of(
    reading: EncoderReading,
    labels: Int[np.ndarray, " sentences"],
    tried: Sequence[Approximation],
    gauge: Gauge,
    *,
    seed: int = 0,
    tell: Tell = lambda _: None,
) -> Iterator[Told]:
    """The accuracy with all heads replaced by each approximation, against the model as it is; paired by sentence.

    All intervals hold together. What is gained comes twice: with exact intervals, and for comparing with controls.
    """
    key = key_for(seed, "replaced heads")
    written = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), gauge)

    def changed(approximation: Approximation, model: Classifier, batch: int) -> Classifier:
        encoder = approximated(model.encoder, approximation, written, jax.random.fold_in(key, batch), rows=ROWS)
        return eqx.tree_at(lambda whole: whole.encoder, model, encoder)

    own = right(answers.log_odds(reading), labels, even=0.0)
    rate = ERROR_RATE / max(len(tried), 1)
    yield share("accuracy", own.astype(float), ERROR_RATE)
    for each in tried:
        tell(f"accuracy with {each.name}, {each.budget}")
        hits = right(answers.log_odds(reading, functools.partial(changed, each)), labels, even=0.0)
        yield share("accuracy with all heads replaced", hits.astype(float), rate, **setting_of(each))
        yield from gained(own, hits, rate, **setting_of(each))
        differences = hits.astype(float) - own
        yield Unshown(
            Family("accuracy gained", by_group(differences, seed), len(own), setting=setting_of(each), names=alone)
        )


def _is_judged(each: Approximation) -> bool:
    return each.budget == (JUDGED_FEATURES if isinstance(each, RandomFeatures) else JUDGED_KEYS)


def _table(estimates: Estimates, findings: Findings) -> Table:
    """One line for each approximation at the budget at which it is judged."""
    shown = table(["approximation"], ["budget", "mean error", "heads survive", "accuracy", "gained"])
    for name, budget in dict.fromkeys(_judged_settings(findings)):
        own = {"approximation": name, "budget": budget}
        survive = [f.verdict for f in findings.of("the-head-survives", **own)]
        (mean,) = estimates.of("relative error, mean over heads", **own)
        told = [
            _value(estimates, quantity, own) for quantity in ("accuracy with all heads replaced", "accuracy gained")
        ]
        many = f"{sum(v == Verdict.SUPPORTED for v in survive)} of {len(survive)}"
        shown.add_row(name, str(budget), f"{mean.value:.3f}", many, *told)
    return shown


def _judged_settings(findings: Findings) -> Iterator[tuple[str, int]]:
    return ((f.setting["approximation"], f.setting["budget"]) for f in findings.of("the-head-survives"))


def _value(estimates: Estimates, quantity: str, setting: dict) -> str:
    found = [e for e in estimates if e.quantity == quantity and setting.items() <= e.setting.items()]
    return f"{found[0].value:.3f}" if found else ""
