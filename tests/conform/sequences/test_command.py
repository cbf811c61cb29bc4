"""Mixers, caches and models from the command line: profiles, snippets, what strangers hand over, torch and jax."""

import json
import subprocess
import sys

import pytest

from attnlab_theory.cli import main

TARGETS = """
import os
from types import SimpleNamespace
import numpy as np


def running_mean(x):
    return np.cumsum(x, 1) / np.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]


def leaks(x):
    return running_mean(x) + (x[:, -1:] if x.shape[1] > 16 else 0)


def by_the_length(x):
    return np.cumsum(x, 1) / x.dtype.type(x.shape[1])


def raises_when_long(x):
    if x.shape[1] == 17:
        raise KeyError(17)
    return running_mean(x)


def ends_when_long(x):
    if x.shape[1] == 17:
        os._exit(3)
    return running_mean(x)


def ends_in_double_precision(x):
    if x.dtype == np.float64 and x.shape[1] == 65:
        os._exit(3)
    return running_mean(x)


def a_string(x):
    return "output"


def pooled(x):
    return x.mean(1)


def scales(x, factor):
    return factor * x


def nothing():
    return 1


def attend(x, cache=None):
    keys = x if cache is None else np.concatenate([cache, x], 1)
    keys = keys[:, -4:] if keys.shape[1] > 6 and cache is not None else keys
    t, s = x.shape[1], keys.shape[1]
    scores = np.where(np.tri(t, s, s - t, dtype=bool), x @ keys.swapaxes(1, 2), -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ keys, keys


def no_cache(x, cache=None):
    return attend(x)[0]


E = np.random.default_rng(0).standard_normal((12, 8)).astype("f4")


def model(input_ids, past_key_values=None, use_cache=False):
    y, cache = attend(E[input_ids], past_key_values)
    return SimpleNamespace(logits=y @ E.T, past_key_values=cache)


def right_model(ids):
    return running_mean(E[ids]) @ E.T


def looks_ahead(ids):
    return running_mean(E[np.roll(ids, -1, 1)]) @ E.T


def last_only(ids):
    return right_model(ids)[:, -1]
"""


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    (folder / "seqs.py").write_text(TARGETS)
    return folder


def judged(capsys, at, name, kind, *options):
    code = main(["conform", f"{at}/seqs.py::{name}", "--as", kind, "--json", *options])
    found = json.loads(capsys.readouterr().out)
    return code, found, {row["identity"]: row for row in found["rows"]}


@pytest.mark.slow("one of five members stays inside", but=1)
@pytest.mark.parametrize(
    ("name", "kind", "row"),
    [
        ("leaks", "mixer", "causality"),
        ("by_the_length", "mixer", "prefixes"),
        ("attend", "decode", "token by token"),
        ("model", "model", "token by token"),
        ("looks_ahead", "model", "causality"),
    ],
)
def test_a_snippet_shows_the_failure_without_our_package(capsys, at, tmp_path, name, kind, row):
    """Starts a process that calls the target, and one that runs the snippet."""
    code, found, rows = judged(capsys, at, name, kind)
    assert (code, rows[row]["verdict"]) == (1, "fails")
    assert 0 < len(found["snippet"]) <= 15
    assert "attnlab" not in "\n".join(found["snippet"])
    run = [sys.executable, "-W", "ignore", "-c", "\n".join(found["snippet"])]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    given, right = map(float, done.stdout.removesuffix(" is right\n").split(" where "))
    assert not abs(given - right) <= 1e-3


@pytest.mark.slow("right modules of torch stay inside")
@pytest.mark.parametrize(("name", "kind"), [("running_mean", "mixer"), ("right_model", "model")])
def test_right_code_ends_with_0(capsys, at, name, kind):
    code, found, rows = judged(capsys, at, name, kind)
    assert (code, found["snippet"]) == (0, [])
    assert {row["verdict"] for row in rows.values()} <= {"holds", "convention"}


@pytest.mark.slow("a rotation whose call ends its process stays inside")
@pytest.mark.parametrize(
    ("name", "said"), [("raises_when_long", "KeyError: 17"), ("ends_when_long", "exit status 3")]
)
def test_a_call_that_fails_is_one_line_and_the_rest_goes_on(capsys, at, name, said):
    """Judges a target whole, in processes that some calls end."""
    code, _, rows = judged(capsys, at, name, "mixer")
    assert code == 1
    assert said in rows["lengths"]["line"]
    assert rows["same result"]["verdict"] == "holds"
    assert all("\n" not in row["line"] for row in rows.values())


@pytest.mark.slow("a rotation whose call ends its process stays inside")
def test_a_call_that_one_row_alone_makes_fails_there_and_is_called_no_leak(capsys, at):
    """Judges a target whole, in processes that some calls end."""
    code, _, rows = judged(capsys, at, "ends_in_double_precision", "mixer")
    assert code == 1
    assert {name for name, row in rows.items() if row["verdict"] == "fails"} == {"causality"}
    assert "exit status 3" in rows["causality"]["line"]
    assert "x [2, 65, 8], float64" in rows["causality"]["line"]


