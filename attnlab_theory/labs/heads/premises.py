"""Do the homeworks' premises hold: noisy lengths, normal scores, gambles, hedges, and predicted weights?"""

import functools
from collections.abc import Mapping, Sequence

import numpy as np
from rich.table import Table

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.engine.record import Results, drawing
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads import quantities
from attnlab_theory.labs.heads.claims import CONTEXT, EXPLAINED, NORMAL
from attnlab_theory.labs.heads.controls import beside_controls
from attnlab_theory.labs.heads.families import Told, verdicts
from attnlab_theory.labs.heads.measuring import measured
from attnlab_theory.labs.heads.plan import planned
from attnlab_theory.labs.heads.results import Tell, counted, counts, judged_of, of_controls
from attnlab_theory.labs.heads.traces import Reading
from attnlab_theory.labs.tables import table

TOLD = (
    (
        "the-noisy-length-matters",
        f"heads: the noisy length explains at least {EXPLAINED:.0%} of the variance, beyond what all words share",
    ),
    ("scores-are-normal", "heads: scores of one query are normal within a type"),
    ("the-layer-hedges", "layers: the mean of the heads has at most half of one head's gamble index"),
    (
        "theory-predicts-beyond-length-and-word",
        "heads: theory predicts weights better than length, position and a type's mean weight do",
    ),
    ("noise-adds-to-the-prediction", "heads: theory predicts weights better than mean scores without noise do"),
)
"""What the verdicts say."""

NOTHING_TIED = (
    "Not judged in any layer: whether heads gamble, and whether the layer hedges. Too few pairs of tokens are "
    "nearly tied at the top of a row. A longer text has more of them."
)

WITHOUT_VERDICT = (
    ("slope of the variance", "the variance of scores rises with the mean score", "falls"),
    ("variance along own mean beyond that along others'", "keys vary more along their own type's mean", "less"),
)
"""Numbers that are printed but not judged, with the meaning of a positive and of a negative one."""

ASSUMED = (
    ("queries-leave-keys-alone", "the sentence's own query scores keys as their mean, on average"),
    ("own-scores-vary-as-fitted", "these scores vary as the fitted law says"),
    ("keys-move-alone", "keys of a sentence do not move together"),
    ("rarer-types-do-as-well", "theory explains the weights of rarer types as well"),
    ("neighbours-drive-the-choice", f"equal neighbours make at least {CONTEXT:.0%} of the gamble"),
)
"""What theory assumes of each head, and whether its gambles follow the neighbours of a pair."""


def results(
    reading: Reading,
    controls: Mapping[str, Sequence[Reading]] = {},
    *,
    occurrences: int,
    predicted: int,
    seed: int,
    source: str,
    tell: Tell = lambda _: None,
) -> Results:
    """Measure and judge.

    Args:
        reading: the model with its text.
        controls: the same text, read by each control, or by several draws of one.
        occurrences: how many a frequent type must have.
        predicted: sentences whose weights theory predicts.
        seed: of the dealing of sentences and the choice of queries.
        source: the name of the text in error messages.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if `planned` or `measured` refuses the text.
    """
    from attnlab_theory.labs.heads import figures

    plan = planned(reading.tokens, occurrences=occurrences, seed=seed, source=source)

    def numbers(read: Reading, tell: Tell) -> list[Told]:
        return list(quantities.measure(measured(read, plan, calibrated=predicted, seed=seed, tell=tell)))

    found = measured(reading, plan, calibrated=predicted, seed=seed, tell=tell)
    estimates = beside_controls(list(quantities.measure(found)), controls, numbers, tell)
    judged = verdicts(estimates)
    findings, made = judged.findings, found.calibration.made
    hedges = judged_of(findings, "the-layer-hedges")
    of = {"heads": reading.layers * reading.heads, "layers": reading.layers}
    types = tuple(reading.name_of(int(token)) for token in found.plan.types)
    return Results(
        estimates=estimates,
        verdicts=judged,
        tables={"types": list(types)} if types else {},
        about={"margins": {"explained": EXPLAINED, "normal": NORMAL, "context": CONTEXT}},
        shown=(
            *(_table(estimates, findings), "", f"Types: {' '.join(types)}"),
            *counted(findings, TOLD, of),
            *of_controls(controls),
            *without_verdict(estimates, of["heads"]),
            *(() if hedges else (NOTHING_TIED,)),
            *("", reasons(findings, of["heads"])),
        ),
        figures={
            **drawing(figures, ("premises",), estimates, findings),
            **drawing(figures, ("habits", "bluntness"), estimates),
            "hedging": functools.partial(figures.hedging, estimates, findings) if hedges else None,
            "calibration": functools.partial(figures.calibration, estimates) if made else None,
        },
    )


def without_verdict(estimates: Estimates, heads: int) -> tuple[str, ...]:
    """A line for each number that is not judged. It counts the heads whose number is above 0, or below."""
    lines = []
    for quantity, above, below in WITHOUT_VERDICT:
        found = [estimate for estimate in estimates if estimate.quantity == quantity]
        more, less = sum(e.interval.low > 0 for e in found), sum(e.interval.high < 0 for e in found)
        unknown = f", unknown in {heads - len(found)}" * (heads > len(found))
        lines.append(f"No verdict: {above} in {more} of {heads} heads, {below} in {less}{unknown}.")
    return tuple(lines)


def reasons(judged: Findings, heads: int) -> Table:
    """In how many heads each assumption holds or fails, and in how many it fails where theory is no better."""
    better = judged_of(judged, "theory-predicts-beyond-length-and-word")
    worse = [finding.setting for finding in better if finding.verdict != Verdict.SUPPORTED]
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("assumption, by heads", overflow="fold")
    last = f"refuted where theory is not better ({len(worse)})"
    for column in ("shown", "refuted", "undecided", "not judged", last):
        shown.add_column(column, justify="right", overflow="fold")
    for claim, sentence in ASSUMED:
        found = counts(judged, claim)
        there = Findings(finding for finding in judged_of(judged, claim) if finding.setting in worse)
        shown.add_row(sentence, *map(str, (*found, heads - sum(found), counts(there, claim)[1])))
    return shown


def _table(estimates: Estimates, judged: Findings) -> Table:
    """One line for each layer: means over heads, and whether it hedges."""
    columns = ("layer", "share of keys used", "stretch explains", "own mean explains", "gamble index")
    shown = table([], [*columns, "layer hedges"])
    for layer in sorted({e.setting["layer"] for e in estimates.of("share of keys")}):
        told = [
            _mean(estimates, quantity, layer)
            for quantity in (
                "share of keys",
                "variance explained by the stretch",
                "variance explained along own mean",
                "gamble index",
            )
        ]
        hedges = [f.verdict for f in judged_of(judged, "the-layer-hedges") if f.setting["layer"] == layer]
        shown.add_row(str(layer), *told, str(hedges[0]) if hedges else "no pairs")
    return shown


def _mean(estimates: Estimates, quantity: str, layer: int) -> str:
    values = [e.value for e in estimates if e.quantity == quantity and e.setting["layer"] == layer]
    return f"{np.mean(values):.3f}" if values else "none"
