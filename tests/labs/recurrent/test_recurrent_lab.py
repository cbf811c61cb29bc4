"""The recurrent lab: equal sizes, gradients by distance, garbled words, tuning runs, verdicts."""

import dataclasses
import functools
import json
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.cli import main
from attnlab_theory.labs.estimates import ANYTHING, Estimates, over_seeds
from attnlab_theory.labs.recurrent import figures, measure, tasks, tuning
from attnlab_theory.labs.recurrent.arms import ARMS, TINY, ActivationName, Arm
from attnlab_theory.labs.recurrent.claims import GAIN, GAIN_BY_SIZE
from attnlab_theory.labs.recurrent.distances import gradient_norms
from attnlab_theory.labs.recurrent.lab import KINDS, Networks, config_of, first
from attnlab_theory.labs.recurrent.letters import by_letters, in_a_row
from attnlab_theory.labs.recurrent.samples import garbled, texts
from attnlab_theory.labs.recurrent.tuning import SETTINGS, Tuned, tuned
from attnlab_theory.labs.sentences import Material, Sizes, generated
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.models.gpt import parameter_count
from attnlab_theory.language.models.recurrent import Activation, Recurrent, RecurrentConfig
from attnlab_theory.language.text.words import Words

EQUAL = TINY.arms("equal")


@pytest.mark.slow("sizes that are chosen by the number of parameters stay inside")
def test_all_arms_have_as_many_parameters_within_three_per_cent():
    """Draws the first weights of every arm."""
    counts = [parameter_count(first(config_of(arm, TINY, 102), 0)) for arm in EQUAL]
    assert max(counts) / min(counts) < 1.03


@pytest.mark.slow("gradients of a recurrent network against differences stay inside")
@pytest.mark.parametrize("arm", EQUAL, ids=ARMS)
def test_gradients_by_distance_are_those_of_differences(arm):
    """Differentiates the model twice: by distance as the lab does, and by a table of tokens."""
    model = first(config_of(arm, TINY, 12), 0)
    rows = np.array([[1, 4, 7, 2, 9], [3, 3, 5, 8, 1]], np.int32)
    found = gradient_norms(model, rows)
    assert found.shape == (2, 4)
    table = "u" if arm.cell != "gpt" else "tokens"

    def lost(rows_of_vectors):
        """With a vocabulary in which every place of the first row has a token of its own."""
        import equinox as eqx

        wide = eqx.tree_at(lambda m: getattr(m, table), model, rows_of_vectors)
        return -jax.nn.log_softmax(wide.rows(jnp.asarray(rows[:1, :-1]))[0, -1])[rows[0, -1]]

    gradient = np.asarray(jax.grad(lost)(getattr(model, table)))
    # The tokens of the first row differ, so that each row of the table stands at one place.
    wanted = np.linalg.norm(gradient[rows[0, :-1]], axis=1)[::-1]
    np.testing.assert_allclose(found[0], wanted, rtol=1e-4)


def test_texts_end_at_eos_and_garbled_words_are_counted():
    text = Words(("_", "a", "b"))
    model = Recurrent(RecurrentConfig(vocabulary=len(text), hidden=4), key=jax.random.key(0))
    drawn = texts(jax.random.key(1), model, text, count=20, steps=12)
    assert len(drawn) == 20
    assert drawn != texts(jax.random.key(2), model, text, count=20, steps=12)
    assert garbled([["a", "xx", "a"], ["", "b"]], {"a", "b"}) == 0.25
    with pytest.raises(ValueError, match="every text is empty"):
        garbled([[""]], {"a"})
    crossed = Recurrent(RecurrentConfig(vocabulary=len(text), hidden=4, cell="w-rnn"), key=jax.random.key(0))
    with pytest.raises(ValueError, match="only the RNN writes"):
        texts(jax.random.key(1), crossed, text, count=1, steps=2)


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("cell", ["rnn", "w-rnn"])
def test_a_tuning_run_starts_at_the_uniform_loss_and_learns(cell):
    setting = Tuned(cell=cell, hidden=8, length=10, rate=0.05, published=0.0)
    losses = tuned(setting, np.arange(400) % 4, 4, steps=1500, seed=0)
    assert losses[0] == pytest.approx(np.log(4), abs=1e-3)
    assert losses[-1] < 1.1
    with pytest.raises(ValueError, match="a text of 10 tokens has no window of 10: take one of 11 or more"):
        tuned(setting, np.zeros(10, int), 4, steps=1, seed=0)


