"""Arguments that must be given: where a call asks nothing of them they say nothing, and the profile tells it."""

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from tests.conform.judging import suite as suite_of
from tests.conform.right import plain
from tests.conform.wrong import whole


def keeps(q, k, v, mask):
    return plain(q, k, v, mask.astype(bool))


def drops(q, k, v, mask):
    return plain(q, k, v, ~mask)


def adds(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5) + mask
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


def fills(q, k, v, mask):
    return plain(q, k, v, mask) if mask.all() else adds(q, k, v, np.where(mask, 0, q.dtype.type(-1e4)))


def flagged(q, k, v, causal, scale):
    return whole(q * q.dtype.type(scale * q.shape[-1] ** 0.5), k, v, causal=causal)


def hides_keys(q, k, v, key_padding_mask):
    return plain(q, k, v, ~key_padding_mask[:, None, None])


def counts_keys(q, k, v, lengths):
    return plain(q, k, v, np.arange(k.shape[-2]) < lengths[:, None, None, None])


def biased(q, k, v, bias):
    return adds(q, k, v, bias)


def capped(q, k, v, softcap):
    return plain(q, k, v)


def judged(target, kind="softmax"):
    suite = suite_of(Direct(target), kind)
    return dict(suite.profile), {row.name for row in suite.rows() if row.verdict == "fails"}


@pytest.mark.slow("gradients of torch beside what must be given stay inside")
@pytest.mark.parametrize(
    ("target", "meaning"), [(keeps, "True keeps"), (drops, "True drops"), (adds, "numbers are added")]
)
def test_a_mask_that_must_be_given_hides_nothing_in_the_form_that_is_taken(target, meaning):
    profile, failed = judged(target)
    assert profile["mask"].startswith(meaning)
    assert profile["must be given"] == "mask (hides nothing) where nothing is asked"
    assert failed == set()


@pytest.mark.slow("a cap that cannot say nothing stays inside")
@pytest.mark.parametrize(
    ("target", "kind"),
    [
        (flagged, "softmax"),
        (flagged, "causal"),
        (hides_keys, "softmax"),
        (counts_keys, "softmax"),
        (biased, "softmax"),
        (biased, "bias"),
    ],
)
def test_other_arguments_that_must_be_given_say_nothing_either(target, kind):
    profile, failed = judged(target, kind)
    assert "must be given" in profile
    assert failed == set()


@pytest.mark.slow("finite fills of a mask that may be left out stay inside")
def test_a_fill_of_a_mask_that_must_be_given_is_found():
    assert "hidden keys" in judged(fills)[1]


def test_what_cannot_say_nothing_gets_the_kind_that_judges_it():
    with pytest.raises(ValueError, match="it must be given softcap: judge it --as softcap"):
        judged(capped)
