"""What a failure shows is made again by a few lines that need the target and its framework, and not attnlab."""

import contextlib
import re
import subprocess
import sys

import pytest

from attnlab_theory.conform.callers import Fenced, place_of
from attnlab_theory.conform.suite import suite_class

TARGETS = """
import numpy as np

def whole(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v

def wrong_at_17(q, k, v):
    return whole(q, k, v) * q.dtype.type(1.001 if k.shape[-2] == 17 else 1)

def elements_mixed(q, k, v):
    return whole(q, k, v + q.dtype.type(1e-3) * v.mean(0, keepdims=True))

lengths = []

def remembers(q, k, v):
    lengths.append(q.shape[-2])
    return whole(q, k, v) * q.dtype.type(1.01 if 9 in lengths[-2:-1] else 1)

class Shared:
    asked = set()
    def __call__(self, q, k, v):
        self.asked.add(id(self))
        return whole(q, k, v) * q.dtype.type(len(self.asked))

buffers = {}

def one_buffer(q, k, v):
    out = buffers.setdefault((q.shape, v.shape, q.dtype), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype))
    out[...] = whole(q, k, v)
    return out

masks = {}

def mask_by_length(q, k, v, causal=False):
    t, s = q.shape[-2], k.shape[-2]
    seen = masks.setdefault((t, s), np.tri(t, s, s - t if causal else s, dtype=bool))
    scores = np.where(seen, q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5), -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v

def linear(q, k, v):
    f = lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    k, v = f(k), v + q.dtype.type(1e-3) * v.mean(1, keepdims=True)
    return f(q) @ (np.swapaxes(k, -1, -2) @ v) / (f(q) @ k.sum(-2)[..., None])

def running_mean(x):
    return np.cumsum(x, 1) / np.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]

def batch_in_means(x):
    mean = running_mean(x)
    return mean + x.dtype.type(0.1) * mean.mean(0, keepdims=True)

def wrong_in_float64(x):
    return running_mean(x) * (1.001 if x.dtype == np.float64 else 1)

def contiguous_only(x):
    return running_mean(x if x.flags.c_contiguous else np.ascontiguousarray(x)[:, ::-1])

def drops_a_rest(x):
    return running_mean(x[:, : len(x[0]) // 16 * 16] if len(x[0]) > 16 else x)

def writes(x):
    x *= 2
    return running_mean(x)

def step(x, cache=None):
    cache = 0 * x[:, :0] if cache is None else cache
    seen = np.concatenate([cache, x], 1)
    return running_mean(seen)[:, cache.shape[1] :], seen

def elements_mixed_in_a_step(x, cache=None):
    out, seen = step(x, cache)
    return (out if cache is None else out + x.dtype.type(1e-3) * out.mean(0)), seen

KEPT = {}

def caches_are_shared(x, cache=None):
    if cache is not None:
        cache = KEPT["cache"]
    out, KEPT["cache"] = step(x, cache)
    return out, {"cache": KEPT["cache"]}

def drops(q, k, v, p=0.0, seed=0):
    r = np.random.default_rng() if q.shape[-2] == 9 else np.random.default_rng(seed)
    scores = q @ np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    return weights * (r.random(weights.shape) >= p) / (1 - p) @ v

def features(x, seed=0):
    w = np.random.default_rng(seed).standard_normal((x.shape[-1], 64))
    x = x * x.shape[-1] ** -0.25
    raised = x @ w - 0.5 * (x * x).sum(-1, keepdims=True)
    return np.exp(raised - raised.max()) / 8

table = np.random.default_rng(0).standard_normal((20, 20)).astype("f4")

def model(input_ids, attention_mask=None):
    return {"logits": running_mean(table[input_ids])}
"""

