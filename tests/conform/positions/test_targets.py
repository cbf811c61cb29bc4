"""Positions of strangers under the command: one line for what goes wrong, and a snippet that needs no lab."""

import json
import subprocess
import sys

import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct, place_of
from attnlab_theory.conform.likely import positions
from attnlab_theory.conform.suite import suite_class

TARGETS = """
import os
import numpy as np


def rotated(x, positions, powers=None):
    half = x.shape[-1] // 2
    powers = 10000.0 ** (-np.arange(half) / half) if powers is None else powers
    angles = np.asarray(positions)[:, None] * powers
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = np.split(x, 2, -1)
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


def ends_when_odd(x, positions):
    if len(positions) == 17:
        os._exit(3)
    return rotated(x, positions)


def hangs_when_odd(x, positions):
    while len(positions) == 17:
        pass
    return rotated(x, positions)


def hangs(x, positions):
    while True:
        pass


def prints_and_writes(x, positions):
    print("turning")
    x *= 1
    positions += 1
    return rotated(x, positions - 1)


def grows(x, positions):
    half = x.shape[-1] // 2
    return rotated(x, positions, (100.0 * len(positions)) ** (-np.arange(half) / half))


def no_minus(x, positions):
    a, b = np.split(x, 2, -1)
    return rotated(x, positions) + np.concatenate((2 * b * np.sin(positions)[:, None], 0 * b), -1).astype(x.dtype)


def short_table(length, width):
    at = np.arange(length) % 64
    angles = at[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(length, -1)


def last_row(length, width):
    out = short_table(length, width)
    return out * (1 - 1e-3 * (np.arange(length) == 4)[:, None] * (length == 5))


def steep(heads, length):
    back = np.arange(length)[:, None] - np.arange(length)
    return -(2.0 ** -np.arange(1, heads + 1))[:, None, None] * np.abs(back) ** (1 + (length > 100) * 0.1)
"""


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    folder = tmp_path_factory.mktemp("positions")
    (folder / "targets.py").write_text(TARGETS)
    return folder


def judged(capsys, at, name, kind, *options):
    code = main(["conform", f"{at}/targets.py::{name}", "--as", kind, "--json", *options])
    return code, json.loads(capsys.readouterr().out)


def lines(found):
    return {row["identity"]: (row["verdict"], row["line"]) for row in found["rows"]}


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize(
    ("name", "said"),
    [("ends_when_odd", "ended the process (exit status 3)"), ("hangs_when_odd", "took longer than 0.3 s")],
)
def test_a_call_that_fails_is_one_line_that_names_it_and_the_rest_goes_on(capsys, at, name, said):
    code, found = judged(capsys, at, name, "rotary", "--call-seconds", "0.3")
    rows = lines(found)
    assert code == 1
    assert rows["lengths"][0] == "fails"
    assert said in rows["lengths"][1]
    assert "the call: x [1, 2, 17, 8], positions [17], float32" in rows["lengths"][1]
    assert rows["same result"][0] == "holds"


@pytest.mark.slow("a call that ends its process stays inside")
def test_a_target_that_hangs_at_once_is_given_up_after_two_calls(capsys, at):
    assert main(["conform", f"{at}/targets.py::hangs", "--as", "rotary", "--call-seconds", "0.3"]) == 2
    said = capsys.readouterr().err
    assert "2 trial calls hung. x [2, 3, 5, 8]" in said
    assert (said.count("\n"), "took longer than 0.3 s" in said) == (1, True)


@pytest.mark.slow("a rotation that writes into its vectors stays inside")
def test_what_is_printed_and_written_is_told_of(capsys, at):
    code, found = judged(capsys, at, "prints_and_writes", "rotary")
    assert code == 1
    assert lines(found)["inputs unchanged"] == (
        "fails",
        "a call writes into its input; the call: x [2, 3, 5, 8], positions=[0, 1, 8, 64, 256], float32",
    )
    assert [name for name, (verdict, _) in lines(found).items() if verdict == "fails"] == ["inputs unchanged"]
    assert found["notes"] == ["prints while it is called: 'turning'"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--as", "rotary", "--window", "3"], "--window says nothing of --as rotary"),
        (["--as", "alibi", "--base", "500"], "--base says nothing of --as alibi"),
        (["--as", "softmax", "--pairs", "halves"], "--pairs says nothing of --as softmax"),
        (["--as", "rotary", "--base", "1"], "--base is above 1, not 1"),
        (["--as", "alibi"], "answered no trial call, such as x=4, positions=6"),
    ],
)
def test_options_that_make_no_sense_are_refused(capsys, at, options, said):
    assert main(["conform", f"{at}/targets.py::rotated", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow("one of five members stays inside", but=1)
@pytest.mark.parametrize(
    ("kind", "name", "identity"),
    [
        ("rotary", "no_minus", "turning"),
        ("rotary", "grows", "prefix"),
        ("sinusoidal", "short_table", "lengths"),
        ("sinusoidal", "last_row", "prefix"),
        ("alibi", "steep", "lengths"),
    ],
)
def test_a_snippet_shows_the_failure_without_our_package(at, tmp_path, kind, name, identity):
    names: dict[str, object] = {}
    exec(TARGETS, names)
    suite = suite_class(kind)(Direct(names[name]), kind)
    row = suite.row(identity)
    assert row.verdict == "fails"
    snippet = suite.snippet(place_of(f"{at}/targets.py::{name}"), [row])
    assert 0 < len(snippet) <= 15
    assert "attnlab" not in "\n".join(snippet)
    code = "\n".join([*snippet, "assert 'attnlab_theory' not in sys.modules"])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    given, right = done.stdout.rstrip().removesuffix("is right").split(" where ")
    assert abs(float(given) - float(right)) > 1e-4 * abs(float(right))


def test_the_door_for_pytest_takes_positions():
    from attnlab_theory.conform.door import suite

    test = suite(lambda x, positions: x, kind="rotary", include=("turning",), pairs="halves")
    with pytest.raises(pytest.fail.Exception, match="no channel turns"):
        test("turning")
    with pytest.raises(ValueError, match="no convention 'window'"):
        suite(print, kind="rotary", window=3)


def test_only_the_pairs_that_exist_are_taken():
    with pytest.raises(ValueError, match="--pairs thirds is not known here; it is interleaved or halves"):
        suite_class("rotary")(Direct(lambda x, positions: x), "rotary", {"pairs": "thirds"})


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(
    ("name", "kind"), [("rotated", "rotary"), ("short_table", "sinusoidal"), ("steep", "alibi")]
)
def test_without_a_kind_the_profile_and_the_next_line_are_printed(capsys, at, name, kind):
    assert main(["conform", f"{at}/targets.py::{name}"]) == 0
    said = capsys.readouterr().out
    assert f"{name} looks like {kind}: " in said
    assert said.rstrip().endswith(f"Type next: attnlab conform {at}/targets.py::{name} --as {kind}")


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("q", "k", "cos", "sin"), "rotary"),
        (("positions", "query", "key"), "rotary"),
        (("q", "k", "v"), ""),
        (("q", "k", "v", "positions"), ""),
        (("x",), ""),
        (("timesteps", "embedding_dim"), "sinusoidal"),
        (("num_heads", "seq_len"), "alibi"),
        (("num_heads",), ""),
        ((), ""),
    ],
)
def test_names_of_parameters_say_what_a_target_seems_to_be(names, kind):
    assert positions({"parameters": [[name, "POSITIONAL_OR_KEYWORD", True] for name in names]}) == kind
