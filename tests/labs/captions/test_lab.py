"""A whole run of the lab, small; and the verdicts, on numbers that are known."""

import dataclasses
import json
import math

import jax
import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.cli import main
from attnlab_theory.labs.captions import figures, models, sweep
from attnlab_theory.labs.captions.arms import ARMS, DECODINGS, PRESETS
from attnlab_theory.labs.captions.claims import AT_RANDOM, ENTROPY_RESOLUTION
from attnlab_theory.labs.captions.lab import Captions, config
from attnlab_theory.labs.captions.measure import about_the_language, verdicts
from attnlab_theory.labs.captions.models import Evaluation
from attnlab_theory.labs.captions.scores import Scores
from attnlab_theory.labs.captions.sweep import Row
from attnlab_theory.labs.captions.tasks import Run
from attnlab_theory.labs.estimates import Estimates, mean
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE, OVER_SENTENCES, Losses, beside_a_unigram
from attnlab_theory.labs.sentences import Sizes, generated
from attnlab_theory.labs.texts import Texts
from attnlab_theory.language.corpora import grammar

BRIEF = [
    "--seeds",
    "2",
    "--count",
    "30",
    "--generations",
    "1",
    "--epochs",
    "1",
    "--layers",
    "1",
    "--block-size",
    "40",
]


