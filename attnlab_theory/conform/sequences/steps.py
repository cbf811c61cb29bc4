"""How a step is called so that it continues the whole: by a mask, by a flag, and told where its tokens stand."""

import abc
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.masks import MEANINGS, SHAPES, said
from attnlab_theory.conform.sequences.caches import CacheSuite
from attnlab_theory.conform.sequences.forms import OFFSETS, Form
from attnlab_theory.conform.suite import Said


def styles(form: Form) -> Sequence[str]:
    """How it may be told where tokens stand: by the place of the first one, or of all, [t] or [b t]."""
    return ("one",) if form.position.lower() in OFFSETS else ("t", "bt")


class StepSuite(CacheSuite):
    """A target with a cache whose steps are told something beside their tokens."""

    form: Form
    kind_of_numbers: str
    """The type of the inputs."""
    masks = False
    """Whether a mask that hides the future is handed over."""
    mask_shape = SHAPES[0]
    meaning = MEANINGS[0]
    first_only = False
    """Whether a causal flag is set at the beginning only."""
    places = ""
    """One of `styles`; empty if steps are not told where they stand."""

    @abc.abstractmethod
    def leak(self, tokens: int) -> Said | None:
        """A failure of the whole pass to hide the future; None if there is none."""

    def find_mask(self) -> None:
        """Find out what a mask means, and its shape: with it the future is hidden."""
        declared = self.declared.get("mask")
        meanings = [declared] if declared in MEANINGS else MEANINGS
        self.masks = True
        for self.mask_shape, self.meaning in itertools.product(SHAPES, meanings):
            if self.leak(6) is None:
                return
        self.mask_shape, self.meaning = SHAPES[0], meanings[0]

    def settle(self) -> None:
        """Find out what a step must be told.

        Where a causal flag is aligned to the first key it hides the cache, so it is set at the beginning only. Some
        count the tokens of the cache, and some want to be told where the new ones stand.
        """
        form, given = self.form, self.places
        told = (given,) if form.must or not form.position else ("", *styles(form))
        if told == ("",) and not form.flag:
            return
        x = self.draw(2, 6, 2)
        right, _ = self.whole(x)
        for self.places, self.first_only in itertools.product(told, (False, True) if form.flag else (False,)):
            fed = self.run(x, range(1, 6))
            if right is not None and not fed.trouble and not self.near(fed.output, right, x).fails:
                break
        else:
            self.places, self.first_only = told[-1], False
        if self.first_only:
            self.chunked = False

    def seen(self, tokens: int, past: int) -> np.ndarray:
        """A causal mask, as the target wants it."""
        kind = "float32" if self.kind_of_numbers == "bfloat16" else self.kind_of_numbers
        found = said(np.tri(tokens, past + tokens, past, dtype=bool), self.meaning, np.dtype(kind))
        return found.reshape((1,) * (len(self.mask_shape) - 2) + found.shape)

    def standing(self, tokens: int, past: int, batch: int) -> dict[str, Any]:
        """Where tokens stand, by the name of the parameter; nothing if that is not told."""
        rows = np.arange(past, past + tokens)
        values = {"one": past, "t": rows, "bt": np.repeat(rows[None], batch, axis=0)}
        return {self.form.position: values[self.places]} if self.places else {}
