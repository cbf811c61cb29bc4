"""How a step is called so that it continues the whole: by a mask, by a flag, and told where its tokens stand."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab_theory.conform.attention.masks import MEANINGS, SHAPES, said
from attnlab_theory.conform.sequences.forms import OFFSETS, Form

if TYPE_CHECKING:
    from attnlab_theory.conform.sequences.cached_layer import CachedLayerSuite


def styles(form: Form) -> Sequence[str]:
    """How it may be told where tokens stand: by the place of the first one, or of all, [t] or [b t]."""
    return ("one",) if form.position.lower() in OFFSETS else ("t", "bt")


def mask(suite: "CachedLayerSuite") -> None:
    """Find out what a mask means, and its shape: with it the future is hidden."""
    declared = suite.declared.get("mask")
    meanings = [declared] if declared in MEANINGS else MEANINGS
    suite.masks = True
    for suite.mask_shape, suite.meaning in itertools.product(SHAPES, meanings):
        if suite.leak(6) is None:
            return
    suite.mask_shape, suite.meaning = SHAPES[0], meanings[0]


def settle(suite: "CachedLayerSuite") -> None:
    """Find out what a step must be told.

    Where a causal flag is aligned to the first key it hides the cache, so it is set at the beginning only. Some
    count the tokens of the cache, and some want to be told where the new ones stand.
    """
    form, given = suite.form, suite.places
    told = (given,) if form.must or not form.position else ("", *styles(form))
    if told == ("",) and not form.flag:
        return
    x = suite.draw(2, 6, 2)
    right, _ = suite.whole(x)
    for suite.places, suite.first_only in itertools.product(told, (False, True) if form.flag else (False,)):
        fed = suite.run(x, range(1, 6))
        if right is not None and not fed.trouble and not suite.near(fed.output, right, x).fails:
            break
    else:
        suite.places, suite.first_only = told[-1], False
    if suite.first_only:
        suite.chunked = False


def seen(suite: "CachedLayerSuite", tokens: int, past: int) -> np.ndarray:
    """A causal mask, as the target wants it."""
    kind = "float32" if suite.kind_of_numbers == "bfloat16" else suite.kind_of_numbers
    found = said(np.tri(tokens, past + tokens, past, dtype=bool), suite.meaning, np.dtype(kind))
    return found.reshape((1,) * (len(suite.mask_shape) - 2) + found.shape)


def standing(suite: "CachedLayerSuite", tokens: int, past: int, batch: int) -> dict[str, Any]:
    """Where tokens stand, by the name of the parameter; nothing if that is not told."""
    rows = np.arange(past, past + tokens)
    values = {"one": past, "t": rows, "bt": np.repeat(rows[None], batch, axis=0)}
    return {suite.form.position: values[suite.places]} if suite.places else {}
