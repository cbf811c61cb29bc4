"""What a target seems to be without --as, and that the line to type next accuses no right code."""

import dataclasses
import json

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.advice import advised
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.finding import WROTE
from attnlab_theory.conform.likely import likely
from attnlab_theory.conform.report import follows
from attnlab_theory.conform.suite import suite_class
from tests.conform.right import plain


def seen_by(q, k, left=None, right=None):
    back = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2] - np.arange(k.shape[-2])
    return (back <= (10**6 if left is None else left)) & (back >= -(10**6 if right is None else right))


def attend(q, k, v, seen=True, *, scale=None, cap=None, bias=0.0):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if cap is None else q.dtype.type(cap) * np.tanh(scores / q.dtype.type(cap))
    scores = np.where(seen, scores + np.asarray(bias, q.dtype), -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


def elu(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def linear(q, k, v, causal=False):
    weights = elu(q) @ np.swapaxes(elu(k), -1, -2)
    weights = np.where(seen_by(q, k, right=0), weights, 0) if causal else weights
    return (weights / weights.sum(-1, keepdims=True) @ v).astype(v.dtype)


def linear_cumulated(q, k, v):
    sums = np.cumsum(np.einsum("...sd,...se->...sde", elu(k), v), -3)
    normaliser = np.einsum("...td,...td->...t", elu(q), np.cumsum(elu(k), -2))[..., None]
    return (np.einsum("...td,...tde->...te", elu(q), sums) / normaliser).astype(v.dtype)


def without_normaliser(q, k, v):
    return q @ (np.swapaxes(k, -1, -2) @ v)


def retention(q, k, v):
    back = np.arange(q.shape[-2])[:, None] - np.arange(k.shape[-2])
    return (q @ np.swapaxes(k, -1, -2) * np.where(back >= 0, 0.9 ** abs(back), 0)).astype(q.dtype) @ v


def retention_in_chunks(q, k, v, chunk_size=16):
    t = q.shape[-2]
    state, out = np.zeros((*q.shape[:-2], q.shape[-1], v.shape[-1])), []
    for begin in range(0, t, chunk_size):
        a, b, c = (x[..., begin : begin + chunk_size, :] for x in (q, k, v))
        powers = 0.9 ** np.arange(1, a.shape[-2] + 1)[:, None]
        out.append(retention(a, b, c) + (a @ state) * powers)
        state = state * powers[-1] + np.swapaxes(b * (powers[-1] / powers), -1, -2) @ c
    return np.concatenate(out, -2).astype(q.dtype)


def stepwise_retention(q, k, v, gamma, state=None):
    state = np.zeros((*q.shape[:-2], q.shape[-1], v.shape[-1]), q.dtype) if state is None else state
    out = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    for i in range(q.shape[-2]):
        state = state * np.reshape(gamma, (-1, 1, 1)) + k[..., i, :, None] * v[..., i, None, :]
        out[..., i, :] = np.einsum("...d,...de->...e", q[..., i, :], state)
    return out, state.astype(q.dtype)


def causal(q, k, v):
    return attend(q, k, v, seen_by(q, k, right=0))


def grouped(q, k, v):
    return plain(q, *(np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v)))


def past_of_5(q, k, v):
    return attend(q, k, v, seen_by(q, k, 4, 0))


def past_of_64(q, k, v):
    return attend(q, k, v, seen_by(q, k, 63, 0))


def three_to_either_side(q, k, v, reach=3):
    return attend(q, k, v, seen_by(q, k, reach, reach))


def pair_of_a_window(q, k, v, window_size=(2, 1)):
    return attend(q, k, v, seen_by(q, k, *window_size))


def window_must_be_given(q, k, v, window):
    return attend(q, k, v, seen_by(q, k, window - 1, 0))


def capped(q, k, v):
    return attend(q, k, v, cap=20)


def capped_by_default(q, k, v, softcap=30.0):
    return attend(q, k, v, cap=softcap)


def causal_and_capped(q, k, v):
    return attend(q, k, v, seen_by(q, k, right=0), cap=15)


def other_scale(q, k, v):
    return attend(q, k, v, scale=0.7)


def bias_must_be_given(q, k, v, bias):
    return attend(q, k, v, bias=bias)


def gate_that_may_be_left_away(q, k, v, gate=None):
    return attend(q, k, v)


def dropped(q, k, v, p, seed):
    weights = attend(q, k, np.broadcast_to(np.eye(k.shape[-2], dtype=k.dtype), (*k.shape[:-1], k.shape[-2])))
    kept = np.random.default_rng(seed).random(weights.shape) >= p
    return (weights * kept / (1 - p)).astype(q.dtype) @ v


def positive_features(x, seed):
    w = np.random.default_rng(seed).standard_normal((64, x.shape[-1]))
    return np.exp(x @ w.T - (x * x).sum(-1, keepdims=True) / 2) / 8


KNOWN = {
    plain: ("softmax", ""),
    causal: ("causal", ""),
    grouped: ("grouped-query", ""),
    linear: ("linear", ""),
    linear_cumulated: ("linear", ""),
    without_normaliser: ("linear", ""),
    retention_in_chunks: ("recurrent", ""),
    stepwise_retention: ("recurrent", ""),
    past_of_5: ("sliding-window", " --window 5"),
    past_of_64: ("sliding-window", " --window 64"),
    three_to_either_side: ("sliding-window", " --window 3"),
    pair_of_a_window: ("sliding-window", ""),
    window_must_be_given: ("sliding-window", ""),
    capped: ("softcap", " --softcap 20"),
    capped_by_default: ("softcap", ""),
    causal_and_capped: ("causal", " --softcap 15"),
    other_scale: ("softmax", " --scale 0.7"),
    bias_must_be_given: ("bias", ""),
    gate_that_may_be_left_away: ("softmax", ""),
    dropped: ("dropout", ""),
    positive_features: ("random-features", ""),
}

DECLARED = {"window": "fixed_window", "softcap": "fixed_softcap", "scale": "scale"}


@pytest.mark.slow("one of 21 members stays inside", but=1)
@pytest.mark.parametrize("target", KNOWN, ids=lambda each: each.__name__)
def test_the_advice_names_the_kind_and_that_kind_holds(target):
    """Tries what kind explains a target, and judges it whole as that kind."""
    found = advised(Direct(target), {})
    assert (found.kind, found.options) == KNOWN[target]
    said = found.options.removeprefix(" --").split()
    declared = {DECLARED[said[0]]: said[1] if said[0] == "scale" else int(said[1])} if said else {}
    suite = suite_class(found.kind)(Direct(target), found.kind, declared)
    assert [row.line for row in suite.rows() if row.verdict == "fails"] == []


@pytest.mark.slow("recurrences that their parameters tell stay inside")
def test_a_retention_without_a_state_is_to_be_compared_with_another_form():
    """Tries what kind explains a target, and judges it whole as that kind."""
    found = advised(Direct(retention), {})
    assert (found.kind, found.options) == ("recurrent", " --against FILE.py::FUNCTION")
    assert ("decay of each head", "0.9") in found.profile
    suite = suite_class("recurrent")(Direct(retention), "recurrent", {"against": retention_in_chunks})
    assert [row.line for row in suite.rows() if row.verdict == "fails"] == []


def squares(q, k, v):
    weights = (q @ np.swapaxes(k, -1, -2) + 3) ** 2
    return weights / weights.sum(-1, keepdims=True) @ v


def distances_added(q, k, v):
    back = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2] - np.arange(k.shape[-2])
    return attend(q, k, v, back >= 0, bias=-0.5 * abs(back))