def test_the_homeworks_settings_are_all_there():
    assert len({setting.name for setting in SETTINGS}) == 8


def test_every_setting_has_a_colour_and_within_its_panel_a_dash_of_its_own():
    rows = [
        {"name": s.name, "cell": s.cell, "sizes": s.sizes, "activation": "sigmoid", "published": s.published}
        | {"steps": [1, 2], "losses": [4.0, 3.0 + number / 10 + seed / 100], "seed": seed}
        for number, s in enumerate(SETTINGS)
        for seed in range(2)
    ]
    figure = figures.tuning(rows, tuning.last_losses(rows))
    panels = [[line for line in ax.lines if not str(line.get_label()).startswith("_")] for ax in figure.axes]
    assert [len(lines) for lines in panels] == [3, 5]
    assert len({line.get_color() for lines in panels for line in lines}) == 8
    for lines in panels:
        assert len({str(vars(line)["_dash_pattern"]) for line in lines}) == len(lines)
    assert (
        "3.00 nats per character:\nthat of the RNN with 160 units, windows of 30 characters, rate 0.01"
        in figure.get_suptitle()
    )


@pytest.mark.slow("a tuning run of one activation, which paints nothing, stays inside")
def test_tuning_runs_on_a_text_are_written_and_drawn(tmp_path, capsys, monkeypatch):
    """Trains a setting with two seeds, and paints a figure."""
    (tmp_path / "text").write_text("to be or not to be, that is the question\n" * 5)
    monkeypatch.setattr(tuning, "SETTINGS", SETTINGS[:1])
    out = tmp_path / "out"
    assert (
        main(["recurrent", "tune", str(tmp_path / "text"), "--windows", "20", "--seeds", "2", "--out", str(out)])
        == 0
    )
    assert "rnn 160/30/0.01" in capsys.readouterr().out
    assert {"tuning.json", "tuning.svg", "tuning.png"} <= {path.name for path in out.iterdir()}
    assert main(["recurrent", "tune", str(tmp_path / "text"), "--windows", "0"]) == 2
    assert main(["recurrent", "tune", str(tmp_path / "nothing")]) == 2


