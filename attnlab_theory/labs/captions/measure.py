"""The measurements of a run: how well models predict captions, what they write, and what single heads do."""

import dataclasses
import functools
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.labs.captions import heads, models, sweep
from attnlab_theory.labs.captions.arms import BASE, DecodingName
from attnlab_theory.labs.captions.claims import STATEMENTS
from attnlab_theory.labs.captions.generate import side
from attnlab_theory.labs.captions.lab import Captions
from attnlab_theory.labs.captions.models import Evaluation, Summary
from attnlab_theory.labs.captions.sweep import SHOWN, Row
from attnlab_theory.labs.engine.record import Draw, Results, drawing, read, renewed, stored
from attnlab_theory.labs.estimates import Estimate, Estimates, known, mean
from attnlab_theory.labs.folders import RUN
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE, OVER_SENTENCES, UNIGRAM, beside_a_unigram, of_a_unigram
from attnlab_theory.labs.verdicts import verdicts_on
from attnlab_theory.language.corpora.grammar import Grammar
from attnlab_theory.plurals import several

LOOKED_AT = 200
"""How many sentences are read to measure single heads."""

DRAWN = 20_000
"""How many captions are drawn to test what the grammar states."""

OF_REAL = ("commonest opening of real sentences", "openings of real sentences")
"""Quantities of the test sentences. Runs on one text have the same numbers."""

OF_ONE_MODEL = ("worth of a head",)
"""Quantities of one model, which no other model changes."""


def results(
    lab: Captions,
    decodings: Sequence[DecodingName],
    *,
    count: int,
    generations: int,
    tell: Callable[[str], None],
    asked_with: Mapping[str, int],
) -> Results:
    """Measure all models, let all write captions, and judge the claims.

    Args:
        lab: whose models are trained.
        decodings: names of the ways to generate.
        count: captions of one generation.
        generations: independent generations of each model and decoding.
        tell: called with a line about what is being done.
        asked_with: as `verdicts_on` has it.

    Raises:
        ValueError: if a model is missing, a decoding is unknown, or a number is not a positive whole number.
    """
    first = lab.material(lab.seeds[0])
    real = [tuple(first.text.encode_text(sentence).tolist()) for sentence in first.test]
    asked: list[Evaluation] = []
    rows: list[Row] = []
    worths: list[Estimate] = []
    texts: dict[str, str] = {}
    samples = [side("real sentences", real[:SHOWN], first.text)]
    for model in lab.models():
        test, told = lab.material(model.seed).test, f"{model.arm}, seed {model.seed}"
        tell(f"{told}: losses")
        asked.append(models.ask(model, lab))
        if model.seed == lab.seeds[0]:
            worths += heads.worths(
                model.saved.model, lab.encoded(test[:LOOKED_AT], model.seed), arm=model.arm, seed=model.seed
            )
        for each in sweep.sweep([model], test, decodings, count=count, generations=generations):
            tell(f"{told}: {each.row.decoding}, generation {each.row.generation + 1}")
            rows.append(each.row)
            if model.seed == lab.seeds[0] and each.row.generation == 0:
                texts[f"{each.name}.txt"] = each.lines
                samples.append(each.sample)
    language = () if first.grammar is None else about_the_language(first.grammar, lab.seeds[0])
    unigram = of_a_unigram(first.grammar, lab.encoded(first.test, lab.seeds[0]))
    above = (each for model in asked for each in model.above)
    apart = (*above, *sweep.about_real(real), *worths, *language, unigram)
    curves = [point for model in asked for point in model.curve]
    found = _results([model.summary for model in asked], rows, curves, apart, asked_with)
    return dataclasses.replace(found, texts={**texts, "samples.txt": "\n".join(samples)})


