"""A window that is a pair, (left, right), is handed over as one."""

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct
from tests.conform.judging import suite as suite_of
from tests.conform.right import plain


def flash(q, k, v, window_size=(-1, -1)):
    """The convention of flash-attention: -1 is no bound."""
    left, right = window_size
    back = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2] - np.arange(k.shape[-2])
    seen = np.ones(back.shape, bool)
    seen &= back <= left if left >= 0 else True
    seen &= back >= -right if right >= 0 else True
    return plain(q, k, v, seen)


def hashable(q, k, v, window_size=None):
    return flash(q, k, v, {window_size: window_size}[window_size] or (-1, -1))


def backwards(q, k, v, *, window):
    if window[1] != 0:
        raise ValueError("only the past")
    return flash(q, k, v, window)


def alike(q, k, v, window_size):
    if window_size[0] != window_size[1]:
        raise ValueError("both sides alike")
    return flash(q, k, v, window_size)


RIGHT = {
    flash: "w keys to either side, handed over as (w, w)",
    hashable: "w keys to either side, handed over as (w, w)",
    alike: "w keys to either side, handed over as (w, w)",
    backwards: "w keys back and itself, handed over as (w, 0)",
}


def right_forgotten(q, k, v, window_size=(-1, -1)):
    return flash(q, k, v, (window_size[0], window_size[0]))


def sides_exchanged(q, k, v, window_size=(-1, -1)):
    return flash(q, k, v, window_size[::-1])


def wider_when_long(q, k, v, window_size=(-1, -1)):
    return flash(q, k, v, (window_size[0] + (k.shape[-2] > 16), window_size[1]))


def failing(target):
    return {row.name for row in suite_of(Direct(target), "sliding-window").rows() if row.verdict == "fails"}


@pytest.mark.slow("a pair by default that is switched off stays inside")
@pytest.mark.parametrize("target", RIGHT, ids=lambda each: each.__name__)
def test_right_code_holds_and_its_profile_says_how_the_window_is_handed_over(target):
    assert failing(target) == set()
    profile = dict(suite_of(Direct(target), "sliding-window").profile)
    assert profile["a window of w = 3"] == RIGHT[target]
    if target is alike:
        assert "refused: ValueError: both sides alike" in profile["a window of (w, 0)"]


@pytest.mark.slow("committed finds of planted bugs stay inside")
@pytest.mark.parametrize("target", [right_forgotten, sides_exchanged, wider_when_long])
def test_a_window_that_is_not_the_one_handed_over_fails(target):
    assert failing(target)


@pytest.mark.slow("a pair by default that the suite switches off stays inside")
def test_the_command_hands_over_a_tuple(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n\n\ndef f(q, k, v, window_size=(-1, -1)):\n"
        "    assert type(window_size) is tuple\n"
        "    back = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2] - np.arange(k.shape[-2])\n"
        "    seen = (back <= window_size[0]) & (back >= -window_size[1])\n"
        "    scores = np.where(seen, q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5), -np.inf)\n"
        "    raised = np.exp(scores - scores.max(-1, keepdims=True))\n"
        "    return raised / raised.sum(-1, keepdims=True) @ v\n"
    )
    assert main(["conform", f"{tmp_path}/mine.py::f", "--as", "sliding-window"]) == 0
    assert "handed over as (w, w)" in capsys.readouterr().out


def test_a_pair_that_is_on_by_default_is_switched_off_where_no_window_is_judged():
    def near(q, k, v, window_size=(2, 1)):
        left, right = window_size
        back = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2] - np.arange(k.shape[-2])
        seen = (back <= left if left >= 0 else True) & (back >= -right if right >= 0 else True)
        return plain(q, k, v, np.broadcast_to(seen, back.shape))

    suite = suite_of(Direct(near), "softmax")
    assert ("window_size", "[2, 1] by default, and [-1, -1] where it is not asked") in suite.profile
    assert [row.line for row in suite.rows() if row.verdict == "fails"] == []


def windowed(meaning, flag):
    """A window that is no kind of its own. With the flag the future is hidden, if at all."""

    def target(q, k, v, is_causal=False, sliding_window=None):
        back = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2] - np.arange(k.shape[-2])
        seen = back >= 0 if is_causal and (flag or sliding_window is None) else np.ones(back.shape, bool)
        if sliding_window is not None:
            seen = seen & meaning(back, sliding_window)
        return plain(q, k, v, seen)

    return target


OPEN = {
    "fewer than w keys to either side": lambda back, w: abs(back) < w,
    "w keys back, itself included, and all that follow": lambda back, w: back < w,
}


@pytest.mark.parametrize("meaning", OPEN)
@pytest.mark.parametrize("flag", [True, False])
def test_a_window_that_hides_no_future_is_read_and_a_flag_that_it_switches_off_fails(meaning, flag):
    suite = suite_of(Direct(windowed(OPEN[meaning], flag)), "causal")
    assert dict(suite.profile)["sliding_window = w"] == meaning
    assert {row.verdict for row in suite.rows(["pairs", "triples"])} == ({"holds"} if flag else {"fails"})


def test_a_window_that_nobody_can_read_is_named():
    """It keeps what lies outside."""
    suite = suite_of(Direct(windowed(lambda back, w: abs(back) >= w, True)), "softmax")
    assert suite.never_passed == ["sliding_window"]


def test_a_window_of_code_that_always_hides_the_future_is_judged():
    def target(q, k, v, window=None):
        return windowed(lambda back, w: (back >= 0) & (back < w), True)(q, k, v, True, window)

    suite = suite_of(Direct(target), "causal")
    assert (suite.never_passed, dict(suite.profile)["window = w"]) == ([], "w keys back, itself included")
    assert {row.verdict for row in suite.rows(["pairs"])} == {"holds"}
