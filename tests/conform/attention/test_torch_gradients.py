"""Gradients of torch: right ones hold at every type, and what only a gradient shows fails there alone."""

import subprocess
import sys

import pytest

from attnlab_theory.conform.callers import Direct, place_of
from attnlab_theory.conform.kinds.softmax.slopes import compared
from tests.conform.judging import suite as suite_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
SEEDS = range(20)


def gradients_of(target, kind="softmax", **declared):
    return suite_of(Direct(target), kind, declared).row("gradients")


def torch_targets():
    """Right code, written in three ways, and bugs that only a gradient shows."""

    def right(q, k, v, mask=None, scale=None):
        scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
        return scores.softmax(-1) @ v

    def with_maximum(q, k, v, mask=None):
        """The maximum is differentiated, too."""
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
        raised = (scores - scores.amax(-1, keepdim=True)).exp()
        return raised @ v / raised.sum(-1, keepdim=True)

    def log_sum_exp(q, k, v):
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
        return (scores - scores.logsumexp(-1, keepdim=True)).exp() @ v

    def capped(q, k, v, softcap):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        return (softcap * (scores / softcap).tanh()).softmax(-1) @ v

    class Backward(torch.autograd.Function):
        """By hand, as kernels have it."""

        @staticmethod
        def forward(ctx, q, k, v, bug):
            w = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
            ctx.save_for_backward(q, k, v, w)
            ctx.bug = bug
            return w @ v

        @staticmethod
        def backward(ctx, c):
            q, k, v, w = ctx.saved_tensors
            of_weights = c @ v.transpose(-1, -2)
            mean = (w * of_weights).sum(-1, keepdim=True)
            ds = w * (of_weights - mean * (ctx.bug != "no mean"))
            ds = ds * (1 if ctx.bug == "no scale" else q.shape[-1] ** -0.5)
            if ctx.bug == "blocks of 16" and k.shape[-2] > 16:
                ds = torch.cat([ds[..., :16], 0 * ds[..., 16:]], -1)
            dk = ds.transpose(-1, -2) @ q
            if ctx.bug == "dense cotangent":
                c = c if c.is_contiguous() else torch.zeros_like(c)
            return ds @ k, dk, w.transpose(-1, -2) @ c, None

    def by_hand(bug):
        return lambda q, k, v: Backward.apply(q, k, v, bug)

    def biased(q, k, v, bias):
        return (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + bias.detach()).softmax(-1) @ v

    def added(q, k, v, bias=None):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        return (scores if bias is None else scores + bias).softmax(-1) @ v

    def learns_at_once(q, k, v, bias=None):
        """Where each batch element has its own bias, the gradient goes to the first."""
        if bias is not None and bias.ndim == 4 and len(bias) > 1:
            bias = bias.detach() + bias[:1] - bias[:1].detach()
        return added(q, k, v, bias)

    def straight_through(q, k, v, softcap):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        return (scores + (softcap * (scores / softcap).tanh() - scores).detach()).softmax(-1) @ v

    def hidden_values(q, k, v, mask=None):
        """What is hidden gets a gradient as if it were seen."""
        out = right(q, k, v, mask)
        return out if mask is None else out + 1e-3 * (right(q, k, v) - right(q, k, v).detach())

    right_ones = {"right": right, "with maximum": with_maximum, "log-sum-exp": log_sum_exp, "by hand": by_hand("")}
    bugs = {name: by_hand(name) for name in ("no mean", "no scale", "blocks of 16", "dense cotangent")}
    bugs |= {"hidden values": hidden_values, "bias detached": biased, "cap passed over": straight_through}
    bugs |= {"bias of element 0": learns_at_once}
    return right_ones, {"capped": capped, "added": added}, bugs


KINDS = {
    "bias detached": "bias",
    "bias of element 0": "bias",
    "added": "bias",
    "cap passed over": "softcap",
    "capped": "softcap",
}


NAN_WHERE_BLIND = ("right", "with maximum")
"""What fills scores with minus infinity: a row that sees nothing is NaN, and what it touches in the gradients."""


