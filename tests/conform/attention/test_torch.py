"""What strangers write in torch, judged without an adapter."""

import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct
from tests.conform.judging import suite as suite_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
functional = torch.nn.functional
SDPA = "torch.nn.functional:scaled_dot_product_attention"


def plain(q, k, v, mask=None):
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ v


def causal(q, k, v, mask=None):
    t, s = q.shape[-2], k.shape[-2]
    seen = torch.ones(t, s, dtype=torch.bool).tril(s - t)
    return plain(q, k, v, seen if mask is None else seen & mask)


def tokens_first(q, k, v, attn_mask=None):
    return plain(*(x.transpose(1, 2) for x in (q, k, v)), attn_mask).transpose(1, 2)


def batch_alone(q, k, v):
    return torch.bmm((torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5).softmax(-1), v)


def one_head(q, k, v):
    return torch.mm((torch.mm(q, k.t()) / q.shape[-1] ** 0.5).softmax(-1), v)


def without_batch(q, k, v):
    assert q.ndim == 3
    return plain(q, k, v)


def tokens_then_heads(q, k, v):
    return without_batch(*(x.transpose(0, 1) for x in (q, k, v))).transpose(0, 1)


def with_weights(q, k, v):
    weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
    return weights @ v, weights


def with_none(q, k, v):
    return plain(q, k, v), None


def learns_a_factor(q, k, v):
    return plain(q, k, v) * torch.ones((), requires_grad=True)


def dropping(q, k, v, dropout_p=0.1, training=True):
    return functional.dropout(plain(q, k, v), dropout_p, training)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, q, k, v, mask=None):
        return self.dropout(plain(q, k, v, mask))


class Projecting(torch.nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.query = torch.nn.Linear(width, width)

    def forward(self, q, k, v):
        return plain(self.query(q), k, v)


def judged(target, kind):
    suite = suite_of(Direct(target), kind)
    return dict(suite.profile), {row.name: row for row in suite.rows()}, suite


@pytest.mark.parametrize(
    ("target", "kind", "layout"),
    [
        (plain, "softmax", "b h t d"),
        (causal, "causal", "b h t d"),
        (tokens_first, "softmax", "b t h d"),
        (batch_alone, "softmax", "b t d"),
        (one_head, "softmax", "t d"),
        (without_batch, "multi-head", "h t d"),
        (tokens_then_heads, "multi-head", "t h d"),
        (with_weights, "softmax", "b h t d"),
        (with_none, "softmax", "b h t d"),
        (learns_a_factor, "softmax", "b h t d"),
        (dropping, "softmax", "b h t d"),
        (Layer, "softmax", "b h t d"),
        (torch.compile(plain, backend="eager"), "softmax", "b h t d"),
        (functional.scaled_dot_product_attention, "softmax", "b h t d"),
        (functional.scaled_dot_product_attention, "causal", "b h t d"),
        (functional.scaled_dot_product_attention, "grouped-query", "b h t d"),
        (functional.scaled_dot_product_attention, "bias", "b h t d"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_right_code_of_torch_holds_in_every_layout_and_type(target, kind, layout):
    profile, rows, suite = judged(target, kind)
    assert [f"{row.name}: {row.line}" for row in rows.values() if row.verdict == "fails"] == []
    assert (profile["framework"], profile["layout"]) == ("torch", f"{layout} (guessed)")
    assert {rows[name].verdict for name in ("float64", "float16", "bfloat16", "gradient mode")} == {"holds"}
    assert suite.notes() == []


def test_arguments_that_only_a_docstring_names_are_used():
    profile, rows, _ = judged(functional.scaled_dot_product_attention, "causal")
    assert profile["hides the future"] == "by is_causal"
    assert profile["more keys than queries"] == "start: query 0 sees key 0 only"
    assert "refused together" in profile["attn_mask and is_causal"]
    assert rows["scale"].verdict == "holds"


def test_dropout_is_switched_off_and_that_is_said():
    assert judged(dropping, "softmax")[0]["dropout"] == "off, by dropout_p=0.0, training=False"
    assert judged(Layer, "softmax")[0]["mode"] == "evaluation"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Layer(), "draws random numbers in training mode: two equal calls differ; hand over module.eval"),
        (Projecting, r"is a module that projects, by query.weight \[4, 4\]"),
        (lambda q, k, v: {"out": plain(q, k, v)}, "gave a dict, and no array"),
        (lambda q, k, v: plain(q, k, v).to("meta"), "Cannot copy out of meta tensor"),
        (lambda q, k, v: plain(q, k, v) + 0j, "gave numbers of type complex64"),
    ],
    ids=["training", "projecting", "dictionary", "meta", "complex"],
)
def test_what_cannot_be_judged_gets_one_line_with_the_remedy(target, said):
    with pytest.raises(ValueError, match=said) as raised:
        suite_of(Direct(target), "softmax")
    assert "\n" not in str(raised.value)


def test_a_class_that_must_be_given_arguments_gets_one_line(capsys):
    assert main(["conform", "torch.nn:MultiheadAttention"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "it is a class that must be given embed_dim, num_heads. Write model = MultiheadAttention(" in err


def test_a_function_of_torch_is_judged_by_one_command(capsys):
    assert main(["conform", SDPA, "--as", "softmax"]) == 0
    assert " 0 fail" not in capsys.readouterr().out


def of_library(q, k, v, mask=None):
    """torch's module, with identity projections for each number of heads; b t h d."""
    heads, width = q.shape[2:]
    module = torch.nn.MultiheadAttention(heads * width, heads, batch_first=True).to(q.dtype).eval()
    for x in module.parameters():
        d = x.shape[-1]
        x.data = torch.eye(d).repeat(len(x) // d, 1).to(x) if x.ndim == 2 else torch.zeros_like(x)
    flat = {id(x): x.flatten(2) for x in (q, k, v)}
    mask = None if mask is None else ~mask
    return module(*(flat[id(x)] for x in (q, k, v)), attn_mask=mask, need_weights=False)[0].unflatten(
        2, (heads, width)
    )


def test_the_fast_path_of_torchs_module_differs_in_rows_that_see_nothing():
    row = suite_of(Direct(of_library), "multi-head", {"layout": "bthd"}).row("gradient mode")
    assert row.verdict == "fails"
    assert "is NaN under no_grad, and zeros with gradients" in row.line


def writes_in_place(q, k, v):
    return plain(q.mul_(q.shape[-1] ** -0.5) * q.shape[-1] ** 0.5, k, v)


def another_without_gradients(q, k, v):
    return plain(q, k, v) * (1 if torch.is_grad_enabled() else 1.001)


def test_what_differs_under_no_grad_fails():
    rows = judged(another_without_gradients, "softmax")[1]
    assert "under no_grad another answer than with gradients" in rows["gradient mode"].line


def test_a_function_that_writes_into_tensors_is_told_twice():
    rows = judged(writes_in_place, "softmax")[1]
    assert rows["inputs unchanged"].verdict == "fails"
    assert "in-place operation" in rows["gradient mode"].line
