"""The recurrent lab: equal sizes, gradients by distance, garbled words, tuning runs, verdicts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.cli import main
from attnlab_theory.labs.estimates import Estimates, over_seeds
from attnlab_theory.labs.recurrent import arms, findings, results
from attnlab_theory.labs.recurrent.distances import gradient_norms
from attnlab_theory.labs.recurrent.presets import ARMS, TINY
from attnlab_theory.labs.recurrent.tuning import SETTINGS, Tuned, tuned
from attnlab_theory.labs.recurrent.writing import garbled, texts
from attnlab_theory.language.models.gpt import parameter_count
from attnlab_theory.language.models.recurrent import Recurrent, RecurrentConfig
from attnlab_theory.language.text.words import Words


def test_all_arms_have_as_many_parameters_within_three_per_cent():
    counts = [parameter_count(arms.first(arms.config_of(arm, TINY, 102), jax.random.key(0))) for arm in ARMS]
    assert max(counts) / min(counts) < 1.03


@pytest.mark.parametrize("arm", ARMS)
def test_gradients_by_distance_are_those_of_differences(arm):
    model = arms.first(arms.config_of(arm, TINY, 12), jax.random.key(0))
    rows = np.array([[1, 4, 7, 2, 9], [3, 3, 5, 8, 1]], np.int32)
    found = gradient_norms(model, rows)
    assert found.shape == (2, 4)
    table = "u" if arm != "gpt" else "tokens"

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


@pytest.mark.parametrize("cell", ["rnn", "w-rnn"])
def test_a_tuning_run_starts_at_the_uniform_loss_and_learns(cell):
    setting = Tuned(cell=cell, hidden=8, length=10, rate=0.05, published=0.0)
    losses = tuned(setting, np.arange(400) % 4, 4, steps=1500, seed=0)
    assert losses[0] == pytest.approx(np.log(4), abs=1e-3)
    assert losses[-1] < 1.1
    with pytest.raises(ValueError, match="a text of 10 tokens has no window of 10"):
        tuned(setting, np.zeros(10, int), 4, steps=1, seed=0)


def test_the_homeworks_settings_are_all_there():
    assert len({setting.name for setting in SETTINGS}) == 8


def test_tuning_runs_on_a_text_are_written_and_drawn(tmp_path, capsys, monkeypatch):
    (tmp_path / "text").write_text("to be or not to be, that is the question\n" * 5)
    monkeypatch.setattr(results, "SETTINGS", SETTINGS[:1])
    out = tmp_path / "out"
    assert (
        main(["recurrent", "tune", str(tmp_path / "text"), "--windows", "20", "--seeds", "2", "--out", str(out)])
        == 0
    )
    assert "rnn 160/30/0.01" in capsys.readouterr().out
    assert {"tuning.json", "tuning.svg", "tuning.png"} <= {path.name for path in out.iterdir()}
    assert main(["recurrent", "tune", str(tmp_path / "text"), "--windows", "0"]) == 2
    assert main(["recurrent", "tune", str(tmp_path / "nothing")]) == 2
    assert main(["recurrent", "run", "--unit", "bpe"]) == 2


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
    (finding,) = findings.verdicts(Estimates([over_seeds(quantity, values, 0.05, within=findings.ANY, **told)]))
    assert (finding.claim, finding.verdict, finding.as_expected) == (claim, verdict, True)
