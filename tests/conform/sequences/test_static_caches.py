"""Caches that are made beforehand: of one width, of one size, in single precision, of modules without `forward`."""

import subprocess
import sys

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct, place_of
from attnlab_theory.conform.suite import suite_class
from tests.conform.sequences.decoding import attend


class Buffers:
    """Two heads of 16 channels, in float32, for 160 tokens."""

    def __init__(self):
        self.k, self.v = np.zeros((2, 4, 2, 160, 16), "f4")
        self.n = 0

    def reset(self):
        self.n = 0

    def step(self, q, k, v):
        b, _, t, _ = q.shape
        if self.n + t > 160:
            raise ValueError("the cache is full")
        self.k[:b, :, self.n : self.n + t] = k
        self.v[:b, :, self.n : self.n + t] = v
        self.n += t
        k, v = (x[:b, :, : self.n].astype(q.dtype) for x in (self.k, self.v))
        return attend(q, k, v, self.n - t)


def rows(target):
    suite = suite_class("decode")(Direct(target), "decode")
    return suite, {row.name: row for row in suite.rows()}


def test_a_cache_of_one_width_is_asked_that_width():
    suite, found = rows(Buffers)
    assert ("width", "16") in suite.profile
    assert [row.line for row in found.values() if row.verdict == "fails"] == []
    assert found["many tokens"].verdict == "holds"


class Overwriting(Buffers):
    """Chunks are written one place too far to the left."""

    def step(self, q, k, v):
        if self.n and q.shape[2] > 1:
            self.n -= 1
        return super().step(q, k, v)


def test_a_static_cache_that_loses_a_key_fails():
    _, found = rows(Overwriting)
    assert found["chunks"].verdict == "fails"


SHARED = """
import numpy as np
def shared(x, cache={}):
    k = np.concatenate([cache["k"], x], 1) if len(cache.get("k", ())) == len(x) else x
    cache["k"] = k
    seen = np.tri(x.shape[1], k.shape[1], k.shape[1] - x.shape[1], dtype=bool)
    s = np.where(seen, x @ k.swapaxes(1, 2), -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ k, cache
"""


@pytest.mark.slow("planted bugs of caches, without a snippet, stay inside")
def test_a_default_that_all_calls_share_is_shown_by_calls_without_a_cache(tmp_path):
    path = tmp_path / "keeps.py"
    path.write_text(SHARED)
    names = {}
    exec(SHARED, names)
    suite, found = rows(names["shared"])
    assert found["token by token"].verdict == "fails"
    lines = suite.replay([place_of(f"{path}::shared")], [found["token by token"]])
    assert 0 < len(lines) <= 15
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    given, right = map(float, done.stdout.removesuffix(" is right\n").split(" where "))
    assert abs(given - right) > 1e-3


@pytest.mark.torch
def test_a_module_without_forward_is_decoded_by_its_steps():
    torch = pytest.importorskip("torch")

    class Static(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0
            for name in "kv":
                self.register_buffer(name, torch.zeros(4, 2, 160, 16))

        reset = Buffers.reset

        def step(self, q, k, v):
            b, _, t, _ = q.shape
            if self.n + t > 160:
                raise ValueError("the cache is full")
            self.k[:b, :, self.n : self.n + t], self.v[:b, :, self.n : self.n + t] = k, v
            self.n += t
            seen = torch.ones(t, self.n, dtype=torch.bool).tril(self.n - t)
            k, v = (x[:b, :, : self.n].to(q.dtype) for x in (self.k, self.v))
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)

    _, found = rows(Static)
    assert [row.line for row in found.values() if row.verdict == "fails"] == []
    assert found["token by token"].verdict == "holds"
