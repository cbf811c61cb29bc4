"""What a trial call shows is told as a convention, fails with a snippet, or is asked for by its own argument."""

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct, place_of
from tests.conform.judging import suite as suite_of


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def scores_of(q, k):
    return q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)


def past(q, k):
    t, s = q.shape[-2], k.shape[-2]
    return np.tri(t, s, s - t, dtype=bool)


def hiding(q, k, v):
    return softmax(np.where(past(q, k), scores_of(q, k), -np.inf)) @ v


def hiding_unless_told(q, k, v, causal=True):
    return softmax(np.where(past(q, k) | (not causal), scores_of(q, k), -np.inf)) @ v


def of_groups(q, k, v):
    n = q.shape[1] // k.shape[1]
    return hiding(q, np.repeat(k, n, 1), np.repeat(v, n, 1))


def capped(q, k, v, softcap=30.0):
    scores = softcap * np.tanh(scores_of(q, k) / softcap)
    return softmax(np.where(past(q, k), scores, -np.inf).astype(q.dtype)) @ v


def failing(target, kind):
    suite = suite_of(Direct(target), kind)
    return suite, [row for row in suite.rows() if row.verdict == "fails"]


@pytest.mark.slow("who promises plain softmax and hides the future stays inside")
@pytest.mark.parametrize(
    ("target", "kind"), [(hiding, "multi-head"), (of_groups, "grouped-query"), (capped, "softcap")]
)
def test_who_promises_something_else_may_hide_the_future(target, kind):
    suite, failed = failing(target, kind)
    assert failed == []
    assert dict(suite.profile)["hides the future"] == "always"


@pytest.mark.slow("a window by default that is switched off stays inside")
@pytest.mark.parametrize("kind", ["softmax", "causal", "multi-head"])
def test_who_hides_the_future_by_default_is_told_not_to(kind):
    suite, failed = failing(hiding_unless_told, kind)
    assert failed == []
    assert dict(suite.profile)["causal"] == "True by default, and False where nothing is hidden"


def one_key_more(q, k, v):
    """Its past is one key too long where there are more keys than queries."""
    t, s = q.shape[-2], k.shape[-2]
    seen = np.tri(t, s, s - t + (s > t), dtype=bool)
    return softmax(np.where(seen, scores_of(q, k), -np.inf)) @ v


def filled(q, k, v, mask=None):
    scores = scores_of(q, k)
    return softmax(scores if mask is None else np.where(mask, scores, np.float32(-1e4)).astype(q.dtype)) @ v


def masked_too_early(q, k, v, softcap=30.0, mask=None):
    scores = scores_of(q, k)
    scores = scores if mask is None else np.where(mask, scores, -1e30)
    return softmax((softcap * np.tanh(scores / softcap)).astype(q.dtype)) @ v


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize(("refuses", "said"), [(True, "square: refused"), (False, "square: neither of the two")])
def test_what_is_said_of_more_keys_than_queries_that_are_aligned_in_no_way(refuses, said):
    def middle(q, k, v):
        """Right where both lengths agree."""
        t, s = q.shape[-2], k.shape[-2]
        if refuses and t != s:
            raise ValueError("as many queries as keys")
        return softmax(np.where(np.tri(t, s, (s - t) // 2, dtype=bool), scores_of(q, k), -np.inf)) @ v

    suite, failed = failing(middle, "causal")
    assert dict(suite.profile)["more keys than queries"] == said
    assert ("visibility" in {row.name for row in failed}) == (not refuses)


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(
    ("target", "kind", "identity"),
    [
        (one_key_more, "causal", "visibility"),
        (filled, "softmax", "hidden keys"),
        (masked_too_early, "softcap", "masks"),
    ],
)
def test_what_only_a_trial_call_shows_has_a_snippet(target, kind, identity, capsys):
    suite, failed = failing(target, kind)
    (row,) = (row for row in failed if row.name == identity)
    lines = suite.snippet(place_of(f"{__file__}::{target.__name__}"), [row]) or suite.replay(
        [place_of(f"{__file__}::{target.__name__}")], [row]
    )
    assert 0 < len(lines) <= 15
    source = "\n".join(lines).replace(f"from test_guessing import {target.__name__}", "")
    exec(source, {target.__name__: target})
    given, _, right = capsys.readouterr().out.partition(" where ")
    assert abs(float(given) - float(right.split()[0])) > 0.1
