"""Masks and biases that must have more axes, or be whole numbers, are handed over as they are taken."""

import subprocess
import sys

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct, place_of
from tests.conform.judging import COVERED
from tests.conform.judging import suite as suite_of
from tests.conform.wrong import whole


def of_four_axes(q, k, v, attention_mask=None):
    """As decoders of transformers: cut to the number of keys."""
    bias = None if attention_mask is None else attention_mask[:, :, :, : k.shape[-2]]
    return whole(q, k, v, bias=bias)


def of_three_axes(q, k, v, mask=None):
    """As the annotated transformer, which adds the axis of heads by itself."""
    return whole(q, k, v, None if mask is None else np.expand_dims(mask, 1) != 0)


def of_keys(q, k, v, attention_mask=None):
    """As tokenizers give it: [b s], of whole numbers, from which one must be able to subtract."""
    if attention_mask is None:
        return whole(q, k, v)
    if attention_mask.dtype == bool:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    hidden = (1.0 - attention_mask[:, None, None, :]) != 0
    return whole(q, k, v, ~hidden)


def of_whole_numbers(kept):
    """Truth values cannot be subtracted."""

    def target(q, k, v, mask=None):
        if mask is None:
            return whole(q, k, v)
        if mask.dtype != np.int64:
            raise TypeError("ones and zeros are wanted")
        return whole(q, k, v, mask == kept)

    target.__name__ = f"of_{kept}_that_keeps"
    return target


def of_keys_that_drop(q, k, v, key_padding_mask=None):
    """[b s], of whole numbers: 1 is padding."""
    shown = None if key_padding_mask is None else key_padding_mask[:, None, None, :]
    return of_whole_numbers(0)(q, k, v, shown)


def of_large_numbers(q, k, v, mask=None):
    """Half of the smallest number is added where there is a 0; to minus infinity it would drown the scores."""
    if mask is None:
        return whole(q, k, v)
    if mask.dtype == bool:
        raise TypeError("Subtraction with a bool tensor is not supported")
    return whole(q, k, v, bias=((1 - mask) * (np.finfo(q.dtype).min / 2)).astype(q.dtype))


def must_be_given(q, k, v, mask):
    b, _, t, s = mask.shape
    assert (b, t, s) == (len(q), q.shape[-2], k.shape[-2])
    return whole(q, k, v, mask)


def four_axes_of_a_bias(q, k, v, bias=None):
    return whole(q, k, v, bias=None if bias is None else bias[:, :, :, : k.shape[-2]])


RIGHT = {
    of_four_axes: ("attention_mask", "numbers are added, as [b 1 t s] (guessed)"),
    of_three_axes: ("mask", "True keeps, as [b t s] (guessed)"),
    of_keys: ("attention_mask", "1 keeps, 0 drops (guessed)"),
    of_whole_numbers(1): ("mask", "1 keeps, 0 drops (guessed)"),
    of_whole_numbers(0): ("mask", "1 drops, 0 keeps (guessed)"),
    of_keys_that_drop: ("key_padding_mask", "1 drops, 0 keeps (guessed)"),
    of_large_numbers: ("mask", "1 keeps, 0 drops (guessed)"),
    must_be_given: ("mask", "True keeps, as [b 1 t s] (guessed)"),
    four_axes_of_a_bias: ("a bias for each batch element", "taken"),
}


def rows(target, kind):
    suite = suite_of(Direct(target), kind)
    return suite, {row.name: row for row in suite.rows()}


@pytest.mark.slow("a snippet that hands over three axes stays inside")
@pytest.mark.parametrize(("target", "said"), RIGHT.items(), ids=lambda each: getattr(each, "__name__", ""))
@pytest.mark.parametrize("kind", ["softmax", "bias"])
def test_right_code_holds_and_the_profile_says_what_was_handed_over(target, said, kind):
    if kind == "bias" and target not in (of_four_axes, four_axes_of_a_bias):
        pytest.skip("it takes no bias")
    suite, found = rows(target, kind)
    assert kind == "bias" or said in suite.profile
    assert [row.line for row in found.values() if row.verdict == "fails"] == []
    assert (kind == "bias" and "bias by element" in found) or found.keys() & {"padding by element", *COVERED}


def first_only(target):
    def wrong(q, k, v, mask=None):
        return target(q, k, v, mask if mask is None else np.repeat(mask[:1], len(mask), 0))

    wrong.__name__ = f"first_{target.__name__}"
    return wrong


@pytest.mark.slow("lengths that are ignored for all elements stay inside")
@pytest.mark.parametrize("target", [of_four_axes, of_three_axes, of_keys])
def test_the_mask_of_element_0_for_all_fails(target):
    _, found = rows(first_only(target), "softmax")
    assert found["padding by element"].verdict == "fails"


SHOWN = """
import numpy as np
def soft(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
def three(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    if mask is not None:
        assert mask.ndim == 3
        s = np.where(mask[:1, None], s, q.dtype.type(-50))
    return soft(s) @ v
def four(q, k, v, bias=None):
    s = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    return soft(s if bias is None else s + 1.1 * bias[:, :, :, :]) @ v
def must(q, k, v, mask):
    s = q @ np.swapaxes(k, -1, -2) * q.dtype.type(1.1 * q.shape[-1] ** -0.5)
    return soft(np.where(mask[:, :1], s, -np.inf)) @ v
"""


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(("name", "kind"), [("three", "softmax"), ("four", "bias"), ("must", "softmax")])
def test_a_snippet_hands_over_the_same_shapes(tmp_path, name, kind):
    """Judges a target whole, and starts a process for the snippet."""
    path = tmp_path / "shown.py"
    path.write_text(SHOWN)
    names = {}
    exec(SHOWN, names)
    suite, found = rows(names[name], kind)
    place = place_of(f"{path}::{name}")
    failed = [row for row in found.values() if row.verdict == "fails" and row.counterexample is not None]
    lines = suite.snippet(place, failed)
    assert 0 < len(lines) <= 15
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    given, right = (float(x) for x in done.stdout.replace("is right", "").split("where"))
    assert done.returncode == 0
    assert given != pytest.approx(right, rel=1e-4)


def by_rows(picks):
    """Indexes a mask of keys by batch elements, so that one of queries and keys is taken without an error."""

    def target(q, k, v, attn_mask=None):
        if attn_mask is None:
            return whole(q, k, v)
        rows = [picks(attn_mask[b].astype(bool)) for b in range(len(q))]
        pairs = zip(q, k, v, rows, strict=True)
        return np.concatenate([whole(a[None], b[None, :, keep], c[None, :, keep]) for a, b, c, keep in pairs])

    return target


def test_a_mask_of_keys_is_found_where_one_of_queries_is_taken_too():
    packed = {
        "by place": by_rows(lambda keep: np.flatnonzero(keep[-1] if keep.ndim > 1 else keep)),
        "by number": by_rows(lambda keep: np.arange(keep.sum())),
    }
    found = {}
    for name, target in packed.items():
        suite = suite_of(Direct(target), "softmax")
        found[name] = [row.verdict for row in suite.rows(["masks", "padding by element"])]
        assert dict(suite.profile)["attn_mask"] == "True keeps (guessed)"
    assert found == {"by place": ["holds"], "by number": ["fails"]}