def two_back_and_one_ahead(q, k, v):
    return attend(q, k, v, seen_by(q, k, 2, 1))


@pytest.mark.slow("two of three members stay inside", but=2)
@pytest.mark.parametrize(
    ("target", "said"),
    [
        (squares, "but not with the weights of a softmax: choose KIND yourself"),
        (distances_added, "something is added to the scores"),
        (two_back_and_one_ahead, "a query sees 2 keys back and 1 ahead, which no --window W says"),
    ],
)
def test_what_no_kind_explains_gets_no_advice(target, said):
    found = advised(Direct(target), {})
    assert (found.kind, found.options, found.more) == ("", "", ())
    assert said in found.notes[0]


def masked_after_the_softmax(q, k, v):
    weights = attend(q, k, np.broadcast_to(np.eye(k.shape[-2], dtype=k.dtype), (*k.shape[:-1], k.shape[-2])))
    return np.tril(weights).astype(q.dtype) @ v


def sees_one_ahead(q, k, v):
    return attend(q, k, v, seen_by(q, k, right=1))


def scaled_by_the_longest_key(q, k, v):
    longest = np.sqrt((k * k).sum(-1)).max(-1)[..., None, None]
    return attend(q, k / np.maximum(longest, 1), v, seen_by(q, k, right=0))


