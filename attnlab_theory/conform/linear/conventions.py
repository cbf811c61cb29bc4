"""How a target of linear attention is called, and what it means by it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.attention.layouts import has_batch
from attnlab_theory.conform.attention.masks import said
from attnlab_theory.conform.linear.cases import Case
from attnlab_theory.conform.linear.reference import Problem

ROLES: Mapping[str, tuple[str, ...]] = {
    "mask": ("mask", "key_mask", "key_padding_mask", "padding_mask", "attention_mask", "attn_mask", "input_mask"),
    "causal": ("causal", "is_causal"),
}
"""What parameters are for, by their names."""

MASKS: Mapping[str, str] = {
    "bool-keep": "True keeps a key",
    "bool-drop": "True drops a key",
    "ones-keep": "1 keeps a key",
    "ones-drop": "1 drops a key",
}
"""What a mask of keys [b s] means."""

SCALES = ("one", "rsqrt")
"""The scale of queries: 1, or 1/sqrt(width)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Conventions:
    """One way to call a target, and to read it."""

    framework: str = "numpy"
    layout: str = "bhtd"
    features: str = ""
    """A key of `reference.FEATURES`."""
    normaliser: bool = True
    scale: str = "one"
    """A name of `scales`, or a number."""
    eps: float = 0.0
    clamped: bool = False
    least: float = 0.0
    """Below this nothing is known of what keeps the normaliser from 0."""
    floor: float = 0.0
    """Added to every feature."""
    mask: str = ""
    """One of `MASKS`; empty where it takes none."""
    causal: str = "never"
    """never, always, or `asked`: by a flag."""
    same_width: bool = False
    """Whether values must be as wide as keys."""
    square: bool = False
    """Whether there must be as many queries as keys."""
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def factor(self, width: int) -> float:
        """The scale of queries of a width."""
        return scales.factor(self.scale, width)

    def is_causal(self, case: Case) -> bool:
        """Whether a call hides the future."""
        return self.causal == "always" or (self.causal == "asked" and case.causal)

    def fitted(self, case: Case) -> Case:
        """A case with the axes that the target has."""
        return dataclasses.replace(
            case,
            batch=case.batch if has_batch(self.layout) else min(case.batch, 1),
            heads=case.heads if "h" in self.layout else 1,
            value_width=case.width if self.same_width else case.value_width,
            causal=self.is_causal(case),
        )

    def plain(self, case: Case) -> dict[str, Any]:
        """The plain arguments of a call."""
        return {self.names["causal"]: case.causal} if self.causal == "asked" else {}

    def masks(self, mask: np.ndarray | None) -> dict[str, np.ndarray]:
        """A mask of keys [b s], True keeps, as the target wants it."""
        if mask is None or not self.mask:
            return {}
        handed = said(mask, self.mask, np.dtype(bool))
        return {self.names["mask"]: handed if has_batch(self.layout) else handed[0]}

    def problem(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, case: Case) -> Problem:
        """What a case asks, exactly."""
        keep = np.ones((k.shape[0], k.shape[2]), bool) if mask is None else mask
        return Problem(
            q, k, v, keep, self.is_causal(case), self.features, self.normaliser,
            self.factor(q.shape[-1]), self.eps, self.clamped, self.floor,
        )  # fmt: skip
