"""What a run of the knowledge lab is made of: sizes, corruption, the recipes of all stages."""

import dataclasses
from typing import Any, Literal

from attnlab_theory.labs.knowledge.recipes import FINETUNING, FINETUNING_FROM_SCRATCH, PRETRAINING
from attnlab_theory.labs.knowledge.variants import configured
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.language.corpora.corruption import Corruption
from attnlab_theory.language.models.config import GPTConfig

PresetName = Literal["tiny", "homework"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """One way to run the lab."""

    layers: int
    heads: int
    width: int
    block: int
    dropout: float
    corruption: Corruption
    pretraining: Recipe
    finetuning: Recipe
    """The recipe of finetuning after pretraining."""
    from_scratch: Recipe
    """The recipe of finetuning without pretraining."""

    def config(self, variant: str, vocabulary: int) -> GPTConfig:
        """The model of a variant.

        Raises:
            ValueError: if there is no such variant, or as `GPTConfig`.
        """
        sizes: dict[str, Any] = {name: getattr(self, name) for name in ("layers", "heads", "width", "block")}
        return configured(variant, dropout=self.dropout, vocabulary=vocabulary, **sizes)


PRESETS: dict[PresetName, Preset] = {
    # Two cores shall show the effect within four minutes: short lines, packed; no dropout, and a mark behind the
    # missing text as behind an answer (72 % were recalled instead of 87 % with dropout 0.1 and without that mark).
    # Documents stay whole, for the place stands at their end: cut at random lengths, as in the homework, 83 % were
    # recalled after 4,534 steps (vanilla, seed 0), whole 92 % after 4,200.
    # Finetuning at half the rate for twice the steps (of 5e-4 and 10 epochs) recalled as many or more in each of
    # five models that were pretrained on seed 0's persons; chosen there, so that other seeds are the test of it.
    "tiny": Preset(
        layers=2,
        heads=4,
        width=128,
        block=64,
        dropout=0.0,
        corruption=Corruption(closing=True, truncation="none"),
        pretraining=Recipe(epochs=200, batch=16, rate=2e-3, fall=None, packed=True, shuffled=True),
        finetuning=Recipe(epochs=20, batch=32, rate=2.5e-4, fall=None, rows=32),
        from_scratch=Recipe(epochs=150, batch=32, rate=5e-4, fall=None, rows=32),
    ),
    "homework": Preset(
        layers=4,
        heads=8,
        width=256,
        block=128,
        dropout=0.1,
        corruption=Corruption(),
        pretraining=PRETRAINING[2021],
        finetuning=FINETUNING,
        from_scratch=FINETUNING_FROM_SCRATCH,
    ),
}