@pytest.mark.slow("verdicts on given losses and figures of decodings stay inside")
def test_a_run_writes_findings_numbers_captions_and_figures(capsys, tmp_path):
    """Trains two arms with each of two seeds, and paints all figures."""
    main(["captions", "run", "--out", str(tmp_path), "--arms", "scratch", "permuted", *BRIEF])
    names = {path.name for path in tmp_path.iterdir()}
    assert {"captions.json", "estimates.json", "captions.run.json", "samples.txt", "heads.svg"} <= names
    assert {f"{name}.{way}.txt" for name in ("scratch", "permuted") for way in ("random", "top_p0.9")} <= names
    before = (tmp_path / "openings.svg").read_bytes()
    (tmp_path / "openings.svg").unlink()
    capsys.readouterr()
    assert main(["captions", "draw", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["folder"] == str(tmp_path)
    assert (tmp_path / "openings.svg").read_bytes() == before
    claims = {finding["claim"] for finding in json.loads((tmp_path / "captions.json").read_text())}
    assert "nobody-beats-the-grammar" in claims
    about = json.loads((tmp_path / "captions.run.json").read_text())
    assert {(each["claim"], each["runs"]) for each in about["not_judged"]} >= {
        ("permuted-features-stay-within-the-margin", 2),
        ("sharper-covers-less", 2),
    }
    assert about["verdicts"]["family"] == 0


def model(arm, seed, loss, *, above=0.1, validated=(2.0, 1.0)):
    noise = np.random.default_rng(seed).normal(size=50) / 50
    total = 10 * (loss + noise)
    lost = Losses(total, np.full(50, 10))
    told = {"validated": validated, "trained": validated}
    floor = mean("loss above the grammar", above + noise, OVER_SENTENCES, FLOOR_ERROR_RATE, arm=arm, seed=seed)
    return Evaluation(arm=arm, seed=seed, test=lost, learned=lost, above=Estimates([floor]), **told)


def verdict(found, claim):
    (verdict,) = {finding.verdict for finding in found.findings if finding.claim == claim}
    return verdict


def test_a_model_below_the_floor_is_found_out():
    for above, wanted in ((-0.1, Verdict.REFUTED), (0.1, Verdict.SUPPORTED)):
        known = [model("scratch", seed, 1.0, above=above) for seed in range(3)]
        found = verdicts(Estimates(each for one in known for each in one.above))
        assert verdict(found, "nobody-beats-the-grammar") == wanted


@pytest.mark.parametrize(
    ("loss", "spread", "expected"),
    [
        (1.001, 0.0, Verdict.SUPPORTED),
        (1.1, 0.0, Verdict.REFUTED),
        # Narrow, but across the margin.
        (1.019, 0.002, Verdict.INCONCLUSIVE),
    ],
)
def test_an_arm_that_changes_nothing_is_told_from_one_that_does(loss, spread, expected):
    losses = [loss - spread, loss + spread, loss - spread, loss + spread]
    known = [model("scratch", seed, 1.0) for seed in range(4)]
    known += [model("permuted", seed, lost) for seed, lost in enumerate(losses)]
    found = (*models.compare([m.summary for m in known]), *known[0].above)
    judged = verdicts(Estimates((*found, *beside_a_unigram(found, "scratch"))))
    assert verdict(judged, "permuted-features-stay-within-the-margin") == expected


def test_the_gap_and_training_on_are_measured_where_the_validation_loss_is_least():
    one = model("scratch", 0, 1.0, validated=(2.0, 1.5, 1.7))
    assert one.gap == pytest.approx(1.5 - one.learned.per_sentence)
    assert dataclasses.replace(one, trained=(2.0, 1.0, 0.5)).trained_on == -0.5
    known = [dataclasses.replace(one, seed=seed, trained=(2.0, 1.0, 0.5 + seed / 100)) for seed in range(4)]
    measured = models.compare([m.summary for m in known])
    assert verdict(verdicts(measured), "training-loss-goes-on-falling") == Verdict.SUPPORTED


def test_what_the_grammar_states_is_judged_on_what_is_drawn():
    """Draws thousands of captions, and parses each."""
    found = verdicts(about_the_language(grammar.embedded(), 0))
    assert verdict(found, "captions-have-the-stated-entropy") == Verdict.SUPPORTED
    assert verdict(found, "captions-have-one-derivation") == Verdict.SUPPORTED
    assert found.findings[0].measured.width < ENTROPY_RESOLUTION < math.log(2)


@pytest.mark.slow("the entropy that the grammar has, which is supported, stays inside")
def test_a_grammar_that_states_another_entropy_is_refuted(monkeypatch):
    """Draws thousands of captions twice, and parses each."""
    language = grammar.embedded()
    monkeypatch.setattr(type(language), "entropy", property(lambda self: 12.914 - math.log(2)))
    found = verdicts(about_the_language(language, 0))
    assert verdict(found, "captions-have-the-stated-entropy") == Verdict.REFUTED
    derive = type(language).derive
    monkeypatch.setattr(
        type(language), "derive", lambda self, rng: derive(self, rng)._replace(log_probability=-12.0)
    )
    found = verdicts(about_the_language(language, 0))
    assert verdict(found, "captions-have-one-derivation") == Verdict.REFUTED


def row(decoding, seed, generation, forward, backward, arm="scratch"):
    shares = {"commonest_opening": forward / 10, "openings": 3, "distinct": 0.9, "repeating": 0.0}
    scores = Scores(forward=forward, backward=backward, **shares)
    return Row(arm=arm, seed=seed, decoding=decoding, generation=generation, scores=scores)


def test_intervals_come_from_seeds_or_else_from_generations():
    rows = [row("random", seed, n, 0.5 + 0.01 * seed + 0.001 * n, 0.4) for seed in range(3) for n in range(2)]
    (of_seeds,) = sweep.compare(rows).of("forward")
    (of_generations,) = sweep.compare(rows[:2]).of("forward")
    assert (of_seeds.draws, of_generations.draws) == (3, 2)
    assert of_seeds.value == pytest.approx(0.5105)
    assert (of_seeds.runs, of_generations.runs) == (3, 1)
    assert "texts that one model writes" in of_generations.bound


def test_sharper_decodings_are_judged_against_random_ones():
    rows = [
        row(name, seed, 0, (1 + 0.01 * seed) * forward, (1 + 0.01 * seed) * backward)
        for seed in range(3)
        for name, forward, backward in (("random", 0.5, 0.4), ("top_p0.9", 0.7, 0.3))
    ]
    found = verdicts(sweep.compare(rows))
    for claim in ("sharper-is-better-formed", "sharper-covers-less", "openings-lose-diversity"):
        assert verdict(found, claim) == Verdict.SUPPORTED
    turned = verdicts(
        sweep.compare([row(r.decoding, r.seed, 0, 1 - r.scores.forward, 1 - r.scores.backward) for r in rows])
    )
    assert verdict(turned, "sharper-is-better-formed") == verdict(turned, "sharper-covers-less") == Verdict.REFUTED


@pytest.mark.slow("that every arm has a model of its preset's width stays inside")
def test_every_arm_begins_otherwise_than_scratch_or_reads_otherwise(tmp_path):
    """One that trained the very same model would be found to change nothing."""
    sizes = Sizes(train=20, validation=5, test=5)
    names = tuple(name for name in ARMS if name != "pretrained")
    lab = Captions(
        preset=PRESETS["tiny"],
        arms=names,
        seeds=(0,),
        material=lambda seed: generated(seed, sizes),
        other=lambda seed: generated(seed, sizes, evened=True),
        folder=tmp_path,
    )
    runs = {name: stage.run for name in names for stage in lab.stages(name, 0)}
    plain = runs.pop("scratch")
    for name, run in runs.items():
        same = jax.tree.leaves(run.first()), jax.tree.leaves(plain.first())
        alike = all(np.array_equal(one, other) for one, other in zip(*same, strict=True))
        assert (not alike) or run.config != plain.config or run.origin["recipe"]["shuffled"]
        assert alike == (name != "permuted")


def test_files_are_read_before_anything_is_trained_and_never_again(tmp_path):
    """A worker of a cluster has them no longer."""
    names = ("train", "validation", "test", "other")
    for name in names:
        (tmp_path / name).write_text("a cat runs\na dog sits\n" * 8)
    texts = Texts(**{name: tmp_path / name for name in names[:3]})
    lab = Run(texts=texts, pretrain_corpus=tmp_path / "other", seeds=2, out=tmp_path / "run").lab()
    for name in names:
        (tmp_path / name).unlink()
    assert lab.material(1).train == lab.material(0).train
    assert lab.other(1).train == lab.other(0).train
    assert not (tmp_path / "run").exists()


def test_a_finer_sweep_is_drawn_by_ways_to_cut(tmp_path):
    rows = [row(name, 0, n, 0.5 + 0.01 * n, 0.4 + 0.01 * n) for name in DECODINGS for n in range(2)]
    figure = figures.quality_and_diversity(sweep.compare(rows))
    (legend,) = [ax.get_legend() for ax in figure.axes]
    said = [text.get_text() for text in legend.get_texts()]
    assert said == [AT_RANDOM.what, "temperature", "top-p", "top-p, temperature 0.7", "top-k", "min-p"]


@pytest.mark.parametrize("names", [("random",), ("top_p0.9",), ("top_p0.9", "random-t0.7"), ("random", "top_k5")])
def test_decodings_have_a_figure_whether_or_not_one_draws_at_random(names):
    rows = [row(name, 0, n, 0.5 + 0.01 * n, 0.4 + 0.01 * n) for name in names for n in range(2)]
    (ax,) = figures.quality_and_diversity(sweep.compare(rows)).axes
    assert len(ax.texts) == len(names)


def test_a_legend_tells_how_many_seeds_there_are_where_arms_differ_in_that():
    rows = [row("random", seed, 0, 0.5 + 0.01 * seed, 0.4) for seed in range(3)]
    more = [row("random", seed, 0, 0.5 + 0.01 * seed, 0.4, arm="heads-1") for seed in range(2)]
    for every, said in ((rows, "n = 3)"), ([*rows, *more], "n = 2 to 3)")):
        (ax,) = figures.quality_and_diversity(sweep.compare(every)).axes
        assert said in ax.get_legend().get_title().get_text()


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize("name", ARMS)
def test_every_arm_has_a_model(preset, name):
    assert config(name, preset, vocabulary=9).width == preset.width


def test_every_decoding_has_a_law_and_unknown_names_are_refused():
    assert all(sweep.sampling(name) for name in DECODINGS)
    with pytest.raises(ValueError, match="a decoding is one of random"):
        sweep.sampling("twelve")
    with pytest.raises(ValueError, match="an arm is one of scratch"):
        config("twelve", PRESETS["tiny"], vocabulary=9)