TORCH = """
import torch

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, c):
        return 2 * c

def attend(q, k, v):
    return (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1) @ v

buffers = {}

def one_buffer(q, k, v):
    out = attend(q, k, v)
    return buffers.setdefault((out.shape, out.dtype), torch.empty_like(out)).copy_(out)

def slope_of_keys(q, k, v):
    return attend(q, Doubled.apply(k), v)

def forgets(q, k, v, state=None):
    outs, state = [], 0 * k[..., 0, :, None] * v[..., 0, None, :]
    for t in range(q.shape[-2]):
        state = state + k[..., t, :, None] * v[..., t, None, :]
        outs.append((q[..., t, :, None] * state).sum(-2))
    return torch.stack(outs, -2), state

def positions_begin_again(q, k, v, cache=None):
    n = q.shape[-2]
    k = k + torch.arange(n)[:, None].to(k.dtype)
    past = k[..., :0, :], v[..., :0, :]
    k, v = (torch.cat(each, -2) for each in zip(cache or past, (k, v)))
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    seen = torch.ones(n, k.shape[-2]).tril(k.shape[-2] - n).bool()
    return scores.masked_fill(~seen, float("-inf")).softmax(-1) @ v, (k, v)

def drops_too_few(q, k, v, p=0.0):
    weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
    return torch.nn.functional.dropout(weights, p / 2) @ v

def features_off(x, generator):
    w = torch.randn(x.shape[-1], 64, generator=generator).to(x.dtype)
    x = x * x.shape[-1] ** -0.25
    return torch.exp(x @ w - 0.4 * (x * x).sum(-1, keepdim=True)) / 8
"""

JAX = """
import jax
import jax.numpy as jnp

@jax.custom_jvp
def doubled(x):
    return x

doubled.defjvp(lambda xs, ts: (xs[0], 2 * ts[0]))

def slope_of_values(q, k, v):
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5, -1) @ doubled(v)

def forgets(q, k, v, state=None):
    state = jnp.cumsum(k[..., None] * v[..., None, :], -3)
    return (q[..., None] * state).sum(-2), state[..., -1, :, :]

def last_step_counts(x, cache=None):
    seen = x if cache is None else jnp.concatenate([cache[:, 1:], x], 1)
    mean = jnp.cumsum(seen, 1) / jnp.arange(1, seen.shape[1] + 1)[:, None]
    return mean.at[:, 0].multiply(1)[:, -x.shape[1] :], seen
"""


@pytest.fixture
def at(tmp_path):
    for name, text in (("targets", TARGETS), ("of_torch", TORCH), ("of_jax", JAX)):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def lines_of(at, target, kind, identity, other=None, **declared):
    """The snippet of one identity that fails, as the command makes it."""
    named = [f"{at}/{each}" for each in (target, other) if each]
    with contextlib.ExitStack() as block:
        suite = suite_class(kind)(block.enter_context(Fenced(named[0])), kind, declared)
        if other:
            suite.against(block.enter_context(Fenced(named[1])))
        rows = [*suite.rows((identity,))]
        assert [row.verdict for row in rows] == ["fails"]
        places = [place_of(each) for each in named]
        return suite.snippet(places[0], rows) or suite.replay(places, rows)


def run(lines, folder):
    """What a snippet prints, and how it ends, where attnlab cannot be imported."""
    assert 0 < len(lines) <= 15
    assert "attnlab" not in "\n".join(lines)
    code = "\n".join(["import sys", "sys.modules['attnlab_theory'] = None", *lines])
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_shows(printed, least=0.0):
    """Two numbers that are apart by more than they were printed off, and by more than is said."""
    given, right = re.fullmatch(r"(\S+) where (\S+) is right\n", printed).groups()
    assert abs(float(given) - float(right)) > max(1e-5 * abs(float(right)), least)


