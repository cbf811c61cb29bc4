"""What strangers hand over: each gets one line that names the call, and the rest of the suite goes on."""

import json
import subprocess
import sys
import xml.etree.ElementTree as xml
from types import SimpleNamespace

import numpy as np
import pytest

from attnlab_theory import __version__
from attnlab_theory.cli import main
from attnlab_theory.conform import report
from attnlab_theory.conform.callers import Direct
from attnlab_theory.sandbox import fences
from tests.conform import right
from tests.sandbox.system import missing_fences

TARGETS = """
import os, sys, time
import numpy as np


def right(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v


def raises_when_long(q, k, v):
    if k.shape[-2] > 16:
        raise RuntimeError("at most 16 keys\\n(see the manual)")
    return right(q, k, v)


def hangs_when_long(q, k, v):
    while k.shape[-2] == 17:
        pass
    return right(q, k, v)


def ends_when_long(q, k, v):
    if k.shape[-2] == 17:
        os._exit(3)
    return right(q, k, v)


def leaves_when_long(q, k, v):
    if k.shape[-2] == 17:
        sys.exit(4)
    return right(q, k, v)


def prints(q, k, v):
    print("scores", q.shape)
    return right(q, k, v)


def flat_when_long(q, k, v):
    out = right(q, k, v)
    return out.sum(-1) if k.shape[-2] == 17 else out


def a_dictionary(q, k, v):
    return {"output": right(q, k, v)}


def one_argument(x):
    return x


def half_by_name(*, query, key, x):
    return right(query, key, x)


def hangs(q, k, v):
    while True:
        pass


def needs_dropout(q, k, v, dropout):
    return right(q, k, v)


def one_head(q, k, v):
    return right(q, k.T.T, v) if q.ndim == 2 else 1 / 0


def no_maximum(q, k, v):
    raised = np.exp(q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5))
    return raised / raised.sum(-1, keepdims=True) @ v


def with_weights(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    weights = raised / raised.sum(-1, keepdims=True)
    return weights @ v, raised


class Layer:
    def __call__(self, q, k, v):
        return right(q, k, v)


NUMBER = 3
"""


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    (folder / "targets.py").write_text(TARGETS)
    (folder / "unreadable.py").write_text("def f(q, k, v:\n")
    (folder / "raising.py").write_text("raise OSError('no such device')\n")
    return folder


WRONG = """
import numpy as np

def wrong(q, k, v):
    scores = 1.01 * q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v
"""


def judged(capsys, at, name, *options):
    code = main(["conform", f"{at}/targets.py::{name}", "--as", "softmax", "--json", *options])
    return code, json.loads(capsys.readouterr().out)


def verdicts(found):
    return {row["identity"]: row["verdict"] for row in found["rows"]}


TAKES_MORE = """
import numpy as np

__version__ = "3.1"

def slopes(n_heads, length, device=None):
    steps = np.arange(1, n_heads + 1) * (8 / n_heads)
    return -(2.0 ** -steps)[:, None, None] * abs(np.arange(length)[:, None] - np.arange(length))
"""