@pytest.mark.slow("two of 15 members stay inside", but=2)
@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("a_string", ["--as", "mixer"], "gave numbers of type <U6"),
        ("pooled", ["--as", "mixer"], "gave [3, 8] where [3, 5, 'o'] was expected"),
        ("scales", ["--as", "mixer"], "nobody knows what to give for factor"),
        ("nothing", ["--as", "mixer"], "takes no arguments"),
        ("running_mean", ["--as", "decode"], "has no parameter for a cache"),
        ("no_cache", ["--as", "decode"], "2 things were expected; return them all, a cache changed in place too"),
        ("last_only", ["--as", "model"], "gave [2, 12] where [2, 5, 'o'] was expected"),
        ("running_mean", ["--as", "mixer", "--width", "0"], "--width is at least 1, not 0"),
        ("running_mean", ["--as", "mixer", "--scale", "one"], "--scale says nothing of --as mixer"),
        ("running_mean", ["--as", "mixer", "--layout", "bhtd"], "--layout is btd, tbd, td, not bhtd"),
        ("running_mean", ["--as", "mixer", "--accumulate", "float32"], "--accumulate says nothing of --as mixer"),
        ("running_mean", ["--as", "causal", "--causal"], "--causal says nothing of --as causal"),
        ("running_mean", ["--as", "causal", "--layout", "tbd"], "--layout tbd says nothing of --as causal"),
        ("right_model", ["--as", "model", "--vocab", "1"], "--vocab is at least 2, not 1"),
        (
            "attend",
            ["--as", "decode", "--layout", "htd"],
            "--layout is btd, tbd, td, not htd",
        ),
    ],
)
def test_what_cannot_be_called_gets_one_line_and_exit_code_2(capsys, at, name, options, said):
    assert main(["conform", f"{at}/seqs.py::{name}", *options]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, err.count("\n")) == ("", 1)


@pytest.mark.slow("the next line to type for one rotation stays inside")
@pytest.mark.parametrize(
    ("name", "kind"),
    [("running_mean", "mixer"), ("attend", "decode"), ("model", "model"), ("right_model", "model")],
)
def test_without_a_kind_the_next_line_to_type_is_printed(capsys, at, name, kind):
    assert main(["conform", f"{at}/seqs.py::{name}"]) == 0
    assert capsys.readouterr().out.rstrip().endswith(f"Type next: attnlab conform {at}/seqs.py::{name} --as {kind}")


@pytest.mark.slow("a pytest plugin that imports no jax stays inside")
def test_a_numpy_model_is_judged_without_jax_and_torch(at):
    code = (
        "import sys; from attnlab_theory.cli import main;"
        f"code = main(['conform', '{at}/seqs.py::right_model', '--as', 'model']);"
        "assert not {'jax', 'torch'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


TORCH = """
import torch


class Model(torch.nn.Module):
    def __init__(self, drop=0.0):
        super().__init__()
        self.embed, self.drop = torch.nn.Embedding(20, 16), torch.nn.Dropout(drop)
        self.rnn, self.out = torch.nn.GRU(16, 16, batch_first=True), torch.nn.Linear(16, 20)

    def forward(self, input_ids, cache=None):
        y, cache = self.rnn(self.drop(self.embed(input_ids)), cache)
        return self.out(y), cache


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()

    def forward(self, x):
        mask = torch.nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        return self.inner(x, x, x, attn_mask=mask, need_weights=False)[0]


class Bidirectional(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.GRU(16, 16, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)[0]


torch.manual_seed(0)
model, drops = Model().eval(), Model(0.5)
bidirectional = Bidirectional()
"""


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "kind", "options", "failing"),
    [
        ("model", "model", [], set()),
        ("Layer", "mixer", [], set()),
        ("bidirectional", "mixer", [], set()),
        ("bidirectional", "mixer", ["--causal"], {"causality", "prefixes"}),
    ],
)
def test_modules_of_torch_are_judged_as_they_are(capsys, tmp_path, name, kind, options, failing):
    pytest.importorskip("torch")
    (tmp_path / "seqs.py").write_text(TORCH)
    code, found, rows = judged(capsys, tmp_path, name, kind, *options)
    assert {name for name, row in rows.items() if row["verdict"] == "fails"} == failing
    assert (code, found["conventions"]["framework"]) == (int(bool(failing)), "torch")


@pytest.mark.torch
def test_a_module_of_torch_in_training_mode_gets_the_remedy(capsys, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "seqs.py").write_text(TORCH)
    assert main(["conform", f"{tmp_path}/seqs.py::drops", "--as", "model"]) == 2
    assert "hand over module.eval()" in capsys.readouterr().err


JAX = """
import jax, jax.numpy as jnp


@jax.jit
def running_mean(x):
    return jnp.cumsum(x, 1) / jnp.arange(1, x.shape[1] + 1)[:, None]
"""


@pytest.mark.slow("mixers and models of torch stay inside")
def test_a_mixer_of_jax_is_judged_at_few_shapes(capsys, tmp_path):
    """Starts a process, which imports jax and compiles the target at each length."""
    (tmp_path / "seqs.py").write_text(JAX)
    code, found, rows = judged(capsys, tmp_path, "running_mean", "mixer")
    assert (code, found["conventions"]["framework"], rows["causality"]["verdict"]) == (0, "jax", "holds")
