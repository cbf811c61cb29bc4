"""A law that is broken is shown by a snippet that needs the target and numpy alone."""

import importlib
import sys

import pytest

from attnlab_theory.conform.callers import Direct, Place
from attnlab_theory.conform.suite import suite_class

WRONG = {
    ("dropout", "factor"): "dropout_code.buggy('not raised')(q, k, v, p, seed)",
    ("dropout", "share"): "dropout_code.buggy('no key after 64 is dropped')(q, k, v, p, seed)",
    ("dropout", "independent"): "dropout_code.buggy('one mask for all heads')(q, k, v, p, seed)",
    ("dropout", "mean"): "dropout_code.buggy('large weights stay')(q, k, v, p, seed)",
    ("dropout", "weights"): "dropout_code.buggy('nothing is dropped')(q, k, v, p, seed)",
    ("map", "kernel"): "feature_code.buggy_map('half the size')(x, seed)",
    ("flagged map", "kernel"): "feature_code.buggy_map('keys have draws of their own')(x, seed, 64, is_query)",
    ("attention", "approximates"): "feature_code.buggy_attention('eps of .1')(q, k, v, seed)",
    ("attention", "constant values"): "feature_code.buggy_attention('eps of .1')(q, k, v, seed)",
}
TAKES = {
    "dropout": "q, k, v, p, seed",
    "map": "x, seed",
    "flagged map": "x, seed, is_query",
    "attention": "q, k, v, seed",
}


@pytest.mark.slow("one of nine members stays inside", but=1)
@pytest.mark.parametrize(("kind", "identity"), WRONG)
def test_what_many_draws_give_is_shown_beside_what_is_right(kind, identity, tmp_path, monkeypatch, capsys):
    module = f"wrong_{kind}_{identity}".replace(" ", "_")
    (tmp_path / f"{module}.py").write_text(
        "from tests.conform.laws import dropout_code, feature_code\n\n\n"
        f"def mine({TAKES[kind]}):\n    return {WRONG[kind, identity]}\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    name = kind if kind == "dropout" else "random-features"
    suite = suite_class(name)(Direct(importlib.import_module(module).mine), name)
    rows = [*suite.rows((identity,))]
    lines = suite.snippet(Place(str(tmp_path), "", module, "mine", tmp_path), rows)
    assert 0 < len(lines) <= 15
    exec("\n".join(lines), {})
    found, right = map(float, capsys.readouterr().out.removesuffix(" is right\n").split(" where "))
    number = rows[0].counterexample.number
    assert right == pytest.approx(number.right, rel=1e-6)
    assert abs(found - right) > abs(number.given - number.right) / 2