def test_the_json_names_its_schema_and_versions_and_what_was_never_passed(capsys, at, tmp_path, monkeypatch):
    """Three processes."""
    _, found = judged(capsys, at, "right", "--cases", "1")
    assert (found["schema"], found["versions"]) == (1, {"attnlab": __version__, "numpy": np.__version__})
    (tmp_path / "takes_more").mkdir()
    (tmp_path / "takes_more" / "__init__.py").write_text(TAKES_MORE)
    monkeypatch.chdir(tmp_path)
    assert main(["conform", "takes_more:slopes", "--as", "alibi", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["versions"] == {"attnlab": __version__, "takes_more": "3.1", "numpy": np.__version__}
    assert found["never_passed"] == ["device"]
    for row in found["rows"]:
        assert row["holds"] is (None if row["verdict"] == "not judged" else row["verdict"] != "fails")
    (tmp_path / "takes_more" / "__init__.py").write_text(TAKES_MORE.replace("__version__", "VERSION"))
    assert main(["conform", "takes_more:slopes", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["kind"], found["versions"]["takes_more"]) == (1, "alibi", None)


@pytest.mark.parametrize(("known", "told"), [(None, None), ((), []), (("device",), ["device"])])
def test_a_kind_that_cannot_tell_what_was_never_passed_says_null_and_no_empty_list(at, known, told):
    caller = Direct(right.plain, f"{at}/targets.py::right")
    suite = SimpleNamespace(caller=caller, profile=[], notes=list, largest=0.0, calls=0, never_passed=known)
    assert report.as_json(suite, [], caller.name, "softmax", 0, 0.0)["never_passed"] == told


@pytest.mark.slow("a right target, asked one case of each identity, stays inside")
@pytest.mark.parametrize("name", ["right", "Layer"])
def test_right_code_ends_with_0_and_no_snippet(capsys, at, name):
    code, found = judged(capsys, at, name)
    assert (code, found["snippet"]) == (0, [])
    assert set(verdicts(found).values()) <= {"holds", "convention"}


@pytest.mark.slow("the names and verdicts of all rows stay inside")
def test_a_row_has_the_fields_of_the_contract(capsys, at):
    """Judges two targets whole, each in a process of its own."""
    _, found = judged(capsys, at, "right")
    fields = {"identity", "verdict", "holds", "worst", "tolerance", "case", "snippet"}
    assert all(fields <= {*row} for row in found["rows"])
    assert {row["holds"] for row in found["rows"]} <= {True, None}
    assert isinstance(found["conventions"], dict)
    assert found["fences"] == [*missing_fences()]
    (folder := at / "wrong.py").write_text(WRONG)
    assert main(["conform", f"{folder}::wrong", "--as", "softmax", "--json"]) == 1
    rows = {row["identity"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    plain = rows["plain"]
    assert (plain["holds"], plain["case"] is not None, bool(plain["snippet"])) == (False, True, True)
    assert plain["worst"] > 1
    assert 0 < plain["tolerance"] < 1e-4


@pytest.mark.slow("a rotation whose call ends its process stays inside")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises_when_long", "RuntimeError: at most 16 keys (see the manual) (targets.py, line "),
        ("hangs_when_long", "took longer than 0.5 s"),
        ("ends_when_long", "ended the process (exit status 3)"),
        ("leaves_when_long", "called exit(4)"),
        ("flat_when_long", "gave [1, 1, 1] where [1, 1, 1, 1] was expected"),
    ],
)
def test_a_call_that_fails_is_one_line_that_names_it_and_the_rest_goes_on(capsys, at, name, said):
    """Calls that hang or end the process cost another process."""
    code, found = judged(capsys, at, name, "--call-seconds", "0.5")
    rows = {row["identity"]: row for row in found["rows"]}
    assert code == 1
    assert said in rows["block edges"]["line"] + rows["visibility"]["line"]
    assert rows["plain"]["verdict"] == "holds"
    assert len(rows) > 10
    assert all("\n" not in row["line"] for row in rows.values())
    assert rows["block edges"]["verdict"] in ("fails", "not judged")


@pytest.mark.slow("what a graded answer prints stays inside")
def test_what_is_printed_is_told_and_nobody_fails_for_it(capsys, at):
    code, found = judged(capsys, at, "prints")
    assert code == 0
    assert any("'scores (" in note for note in found["notes"])


@pytest.mark.slow("right weights beside the output stay inside")
def test_weights_that_are_no_weights_fail(capsys, at):
    """Starts a process, and judges it by every identity."""
    code, found = judged(capsys, at, "with_weights")
    assert code == 1
    assert any("weights: " in row["line"] for row in found["rows"])


@pytest.mark.slow("linear attention of one head stays inside")
def test_a_function_of_one_head_is_judged_in_its_own_layout(capsys, at):
    code, found = judged(capsys, at, "one_head")
    assert (code, found["conventions"]["layout"]) == (0, "t d (guessed)")


@pytest.mark.slow("three of twelve members stay inside", but=3)
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("targets.py::a_dictionary", "gave a dict, and no array"),
        ("targets.py::one_argument", "it takes x, but is called as f(q, k, v)"),
        ("targets.py::needs_dropout", "nobody knows what to give for dropout; write an adapter"),
        ("targets.py::half_by_name", "it takes nothing and, by name only, query, key, x, but is called"),
        ("targets.py::absent", "there is no absent in it"),
        ("targets.py::NUMBER", "is of type int, and cannot be called"),
        ("unreadable.py::f", "cannot be loaded: SyntaxError"),
        ("raising.py::f", "cannot be loaded: OSError: no such device (raising.py, line 1)"),
        ("absent.py::f", "there is no file"),
        ("targets.py:right", "two colons: targets.py::right"),
        ("no_such_module_anywhere:f", "there is no module"),
        (
            "targets.py::Class(config)",
            "is a call: write model = Class(config) into targets.py, and name targets.py::model",
        ),
        ("targets.py", "TARGET is FILE.py::FUNCTION or PACKAGE.MODULE:FUNCTION"),
    ],
)
def test_what_cannot_be_called_gets_one_line_and_exit_code_2(capsys, at, monkeypatch, target, said):
    monkeypatch.chdir(at)
    assert main(["conform", target, "--as", "softmax"]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, err.count("\n")) == ("", 1)


@pytest.mark.slow("five of seven members stay inside", but=5)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scale", "big"], "--scale is rsqrt, one, inverse or a positive number"),
        (["--window", "0"], "--window is at least 1"),
        (["--softcap", "-1"], "--softcap is positive"),
        (["--call-seconds", "0"], "--call-seconds is between 0 and 100"),
        (["--layout", "htd", "--framework", "jax"], "answered no trial call"),
        (["--junit", "absent/rows.xml"], "there is no folder"),
        (["--template", "numpy"], "--template stands alone"),
    ],
)
def test_options_that_make_no_sense_are_refused(capsys, at, monkeypatch, options, said):
    """One of these targets is called in a process, which imports jax."""
    monkeypatch.chdir(at)
    assert main(["conform", "targets.py::a_dictionary", "--as", "softmax", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow("the same snippet for linear attention stays inside")
def test_a_snippet_shows_the_failure_without_our_package(capsys, at, tmp_path):
    """Starts a process that is judged by every identity, and another that runs the snippet."""
    _, found = judged(capsys, at, "no_maximum")
    assert 0 < len(found["snippet"]) <= 15
    assert "attnlab" not in "\n".join(found["snippet"])
    code = "\n".join([*found["snippet"], "assert 'attnlab_theory' not in sys.modules"])
    run = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    given, right = done.stdout.removesuffix("is right\n").split(" where ")
    assert given in ("nan", "inf")
    assert abs(float(right)) < 100


@pytest.mark.slow("a pytest plugin that imports no jax stays inside")
def test_a_numpy_target_is_judged_without_jax(at):
    """Starts a process that judges a target whole."""
    code = (
        "import sys; from attnlab_theory.cli import main;"
        f"code = main(['conform', '{at}/targets.py::right', '--as', 'softmax']);"
        "assert not {'jax', 'torch', 'matplotlib'} & set(sys.modules), 'jax was imported'; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow("the grader's note on a missing fence stays inside")
def test_a_fence_that_is_missing_is_a_note(capsys, at, monkeypatch):
    """Starts two processes, and judges each by every identity."""
    assert not any("fence 'memory'" in note for note in judged(capsys, at, "one_head")[1]["notes"])
    monkeypatch.setattr(fences, "MEANS", fences.MEANS - {"polling", "group"})
    notes = judged(capsys, at, "one_head")[1]["notes"]
    assert any("no fence 'memory': it can fill the memory" in note for note in notes)


def test_junit_has_a_case_for_each_row_and_a_failure_for_each_that_fails(capsys, at, tmp_path):
    _, found = judged(capsys, at, "no_maximum", "--junit", str(tmp_path / "rows.xml"))
    suite = xml.parse(tmp_path / "rows.xml").getroot()
    assert [case.get("name") for case in suite] == [row["identity"] for row in found["rows"]]
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert failed == {name for name, verdict in verdicts(found).items() if verdict == "fails"}


@pytest.mark.slow("the next line to type for one rotation stays inside")
def test_without_a_kind_the_next_line_to_type_is_printed(capsys, at):
    assert main(["conform", f"{at}/targets.py::right"]) == 0
    assert (
        capsys.readouterr().out.rstrip().endswith(f"Type next: attnlab conform {at}/targets.py::right --as softmax")
    )


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
def test_a_template_is_python_of_about_ten_lines(capsys, framework):
    assert main(["conform", "--template", framework]) == 0
    text = capsys.readouterr().out
    compile(text, "adapter.py", "exec")
    assert len([line for line in text.splitlines() if line.strip()]) <= 10


@pytest.mark.slow("a function that is named by its file stays inside")
def test_a_module_is_found_from_the_folder_one_is_in(capsys, at, monkeypatch):
    """Starts a process, and judges it by every identity."""
    monkeypatch.chdir(at)
    assert main(["conform", "targets:right", "--as", "softmax"]) == 0


@pytest.mark.slow("the refusal of a scale that is none stays inside")
def test_a_scale_of_one_over_the_width_is_known_to_every_kind_that_has_scores(capsys, tmp_path):
    """Judges a target whole twice, each time in a process of its own."""
    (tmp_path / "scaled.py").write_text("""
import numpy as np


def linear(q, k, v):
    weights = np.exp(q / q.shape[-1]) @ np.swapaxes(np.exp(k), -1, -2)
    return weights @ v / weights.sum(-1, keepdims=True)
""")
    command = ["conform", f"{tmp_path}/scaled.py::linear", "--as", "linear", "--features", "exp"]
    assert main([*command, "--scale", "inverse"]) == 0
    assert "1/width" in capsys.readouterr().out
    assert main([*command, "--scale", "one"]) == 1


@pytest.mark.slow("targets whose trial calls fail at once stay inside")
def test_trials_end_when_two_have_hung(capsys, at):
    assert main(["conform", f"{at}/targets.py::hangs", "--as", "softmax", "--call-seconds", "0.3"]) == 2
    err = capsys.readouterr().err
    assert "2 trial calls hung. q [2, 3, 5, 4], k [" in err
    assert err.endswith(": took longer than 0.3 s\n")
