"""What a target takes beside q, k and v is handed over and judged, or a line says that it was not."""

import json

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct
from tests.conform.attention.wrong_together import attend, back
from tests.conform.judging import suite as suite_of


def packed(bug):
    """Documents in one sequence."""

    def target(q, k, v, segment_ids=None):
        t, s = q.shape[-2], k.shape[-2]
        seen = np.tri(t, s, s - t, dtype=bool)[None, None]
        if segment_ids is not None:
            ids = segment_ids[:, np.arange(s) // 8 * 8] if bug == "by blocks of 8" else segment_ids
            ids = ids[:1] if bug == "of the first element" else ids
            same = ids[:, None, -t:, None] == ids[:, None, None]
            before = bug == "the document before" and ids[:, None, -t:, None] == ids[:, None, None] + 1
            seen = seen & (same | before)
        return attend(q, k, v, seen)

    return target


def beside_each_other(see, q, k, v, ends, others, causal):
    """Documents [t h d], each by itself as far as `see` lets it. Four axes are cut along the first, too."""
    found = []
    for a, b, c, d in zip(ends[:-1], ends[1:], others[:-1], others[1:], strict=True):
        c, d = see(c, d)
        one, keys, values = (x.swapaxes(0, 1) for x in (q[a:b], k[c:d], v[c:d]))
        t, s = one.shape[-2], keys.shape[-2]
        found.append(attend(one, keys, values, np.tri(t, s, s - t, dtype=bool) if causal else True))
    return np.concatenate(found, 1).swapaxes(0, 1)


ENDS = {
    "": lambda c, d: (c, d),
    "what came before": lambda c, d: (0, d),
    "the token before": lambda c, d: (max(c - 1, 0), d),
}


def told_by_ends(bug):
    """As flash-attention has it, causal by a flag."""

    def target(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, causal=False):
        assert max_seqlen_q >= np.diff(cu_seqlens_q).max()
        assert max_seqlen_k >= np.diff(cu_seqlens_k).max()
        return beside_each_other(ENDS[bug], q, k, v, cu_seqlens_q, cu_seqlens_k, causal)

    return target


def told_by_one_array(bug):
    """Always causal, of as many queries as keys."""

    def target(q, k, v, cu_seqlens):
        ends = cu_seqlens[[0, -1]] if bug == "one document" else cu_seqlens
        return beside_each_other(ENDS.get(bug, ENDS[""]), q, k, v, ends, ends, causal=True)

    return target


def told_if_wanted(bug, axes=(3,)):
    """Without it all tokens are one document; of so many axes."""

    def target(q, k, v, cu_seqlens=None):
        assert q.ndim in axes
        ends = np.array([0, len(q)]) if cu_seqlens is None or bug == "one document" else cu_seqlens
        others = ends + np.eye(len(ends), dtype=int)[-1] * (len(k) - len(q))
        return beside_each_other(ENDS.get(bug, ENDS[""]), q, k, v, ends, others, causal=False)

    return target


def told_in_one_element(bug):
    """Packed documents are one batch element [1 t h d]; without ends there may be many."""

    def target(q, k, v, cu_seqlens=None):
        if cu_seqlens is None:
            return np.stack([told_if_wanted("")(*each) for each in zip(q, k, v, strict=True)])
        assert len(q) == 1
        return told_if_wanted(bug)(q[0], k[0], v[0], cu_seqlens)[None]

    return target


def with_sinks(bug):
    """One more key of each head, without a value."""

    def target(q, k, v, sinks=None):
        if sinks is None:
            return attend(q, k, v)
        scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        sinks = sinks[::-1] if bug == "of another head" else sinks
        sinks = np.where(sinks == 0, -np.inf, sinks) if bug == "none where it is zero" else sinks
        sink = sinks[:, None, None].astype(q.dtype)
        top = np.maximum(scores.max(-1, keepdims=True), sink)
        raised, more = np.exp(scores - top), np.exp(sink - top)
        if bug == "not in the sum":
            more = 0 * more
        return raised / (raised.sum(-1, keepdims=True) + more) @ v

    return target


def sloped(bug):
    """ALiBi by its slopes."""

    def target(q, k, v, alibi_slopes=None):
        if alibi_slopes is None:
            return attend(q, k, v)
        far = np.maximum(back(q, k), 0) if bug == "the past alone" else abs(back(q, k))
        far = far - (k.shape[-2] - q.shape[-2]) if bug == "from the first key" else far
        slopes = alibi_slopes[:, None, None].astype(q.dtype)
        return attend(q, k, v, bias=(slopes if bug == "risen" else -slopes) * far.astype(q.dtype))

    return target


WRONG = [
    (packed, "causal", "packed documents", ("by blocks of 8", "of the first element", "the document before")),
    (told_by_ends, "causal", "packed documents", ("what came before", "the token before")),
    (told_by_one_array, "causal", "packed documents", ("what came before", "one document")),
    (told_if_wanted, "multi-head", "packed documents", ("the token before", "one document")),
    (told_in_one_element, "multi-head", "packed documents", ("what came before", "one document")),
    (with_sinks, "multi-head", "sinks", ("of another head", "none where it is zero", "not in the sum")),
    (sloped, "multi-head", "slopes", ("the past alone", "risen")),
]


@pytest.mark.parametrize(
    ("make", "kind", "identity", "bug"), [(*each[:3], bug) for each in WRONG for bug in each[3]]
)
def test_what_is_known_by_its_name_is_handed_over_and_judged(make, kind, identity, bug):
    suite = suite_of(Direct(make(bug)), kind)
    assert [row.verdict for row in suite.rows([identity])] == ["fails"]


@pytest.mark.slow("documents of three members stay inside", but=1)
@pytest.mark.parametrize(("make", "kind", "identity"), [each[:3] for each in WRONG])
def test_the_same_code_without_a_bug_holds_also_beside_other_features(make, kind, identity):
    suite = suite_of(Direct(make("")), kind)
    assert {row.name: row.verdict for row in suite.rows([identity, "pairs"])} == {
        identity: "holds",
        "pairs": "holds",
    }
    assert suite.never_passed == []


def test_packed_documents_are_judged_in_the_layout_that_is_theirs():
    """A target of [t h d] and of batches means documents by the first axis: in batches that is no failure."""
    found = suite_of(Direct(told_if_wanted("", (3, 4))), "multi-head")
    assert dict(found.profile)["cu_seqlens"] == "not judged: documents see themselves alone with --layout thd"
    assert [row.verdict for row in found.rows(["packed documents", "plain"])] == ["holds"]
    for bug, verdict in (("", "holds"), ("the token before", "fails")):
        declared = suite_of(Direct(told_if_wanted(bug, (3, 4))), "multi-head", {"layout": "thd"})
        assert [row.verdict for row in declared.rows(["packed documents"])] == [verdict]
    ignored = suite_of(Direct(told_if_wanted("one document", (3, 4))), "multi-head")
    assert [row.verdict for row in ignored.rows(["packed documents"])] == ["fails"]


def half_known(q, k, v, mask=None, score_mod=None, *, need_weights=False, dropout_p=0.0):
    return attend(q, k, v, mask)


def test_a_parameter_that_nothing_is_handed_over_for_is_named():
    suite = suite_of(Direct(half_known), "softmax")
    assert suite.never_passed == ["score_mod", "need_weights"]


def test_a_parameter_that_is_known_but_refused_is_named_too():
    def target(q, k, v, segment_ids=None):
        assert segment_ids is None
        return attend(q, k, v)

    suite = suite_of(Direct(target), "softmax")
    assert suite.never_passed == ["segment_ids"]
    assert dict(suite.profile)["segment_ids"].startswith("not judged: AssertionError")


TARGETS = """
import numpy as np

def attention(q, k, v, score_mod=None, sm_margin=0):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v

def plain(q, k, v):
    return attention(q, k, v)

def slopes(n_heads, dtype=None):
    return 2.0 ** (-8.0 * np.arange(1, n_heads + 1) / n_heads)

def turned(x, positions, offset=0):
    half = x.shape[-1] // 2
    angle = positions[..., None] * 1e4 ** (-np.arange(half) / half)
    c, s = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    return np.concatenate([x[..., :half] * c - x[..., half:] * s, x[..., half:] * c + x[..., :half] * s], -1)
"""


@pytest.mark.slow("the note and the property without a process stay inside", but=1)
@pytest.mark.parametrize(
    ("name", "kind", "left"),
    [
        ("attention", "softmax", ["score_mod", "sm_margin"]),
        ("plain", "softmax", []),
        ("turned", "rotary", ["offset"]),
    ],
)
def test_a_strict_run_fails_for_what_was_never_passed(tmp_path, capsys, name, kind, left):
    """Each starts two processes."""
    (tmp_path / "mine.py").write_text(TARGETS)
    asked = ["conform", f"{tmp_path}/mine.py::{name}", "--as", kind]
    strict = main([*asked, "--strict", "--json"])
    told = json.loads(capsys.readouterr().out)
    usual = main(asked)
    assert (strict, usual) == (int(bool(left)), 0)
    assert (told["exit_code"], told["never_passed"]) == (strict, left)
    assert (f"note: never passed: {', '.join(left)}\n" in capsys.readouterr().out) == bool(left)
