"""Queries, keys and values are handed over in the order of their names."""

import subprocess
import sys

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct, place_of
from tests.conform.judging import suite as suite_of
from tests.conform.right import plain
from tests.conform.wrong import whole


def values_first(values, keys, query, mask=None):
    """As a well-known tutorial has it."""
    return whole(query, keys, values, mask)


def value_before_key(query, value, key=None, attention_mask=None):
    """As keras has it."""
    return whole(query, value if key is None else key, value, attention_mask)


@pytest.mark.slow("names that say nothing, in the usual order, stay inside")
@pytest.mark.parametrize(("target", "order"), [(values_first, "v, k, q"), (value_before_key, "q, v, k")])
def test_right_code_in_another_order_holds_and_the_order_is_told(target, order):
    suite = suite_of(Direct(target), "softmax")
    assert ("called as", f"f({order}), by the names of its parameters") in suite.profile
    assert [row.line for row in suite.rows() if row.verdict == "fails"] == []


def test_names_that_say_nothing_are_queries_keys_and_values():
    def plain(a, b, c):
        return whole(a, b, c)

    suite = suite_of(Direct(plain), "softmax")
    assert "called as" not in dict(suite.profile)
    assert suite.row("plain").verdict == "holds"


SHOWN = """
import numpy as np
def turned(value, key, query):
    s = 1.1 * query @ np.swapaxes(key, -1, -2) * query.shape[-1] ** -0.5
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ value).astype(value.dtype)
"""


@pytest.mark.slow("snippets of functions in the usual order stay inside")
def test_a_snippet_has_the_same_order(tmp_path):
    path = tmp_path / "shown.py"
    path.write_text(SHOWN)
    names = {}
    exec(SHOWN, names)
    suite = suite_of(Direct(names["turned"]), "softmax")
    lines = suite.snippet(place_of(f"{path}::turned"), [*suite.rows(["plain", "odd widths"])])
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    given, right = (float(x) for x in done.stdout.replace("is right", "").split("where"))
    assert given != pytest.approx(right, rel=1e-4)
    assert "turned(v, k, q)" in "\n".join(lines)


@pytest.mark.parametrize("kind", ["softmax", "multi-head", "grouped-query"])
def test_an_answer_whose_axes_are_exchanged_is_refused_and_not_judged(kind):
    """[b h t d] goes in and [b t h d] comes out, as in the eager attention of transformers."""

    def target(q, k, v):
        _, heads, _, _ = q.shape
        times = heads // k.shape[1]
        return np.swapaxes(plain(q, *(np.repeat(x, times, 1) for x in (k, v))), 1, 2)

    with pytest.raises(ValueError, match="answered no trial call"):
        suite_of(Direct(target), kind)
