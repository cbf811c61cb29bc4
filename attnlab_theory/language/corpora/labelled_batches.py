"""Batches of texts with one label each: what a classifier is trained on."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float32, Int, Int32


class LabelledBatch(NamedTuple):
    """Rows of tokens and their labels. They are numpy arrays on the host, and a pytree under `jit`."""

    tokens: Int32[np.ndarray, "b t"] | Int32[Array, "b t"]
    """Tokens to read, with their marks. Where the mask is False they may be anything."""
    mask: Bool[np.ndarray, "b t"] | Bool[Array, "b t"]
    """True for a token, False for padding."""
    labels: Int32[np.ndarray, " b"] | Int32[Array, " b"]
    """The class of each row, from 0. Where the weight is 0 it may be anything."""
    weights: Float32[np.ndarray, " b"] | Float32[Array, " b"]
    """The weight of each row's loss: 1 as a rule, 0 for a row of padding."""

    @property
    def targets(self) -> int:
        """How many rows the loss looks at."""
        return int(np.count_nonzero(np.asarray(self.weights) > 0))

    @property
    def weight(self) -> float:
        """What the summed loss is divided by."""
        return float(np.sum(np.asarray(self.weights), dtype=np.float64))

    @property
    def documents(self) -> int:
        """How many rows hold a text, with or without a label."""
        return int(np.count_nonzero(np.asarray(self.mask).any(axis=1)))

    @property
    def places(self) -> int:
        """Tokens that it has room for, padding among them."""
        return int(np.size(self.tokens))

    def take(self, rows: Int[np.ndarray, " _"] | slice, width: int | None = None) -> "LabelledBatch":
        """Some of the rows, cut to a width."""
        tokens, mask, labels, weights = self
        return LabelledBatch(tokens[rows, :width], mask[rows, :width], labels[rows], weights[rows])

    def filled(self, rows: int) -> "LabelledBatch":
        """The batch, filled up to `rows` rows with rows of padding. They change neither loss nor gradient."""
        missing = rows - len(self.tokens)
        if missing <= 0:
            return self
        return self._each(lambda part: np.pad(part, ((0, missing), *[(0, 0)] * (np.ndim(part) - 1))))

    def _each(self, change: Callable[[Any], Any]) -> "LabelledBatch":
        return LabelledBatch._make(map(change, self))