def test_a_text_that_is_too_short_is_refused_before_anything_is_made(tmp_path, capsys):
    (tmp_path / "text").write_text("to be or not to be\n")
    out = tmp_path / "out"
    assert main(["recurrent", "tune", str(tmp_path / "text"), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "a text of 19 tokens has no window of 30: take one of 31 or more" in said
    assert "tuning rnn" not in said
    assert not out.exists()


@pytest.mark.usefixtures("unpainted")
def test_the_activations_are_the_homeworks_and_a_misspelt_one_is_refused(tmp_path, capsys, monkeypatch):
    """Trains a recurrent network of the homework's size."""
    assert get_args(ActivationName) == tuple(Activation)
    for command in (["tune", "text"], ["run"]):
        assert main(["recurrent", *command, "--activation", "softplus"]) == 2
        assert "softplus" in capsys.readouterr().err
    (tmp_path / "text").write_text("to be or not to be, that is the question\n" * 5)
    monkeypatch.setattr(tuning, "SETTINGS", SETTINGS[:1])
    told = ["--windows", "20", "--seeds", "1", "--activation", "gelu", "--out", str(tmp_path / "out")]
    assert main(["recurrent", "tune", str(tmp_path / "text"), *told, "--json"]) == 0
    (estimate,) = json.loads(capsys.readouterr().out)["estimates"]
    assert estimate["setting"]["setting"] == "rnn 160/30/0.01 gelu"
    (row,) = json.loads((tmp_path / "out" / "tuning.json").read_text())
    assert (row["activation"], row["name"]) == ("gelu", "rnn 160/30/0.01 gelu")
    preset = dataclasses.replace(TINY, activation="relu")
    for cell in ("rnn", "w-rnn"):
        config = config_of(Arm("small", cell, preset.recipe, hidden=4), preset, 12)
        assert (config.first, config.second) == (Activation.RELU, Activation.RELU)


SMALL = dataclasses.replace(TINY, layers=1, heads=1, width=8, hidden=(4, 8))


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """`attnlab recurrent run` with small models on two small files: exit code, what was complained of, folder."""
    monkeypatch.setattr(tasks, "TINY", SMALL)
    lines = ["the cat sat on the mat and saw a big dog go home", "a dog saw the cat on the mat"]
    for name, count in (("train", 40), ("test", 10)):
        (tmp_path / name).write_text("\n".join(lines * count))
    out = tmp_path / "out"

    def run(*options, files=("train", "test")):
        given = [word for name in files for word in (f"--{name}", str(tmp_path / name))]
        alone = ["--seeds", "1", "--processes", "1"]
        code = main(["recurrent", "run", *given, *alone, "--out", str(out), *options])
        return code, capsys.readouterr().err, out

    return run


@pytest.mark.slow("nothing inside asks this; a recurrent run, judged again, stays inside")
def test_all_arms_read_equally_many_tokens_and_none_stops_early(run):
    """Trains a model of every arm for three epochs."""
    code, _, out = run("--unit", "characters", "--parts", "equal", "--epochs", "3")
    assert code == 0
    about = json.loads((out / "recurrent.run.json").read_text())
    each = 40 * (len("the cat sat on the mat and saw a big dog go home") + len("a dog saw the cat on the mat") + 2)
    assert about["equal"] == {
        "arms": list(ARMS),
        "epochs": 3,
        "tokens_read_by_each_arm": [3 * each],
        "training_sentences_cut": [0],
    }
    saved = [load_model(out / "models" / "seed-0" / arm, kinds=KINDS) for arm in ARMS]
    # 80 sentences are 3 batches of 32 or fewer.
    assert [len(each.about["losses"]) for each in saved] == [9, 9, 9]
    assert not any("validated" in each.about for each in saved)
    assert {"losses.png", "gradients.png"} <= {path.name for path in out.iterdir()}
    assert not {"growth.png", "garbled.png", "tuning.png"} & {path.name for path in out.iterdir()}
    assert json.loads((out / "recurrent.json").read_text()) == [], "one seed is no verdict"
    claims = {each["claim"] for each in about["not_judged"]}
    assert claims == {"w-rnn-beats-the-rnn", "gpt-beats-the-rnn", "recurrent-gradients-fade-further"}
    assert {(each["runs"], each["needs"]) for each in about["not_judged"]} == {(1, 3)}


@pytest.mark.slow("nothing inside asks this of arms; runs without validation stay inside")
def test_the_models_of_the_grammar_do_not_stop_early_either(tmp_path):
    small = functools.partial(generated, sizes=Sizes(train=64))
    lab = Networks(preset=TINY, seeds=(0,), material=small, letters=small, folder=tmp_path, arms=("equal",))
    runs = [stage.run for arm in lab.arms_of(0) for stage in lab.stages(arm, 0)]
    assert [run.validation for run in runs] == [None] * 3
    assert {run.steps for run in runs} == {2 * TINY.recipe.epochs}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--mean", "sentences"], "--mean"),
        (["--unit", "bpe"], "bpe"),
        (["--parts", "equal", "equal"], "arm equal is named twice; once is enough"),
        (["--parts", "equal", "--windows", "20"], "--windows is for the tuning runs"),
        (["--parts", "growth", "--epochs", "2"], "--epochs is for models at equal parameters"),
        (["--epochs", "0"], "epochs must be"),
        (["--validation", "test"], "--validation"),
        (["--least", "0"], "at least once, not 0"),
    ],
)
def test_options_that_would_do_nothing_or_cannot_be_are_refused_before_training(run, tmp_path, options, complaint):
    (tmp_path / "train").write_text(
        "\n".join(["the cat sat on the mat and saw a big dog go home once more and again"] * 40)
    )
    code, said, out = run(*options)
    assert code == 2
    assert complaint in said
    assert not out.exists()


