r"""What a vector of LinearAttention asks, and how near an answer must be.

The state of a head is a matrix of keys and values, S <- exp(g) S + k w^T, where w is v, or beta (v - S^T k) by the
delta rule. The output is scale S^T q. Nothing is normalised.

Tolerance. The output is a polynomial in q, k, v, beta, the decays and the old state. Let M be the sum of its terms
in absolute value: the same recurrence with a plus for each minus. For each token a number passes through at most
d + 1 roundings of S^T k, three of w, two of the write, and five of the decay (the exponential errs by 4 u). A
program that works in chunks adds logarithms first, and errs by t u of their sum G in the exponent. Reading takes
d + 2 more. Let

    n = t (d + 11) + 2 t G + d + 2.

In any order of sums (Higham, section 3.1) the output errs by at most n u / (1 - n u) M.
"""

from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.rounding import HALF_EPS, TINY
from attnlab_theory.conform.vectors.reading import Vector, by_head

WIDTH = 8
"""How wide keys and values are in all vectors of this operator."""


class Question(NamedTuple):
    """One call, and its answers. Keys are repeated for each head of queries."""

    q: np.ndarray
    """[b h t d]."""
    k: np.ndarray
    v: np.ndarray
    """[b h t e]."""
    decay: np.ndarray | None
    """Logarithms, [b h t d]; [b h t 1] of all channels."""
    beta: np.ndarray | None
    """[b h t 1]."""
    state: np.ndarray | None
    """[b h d e]."""
    scale: float | None
    """None is one over the root of the width."""
    output: np.ndarray
    present: np.ndarray
    """The state after the last token, [b h d e]."""

    @property
    def factor(self) -> float:
        """The scale in numbers."""
        return self.q.shape[-1] ** -0.5 if self.scale is None else self.scale


def question(vector: Vector) -> Question:
    """What a vector asks.

    Source: https://onnx.ai/onnx/operators/onnx__LinearAttention.html.
    """
    said, given = vector.attributes, vector.inputs
    heads, groups = said["q_num_heads"], said["kv_num_heads"]

    def repeated(x: np.ndarray | None) -> np.ndarray | None:
        return None if x is None else np.repeat(x, heads // x.shape[1], axis=1)

    def cut(name: str) -> np.ndarray | None:
        if name not in given:
            return None
        x = given[name]
        return repeated(by_head(x, min(groups, x.shape[-1])))

    k, v = cut("key"), cut("value")
    assert k is not None
    assert v is not None
    outputs = {name: np.asarray(x).astype(np.float64) for name, x in vector.outputs.items()}
    return Question(
        q=by_head(given["query"], heads),
        k=k,
        v=v,
        decay=cut("decay"),
        beta=cut("beta"),
        state=repeated(given.get("past_state")),
        scale=float(said["scale"]) if said.get("scale") else None,
        output=by_head(outputs["output"], heads),
        present=np.repeat(outputs["present_state"], heads // groups, axis=1),
    )


class Exact(NamedTuple):
    """What is right, in float64, and the sizes of what it is made of."""

    output: np.ndarray
    state: np.ndarray
    terms: np.ndarray
    """The terms of the output in absolute value."""
    state_terms: np.ndarray


def exact(asked: Question) -> Exact:
    """The recurrence, token by token."""
    q, k, v = (np.asarray(x, np.float64) for x in (asked.q, asked.k, asked.v))
    (b, h, t, d), e = q.shape, v.shape[-1]
    state = np.zeros((b, h, d, e)) if asked.state is None else np.asarray(asked.state, np.float64)
    size, outputs, sizes = np.abs(state), np.zeros(v.shape), np.zeros(v.shape)
    for i in range(t):
        if asked.decay is not None:
            kept = np.exp(asked.decay[:, :, i].astype(np.float64))[..., None]
            state, size = state * kept, size * kept
        w, w_size = v[:, :, i], np.abs(v[:, :, i])
        if asked.beta is not None:
            beta = asked.beta[:, :, i].astype(np.float64)
            w = beta * (w - np.einsum("bhde,bhd->bhe", state, k[:, :, i]))
            w_size = np.abs(beta) * (w_size + np.einsum("bhde,bhd->bhe", size, np.abs(k[:, :, i])))
        state = state + k[:, :, i, :, None] * w[:, :, None]
        size = size + np.abs(k[:, :, i, :, None]) * w_size[:, :, None]
        outputs[:, :, i] = asked.factor * np.einsum("bhde,bhd->bhe", state, q[:, :, i])
        sizes[:, :, i] = asked.factor * np.einsum("bhde,bhd->bhe", size, np.abs(q[:, :, i]))
    return Exact(outputs, state, sizes, size)


class Tolerance(NamedTuple):
    """How far a right answer may be from that of ONNX."""

    output: np.ndarray
    state: np.ndarray


def tolerance(asked: Question, right: Exact, kind: str, accumulate: str | None = None) -> Tolerance:
    """The bound of this module's docstring, and that of ONNX, which adds up in float32 and rounds what it gives."""
    t, d = asked.q.shape[2:]
    total = 0.0 if asked.decay is None else float(np.abs(asked.decay.astype(np.float64)).sum(2).max())
    count = t * (d + 11) + 2 * t * total + d + 2
    sums = HALF_EPS[accumulate or kind] + HALF_EPS["float32"]
    stored = HALF_EPS[kind] + HALF_EPS[str(asked.q.dtype)]
    part = count * sums / (1 - count * sums) if count * sums < 1 else np.inf
    least = count * TINY[kind]
    return Tolerance(
        part * right.terms + stored * np.abs(right.output) + least,
        part * right.state_terms + stored * np.abs(right.state) + least,
    )
