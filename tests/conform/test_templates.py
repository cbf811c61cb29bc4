"""The adapter of each kind, filled in with right code, is judged as that kind and holds."""

from pathlib import Path

import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.kinds import KINDS
from attnlab_theory.conform.templates import template
from tests.conform.kinds import best_code, difference_code, latent_code, paged_code, stick_code


def source(*modules):
    """The lines of some modules as one, which imports none of them."""
    lines = [line for each in modules for line in Path(each.__file__).read_text().splitlines()]
    return "\n".join(line for line in lines if not line.startswith("from tests"))


PACKAGE = {
    "softmax": """
def FUNCTION(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v
""",
    "mixer": """
def FUNCTION(x):
    return np.cumsum(x, 1) / np.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]
""",
    "decode": """
def FUNCTION(q, k, v, cache):
    if cache is not None:
        k, v = (np.concatenate(pair, -2) for pair in zip(cache, (k, v)))
    t, s = q.shape[-2], k.shape[-2]
    scores = np.where(np.tri(t, s, s - t, dtype=bool), q @ np.swapaxes(k, -1, -2), -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v, (k, v)
""",
    "model": """
r = np.random.default_rng(0)
table, out = r.standard_normal((20, 8)), r.standard_normal((8, 20))

def FUNCTION(ids):
    return np.cumsum(table[ids], 1) @ out
""",
    "rotary": """
def FUNCTION(x, positions):
    angles = np.asarray(positions)[:, None] * 1e4 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    turned = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape).astype(x.dtype)
""",
    "sinusoidal": """
def FUNCTION(length, width):
    angles = np.arange(length)[:, None] * 1e4 ** (-np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, width)
""",
    "alibi": """
def FUNCTION(heads, length):
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return slopes[:, None, None] * (np.arange(length) - np.arange(length)[:, None])
""",
    "linear": """
def FUNCTION(q, k, v, causal):
    q, k = (np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k))
    weights = q @ np.swapaxes(k, -1, -2)
    weights = np.tril(weights, k.shape[-2] - q.shape[-2]) if causal else weights
    return weights @ v / weights.sum(-1, keepdims=True)
""",
    "sigmoid": """
def FUNCTION(q, k, v, causal):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    hidden = causal & ~np.tri(*scores.shape[-2:], scores.shape[-1] - scores.shape[-2], dtype=bool)
    return np.where(hidden, 0, 0.5 + 0.5 * np.tanh(scores / 2)).astype(q.dtype) @ v
""",
    "stick-breaking": source(stick_code) + "\nFUNCTION = by_logs\n",
    "differential": source(stick_code, difference_code) + "\nFUNCTION = two_outputs\n",
    "top-k": source(stick_code, difference_code, best_code) + "\nFUNCTION = by_order\n",
    "paged": source(paged_code) + "\nFUNCTION = one_by_one\n",
    "latent": source(latent_code) + "\nFUNCTION = both\n",
    "recurrent": """
def FUNCTION(q, k, v, state):
    state, out = 0 if state is None else state, []
    for t in range(q.shape[-2]):
        state = 0.9 * state + k[..., t, :, None] * v[..., t, None, :]
        out.append((q[..., t, None, :] @ state)[..., 0, :])
    return np.stack(out, -2).astype(v.dtype), state
""",
    "dropout": """
def FUNCTION(q, k, v, p, seed):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    kept = np.random.default_rng(seed).random(scores.shape) >= p
    return (raised / raised.sum(-1, keepdims=True) * kept / (1 - p)).astype(v.dtype) @ v
""",
    "random-features": """
def FUNCTION(x, seed):
    x = x * x.shape[-1] ** -0.25
    omega = np.random.default_rng(seed).standard_normal((64, x.shape[-1]))
    return np.exp(x @ omega.T - (x**2).sum(-1, keepdims=True) / 2) / 8
""",
}


@pytest.mark.slow("one of seventeen members stays inside", but=1)
@pytest.mark.parametrize("kind", PACKAGE)
def test_the_template_of_a_kind_holds_as_that_kind(capsys, tmp_path, kind):
    """Judges a target whole."""
    assert main(["conform", "--template", "numpy", "--as", kind]) == 0
    (tmp_path / "adapter.py").write_text(capsys.readouterr().out)
    (tmp_path / "PACKAGE.py").write_text(f"import numpy as np\n{PACKAGE[kind]}")
    code = main(["conform", f"{tmp_path}/adapter.py::mine", "--as", kind])
    assert code == 0, capsys.readouterr()


def test_every_template_is_python_of_about_ten_lines_that_names_its_kind(subtests):
    for framework in ["numpy", "torch", "jax"]:
        for kind in KINDS:
            with subtests.test(kind=kind, framework=framework):
                text = template(framework, kind)
                compile(text, "adapter.py", "exec")
                assert len([line for line in text.splitlines() if line.strip()]) <= 10
                assert text.splitlines()[0].endswith(f'--as {kind}"""')
                assert max(map(len, text.splitlines())) <= 116


@pytest.mark.slow("that every template names its kind stays inside")
@pytest.mark.parametrize(
    ("kind", "written", "said"),
    [
        ("decode", "import numpy as np\ndef f(a, b): return a", "--template numpy --as decode"),
        ("model", "import jax\ndef f(ids, b): return ids", "--template jax --as model"),
        ("rotary", "def f(): return 1", "--template numpy --as rotary"),
        ("mixer", "class f:\n    def __init__(self, width): pass", "--template torch --as mixer"),
    ],
)
def test_the_remedy_is_the_template_of_the_kind(capsys, tmp_path, kind, written, said):
    (tmp_path / "target.py").write_text(written)
    assert main(["conform", f"{tmp_path}/target.py::f", "--as", kind]) == 2
    assert capsys.readouterr().err.rstrip().endswith(said)
