"""`--in-process` judges a kernel of an accelerator, in Triton: right, and with two bugs that some sizes show."""

import json

import pytest

from attnlab_theory.cli import main

KERNEL = '''
import torch
import triton
import triton.language as tl

KEYS, QUERIES = 32, 16


@triton.jit
def attend(
    q, k, v, out, tokens, keys, scale, width: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    """A block of M queries meets the keys in blocks of N, and keeps a running maximum and sum."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    channels = tl.arange(0, D)
    here = tl.program_id(1)
    inside = (rows[:, None] < tokens) & (channels[None, :] < width)
    x = tl.load(q + here * tokens * width + rows[:, None] * width + channels[None, :], mask=inside, other=0.0)
    largest = tl.full([M], -float("inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    mean = tl.zeros([M, D], tl.float32)
    for start in range(0, keys, N):
        columns = start + tl.arange(0, N)
        at = here * keys * width + columns[:, None] * width + channels[None, :]
        there = (columns[:, None] < keys) & (channels[None, :] < width)
        y = tl.load(k + at, mask=there, other=0.0)
        z = tl.load(v + at, mask=there, other=0.0)
        scores = tl.dot(x, tl.trans(y), input_precision="ieee") * scale
        seen = {seen}
        scores = tl.where(seen, scores, -float("inf"))
        raised = tl.maximum(largest, tl.max(scores, 1))
        kept = tl.where(raised == -float("inf"), 0.0, raised)
        weights = tl.exp(scores - kept[:, None])
        shrunk = tl.exp(largest - kept)
        total = total * shrunk + tl.sum(weights, 1)
        mean = mean * {shrunk} + tl.dot(weights.to(z.dtype), z, input_precision="ieee")
        largest = raised
    mean = mean / total[:, None]
    tl.store(out + here * tokens * width + rows[:, None] * width + channels[None, :], mean, mask=inside)


def attention(q, k, v):
    """[b h t d], float32, float16 or bfloat16; a query sees the keys up to its own place."""
    if q.dtype == torch.float64:
        raise TypeError("at most float32")
    q, k, v = (x.cuda().contiguous() for x in (q, k, v))
    (b, h, t, d), s = q.shape, k.shape[2]
    out = torch.zeros_like(q)
    if min(b, h, t, d, s):
        size = max(16, triton.next_power_of_2(d))
        attend[triton.cdiv(t, QUERIES), b * h](q, k, v, out, t, s, d**-0.5, d, size, QUERIES, KEYS)
    return out
'''

RIGHT = {"seen": "(columns[None, :] < keys) & (columns[None, :] <= rows[:, None])", "shrunk": "shrunk[:, None]"}

WRONG = {
    # A query beyond the last key sees the padding of the last block.
    "padding": RIGHT | {"seen": "columns[None, :] <= rows[:, None]"},
    # Seen only where a later block has a larger score.
    "maximum": RIGHT | {"shrunk": "1.0"},
}


def judged(capsys, path, changes):
    text = KERNEL
    for name, code in changes.items():
        text = text.replace("{" + name + "}", code)
    path.write_text(text)
    code = main(["conform", f"{path}::attention", "--as", "causal", "--in-process", "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.torch
def test_a_triton_kernel_is_judged_in_process(capsys, tmp_path):
    """Each kernel is compiled for a dozen widths."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device: no kernel of an accelerator was judged")
    code, found = judged(capsys, tmp_path / "right.py", RIGHT)
    assert code == 0, [row["line"] for row in found["rows"] if row["verdict"] == "fails"]
    assert found["calls"] > 100
    for name, changes in WRONG.items():
        code, found = judged(capsys, tmp_path / f"{name}.py", changes)
        assert code == 1, name
        fails = {row["identity"] for row in found["rows"] if row["verdict"] == "fails"}
        assert fails & {"block edges", "more queries", "visibility", "pairs"}, (name, fails)
