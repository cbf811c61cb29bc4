"""Failures that trial calls show, or calls of another row begin, have a snippet that shows them."""

import json
import re
import subprocess
import sys

import pytest

from attnlab_theory.cli import main

TARGETS = """
import numpy as np


def softmax(scores, v):
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


def sees_all(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5), v)


def lengths_off_by_one(q, k, v, lengths=None):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    seen = True if lengths is None else np.arange(k.shape[-2]) <= lengths[:, None, None, None]
    return softmax(np.where(seen, scores, -np.inf), v)


def rising(heads, length):
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return slopes[:, None, None] * (np.arange(length)[:, None] - np.arange(length))


def alike(heads, length):
    bias = -rising(heads, length)
    bias[-1] = bias[0]
    return bias


r = np.random.default_rng(0)
table, out, masks = r.standard_normal((20, 8)), r.standard_normal((8, 20)), {}


def stale_mask(ids, attention_mask=None):
    x = table[ids]
    mask = np.ones(ids.shape) if attention_mask is None else masks.setdefault(attention_mask.shape, attention_mask)
    return np.cumsum(x * mask[..., None], 1) / np.maximum(np.cumsum(mask, 1), 1)[..., None] @ out
"""


@pytest.mark.slow("a snippet of elements that are mixed stays inside")
@pytest.mark.parametrize(
    ("name", "kind", "row"),
    [
        ("sees_all", "causal", "visibility"),
        ("lengths_off_by_one", "softmax", "padding by element"),
        ("rising", "alibi", "slopes"),
        ("alike", "alibi", "slopes"),
        ("stale_mask", "model", "padding left"),
    ],
)
def test_a_snippet_shows_what_fails(capsys, tmp_path, name, kind, row):
    """Judges a target whole, and starts a process for the snippet."""
    (tmp_path / "targets.py").write_text(TARGETS)
    assert main(["conform", f"{tmp_path}/targets.py::{name}", "--as", kind, "--json"]) == 1
    rows = {each["identity"]: each for each in json.loads(capsys.readouterr().out)["rows"]}
    snippet = rows[row]["snippet"]
    assert 0 < len(snippet) <= 15
    (file := tmp_path / "snippet.py").write_text("\n".join(snippet))
    said = subprocess.run([sys.executable, "-I", file], capture_output=True, text=True, check=True).stdout
    given, right = (float(x) for x in re.fullmatch(r"(\S+) where (\S+) is right\n", said).groups())
    assert abs(given - right) > 1e-3
