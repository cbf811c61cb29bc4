"""What a target sees: with q = k = 0 all scores are alike, and with v = I the output is the mask over its sums."""

import dataclasses
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.attention.asking import ask
from attnlab_theory.conform.attention.cases import Arrays, Case
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Trouble

NEAR = 0.1
"""How far a row of weights may be from a sum of one and still be one: what is wrong with it is judged elsewhere."""


class Seen(NamedTuple):
    """What a probe shows."""

    trouble: Trouble | None
    weights: np.ndarray
    """[b h t s]; empty if there was trouble."""
    owners: np.ndarray
    """[b h], which head of which batch element of the keys was read, counted through; -1 for a mixture."""
    totals: np.ndarray = np.zeros((0, 0, 0))
    """[b h t], the sum of the weights of a row, times 1 + the number of the head that was read."""

    def sums(self, case: Case) -> np.ndarray | None:
        """The sums of rows, [b h t], if these are weights of values of one head each, whatever they sum to.

        Args:
            case: its sizes.
        """
        b, h, g, s = case.batch, case.heads, case.groups, case.keys
        raw = self.weights + np.maximum(self.owners, 0)[..., None, None]
        for group in (np.arange(h) * g // h, np.arange(h) % g):
            if self.trouble or not np.isfinite(raw).all():
                return None
            owner = (np.arange(b)[:, None] * g + group)[..., None]
            sums = self.totals / (1 + owner)
            weights = raw - (owner * sums)[..., None]
            near = np.abs(weights.sum(-1) - sums) < 1e-3 * s * (1 + owner)
            if near.all() and (weights > -1e-3).all() and (sums > 0).all():
                return sums
        return None

    @property
    def is_attention(self) -> bool:
        """Whether every row is a mean of the values of one head."""
        return not self.trouble and bool((self.owners >= 0).all())

    def equals(self, visible: np.ndarray) -> bool:
        """Whether each row shares its weight among what is visible."""
        if self.trouble:
            return False
        share = visible / np.maximum(visible.sum(-1, keepdims=True), 1)
        rows = np.broadcast_to(visible.any(-1), self.weights.shape[:-1])
        return bool(np.all(np.abs(self.weights - share)[rows] < NEAR / self.weights.shape[-1]))


def probed(
    caller: Caller,
    way: Conventions,
    case: Case,
    mask: np.ndarray | None = None,
    scores: np.ndarray | None = None,
    padding: np.ndarray | None = None,
) -> Seen:
    """Ask with q = k = 0 and v = I; the offset of each head says whose values were read.

    Args:
        caller: of the target.
        way: to call it.
        case: its sizes and flags.
        mask: True keeps, [t s] or [b h t s]; None for none.
        scores: of each key, [s], in place of 0.
        padding: True keeps, [b s]; None for none.
    """
    b, h, g, t, s = case.batch, case.heads, case.groups, case.queries, case.keys
    kind = "float32" if case.kind == "bfloat16" else case.kind
    if way.same_width:
        case = dataclasses.replace(case, width=way.wide(s + 2))
    q, k = np.zeros((b, h, t, case.width), kind), np.zeros((b, g, s, case.width), kind)
    if scores is not None:
        # Two factors, for their product may be large.
        root = np.sqrt(np.abs(scores / way.factor(case)))
        q[..., 0] = root.max()
        k[..., 0] = np.sign(scores) * root**2 / root.max()
    v = np.zeros((b, g, s, way.wide(s + 2)), kind)
    v[..., :s] = np.eye(s)
    v[..., s:] = 1.0
    v += np.arange(b * g).reshape(b, g, 1, 1)
    case = _replaced(case, mask is not None, padding is not None, v.shape[-1])
    bias = np.zeros((h, t, s), kind) if case.bias else None
    answer = ask(caller, way, case, Arrays(q, k, v, mask, bias, padding))
    if answer.trouble:
        return Seen(answer.trouble, np.zeros((0, 0, 0, 0)), np.zeros((0, 0)))
    raw = answer.output[..., -2:].mean(-1) - 1
    owner = np.round(np.nan_to_num(raw, nan=-1.0, posinf=-1.0, neginf=-1.0))
    alike = (np.abs(raw - owner) < NEAR).all(-1) & (owner == owner[..., :1]).all(-1)
    owners = np.where(alike & np.isfinite(raw).all(-1), owner[..., 0] if t else 0, -1).astype(int)
    return Seen(None, answer.output[..., :s] - np.maximum(owners, 0)[..., None, None], owners, raw + 1)


def _replaced(case: Case, masked: bool, padded: bool, value_width: int) -> Case:
    said = {"mask": "random" if masked else "none", "padding": "end" if padded else ""}
    return dataclasses.replace(case, value_width=value_width, garbage="", values="plain", **said)


def order_of_heads(seen: Seen, case: Case) -> bool | None:
    """Whether keys are shared interleaved; None if no order fits."""
    b, h, g = case.batch, case.heads, case.groups
    first = np.arange(b)[:, None] * g
    for interleaved, group in ((False, np.arange(h) * g // h), (True, np.arange(h) % g)):
        if np.array_equal(seen.owners, first + group):
            return interleaved
    return None
