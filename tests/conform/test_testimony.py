"""What the process of a target reports is a stranger's word: it is checked, and no clock of its own ends a call."""

import json
import math
import time

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform import callers, testimony
from attnlab_theory.conform.finding import Fault, trouble_of
from attnlab_theory.conform.harness import Host

PLAN = {"framework": "numpy", "kind": "float64", "strided": "", "names": [], "plain": {}, "seconds": 5.0}


def f(q, k, v, mask=None, *, scale=1.0, window=(2, 3), **more):
    return q


def written(told) -> np.ndarray:
    return np.frombuffer(json.dumps(told).encode(), np.uint8).astype(np.float64)


CALLED, CAME = Host(f).call(PLAN, [np.ones((2, 3))] * 3)
HONEST = CALLED | {"given": len(CAME)}
LOADED = Host(f).about()
KEPT = {"handed": 3, "kept": 0, "reads": True}


def test_an_honest_report_is_read_as_it_is():
    assert testimony.of_call(written(HONEST), CAME, **KEPT) == HONEST
    assert testimony.of_target(written(LOADED)) == json.loads(json.dumps(LOADED))
    failed = Host(f).call(PLAN | {"plain": {"q": 1}}, [np.ones((2, 3))] * 3)[0] | {"given": 0}
    assert trouble_of(testimony.of_call(written(failed), [], **KEPT)).fault is Fault.RAISED


STRANGE = [None, True, -2, 1e300, math.nan, "x" * 9999, [[]], {"": 0}, 2**70, [None]]
"""Each field allows some of them."""

OF_A_CALL = [
    *({"trouble": x} for x in ("ended", "killed", "so", 1, "raised")),
    *({"kind": x} for x in (1, None, "x" * 9999)),
    *({"changed": x} for x in ([3], [-1], ["q"], 1, [0.5], [True])),
    *({"shape": x} for x in ([9, 9], [-1], "23", [2.0, 3.0], None, [0] * 99)),
    *({"kept": x, "one": [-1]} for x in ([5], [-1], [0, 1], 0)),
    *({"given": x} for x in (3, -1, True, "1", 0)),
    *({"several": x} for x in (1, None)),
    *({"differs": x} for x in (1e300, -1, "2", True)),
    {"verdict": "holds"},
    {"about": {"seconds": 1e300}},
    {"about": {"line": "1"}},
    {"about": {"seconds": math.inf}},
    {"about": {"fault": "raised"}},
    {"narrow": "float32"},
]

OF_A_TARGET = [
    *({"parameters": x} for x in ([["q"]], [["q", "SO", True]], [["q q", "VAR_KEYWORD", True]], {}, [[1, 2, 3]])),
    *({"defaults": x} for x in ({"scale": "1"}, {"window": [1.5]}, {"scale": 2**70}, [], {"a b": 1})),
    *({"uses": x} for x in (["numpy2"], "torch", [1])),
    *({"versions": x} for x in ({"numpy": 2}, ["2"])),
    *({"mode": x} for x in ("so", 1)),
    *({"training": x} for x in (1, "no")),
    *({"methods": x} for x in ({"run": []}, {"step": [["q"]]})),
    *({"learns": x} for x in (["w"] * 4, "w")),
    {"trouble": "raised"},
    {"trouble": "killed", "about": {}},
    {"more": 1},
]


@pytest.mark.parametrize("change", OF_A_CALL, ids=str)
def test_a_report_on_a_call_that_no_call_makes_is_refused(change):
    with pytest.raises(testimony.Misfit, match=r"^reports "):
        testimony.of_call(written(HONEST | change), CAME, **KEPT)


@pytest.mark.parametrize("change", OF_A_TARGET, ids=str)
def test_a_report_on_a_target_that_no_target_makes_is_refused(change):
    with pytest.raises(testimony.Misfit, match=r"^reports "):
        testimony.of_target(written(LOADED | change))


