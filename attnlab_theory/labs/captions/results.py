"""Everything that a run of the lab found, as files: findings, numbers, captions and figures."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from attnlab_theory import files
from attnlab_theory.labs import judged_again
from attnlab_theory.labs.captions import findings, verdicts
from attnlab_theory.labs.captions.findings import Judged, Summary
from attnlab_theory.labs.captions.generate import Tokens
from attnlab_theory.labs.captions.lab import Lab
from attnlab_theory.labs.captions.rules import DecodingName
from attnlab_theory.labs.captions.scores import repeated
from attnlab_theory.labs.captions.sweep import Row, sweep
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.judged_again import Again
from attnlab_theory.labs.verdicts import Verdicts
from attnlab_theory.language.text.vocabulary import OfSentences
from attnlab_theory.report import record

ABOUT = "captions.run.json"
"""The file that says what was run. A folder with this file belongs to a run."""

SHOWN = 8
"""Captions of each kind that are laid side by side."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What was found."""

    estimates: Estimates
    verdicts: Verdicts
    rows: tuple[Row, ...]
    """One for each set of captions."""
    curves: tuple[dict[str, Any], ...]
    """Training and validation losses by arm, seed and epoch, in nats."""
    models: tuple[Summary, ...]
    """One for each model."""
    captions: dict[str, tuple[str, ...]]
    """The first set of captions of each arm and decoding, as text."""
    samples: str
    """Some captions side by side."""

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return self.verdicts.as_expected

    def table(self) -> Table:
        """BLEU by arm and decoding."""
        return table(self.estimates)


def results(
    lab: Lab,
    decodings: Sequence[DecodingName],
    *,
    count: int,
    generations: int,
    tell: Callable[[str], None] = lambda _: None,
) -> Results:
    """Ask all models, generate with all, measure, judge.

    Args:
        lab: whose models are trained.
        decodings: names of the ways to generate.
        count, generations: as `sweep`.
        tell: is told what is being done.

    Raises:
        ValueError: if a model is missing, or as `sweep`.
    """
    asked: list[Judged] = []
    rows: list[Row] = []
    looked_at: list[Estimate] = []
    samples: list[str] = []
    first: dict[str, tuple[str, ...]] = {}
    for model in lab.models():
        material = lab.material(model.seed)
        tell(f"{model.arm}, seed {model.seed}: losses")
        asked.append(findings.ask(model, material, lab))
        if model.seed == lab.seeds[0]:
            looked_at += findings.look_at_heads(model, material, lab)
        for each in sweep([model], material.test, decodings, count=count, generations=generations):
            tell(f"{model.arm}, seed {model.seed}: {each.row.decoding}, generation {each.row.generation + 1}")
            rows.append(each.row)
            if model.seed == lab.seeds[0] and each.row.generation == 0:
                name = f"{model.arm}.{each.row.decoding}"
                first[name] = as_lines(each.captions, model.saved.text)
                samples.append(side(name, each.captions[:SHOWN], model.saved.text))
    material = lab.material(lab.seeds[0])
    real = [tuple(material.text.encode_text(sentence).tolist()) for sentence in material.test]
    language = () if material.grammar is None else findings.about_the_language(material.grammar, lab.seeds[0])
    models = tuple(model.summary for model in asked)
    apart = (*findings.above_the_floor(asked), *findings.about_real(real), *looked_at, *language)
    measured = Estimates((*findings.measure(models), *findings.compare(rows), *apart))
    samples.insert(0, side("real sentences", real[:SHOWN], material.text))
    return Results(
        estimates=measured,
        verdicts=verdicts.verdicts(measured),
        rows=tuple(rows),
        curves=tuple(_curves(asked)),
        models=models,
        captions=first,
        samples="\n".join(samples),
    )


def write(found: Results, folder: Path) -> None:
    """Write tables and captions and draw the figures, each file whole or not at all.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.captions import drawing

    tables = {
        "captions": [record.as_json(finding) for finding in found.verdicts.findings],
        "estimates": [estimate.as_json() for estimate in found.estimates],
        "sweep": [row.as_json() for row in found.rows],
        "curves": list(found.curves),
        "models": [model.as_json() for model in found.models],
    }
    for name, rows in tables.items():
        files.write_text(folder / f"{name}.json", record.to_text(rows))
    for name, lines in found.captions.items():
        files.write_text(folder / f"{name}.txt", "".join(f"{line}\n" for line in lines))
    if found.samples:
        files.write_text(folder / "samples.txt", found.samples)
    drawing.draw(found.estimates, found.curves, folder)


def again(folder: Path) -> Again:
    """A finished run, judged again: comparisons are made anew, of the models and captions in its files.

    A run of an older version has no `models.json`. Then its numbers over seeds are taken as they are.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    stored, path = judged_again.stored(folder), folder / "models.json"
    models = judged_again.read(path, lambda rows: [*map(Summary.from_json, rows)]) if path.exists() else []
    rows = judged_again.read(folder / "sweep.json", lambda rows: [*map(Row.from_json, rows)])
    measured = judged_again.renewed(stored, Estimates((*findings.measure(models), *findings.compare(rows))))
    return Again(measured, verdicts.verdicts(measured))


def as_lines(captions: Iterable[Tokens], text: OfSentences) -> tuple[str, ...]:
    """Captions as text, one a line."""
    return tuple(" ".join(text.decode_text(caption).split()) for caption in captions)


def side(name: str, captions: Sequence[Tokens], text: OfSentences) -> str:
    """Captions under a heading; tokens of n-grams that come twice stand in brackets."""
    lines = [name]
    for caption in captions:
        twice = repeated(caption)
        words = [text.decode_text([token]).strip() for token in caption]
        marked = [f"[{word}]" if place in twice else word for place, word in enumerate(words)]
        lines.append("    " + (" ".join(marked) if twice else " ".join(text.decode_text(caption).split())))
    return "\n".join(lines) + "\n"


def table(estimates: Estimates) -> Table:
    """BLEU by arm and decoding, and the shares of distinct captions and of the commonest opening."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("model", "decoding", "forward", "backward", "harmonic", "distinct", "opening"):
        shown.add_column(column, justify="left" if column in ("model", "decoding") else "right", no_wrap=True)
    for each in estimates.of("forward"):
        told = each.setting
        numbers = [
            estimates.of(score, **told)[0].value
            for score in ("forward", "backward", "harmonic", "distinct", "commonest_opening")
        ]
        shown.add_row(told["arm"], told["decoding"], *(f"{number:.3f}" for number in numbers))
    return shown


def _curves(asked: Sequence[Judged]) -> list[dict[str, Any]]:
    return [
        {"arm": model.arm, "seed": model.seed, "epoch": epoch, "loss": loss, "training": training}
        for model in asked
        for epoch, (loss, training) in enumerate(zip(model.validated, model.trained, strict=True), start=1)
    ]
