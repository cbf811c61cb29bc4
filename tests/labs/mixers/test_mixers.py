"""The mixer lab: what leaks and what does not, what is found, and a whole small run."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.cli import main
from attnlab_theory.labs.estimates import ANYTHING, Estimates, known, mean, over_seeds
from attnlab_theory.labs.mixers import figures, measure
from attnlab_theory.labs.mixers.arms import ASKED, CAUSAL, LEAKING, PRESETS
from attnlab_theory.labs.mixers.claims import DIFFERENCE, NEAREST
from attnlab_theory.labs.mixers.honest import Beginnings, beginnings, leak_map
from attnlab_theory.labs.mixers.lab import MIXERS, Mixers
from attnlab_theory.labs.mixers.leaky import KINDS, OneProjection, ZeroMask
from attnlab_theory.labs.mixers.routing import NEXT, Routed, routed
from attnlab_theory.labs.perplexity import OVER_SENTENCES, UNIGRAM, beside_a_unigram
from attnlab_theory.labs.sentences import encoded
from attnlab_theory.language.checkpoint import load_model, save_model
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.models.weighing import place
from attnlab_theory.language.text.words import Words
from attnlab_theory.stats import Interval

TEXT = Words(("a", "cat", "runs"))
NONE = dict.fromkeys(("embedding_dropout", "residual_dropout", "attention_dropout"), 0.0)
LOSSES = over_seeds("test loss", [1.1 + 0.001 * n for n in range(10)], arm="separate")
BASES = beside_a_unigram([known(UNIGRAM, 3.7, 1, "computed"), LOSSES], "separate")
SENTENCES = encoded(["a cat runs a cat", "runs a a cat runs", "a a cat runs runs"], TEXT, 8)


def stirred(mixer):
    config = GPTConfig(vocabulary=len(TEXT), block=8, layers=1, heads=2, width=8, mixer=mixer, **NONE)
    model = GPT(config, key=jax.random.key(0))
    return jax.tree.map(lambda x: x + 0.5 * jax.random.normal(jax.random.key(x.size), x.shape), model)


@pytest.mark.slow("two GPTs that never look ahead stay inside")
@pytest.mark.parametrize("arm", CAUSAL)
def test_causal_losses_are_honest_and_nothing_leaks(arm):
    """Runs the model on every beginning of every sentence, and replaces each token in turn."""
    model = stirred(MIXERS[arm])
    begun = beginnings(model, SENTENCES)
    np.testing.assert_allclose(begun.filled, begun.forced, atol=1e-5)
    np.testing.assert_allclose(begun.bare, begun.forced, atol=1e-5)
    found = leak_map(model, SENTENCES, length=5)
    assert np.all(found[np.triu_indices(5, 1)] == 0)
    assert found[np.tril_indices(5)].max() > 0.01


@pytest.mark.parametrize(("later", "verdict"), [(0.0, Verdict.SUPPORTED), (0.01, Verdict.REFUTED)])
def test_a_causal_model_is_judged_by_every_sentence(later, verdict):
    losses = np.full(20, 1.0)
    begun = Beginnings(losses, losses + later, losses)
    own, other = measure._gap(begun, arm="additive", seed=0), gap("zero-after", 0, 1.0)
    (finding,) = measure.verdicts(Estimates([own, other])).findings
    assert (finding.claim, finding.verdict) == ("causal-losses-are-honest", verdict)
    # Where a mask of zeros loses nothing either, an honest loss says nothing.
    (open_,) = measure.verdicts(Estimates([own, dataclasses.replace(other, interval=Interval(-0.1, 0.1))])).findings
    assert open_.verdict == (Verdict.INCONCLUSIVE if verdict == Verdict.SUPPORTED else verdict)


@pytest.mark.slow("of GPTs, two that never look ahead, asked alike, stay inside")
@pytest.mark.parametrize("arm", LEAKING)
def test_zero_masks_let_the_future_through(arm):
    """Runs the model on every beginning of every sentence, and replaces each token in turn."""
    model = stirred(MIXERS[arm])
    begun = beginnings(model, SENTENCES)
    assert np.max(np.abs(begun.filled - begun.forced)) > 1e-3
    assert np.max(np.abs(begun.bare - begun.filled)) > 1e-3
    assert leak_map(model, SENTENCES, length=5)[np.triu_indices(5, 1)].max() > 1e-3


@pytest.mark.slow("a mixer whose one projection is queries, keys and values stays inside")
@pytest.mark.parametrize("when", ["after", "before"])
def test_zeros_stand_where_they_are_said_to(when):
    """Draws the weights of a model, and runs a layer operation by operation."""
    layer = stirred(ZeroMask(when)).blocks[0].mixing
    x = jax.random.normal(jax.random.key(1), (1, 4, 8))
    found, _ = layer.whole(x, place(1, 4, None, None), None)
    w, b = (np.asarray(part, np.float64) for part in (layer.inputs.weight, layer.inputs.bias))
    q, k, v = np.split(np.asarray(x[0], np.float64) @ w + b, 3, axis=1)
    mixed = []
    for head in (slice(0, 4), slice(4, 8)):
        scores, past = q[:, head] @ k[:, head].T / 2, np.tri(4, dtype=bool)
        power = np.exp(np.where(past, scores, 0) if when == "before" else scores)
        weights = power / power.sum(axis=1, keepdims=True)
        mixed.append((weights if when == "before" else np.where(past, weights, 0)) @ v[:, head])
    wanted = np.concatenate(mixed, axis=1) @ np.asarray(layer.out.weight) + np.asarray(layer.out.bias)
    np.testing.assert_allclose(found[0], wanted, atol=1e-4)


def test_one_projection_is_queries_keys_and_values():
    """Makes a model, and compiles what draws its weights."""
    layer = stirred(OneProjection()).blocks[0].mixing
    parts = layer.parts(jax.random.normal(jax.random.key(1), (1, 4, 8)), jnp.arange(4)[None])
    assert np.array_equal(parts.q, parts.k)
    assert np.array_equal(parts.q, parts.v)


def test_leaking_models_are_kept_apart_from_others(tmp_path):
    model = stirred(ZeroMask())
    save_model(tmp_path / "model", model, TEXT, {}, kinds=KINDS)
    assert load_model(tmp_path / "model", kinds=KINDS).model.config == model.config
    with pytest.raises(ValueError, match="mixer must be one of Softmax"):
        load_model(tmp_path / "model")


@pytest.mark.slow("verdicts on what no single head can do stay inside")
@pytest.mark.parametrize("seed", [0, 1])
def test_shared_queries_never_give_all_three_more_than_half(seed):
    """Trains heads from dozens of starts for thousands of steps, with shared queries and without."""
    shared = routed(seed, shared=True)
    weights = shared.weights
    wanted, unwanted = weights[np.arange(3), NEXT], weights[NEXT, np.arange(3)]
    assert np.prod(wanted) == pytest.approx(np.prod(unwanted), rel=1e-3)
    assert shared.least <= 0.5
    assert routed(seed, shared=False).least > 0.9


def difference(arm, values):
    return over_seeds("test loss less that of separate", values, 0.05, within=ANYTHING, arm=arm)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.001, -0.002, 0.003, 0.0015, 0.002] * 2, Verdict.SUPPORTED),
        ([0.05, 0.051, 0.052, 0.0505, 0.0495] * 2, Verdict.REFUTED),
        ([0.05, -0.04, 0.03, -0.05, 0.02] * 2, Verdict.INCONCLUSIVE),
        ([0.018, 0.022, 0.019, 0.021, 0.02] * 2, Verdict.INCONCLUSIVE),
    ],
)
def test_equivalence_is_shown_inside_the_margin(values, verdict):
    (finding,) = measure.verdicts(Estimates([difference("shared-qk", values), *BASES])).findings
    assert (finding.claim, finding.verdict) == ("sharing-stays-within-the-margin", verdict)
    assert finding.as_expected


def test_nine_seeds_do_not_judge_an_equivalence():
    nine = [0.001, -0.002, 0.003, 0.0015, 0.002, 0.001, -0.001, 0.002, 0.0]
    found = measure.verdicts(Estimates([difference("shared-qk", nine)]))
    assert (len(found.findings), found.as_expected) == (0, True)
    assert [(each.runs, each.needs) for each in found.unjudged] == [(9, 10)]


def test_models_that_ignore_the_context_are_equal_and_show_nothing():
    alike = difference("shared-qk", [0.001, -0.002, 0.003, 0.0015, 0.002] * 2)
    bases = beside_a_unigram([known(UNIGRAM, 1.1, 1, "computed"), LOSSES], "separate")
    (finding,) = measure.verdicts(Estimates([alike, *bases])).findings
    assert finding.verdict == Verdict.REFUTED
    assert measure.verdicts(Estimates([alike])).undecided[0].missing


def gap(arm, seed, loss):
    losses = np.linspace(1, 2, 20)
    return measure._gap(Beginnings(losses, losses + loss + losses / 100, losses), arm=arm, seed=seed)


def test_masks_of_zeros_are_judged_over_their_models():
    gaps = [gap("zero-after", seed, loss) for seed, loss in enumerate([0.9, 1.0, 1.1, 1.05, 0.95])]
    assert measure.verdicts(Estimates(gaps)).findings == (), "each alone is one model"
    (finding,) = measure.verdicts(measure.leaks_over_seeds(gaps)).findings
    assert (finding.claim, finding.draws) == ("zero-masks-lose-without-the-future", 5)
    assert finding.verdict == Verdict.SUPPORTED
    (left,) = measure.verdicts(measure.leaks_over_seeds(gaps[:2])).unjudged
    assert (left.runs, left.needs) == (2, 3)


@pytest.mark.parametrize(("weights", "verdict"), [([0.1, 0.33, 0.5], "SUPPORTED"), ([0.1, 0.51], "REFUTED")])
def test_what_no_single_head_can_do_is_judged_by_the_one_that_comes_nearest(weights, verdict):
    nearest = known(NEAREST, max(weights), len(weights), "counted", head="shared-qk")
    of_their_own = over_seeds("least wanted weight", [0.99, 0.98, 0.97], head="separate")
    judged = {f.claim: str(f.verdict) for f in measure.verdicts(Estimates([nearest, of_their_own])).findings}
    assert judged["shared-queries-cannot-route"] == verdict


def test_additive_attention_is_not_the_better_one_where_it_changes_nothing():
    better, same = (
        {
            finding.claim: finding.verdict
            for finding in measure.verdicts(Estimates([difference("additive", values), *BASES])).findings
        }
        for values in ([-0.03, -0.031, -0.0305, -0.032, -0.03] * 2, [0.001, -0.002, 0.003, 0.0015, 0.002] * 2)
    )
    assert better == {
        "additive-is-better-by-the-margin": Verdict.SUPPORTED,
        "additive-stays-within-the-margin": Verdict.REFUTED,
    }
    assert same == {
        "additive-is-better-by-the-margin": Verdict.REFUTED,
        "additive-stays-within-the-margin": Verdict.SUPPORTED,
    }


def test_masks_of_zeros_are_trained_for_the_first_seeds_only(tmp_path):
    lab = Mixers(
        preset=PRESETS["tiny"],
        arms=("separate", "zero-after"),
        seeds=tuple(range(5, 15)),
        material=lambda _: pytest.fail("nothing is trained"),
        folder=tmp_path,
    )
    assert lab.seeds_of("separate") == lab.seeds
    assert lab.seeds_of("zero-after") == (5, 6, 7, 8, 9)
    assert [lab.arms_of(seed) for seed in (9, 10)] == [("separate", "zero-after"), ("separate",)]


def test_a_leak_map_needs_a_sentence_that_is_long_enough():
    with pytest.raises(ValueError, match="no sentence has 9 tokens: show fewer places"):
        leak_map(stirred(MIXERS["separate"]), SENTENCES, length=9)


@pytest.mark.parametrize("arm", MIXERS)
def test_the_honesty_of_one_mixer_alone_has_a_figure(arm):
    losses = np.linspace(1, 2, 20)
    begun = {"teacher-forced loss": losses, "honest loss, filled up with PAD": losses + 0.1}
    # Only mixers that look ahead are asked for it.
    begun |= {"honest loss": losses + 0.2} if arm in LEAKING else {}
    found = [mean(name, values, OVER_SENTENCES, 0.05, arm=arm, seed=0) for name, values in begun.items()]
    figure = figures.honesty(Estimates([*found, gap(arm, 0, 0.1)]))
    assert [label.get_text().split("\n")[0] for label in figure.axes[0].get_xticklabels()] == [arm]
    assert len(figure.legends[0].get_texts()) == len(begun)


@pytest.mark.slow("verdicts on given losses, and figures of honesty, stay inside")
def test_a_run_writes_findings_figures_and_samples_and_sentences_are_scored(capsys, tmp_path, monkeypatch):
    """Trains two arms, paints all figures, and scores sentences twice."""
    monkeypatch.setattr(measure, "routed", lambda seed, **_: Routed(np.eye(3)[NEXT] * (0.9 + 0.01 * seed)))
    for name in ("train", "validation", "test"):
        (tmp_path / name).write_text("a cat runs\nthe dog sits\na dog runs\n" * 4)
    texts = [part for name in ("train", "validation", "test") for part in (f"--{name}", str(tmp_path / name))]
    out = tmp_path / "run"
    few = ["--seeds", "1", "--arms", "separate", "zero-after", "--processes", "1"]
    main(["mixers", "run", *texts, *few, "--out", str(out)])
    names = {path.name for path in out.iterdir()}
    assert {"mixers.json", "leaks.png", "honesty.svg", "routing.png", "samples.txt", "mixers.run.json"} <= names
    told = json.loads((out / "mixers.run.json").read_text())
    assert told["seconds_per_step"].keys() == {"separate", "zero-after"}
    assert all(0 < low <= middle <= high for low, middle, high in told["seconds_per_step"].values())
    estimates = json.loads((out / "estimates.json").read_text())
    honest = [e["setting"]["arm"] for e in estimates if e["quantity"] == "honest loss"]
    assert honest == ["zero-after"]
    single = [e for e in estimates if e["quantity"] == "perplexity of a sentence"]
    assert {(e["setting"]["arm"], e["setting"]["sentence"]) for e in single} == {
        (arm, sentence) for arm in ("separate", "zero-after") for sentence in ASKED
    }
    capsys.readouterr()
    model = str(out / "models" / "seed-0" / "separate")
    assert main(["mixers", "score", model, "--text", str(tmp_path / "test")]) == 0
    assert "separate: loss" in capsys.readouterr().out
    assert main(["mixers", "score", model, "--text", str(tmp_path / "test"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["sentence"] for row in rows] == (tmp_path / "test").read_text().splitlines()
    assert all(row["losses"][model] > 0 for row in rows)


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        (("additive", "shared-qk", "shared-qkv"), "Additive scores, Q = K and Q = K = V each have"),
        (("shared-qk",), "Attention with Q = K has"),
    ],
)
def test_a_title_names_the_mixers_whose_losses_are_within_the_margin(arms, said):
    values = [0.0001 * n for n in range(10)]
    found = Estimates((*(over_seeds(DIFFERENCE, values, arm=arm) for arm in arms), *BASES))
    title = figures.equivalence(found, measure.verdicts(found).findings).get_suptitle()
    assert title.split("\n")[0] == f"{said} a mean test loss"
    undecided = figures.equivalence(found, Findings()).get_suptitle()
    assert "None of these three kinds" in undecided if len(arms) > 1 else "is not shown to have" in undecided