def again(folder: Path) -> Results:
    """Judge a finished run again. Comparisons are computed again from the models and captions in its files.

    A run of an older version has no `models.json`. Then its numbers over seeds are used as they are.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    old = stored(folder)
    trained = _models(folder) if (folder / "models.json").exists() else []
    measured = renewed(old, Estimates((*models.compare(trained), *sweep.compare(_rows(folder)))))
    measured = renewed(measured, beside_a_unigram(measured, BASE))
    # Of older runs everything was asked.
    asked_with = read(folder / f"captions{RUN}", lambda about: dict(about.get("asked_with", {})))
    return Results(estimates=measured, verdicts=verdicts(measured, asked_with=asked_with))


def joined(folders: Sequence[Path], tell: Callable[[str], None]) -> Results:
    """Join finished runs, as if one run had trained all models. Comparisons are computed again, over all seeds.

    Args:
        folders: of the runs.
        tell: called with a line for each number that some models of an arm lack, as those of older runs do.

    Raises:
        ValueError: if a file is missing or damaged, tests differ, or two runs have a model of one arm and seed.
    """
    parts = [Part(folder, stored(folder), _models(folder), _rows(folder)) for folder in folders]
    first = parts[0]
    owners: dict[tuple[str, int], Path] = {}
    for part in parts:
        if [each.value for each in part.of(OF_REAL)] != [each.value for each in first.of(OF_REAL)]:
            raise ValueError(f"{first.folder} and {part.folder} have other test sentences: they cannot be joined")
        for model in part.models:
            before = owners.setdefault((model.arm, model.seed), part.folder)
            if before is not part.folder:
                raise ValueError(f"{before} and {part.folder} both hold the model {model.arm} of seed {model.seed}")
    trained = sorted((m for part in parts for m in part.models), key=lambda model: model.seed)
    for line in models.left_out(trained):
        tell(line)
    found = _results(
        trained,
        sorted((row for part in parts for row in part.rows), key=lambda row: row.seed),
        [point for folder in folders for point in read(folder / "curves.json", list)],
        (
            *first.of(OF_REAL),
            *(each for part in parts for each in part.of(OF_ONE_MODEL)),
            # The tests are the same: if one run knows this loss, it is that of all.
            *[each for part in parts for each in part.of((UNIGRAM,))][:1],
        ),
    )
    return dataclasses.replace(
        found, shown=(*found.shown, f"{several(len(trained), 'model')} of {several(len(parts), 'run')}.")
    )


class Part(NamedTuple):
    """The results in the folder of one of several runs."""

    folder: Path
    estimates: Estimates
    models: list[Summary]
    rows: list[Row]

    def of(self, quantities: Sequence[str]) -> list[Estimate]:
        """Its numbers of some quantities."""
        return [each for each in self.estimates if each.quantity in quantities]


verdicts = functools.partial(verdicts_on, STATEMENTS, experiment="captions")
"""The claims about captions, judged on what was measured."""


def about_the_language(language: Grammar, seed: int) -> Estimates:
    """Numbers that test the grammar, on captions drawn for that: their log-probabilities and derivations.

    Args:
        language: a grammar.
        seed: of what is drawn.
    """
    rng = random.Random(f"about the language {seed}")
    derived = [language.derive(rng) for _ in range(DRAWN)]
    parsed = np.array([language.log_probability(each.words) for each in derived])
    apart = float(np.max(np.abs(parsed - [each.log_probability for each in derived])))
    told = {"seed": seed, "entropy": language.entropy}
    logs = mean("log-probability of a caption", parsed, OVER_SENTENCES, FLOOR_ERROR_RATE, **told)
    meant = "counted: these very sentences are meant"
    return Estimates((logs, known("log-probability by derivation less by parsing", apart, DRAWN, meant)))


def figures_of(estimates: Estimates, curves: Sequence[dict[str, Any]]) -> dict[str, Draw]:
    """The figures of a run, or of a sweep, which has no losses."""
    from attnlab_theory.labs.captions import figures

    drawn = drawing(figures, ("quality_and_diversity", "openings"), estimates)
    if any(each.quantity == "test loss" for each in estimates):
        drawn |= drawing(figures, ("perplexities", "heads"), estimates)
        drawn |= drawing(figures, ("validation",), curves)
    return drawn


def figures_in(folder: Path) -> dict[str, Draw]:
    """The figures of a folder, from the JSON files in it.

    Raises:
        ValueError: if it holds no estimates, or a file is damaged.
    """
    curves = folder / "curves.json"
    return figures_of(stored(folder), read(curves, list) if curves.exists() else [])


def _results(
    trained: Sequence[Summary],
    rows: Sequence[Row],
    curves: list[dict[str, Any]],
    apart: Sequence[Estimate],
    asked_with: Mapping[str, int] | None = None,
) -> Results:
    """Compare models and captions, and judge the claims.

    Args:
        trained: the models.
        rows: the scores of their captions.
        curves: their losses by epoch.
        apart: further numbers, which compare nothing over seeds.
        asked_with: as `verdicts_on` has it.
    """
    found = (*models.compare(trained), *sweep.compare(rows), *apart)
    measured = Estimates((*found, *beside_a_unigram(found, BASE)))
    return Results(
        estimates=measured,
        verdicts=verdicts(measured, asked_with=asked_with),
        tables={
            "sweep": [row.as_json() for row in rows],
            "curves": curves,
            "models": [model.as_json() for model in trained],
        },
        figures=figures_of(measured, curves),
        shown=(sweep.table(measured),),
    )


def _models(folder: Path) -> list[Summary]:
    return read(folder / "models.json", lambda rows: [*map(Summary.from_json, rows)])


def _rows(folder: Path) -> list[Row]:
    return read(folder / "sweep.json", lambda rows: [*map(Row.from_json, rows)])