@pytest.mark.parametrize("name", ["right", "with maximum", "log-sum-exp", "by hand", "capped", "added"])
def test_right_gradients_of_torch_hold_however_they_are_had(name):
    right, capped, _ = torch_targets()
    row = gradients_of({**right, **capped}[name], KINDS.get(name, "softmax"), framework="torch")
    assert row.verdict == ("convention" if name in NAN_WHERE_BLIND else "holds"), row.line
    assert ("a row that sees nothing is NaN" in row.line) == (name in NAN_WHERE_BLIND)


@pytest.mark.parametrize(
    "bug",
    [
        *("no mean", "no scale", "blocks of 16", "dense cotangent", "hidden values", "bias detached"),
        *("bias of element 0", "cap passed over"),
    ],
)
def test_a_bug_that_only_gradients_show_fails_there_alone(bug):
    suite = suite_of(
        Direct(torch_targets()[2][bug]), KINDS.get(bug, "softmax"), {"framework": "torch", "layout": "bhtd"}
    )
    assert {row.name for row in suite.rows() if row.verdict == "fails"} == {"gradients"}


def test_gradients_are_asked_beside_what_must_be_given():
    def masked(q, k, v, mask):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v

    row = gradients_of(masked, framework="torch", layout="bhtd")
    assert (row.verdict, row.line.partition(";")[0][:13]) == ("convention", "largest error")


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
def test_right_gradients_of_20_seeds_are_within_their_tolerance(kind):
    right, _, _ = torch_targets()
    worst = 0.0
    for name in ("right", "with maximum", "log-sum-exp", "by hand"):
        judge = suite_of(Direct(right[name]), "softmax", {"framework": "torch", "layout": "bhtd"}).judge
        for seed in SEEDS:
            t, s = ((5, 5), (3, 17), (9, 2), (17, 17))[seed % 4]
            values = (None, "ties", "attracting", "zeros")[seed // 4 % 4]
            (case,) = judge.cases([{"queries": t, "keys": s, "type": kind, "seed": seed, "values": values}])
            found = compared(judge, case)
            assert found.verdict == "holds"
            worst = max(worst, found.ratio)
    print(f"{kind}: the largest error is {worst:.3g} of its tolerance")
    assert worst > 1e-3


def test_float32_inside_float64_is_no_wrong_gradient_and_half_precision_inside_is_one():
    def inside(kind):
        def attention(q, k, v):
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            if q.dtype == torch.float64:
                return scores.to(kind).softmax(-1).to(v.dtype) @ v
            return scores.softmax(-1) @ v

        return gradients_of(attention, layout="bhtd", framework="torch")

    assert inside(torch.float32).verdict == "holds"
    row = inside(torch.float16)
    assert (row.verdict, "float64" in row.line) == ("fails", True)


DETACHED = """
import torch
def detached(q, k, v):
    return (q @ k.detach().transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1) @ v
"""


def test_a_gradient_that_nobody_computes_is_shown_as_zero(tmp_path):
    path = tmp_path / "stops.py"
    path.write_text(DETACHED)
    names = {}
    exec(DETACHED, names)
    suite = suite_of(Direct(names["detached"]), "softmax", {"framework": "torch", "layout": "bhtd"})
    failed = [row for row in suite.rows(["gradients"]) if row.verdict == "fails"]
    lines = suite.replay([place_of(f"{path}::detached")], failed)
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    given, right = (float(x) for x in done.stdout.replace("is right", "").split("where"))
    assert (given, right != 0) == (0, True)


def windowed(bug):
    """A window, with a backward pass by hand."""

    class Window(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v, seen, past):
            scores = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(~seen, float("-inf"))
            ctx.save_for_backward(q, k, v, past if bug == "the past alone in the backward pass" else seen)
            return scores.softmax(-1) @ v

        @staticmethod
        def backward(ctx, c):
            q, k, v, seen = ctx.saved_tensors
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            w = scores.masked_fill(~seen, float("-inf")).softmax(-1)
            of_weights = c @ v.transpose(-1, -2)
            ds = w * (of_weights - (w * of_weights).sum(-1, keepdim=True)) * q.shape[-1] ** -0.5
            dq, dk, dv = ds @ k, ds.transpose(-1, -2) @ q, w.transpose(-1, -2) @ c
            wanted = ctx.needs_input_grad
            if bug == "keys alone get none" and wanted[:3] == (False, True, False):
                dk = 0 * dk
            if bug == "values without queries are doubled" and wanted[2] and not wanted[0]:
                dv = 2 * dv
            return dq, dk, dv, None, None

    def target(q, k, v, window):
        t, s = q.shape[-2], k.shape[-2]
        back = torch.arange(t)[:, None] + s - t - torch.arange(s)
        return Window.apply(q, k, v, (back >= 0) & (back < window), back >= 0)

    return target


@pytest.mark.parametrize(
    ("bug", "verdict", "said"),
    [
        ("", "holds", "largest error"),
        ("the past alone in the backward pass", "fails", "window=3"),
        ("keys alone get none", "fails", "where only k needs gradients: the gradient of k is 0 "),
        ("values without queries are doubled", "fails", "where only v needs gradients: the gradient of v"),
    ],
)
def test_gradients_in_a_window_and_of_each_subset_of_the_inputs_are_judged(bug, verdict, said):
    row = gradients_of(windowed(bug), "sliding-window", framework="torch", layout="bhtd")
    assert (row.verdict, said in row.line) == (verdict, True), row.line


@pytest.mark.parametrize(
    ("outcome", "verdict"), [("zeros by hand", "holds"), ("zeros over NaN", "fails"), ("NaN", "convention")]
)
@pytest.mark.parametrize("name", ["mask", "key_padding_mask"])
def test_gradients_that_a_row_makes_nan_that_sees_nothing_fail_unless_it_is_nan_itself(name, outcome, verdict):
    def attend(q, k, v, seen):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        seen = torch.ones_like(scores, dtype=bool) if seen is None else seen.expand_as(scores)
        some = seen.any(-1, keepdim=True)
        if outcome == "zeros by hand":
            return scores.masked_fill(~seen & some, float("-inf")).softmax(-1).masked_fill(~seen, 0) @ v
        weights = (scores + torch.zeros_like(scores).masked_fill(~seen, float("-inf"))).softmax(-1)
        return (weights if outcome == "NaN" else weights.nan_to_num()) @ v

    def of_queries(q, k, v, mask=None):
        return attend(q, k, v, mask)

    def of_keys(q, k, v, key_padding_mask=None):
        return attend(q, k, v, None if key_padding_mask is None else key_padding_mask[:, None, None])

    row = gradients_of(of_queries if name == "mask" else of_keys, framework="torch", layout="bhtd")
    assert (row.verdict, row.trouble is None) == (verdict, verdict == "holds"), row.line


@pytest.mark.parametrize("cast", ["all", "keys and values"])
def test_gradients_are_judged_in_the_type_that_came_out(cast):
    def autocast(q, k, v):
        k, v = k.bfloat16(), v.bfloat16()
        q = q.bfloat16() if cast == "all" else q
        scores = (q.float() @ k.float().transpose(-1, -2)) * q.shape[-1] ** -0.5
        return scores.softmax(-1).bfloat16() @ v

    row = gradients_of(autocast, framework="torch", layout="bhtd")
    assert row.verdict == "holds", row.line


def test_a_wrong_gradient_in_the_type_that_came_out_fails():
    def wrong(q, k, v):
        scores = (q @ k.detach().transpose(-1, -2)) * q.shape[-1] ** -0.5
        return scores.softmax(-1).bfloat16() @ v.bfloat16()

    assert gradients_of(wrong, framework="torch", layout="bhtd").verdict == "fails"


def test_a_sink_that_is_none_has_no_gradient_and_one_that_is_has_its_own():
    """Asks for all gradients of two targets."""

    def attention(q, k, v, sinks):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        column = sinks.to(q.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
        return torch.cat([scores, column], -1).softmax(-1)[..., :-1] @ v

    def detached(q, k, v, sinks):
        return attention(q, k, v, sinks.detach())

    assert gradients_of(attention, framework="torch", layout="bhtd").verdict != "fails"
    row = gradients_of(detached, framework="torch", layout="bhtd")
    assert (row.verdict, "the gradient of sinks is 0 where" in row.line) == ("fails", True)


def test_a_wrong_gradient_is_shown_by_no_snippet_of_an_answer():
    suite = suite_of(Direct(torch_targets()[2]["no scale"]), "softmax", {"framework": "torch", "layout": "bhtd"})
    rows = list(suite.rows(["gradients"]))
    assert [row.verdict for row in rows] == ["fails"]
    assert suite.snippet(place_of(f"{__file__}::torch_targets"), rows) == []