def test_what_is_missing_or_too_short_is_refused_before_training(run, tmp_path):
    code, said, out = run("--least", "2", files=())
    assert (code, out.exists()) == (2, False)
    assert "--least is for files" in said
    code, said, out = run(files=("train",))
    assert (code, out.exists()) == (2, False)
    assert "--test is missing" in said
    (tmp_path / "test").write_text("the cat sat\na dog saw the cat on the mat\n")
    code, said, out = run()
    assert (code, out.exists()) == (2, False)
    assert "the longest test sentence has 8 tokens" in said
    assert "need one of 11 or more" in said
    for name in ("train", "test"):
        (tmp_path / name).write_text("the cat\n")
    code, said, out = run("--parts", "growth", "tuning")
    assert (code, out.exists()) == (2, False)
    assert "a text of 8 tokens has no window of 30" in said


def test_letters_spell_sentences_and_refuse_what_stands_for_a_space():
    text = Words.of([["a", "cat"]], least=1)
    material = Material(train=("a  cat",), validation=(), test=("a c\tat",), text=text)
    spelled = by_letters(material)
    assert (spelled.train, spelled.test) == (("a _ c a t",), ("a _ c _ a t",))
    assert spelled.text.decode_text(in_a_row(spelled)) == "a _ c a t _"
    with pytest.raises(ValueError, match="stands for a space where characters are read, and 'a_b'"):
        by_letters(dataclasses.replace(material, test=("a_b",)))


@pytest.mark.parametrize(
    ("quantity", "told", "claim"),
    [
        ("loss at equal parameters, less", {"model": "w-rnn", "against": "rnn"}, "w-rnn-beats-the-rnn"),
        ("slope of that by doublings of the hidden layer", {}, "w-rnn-gains-as-it-grows"),
        ("slope of that by decades of the rate", {}, "lower-rates-garble-more"),
    ],
)
@pytest.mark.parametrize(("sign", "verdict"), [(-1, Verdict.SUPPORTED), (1, Verdict.REFUTED)])
def test_conjectures_are_judged_by_sign(quantity, told, claim, sign, verdict):
    values = [sign * x for x in (0.1, 0.11, 0.12)]
    estimate = over_seeds(quantity, values, 0.05, within=ANYTHING, **told)
    (finding,) = measure.verdicts(Estimates([estimate])).findings
    assert (finding.claim, finding.verdict, finding.as_expected) == (claim, verdict, True)


@pytest.mark.parametrize(
    ("gains", "slope", "said"),
    [
        ((-0.2, -0.1), 0.1, "The W-RNN's lead over the RNN shrinks by 0.100 nats per token, on average,"),
        ((-0.1, -0.2), -0.1, "The W-RNN's lead over the RNN grows by 0.100 nats per token, on average,"),
        ((0.1, -0.1), -0.2, "The W-RNN's loss minus the RNN's changes by −0.200 nats per token, on average,"),
    ],
)
def test_a_title_says_whether_the_lead_shrinks_or_grows(gains, slope, said):
    near = (-0.001, 0.001)
    found = [over_seeds(GAIN, [gain + x for x in near], hidden=2**n) for n, gain in enumerate(gains, start=4)]
    found.append(over_seeds(GAIN_BY_SIZE, [slope + x for x in near]))
    assert figures.growth(Estimates(found)).get_suptitle().split("\n")[0] == said
