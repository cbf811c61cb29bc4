"""Do the homeworks' premises hold: noisy lengths, normal scores, gambles, hedges, and predicted weights?"""

import functools

import numpy as np
from rich.table import Table

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads import findings
from attnlab_theory.labs.heads.measuring import measured
from attnlab_theory.labs.heads.plan import planned
from attnlab_theory.labs.heads.results import Draw, Results, Tell, counted, judged_of
from attnlab_theory.labs.heads.traces import Reading

TOLD = (
    ("keys-have-a-noisy-length", "heads: variance rises with the mean score, as a noisy length would have it"),
    ("the-noisy-length-matters", f"heads: that explains at least {findings.EXPLAINED:.0%} of the variance"),
    ("scores-are-normal", "heads: scores of one query are normal within a type"),
    ("the-layer-hedges", "layers: the mean of the heads gambles at most half as much as copies of one"),
    (
        "neighbours-drive-the-choice",
        f"heads with pairs between the same neighbours: those make at least {findings.CONTEXT:.0%} of the gamble",
    ),
    ("theory-beats-the-mean-weight", "heads: theory predicts weights better than a type's mean weight does"),
    ("queries-leave-keys-alone", "heads: the sentence's own query scores keys as its mean key, on average"),
    ("own-scores-vary-as-fitted", "heads: these scores vary as the fitted law says"),
    ("keys-move-alone", "heads: the keys of a sentence do not move together"),
    ("rarer-types-do-as-well", "heads: theory explains the weights of rarer types as well"),
)
"""What the verdicts say."""


def results(
    reading: Reading,
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
        occurrences: how many a frequent type must have.
        predicted: sentences whose weights theory predicts.
        seed: of the dealing of sentences and the choice of queries.
        source: what a complaint calls the text.
        tell: is told what is being done.

    Raises:
        ValueError: as `planned` and `measured`.
    """
    from attnlab_theory.labs.heads import figures

    plan = planned(reading.tokens, occurrences=occurrences, seed=seed, source=source)
    found = measured(reading, plan, calibrated=predicted, seed=seed, tell=tell)
    tell("intervals")
    estimates = findings.measure(found)
    judged = findings.verdicts(estimates)
    drawn: dict[str, Draw | None] = {
        "premises": functools.partial(figures.premises, estimates, judged),
        "habits": functools.partial(figures.habits, estimates),
        "bluntness": functools.partial(figures.bluntness, estimates),
    }
    hedges, made = judged_of(judged, "the-layer-hedges"), found.calibration.made
    drawn |= {
        "hedging": functools.partial(figures.hedging, estimates, judged) if hedges else None,
        "calibration": functools.partial(figures.calibration, estimates) if made else None,
    }
    types = tuple(reading.name_of(int(token)) for token in found.plan.types)
    return Results(
        part="premises",
        estimates=estimates,
        findings=judged,
        table=_table(estimates, judged),
        sentences=(
            f"Types: {' '.join(types)}",
            *counted(judged, TOLD),
            *_broken(judged),
            *_unsaid(judged, reading),
        ),
        figures=drawn,
        types=types,
    )


def _broken(judged: Findings) -> tuple[str, ...]:
    """Where theory is not shown to predict better: in how many heads which of its assumptions fails."""
    better = judged_of(judged, "theory-beats-the-mean-weight")
    fails = [finding.setting for finding in better if finding.verdict != Verdict.SUPPORTED]
    if not fails:
        return ()

    def many(*claims: str) -> int:
        refuted = [f.setting for c in claims for f in judged_of(judged, c) if f.verdict == Verdict.REFUTED]
        return sum(setting in refuted for setting in fails)

    own = many("queries-leave-keys-alone", "own-scores-vary-as-fitted")
    return (
        f"Of the {len(fails)} heads where theory is not shown to predict better, the sentence's own query scores "
        f"keys otherwise in {own} (on average or in their variance), keys of a sentence move together in "
        f"{many('keys-move-alone')}, and rarer types do worse in {many('rarer-types-do-as-well')}.",
    )


def _unsaid(judged: Findings, reading: Reading) -> tuple[str, ...]:
    """Of which gambles the text does not let one ask for the neighbours."""
    missing = reading.layers * reading.heads - len(judged_of(judged, "neighbours-drive-the-choice"))
    if not missing:
        return ()
    return (f"Of {missing} heads near-tied pairs are too few to be held against their neighbours.",)


def _table(estimates: Estimates, judged: Findings) -> Table:
    """One line for each layer: means over heads, and how many heads a verdict speaks of."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in (
        "layer",
        "share of keys used",
        "stretch explains",
        "heads stretched",
        "gamble index",
        "layer hedges",
    ):
        shown.add_column(column, justify="right", no_wrap=True)
    for layer in sorted({e.setting["layer"] for e in estimates.of("share of keys")}):
        told = [
            _mean(estimates, quantity, layer)
            for quantity in ("share of keys", "variance explained by the stretch", "gamble index")
        ]
        stretched = [
            f.verdict for f in judged_of(judged, "keys-have-a-noisy-length") if f.setting["layer"] == layer
        ]
        hedges = [f.verdict for f in judged_of(judged, "the-layer-hedges") if f.setting["layer"] == layer]
        many = f"{sum(v == Verdict.SUPPORTED for v in stretched)} of {len(stretched)}"
        shown.add_row(str(layer), *told[:2], many, told[2], str(hedges[0]) if hedges else "no pairs")
    return shown


def _mean(estimates: Estimates, quantity: str, layer: int) -> str:
    values = [e.value for e in estimates if e.quantity == quantity and e.setting["layer"] == layer]
    return f"{np.mean(values):.3f}" if values else "none"