def upside_down(q, k, v):
    return attend(q, k, v, seen_by(q, k, left=0))


def set_to_minus_ten(q, k, v):
    return attend(q, k, v, bias=np.where(seen_by(q, k, right=0), 0, -10.0))


def set_to_zero_before_the_softmax(q, k, v):
    scores = np.tril(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize(
    ("target", "leak"),
    [
        (upside_down, "a leak: every query sees what comes after it, and nothing before"),
        (set_to_minus_ten, "a leak: query "),
        (set_to_zero_before_the_softmax, "a leak: later values are seen, with weights that no later key moves"),
        (masked_after_the_softmax, "a leak: query 3 of 5 moves by"),
        (sees_one_ahead, "a leak: every query sees 1 key after itself, and none later"),
        (scaled_by_the_longest_key, "a leak: query "),
        (causal, ""),
        (past_of_5, ""),
    ],
)
def test_a_guess_tells_of_a_leak_before_anything_else(target, leak):
    found = advised(Direct(target), {})
    assert found.kind == ("sliding-window" if target is past_of_5 else "causal")
    assert found.leak.startswith(leak)
    assert bool(found.leak) == bool(leak)
    assert bool(found.contradictions) == (target is masked_after_the_softmax)


def test_an_output_that_sees_the_next_token_alone_is_told():
    notes = advised(Direct(lambda x: sees_one_ahead(x, x, x)), {}).notes
    assert notes == ("an output sees 1 token after its own and none later: if it should see none, --causal",)
    assert advised(Direct(lambda x: plain(x, x, x)), {}).notes == ()


MASKED_AFTER = """
import numpy as np

def f(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return np.tril(raised / raised.sum(-1, keepdims=True)) @ v
"""


def test_a_leak_stands_first_and_what_follows_is_folded_under_it(tmp_path, capsys):
    """Judges a target of two rows, and asks what it seems to be."""
    (tmp_path / "mine.py").write_text(MASKED_AFTER)
    target = f"{tmp_path}/mine.py::f"
    assert main(["conform", target, "--in-process"]) == 0
    assert capsys.readouterr().out.startswith(f"{target}: a leak: query 3 of 5 moves by ")
    assert main(["conform", target, "--in-process", "--as", "causal"]) == 1
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if "FAILS" in line]
    assert [line.split()[0] for line in rows] == ["causality"]
    assert "The leak may be why 1 more row fails: visibility. --json shows each." in out
    assert main(["conform", target, "--in-process", "--as", "causal", "--json"]) == 1
    assert [row["identity"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["causality", "visibility"]


def dropping(x):
    return np.cumsum(x, -2) * (np.random.random(x.shape) > 0.1).astype(x.dtype)  # noqa: NPY002


def dropping_logits(ids):
    return np.random.random((*ids.shape, 20)).astype(np.float32)  # noqa: NPY002


def dropping_linear(q, k, v):
    return without_normaliser(q, k, v) * np.random.random()  # noqa: NPY002


class Remembers:
    """Another call gives another answer, by no chance."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return np.cumsum(x, -2) * self.calls


@pytest.mark.parametrize(
    ("target", "kind"), [(dropping, "mixer"), (dropping_logits, "model"), (dropping_linear, "linear")]
)
def test_who_draws_random_numbers_is_told_so_in_one_line(target, kind):
    with pytest.raises(ValueError, match=r"draws random .*; switch dropout off, and keep no state between calls$"):
        suite_class(kind)(Direct(target), kind)


def test_who_remembers_is_judged_and_not_said_to_draw_random_numbers():
    (row,) = suite_class("mixer")(Direct(Remembers()), "mixer").rows(["same result"])
    assert row.verdict == "fails"


def test_a_failure_that_no_leak_explains_is_not_folded():
    suite = suite_class("causal")(Direct(masked_after_the_softmax), "causal")
    leak, wrong = suite.rows()
    if leak.name == "visibility":
        leak, wrong = wrong, leak
    assert follows(wrong, [leak, wrong], suite)
    assert not follows(dataclasses.replace(wrong, trouble=WROTE), [leak, wrong], suite)
    assert not follows(wrong, [wrong], suite)
    # A call that writes into its input tells of no leak.
    assert not follows(wrong, [dataclasses.replace(leak, trouble=WROTE), wrong], suite)
    assert not follows(leak, [leak, wrong], suite)


def test_a_scale_that_is_none_of_the_known_ones_is_told():
    def target(q, k, v):
        return attend(q, k, v, scale=(q.shape[-1] + 1) ** -0.5)

    found = advised(Direct(target), {})
    assert (found.kind, found.options) == ("softmax", "")
    assert found.notes == ("its scale is 0.333 at width 8, and none that is known",)


def test_a_softmax_that_overflows_is_still_told_as_one():
    def target(q, k, v):
        raised = np.exp(q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5))
        return raised / raised.sum(-1, keepdims=True) @ v

    assert advised(Direct(target), {})[0] == "softmax"


def partly_rotated(x):
    angles = np.arange(x.shape[-2])[:, None] / 10000.0 ** (np.arange(0, 4, 2) / 4)
    a, b, rest = x[..., :2], x[..., 2:4], x[..., 4:]
    turned = [a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles), rest]
    return np.concatenate(turned, -1).astype(x.dtype)


def test_a_function_of_tokens_that_mixes_none_may_be_one_of_positions():
    found = advised(Direct(partly_rotated), {})
    assert found.kind == "mixer"
    assert "--as rotary" in found.notes[0]
    suite = suite_class("rotary")(Direct(partly_rotated), "rotary")
    assert [row.line for row in suite.rows() if row.verdict == "fails"] == []
    assert advised(Direct(lambda x: np.cumsum(x, -2)), {})[4] == ()


@pytest.mark.parametrize(
    ("required", "others", "kind"),
    [
        (("q", "k", "v", "p", "seed"), (), "dropout"),
        (("q", "k", "v", "rng"), (), "random-features"),
        (("q", "k", "v"), ("dropout_p", "seed"), ""),
        (("x", "seed"), (), "random-features"),
        (("q", "k", "v", "gamma"), ("state",), "recurrent"),
        (("q", "k", "v"), ("g", "initial_state"), "recurrent"),
        (("q", "k", "v", "chunk_size"), (), "recurrent"),
        (("q", "k", "v"), ("state",), "decode"),
        (("q", "k", "v"), ("gate",), ""),
        (("q", "k", "v", "bias"), (), "bias"),
        (("query", "key", "value", "window_size"), (), "sliding-window"),
    ],
)
def test_parameters_say_what_a_target_is(required, others, kind):
    parameters = [[name, "POSITIONAL_OR_KEYWORD", name in required] for name in (*required, *others)]
    assert likely({"parameters": parameters}) == kind


@pytest.mark.slow("a next line that needs no options stays inside")
def test_the_next_line_carries_what_it_needs(tmp_path, capsys):
    """Gives advice on two functions and judges one whole, each time in a process of its own."""
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n\n\ndef f(q, k, v, bias=None):\n"
        "    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)\n"
        "    back = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2] - np.arange(k.shape[-2])\n"
        "    scores = np.where(abs(back) <= 3, scores if bias is None else scores + bias, -np.inf)\n"
        "    raised = np.exp(scores - scores.max(-1, keepdims=True))\n"
        "    return raised / raised.sum(-1, keepdims=True) @ v\n\n\n"
        "def g(q, k, v):\n    weights = (q @ np.swapaxes(k, -1, -2) + 3) ** 2\n"
        "    return weights / weights.sum(-1, keepdims=True) @ v\n"
    )
    target = f"{tmp_path}/mine.py::f"
    assert main(["conform", target, "--features", "elu"]) == 0
    assert f"Type next: attnlab conform {target} --as sliding-window --window 3\nAfter that: --as bias" in (
        capsys.readouterr().out
    )
    assert main(["conform", target, "--as", "sliding-window", "--window", "3"]) == 0
    capsys.readouterr()
    assert main(["conform", f"{tmp_path}/mine.py::g"]) == 0
    out = capsys.readouterr().out
    assert "is of no kind that is known" in out
    assert "Type next" not in out
