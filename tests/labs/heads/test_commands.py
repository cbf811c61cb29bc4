"""attnlab heads: a whole small run, and what bad input gets."""

import functools
import json
from pathlib import Path

import jax
import pytest
from matplotlib.figure import Figure

from attnlab_theory.cli import main
from attnlab_theory.labs.engine.record import Results
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads import families, losses, texts
from attnlab_theory.language.checkpoint import save_model
from attnlab_theory.language.corpora import labelled_grammar
from attnlab_theory.language.models.approximations import FeatureMap, RandomFeatures, Window
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.text.words import Words
from tests.labs.heads.classifiers import TEXT, classifier

REFERENCE = Path(__file__).parents[2] / "language" / "reference"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    text = Words(labelled_grammar.embedded().words)
    net = GPT(GPTConfig(vocabulary=len(text), block=32, layers=2, heads=2, width=16), key=jax.random.key(0))
    net = jax.tree.map(lambda x: x + 0.3 * jax.random.normal(jax.random.key(x.size), x.shape), net)
    path = tmp_path_factory.mktemp("models") / "gpt"
    save_model(path, net, text, {})
    return path


@pytest.mark.slow("heads that are counted without a verdict stay inside")
def test_a_small_run_writes_findings_and_figures(checkpoint, tmp_path, capsys):
    """Measures every head on 400 sentences, and paints four figures."""
    out = tmp_path / "heads"
    asked = ["--sentences", "400", "--occurrences", "100", "--predicted", "20", "--out", str(out), "--json"]
    assert main(["heads", str(checkpoint), *asked]) == 0
    told = json.loads(capsys.readouterr().out)
    told = told["premises"]
    assert len([f for f in told["findings"] if f["claim"] == "the-noisy-length-matters"]) == 4
    assert {"the", "."} <= set(told["types"])
    written = {path.name for path in out.iterdir()}
    for name in ("premises", "habits", "bluntness", "calibration"):
        assert {f"{name}.svg", f"{name}.png"} <= written
    assert {f"premises.{each}.json" for each in ("findings", "estimates", "types", "run")} <= written
    assert json.loads((out / "premises.findings.json").read_text()) == told["findings"]
    tenths = [e["setting"] for e in told["estimates"] if e["quantity"] == "mean weight by prediction"]
    assert {(each["layer"], each["tenth"]) for each in tenths} == {(i, j) for i in (1, 2) for j in range(1, 11)}
    assert {f["claim"] for f in told["findings"]} >= {"queries-leave-keys-alone", "keys-move-alone"}


@pytest.mark.slow("heads that are not judged, counted for each question, stay inside")
@pytest.mark.usefixtures("unpainted")
def test_where_nothing_is_tied_it_says_that_gambles_were_not_judged(checkpoint, tmp_path, capsys):
    """Measures every head on 121 sentences."""
    text = tmp_path / "text"
    long = " ".join(["the film was good ."] * 7)
    text.write_text("\n".join([*["the film was good .", "the plot was bad ."] * 60, long]))
    asked = ["--occurrences", "100", "--predicted", "20", "--out", str(tmp_path / "heads")]
    assert main(["heads", str(checkpoint), str(text), *asked]) == 0
    out, err = capsys.readouterr()
    assert "Not judged in any layer: whether heads gamble, and whether the layer hedges." in " ".join(out.split())
    # What a user must know of how the text was read stands first, and in the files.
    remark = f"1 of 121 sentences is longer than {checkpoint} takes, 32 tokens: cut"
    assert err.splitlines()[0] == remark
    run = json.loads((tmp_path / "heads" / "premises.run.json").read_text())
    assert (run["cut"], run["remarks"]) == (1, [remark])


def test_a_figure_of_an_earlier_run_does_not_stay_beside_the_next_one(tmp_path):
    kept = {"estimates": Estimates(), "verdicts": families.verdicts(Estimates())}
    draw = functools.partial(Figure, figsize=(1, 1))
    for other in (draw, None):
        found = Results(**kept, figures={"one": draw, "other": other})
        found.write("findings", tmp_path, prefix="premises.")
        assert (tmp_path / "one.png").exists()
        assert [(tmp_path / f"other.{kind}").exists() for kind in ("svg", "png")] == [other is not None] * 2


