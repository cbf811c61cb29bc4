"""The door for pytest, in a project that has nothing but a test file."""

import importlib
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from attnlab_theory import conformance
from attnlab_theory.conform import door
from attnlab_theory.conform.door import suite
from attnlab_theory.sandbox import limits

PROJECT = '''
import numpy as np
from attnlab_theory.conform.door import conforms, suite


def attention(q, k, v, mask=None):
    t, s = q.shape[-2], k.shape[-2]
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    seen = np.tri(t, s, s - t + (s == 17), dtype=bool)
    scores = np.where(seen if mask is None else seen & mask, scores, -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


test_mine = suite(attention, kind="causal", include=("plain", "block edges", "masks by head"))


@conforms("causal", exclude=("pairs", "float16"), layout="td")
def test_one_head(q, k, v):
    """Two lines are an adapter."""
    return attention(q[None], k[None], v[None])[0]


class TestInside:
    test_mine = suite(attention, kind="causal", include=("plain", "block edges"))

    @conforms("causal", include=("visibility",), layout="td")
    def test_one_head(q, k, v):
        return attention(q[None], k[None], v[None])[0]

    @conforms("causal", include=("plain",), layout="td")
    def test_a_method(self, q, k, v):
        return self.heads(q[None], k[None], v[None])[0]

    def heads(self, q, k, v):
        return attention(q, k, v)

    def test_beside(self):
        assert self.test_mine("plain") is None
'''


@pytest.fixture
def project(tmp_path):
    (tmp_path / "test_project.py").write_text(PROJECT)

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-p", "attnlab_theory.conform.plugin", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, "-rA", "-q", *options],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "400"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_marks_of_a_test_that_is_made_are_read():
    def target(q, k, v):
        return q

    made = pytest.mark.slow("one reason of four words")(door.conforms("softmax", include=("plain",))(target))
    assert [mark.name for mark in made.pytestmark] == ["parametrize", "slow"]


def test_a_method_is_called_with_an_object_of_its_class():
    class TestInside:
        factor = 1

        @door.conforms("softmax", include=("plain",))
        def test_mine(self, q, k, v):
            scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
            raised = np.exp(scores - scores.max(-1, keepdims=True))
            return self.factor * (raised / raised.sum(-1, keepdims=True)) @ v

    class TestWrong(TestInside):
        test_another = door.conforms("softmax", include=("plain",))(lambda self, q, k, v: self.factor * q)

    TestInside.test_mine("plain")
    with pytest.raises(pytest.fail.Exception):
        TestWrong.test_another("plain")


def test_without_pytest_the_door_says_what_to_install_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest", None)
    for module in (door, conformance):
        monkeypatch.delitem(sys.modules, module.__name__)
    with pytest.raises(ImportError) as raised:
        importlib.import_module(conformance.__name__)
    said = "attnlab_theory.conformance makes tests for pytest, which is missing: pip install pytest"
    assert str(raised.value) == said
    assert raised.value.__suppress_context__


@pytest.mark.slow("our own operators, with a test for each of some identities, stay inside")
def test_there_is_one_test_for_each_identity_and_a_failure_is_one_line(project):
    """Starts pytest in a project of its own."""
    code, said = project()
    assert code == 1
    assert "PASSED test_project.py::test_mine[plain]" in said
    assert re.search(r"FAILED test_project.py::test_mine\[block edges\] - Failed: 2 of \d+: ", said)
    weight = "query 0 gives key 1 the weight: 0.5 where 0 is right"
    assert f"FAILED test_project.py::test_one_head[visibility] - Failed: 17 tokens: {weight}" in said
    assert "test_one_head[pairs]" not in said
    # In a class, too.
    assert "PASSED test_project.py::TestInside::test_mine[plain]" in said
    assert "FAILED test_project.py::TestInside::test_mine[block edges]" in said
    assert "FAILED test_project.py::TestInside::test_one_head[visibility] - Failed: 17 tokens: " in said
    assert "PASSED test_project.py::TestInside::test_beside" in said
    assert "PASSED test_project.py::TestInside::test_a_method[plain]" in said
    # One head in one call has no batch, so that there is nothing to keep apart.
    assert "SKIPPED" in said


@pytest.mark.slow("nothing inside asks this: pytest must run in another project")
def test_a_known_failure_is_expected_and_one_that_passes_is_reported(project, tmp_path):
    """Starts pytest twice in a project of its own."""
    known = tmp_path / "known.txt"
    known.write_text("# ours\ntest_project.py::test_mine[block edges]  # the mask is off by one at 17\n")
    code, said = project("--xfails-file=known.txt", "-k", "test_mine and not Inside")
    assert (code, "XFAIL" in said, "off by one at 17" in said) == (0, True, True)
    known.write_text("test_project.py::test_mine[plain] # was wrong once\n")
    code, said = project("--xfails-file", "known.txt", "-k", "plain")
    assert (code, "[XPASS(strict)] was wrong once" in said) == (1, True)