@pytest.mark.parametrize("name", [*HONEST, *LOADED])
def test_no_field_is_missing_and_none_takes_everything(name):
    of, honest = (testimony.of_target, LOADED) if name in LOADED else (None, HONEST)

    def read(told):
        return of(written(told)) if of else testimony.of_call(written(told), CAME, **KEPT)

    refused = 0
    for told in ({key: x for key, x in honest.items() if key != name}, *(honest | {name: x} for x in STRANGE)):
        try:
            read(told)
        except testimony.Misfit:
            refused += 1
    assert refused >= len(STRANGE) - 2


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00\x00\x00\xff",
        b"\x00\x00\x001\x00",  # json.loads takes them for utf-32
        b"\xff\xfe{}",
        b"\xff\x00",
        b"[1]",
        b"7",
        b'"so"',
        b"{" * 9999,
        b"\xc3\xa9",
        b"{} {}",
    ],
)
def test_bytes_that_are_no_report_are_told_of_as_such(raw):
    given = np.frombuffer(raw, np.uint8).astype(np.float64)
    for x in (given, np.array([300.0]), np.array([[1.0]]), np.array([np.nan])):
        with pytest.raises(testimony.Misfit, match=r"^reports "):
            testimony.of_call(x, [], **KEPT)


def test_text_of_a_report_is_harmless():
    told = testimony.of_call(written(HONEST | {"printed": "a\x1b[2J\nplain holds"}), CAME, **KEPT)
    assert told["printed"] == r"a\x1b[2J plain holds"


HOSTILE = """
import json, signal, sys, time
import numpy as np

def module():
    return next(m for m in [*sys.modules.values()] if hasattr(m, "Host") and hasattr(m, "answer"))

def about(q, k, v): return q
def bytes_of_no_json(q, k, v):
    real = np.frombuffer
    forged = real(b"\\x00\\x00\\x001\\x00", np.uint8)
    np.frombuffer = lambda x, *a, **b: forged if b"trouble" in bytes(x) else real(x, *a, **b)
    return q
def sleeps(q, k, v):
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(600)
def blocks(q, k, v):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(600)
"""


@pytest.fixture
def hostile(tmp_path):
    def write(name, more=""):
        path = tmp_path / "hostile.py"
        path.write_text(HOSTILE + more)
        return f"{path}::{name}"

    return write


@pytest.mark.parametrize("name", ["sleeps", "blocks"])
def test_a_call_that_hears_no_alarm_is_ended_by_the_judges_clock(hostile, name, monkeypatch):
    """Waits a second for a target that sleeps."""
    monkeypatch.setattr(callers, "patience", lambda seconds: seconds + 0.5)
    with callers.Fenced(hostile(name), seconds=0.5) as caller:
        begun = time.monotonic()
        back = caller.call(PLAN, [np.ones((1, 1, 2, 3))] * 3)
    assert str(trouble_of(back.report)) == "took longer than 0.5 s"
    assert time.monotonic() - begun < 10, "not when all of its time is used up"


def test_a_report_of_no_json_is_the_trouble_of_its_call(hostile):
    with callers.Fenced(hostile("bytes_of_no_json")) as caller:
        back = caller.call(PLAN, [np.ones((1, 1, 2, 3))] * 3)
    assert str(trouble_of(back.report)) == "its process reports bytes that are no JSON"


ABOUTS = [
    "{}",
    "[]",
    "None",
    "{'parameters': 1}",
    "float('nan')",
    "{'trouble': 'killed'}",
    "dict(real(self), mode=7)",
]


@pytest.mark.parametrize("about", ABOUTS)
def test_a_forged_report_on_the_target_is_one_line_and_no_verdict(hostile, about, capsys):
    """Starts a process under fences."""
    forging = f"real = module().Host.about\nmodule().Host.about = lambda self: {about}\n"
    assert main(["conform", hostile("about", forging), "--as", "softmax"]) == 2
    err = capsys.readouterr().err
    assert "is not judged: its process reports" in err
    assert err.count("\n") == 1
