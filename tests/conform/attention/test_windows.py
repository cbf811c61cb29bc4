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
