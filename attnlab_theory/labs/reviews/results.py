"""Everything that a run of the lab found, as files: findings, numbers, curves, predictions and figures."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from attnlab_theory import files
from attnlab_theory.labs import judged_again
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.judged_again import Again, Draw
from attnlab_theory.labs.reviews import findings, measured
from attnlab_theory.labs.reviews.answered import Probabilities
from attnlab_theory.labs.reviews.asked import Asked, ask, bayes
from attnlab_theory.labs.reviews.diverging import noted
from attnlab_theory.labs.reviews.lab import Curve, Lab
from attnlab_theory.labs.reviews.searching import Outcome, worth
from attnlab_theory.labs.reviews.variants import Variant
from attnlab_theory.labs.verdicts import ERROR_RATE, Verdicts
from attnlab_theory.language.corpora.labelled_grammar import embedded
from attnlab_theory.report import record

ABOUT = "reviews.run.json"
"""The file that says what was run. A folder with this file belongs to a run."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What was found."""

    estimates: Estimates
    verdicts: Verdicts
    curves: tuple[dict[str, Any], ...]
    """Accuracies by variant, seed and epoch."""
    outcomes: tuple[Outcome, ...]
    """Of the trials of the search."""
    answers: Mapping[int, Probabilities]
    """By seed, the base model's probability of label 1 for every test review."""
    base: str
    """The name of the base variant."""
    drawn: bool
    """Whether the reviews were drawn from the grammar, and lie in no file."""

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return self.verdicts.as_expected

    def table(self) -> Table:
        """Test accuracy of every part over seeds."""
        shown = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("part", "variant"):
            shown.add_column(column, overflow="fold")
        for column in ("accuracy", "interval over seeds"):
            shown.add_column(column, justify="right", no_wrap=True)
        for each in self.estimates.of("accuracy over seeds"):
            low, high = each.interval.low, each.interval.high
            shown.add_row(
                each.setting["part"], each.setting["variant"], f"{each.value:.4f}", f"{low:.4f} to {high:.4f}"
            )
        return shown


def results(lab: Lab, outcomes: Sequence[Outcome], *, tell: Callable[[str], None] = lambda _: None) -> Results:
    """Ask all models, measure, judge.

    Args:
        lab: whose models are trained.
        outcomes: of the trials of a search; none if there was no search.
        tell: is told what is being done.

    Raises:
        ValueError: if a model is missing.
    """
    asked: list[Asked] = []
    lost = lab.diverged()
    for seed in lab.seeds:
        for variant in lab.variants():
            if variant in lost:
                continue
            tell(f"{variant.name}, seed {seed}: test reviews")
            asked.append(ask(lab, variant, seed))
    rules = [rule for seed in lab.seeds if (rule := bayes(lab.material(seed), seed))]
    tell(f"{lab.base.name}, seed {lab.seeds[0]}: explanations")
    found = Estimates(
        [
            *measured.measure(asked, [part for part in measured.roles(lab) if part[1] not in lost]),
            *measured.against_bayes(asked, rules, lab.base),
            *measured.look_into(lab, asked),
            *worth(outcomes, ERROR_RATE),
        ]
    )
    return Results(
        estimates=found,
        verdicts=findings.verdicts(found, lab.material(lab.seeds[0]).grammar),
        curves=(*_curves(asked), *_swept(lab, asked)),
        outcomes=tuple(outcomes),
        answers={each.seed: each.test for each in asked if each.variant == lab.base},
        base=lab.base.name,
        drawn=lab.material(lab.seeds[0]).grammar is not None,
    )


def write(found: Results, folder: Path) -> None:
    """Write tables and predictions and draw the figures, each file whole or not at all.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.reviews import figures

    tables = {
        "reviews": [record.as_json(finding) for finding in found.verdicts.findings],
        "estimates": [estimate.as_json() for estimate in found.estimates],
        "curves": list(found.curves),
        "search": [outcome.as_json() for outcome in found.outcomes],
    }
    for name, rows in tables.items():
        files.write_text(folder / f"{name}.json", record.to_text(rows))
    for seed, answers in found.answers.items():
        lines = "".join(f"{int(answer > 0.5)}\n" for answer in answers)
        # Of reviews that lie in no file, the seed tells which they were.
        files.write_text(folder / f"{'drawn' if found.drawn else 'test'}.{seed}.predictions", lines)
    drawn: dict[str, Draw] = {"curves": functools.partial(figures.curves, found.curves, found.base)}
    for name in ("optimizers", "explanations", "errors", "confidence"):
        drawn[name] = functools.partial(getattr(figures, name), found.estimates)
    if any(estimate.quantity == "optimism" for estimate in found.estimates):
        drawn["search"] = functools.partial(figures.searches, found.estimates)
    judged_again.draw(drawn, folder)


def again(folder: Path) -> Again:
    """A finished run, judged again.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    found = judged_again.stored(folder)
    # Bayes's rule is known of reviews that were drawn from the grammar, and of no others.
    drawn = any(estimate.quantity == "accuracy of Bayes's rule" for estimate in found)
    return Again(found, findings.verdicts(found, embedded() if drawn else None))


def _curves(asked: Sequence[Asked]) -> list[dict[str, Any]]:
    return [row for model in asked for row in _rows(model.variant, model.seed, model.curve)]


def _swept(lab: Lab, asked: Sequence[Asked]) -> list[dict[str, Any]]:
    """The curves of rates that were only looked at for the first seed, to choose between them."""
    first = lab.seeds[0]
    known = {model.variant for model in asked if model.seed == first}
    others = [each for each in lab.swept() if each not in known and noted(lab.path(each, first)) is None]
    return [row for variant in others for row in _rows(variant, first, lab.curve(variant, first))]


def _rows(variant: Variant, seed: int, curve: Curve) -> list[dict[str, Any]]:
    told = {"variant": variant.name, "seed": seed}
    return [{**told, "epoch": epoch, **numbers} for epoch, numbers in enumerate(curve, start=1)]