@pytest.mark.slow("failures of torch that torch shows stay inside")
@pytest.mark.parametrize(
    ("name", "kind", "identity", "declared"),
    [
        ("elements_mixed", "softmax", "elements apart", {}),
        ("remembers", "softmax", "same result", {}),
        ("Shared", "softmax", "two objects", {}),
        ("one_buffer", "softmax", "outputs stay", {}),
        ("mask_by_length", "causal", "flag", {}),
        ("linear", "linear", "elements apart", {"features": "elu"}),
        ("drops", "dropout", "seeds", {}),
        ("features", "random-features", "rows apart", {}),
        ("batch_in_means", "mixer", "elements apart", {}),
        ("wrong_in_float64", "mixer", "float64", {}),
        ("contiguous_only", "mixer", "non-contiguous", {}),
        ("writes", "mixer", "inputs unchanged", {}),
        ("elements_mixed_in_a_step", "decode", "elements apart", {}),
        ("caches_are_shared", "decode", "two caches", {}),
        ("model", "model", "padding left", {}),
    ],
)
def test_a_failure_of_any_identity_is_shown_by_its_own_calls(at, tmp_path, name, kind, identity, declared):
    """Starts a process that fails an identity, and another that runs the snippet."""
    assert_shows(run(lines_of(at, f"targets.py::{name}", kind, identity, **declared), tmp_path))


@pytest.mark.slow("two functions that are compared, without a snippet, stay inside")
def test_two_functions_that_differ_are_shown_beside_each_other(at, tmp_path):
    """Starts a process for each function, and another that runs the snippet."""
    lines = lines_of(at, "targets.py::wrong_at_17", "softmax", "against", "targets.py::whole")
    assert any(line == "from targets import whole as other" for line in lines)
    assert_shows(run(lines, tmp_path))


@pytest.mark.slow("a snippet of numbers that are wrong stays inside")
def test_a_shape_that_is_wrong_is_printed(at, tmp_path):
    assert run(lines_of(at, "targets.py::drops_a_rest", "mixer", "lengths"), tmp_path).startswith("(")


def test_arrays_that_were_drawn_are_drawn_again_by_their_seed(at):
    lines = lines_of(at, "targets.py::elements_mixed", "softmax", "elements apart")
    assert any("np.random.RandomState(7)" in line for line in lines)
    assert not any("b85decode" in line for line in lines)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "kind", "identity"),
    [
        ("slope_of_keys", "softmax", "gradients"),
        ("one_buffer", "softmax", "outputs stay"),
        ("positions_begin_again", "decode", "token by token"),
        ("positions_begin_again", "decode", "float64"),
    ],
)
def test_a_failure_of_torch_is_shown_by_torch(at, tmp_path, name, kind, identity):
    pytest.importorskip("torch")
    assert_shows(run(lines_of(at, f"of_torch.py::{name}", kind, identity), tmp_path))


@pytest.mark.torch
def test_a_recurrence_of_torch_is_shown_in_parts(at, tmp_path):
    pytest.importorskip("torch")
    assert_shows(run(lines_of(at, "of_torch.py::forgets", "recurrent", "two parts"), tmp_path), 0.01)


@pytest.mark.torch
def test_the_laws_of_chance_are_shown_for_torch(at, tmp_path):
    pytest.importorskip("torch")
    dropped = run(lines_of(at, "of_torch.py::drops_too_few", "dropout", "share"), tmp_path)
    given, right = (float(x) for x in dropped.removesuffix(" is right\n").split(" where "))
    assert abs(given - right / 2) < 0.02
    kernel = run(lines_of(at, "of_torch.py::features_off", "random-features", "kernel"), tmp_path)
    first, right = (float(x) for x in kernel.removesuffix(" is right\n").split(" where "))
    assert abs(first - right) > 0.05


@pytest.mark.slow("failures of torch that torch shows stay inside")
@pytest.mark.parametrize(
    ("name", "kind", "identity"),
    [("slope_of_values", "softmax", "gradients"), ("last_step_counts", "decode", "token by token")],
)
def test_a_failure_of_jax_is_shown_by_jax(at, tmp_path, name, kind, identity):
    """Judges a target of jax, and starts a process for the snippet, which imports jax."""
    assert_shows(run(lines_of(at, f"of_jax.py::{name}", kind, identity), tmp_path))


@pytest.mark.slow("the snippet of a torch recurrence in parts stays inside")
def test_a_recurrence_of_jax_is_shown_in_parts(at, tmp_path):
    """Judges a target of jax, and starts a process for the snippet, which imports jax."""
    assert_shows(run(lines_of(at, "of_jax.py::forgets", "recurrent", "two parts"), tmp_path), 0.01)