@pytest.mark.slow("misspelt kinds, identities and conventions stay inside")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("test_project.py::test_mine[plain]", "write ID # reason"),
        ("test_project.py::test_mine[plane] # misspelt", "there is no such test"),
    ],
)
def test_a_line_that_says_nothing_is_refused(project, tmp_path, line, said):
    """Starts pytest in a project of its own."""
    (tmp_path / "known.txt").write_text(line + "\n")
    code, printed = project("--conform-xfails", "known.txt", "--collect-only")
    assert (code != 0, said in printed) == (True, True)


@pytest.mark.slow("nothing inside asks this: pytest must run in another project")
def test_a_conftest_keeps_its_own_option_of_the_name_as_that_of_array_api_tests(project, tmp_path):
    """Starts pytest in a project of its own."""
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--xfails-file', action='store', help='theirs')\n"
        "def pytest_collection_modifyitems(config):\n"
        "    print('theirs is', config.getoption('--xfails-file'))\n"
    )
    (tmp_path / "known.txt").write_text("test_project.py::test_mine[plain] # was wrong once\n")
    code, said = project("--xfails-file=other.txt", "--conform-xfails", "known.txt", "-k", "plain", "-s")
    assert (code, "theirs is other.txt" in said, "was wrong once" in said) == (1, True, True)


HANGING = """
import os
import time
import numpy as np
from attnlab_theory.conformance import conforms, suite


def attention(q, k, v):
    t, s = q.shape[-2], k.shape[-2]
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    scores = np.where(np.tri(t, s, s - t, dtype=bool), scores, -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


@conforms("causal", include=("plain", "block edges"), seconds=0.5)
def test_here(q, k, v):
    if q.shape[-2] == 65:
        time.sleep(1000)
    return attention(q, k, v)


@conforms("causal", include=("plain", "ties"), seconds=0.5)
def test_never(q, k, v):
    while True:
        pass


def ends(q, k, v):
    if q.shape[-2] == 65:
        os._exit(3)
    return attention(q, k, v)


test_child = suite("test_hanging.py::ends", kind="causal", include=("plain", "block edges"))
"""


@pytest.mark.slow("calls that end a child, and alarms of others, stay inside")
def test_calls_that_hang_are_interrupted_and_a_target_that_is_named_is_called_in_a_child(project, tmp_path):
    """Starts pytest in a project of its own, where several calls use up their half second."""
    (tmp_path / "test_hanging.py").write_text(HANGING)
    begun = time.monotonic()
    code, said = project("test_hanging.py")
    assert (code, time.monotonic() - begun < 60) == (1, True)
    assert "PASSED test_hanging.py::test_here[plain]" in said
    assert re.search(r"test_here\[block edges\] - Failed: .*took longer than 0.5 s", said)
    assert re.search(r"test_never\[ties\] - Failed: .*2 trial calls hung.*took longer than 0.5 s", said)
    assert "PASSED test_hanging.py::test_child[plain]" in said
    assert re.search(r"test_child\[block edges\] - Failed: .*ended the process \(exit status 3\)", said)


def test_an_alarm_that_somebody_set_before_goes_on_after_a_call():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with limits.in_time(5):
            pass
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.2
        with pytest.raises(limits.Slow), limits.in_time(0.3):
            time.sleep(2)
        time.sleep(0.1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung


def test_the_plugin_imports_nothing_until_it_is_used():
    code = (
        "import sys; before = set(sys.modules); import attnlab_theory.conform.plugin;"
        "ours = {m for m in sys.modules if m.startswith('attnlab')};"
        "assert ours == {'attnlab_theory', 'attnlab_theory.conform', 'attnlab_theory.conform.plugin'}, ours;"
        "assert not {'numpy', 'jax', 'pytest'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "casual"}, "no kind 'casual'"),
        ({"kind": "causal", "include": ("plane",)}, "no identity 'plane'"),
        ({"kind": "causal", "order": "bhtd"}, "no convention 'order'"),
    ],
)
def test_misspelt_names_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        suite(print, **options)


def test_the_names_of_the_contract_are_those_of_the_door():
    from attnlab_theory import conformance
    from attnlab_theory.conform import door

    assert (conformance.suite, conformance.conforms) == (door.suite, door.conforms)