@pytest.mark.slow("nothing inside asks for parts; figures of an earlier run stay inside")
def test_parts_are_asked_for_apart(checkpoint, tmp_path, capsys):
    """Takes every layer apart on 30 sentences, and paints a figure."""
    out = tmp_path / "heads"
    assert main(["heads", str(checkpoint), "--parts", "collapse", "--few", "30", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "attention alone" in told
    written = {path.name for path in out.iterdir()}
    assert {"collapse.svg", "collapse.png", "collapse.findings.json", "collapse.run.json"} <= written
    assert not any(name.startswith("premises") for name in written)


@pytest.fixture(scope="module")
def answering(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "classifier"
    save_model(path, classifier(), TEXT, {})
    return path


@pytest.mark.slow("labels that are read, and McNemar's test of every head, stay inside")
def test_a_classifier_is_asked_what_it_can_do_without(answering, tmp_path, capsys, monkeypatch):
    """The grammar's reviews have labels; so the accuracy is measured of both parts. Few programs are compiled."""
    tried = (RandomFeatures(budget=256, kind=FeatureMap.POSITIVE), Window(budget=9))
    monkeypatch.setattr(losses, "approximations", lambda *, causal, most_features: tried)
    out = tmp_path / "heads"
    asked = [
        "--parts",
        "ablations",
        "approximations",
        "--sentences",
        "60",
        "--few",
        "20",
        "--out",
        str(out),
        "--json",
    ]
    assert main(["heads", str(answering), *asked]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"ablations", "approximations"}
    claims = {f["claim"] for part in told.values() for f in part["findings"]}
    assert {
        "the-head-is-needed",
        "the-model-does-without-the-head",
        "the-head-survives",
        "the-model-survives",
    } <= claims
    written = {path.name for path in out.iterdir()}
    for name in ("ablations", "pairs", "survival", "budgets", "ranks", "replaced"):
        assert {f"{name}.svg", f"{name}.png"} <= written
    assert json.loads((out / "ablations.run.json").read_text())["margins"] == {"spared": 0.01}


@pytest.mark.slow("a text whose labels are not read stays inside")
@pytest.mark.usefixtures("unpainted")
def test_a_gpts_heads_are_approximated_without_labels(checkpoint, tmp_path, capsys, monkeypatch):
    """No accuracy is told of a model that gives no labels."""
    tried = (RandomFeatures(budget=256, kind=FeatureMap.POSITIVE), Window(budget=9))
    monkeypatch.setattr(losses, "approximations", lambda *, causal, most_features: tried if causal else ())
    out = tmp_path / "heads"
    asked = ["--parts", "approximations", "--sentences", "40", "--few", "20", "--out", str(out), "--json"]
    assert main(["heads", str(checkpoint), *asked]) == 0
    (part,) = json.loads(capsys.readouterr().out).values()
    claims = {f["claim"] for f in part["findings"]}
    assert "the-head-survives" in claims
    assert "the-model-survives" not in claims
    written = {path.name for path in out.iterdir()}
    assert {"survival.svg", "approximations.findings.json"} <= written
    assert "replaced.svg" not in written


def test_labels_are_read_only_if_said(tmp_path):
    path = tmp_path / "reviews.txt"
    path.write_text("1 star and no more .\n0 bad .\n")
    told = []
    plain, labelled = (
        texts.text_of(path, labelled=each, sentences=9, seed=0, tell=told.append) for each in (False, True)
    )
    assert told == [f"{path}: every line begins with a label, which is read as a word; --labelled reads labels"]
    assert plain.sentences[0] == "1 star and no more ."
    assert plain.labels is None
    assert (labelled.sentences[0], labelled.labels.tolist()) == ("star and no more .", [1, 0])


@pytest.mark.slow("that drawn reviews follow from the seed stays inside")
def test_without_a_text_the_review_lab_lends_what_it_tests_with():
    from attnlab_theory.language.corpora.reviews import Sizes, drawn

    assert texts.text_of(None, labelled=False, sentences=7, seed=3).sentences == drawn(3, Sizes())[2].texts[:7]


@pytest.mark.slow("a text whose words are too rare, which is refused, stays inside")
def test_bad_input_gets_one_line_and_exit_code_two(checkpoint, tmp_path, capsys):
    """Runs the command for every complaint; some read the model before they refuse."""
    few = tmp_path / "few.txt"
    few.write_text("a man is standing .\n" * 50)
    for arguments, complaint in (
        ([str(tmp_path / "none")], "there is no checkpoint"),
        ([str(checkpoint), str(tmp_path / "none.txt")], "there is no file"),
        ([str(checkpoint), str(few)], "occurs 50 times; take a text 4 times as long"),
        ([str(REFERENCE / "gpt2_plain")], "knows 11 tokens, and GPT-2's vocabulary has 50,257"),
        ([str(checkpoint), "--sentences", "0"], "--sentences must be at least 1, not 0"),
        ([str(checkpoint), "--seed", "-1"], "seed must be between 0 and"),
        ([str(checkpoint), "--predicted", "-1"], "--predicted must not be negative"),
        ([str(checkpoint), "--parts", "collapse", "--few", "0"], "--few must be at least 1"),
        (
            [str(checkpoint), "--parts", "collapse", "--few", "4"],
            "at least 10 sentences, or groups of them, not 4: take more",
        ),
        ([str(checkpoint), "--most-features", "1000"], "--most-features must be at least 1024, not 1000"),
        ([str(checkpoint), "--controls", "1"], "--controls must be 0 or at least 2, not 1"),
        ([str(checkpoint), "--controls", "-1"], "--controls must not be negative"),
        ([str(checkpoint), "--parts", "nothing"], "nothing"),
        ([str(checkpoint), "--parts", "ablations"], "gives none: name a classifier that reviews train wrote"),
        ([str(checkpoint), str(few), "--parts", "ablations"], "read without any: write each line as LABEL text"),
        ([str(checkpoint), str(few), "--labelled"], "line 1 of"),
    ):
        assert main(["heads", *arguments, "--out", str(tmp_path / "out")]) == 2
        (said,) = capsys.readouterr().err.strip().splitlines()
        assert complaint in said
        assert not (tmp_path / "out").exists()
