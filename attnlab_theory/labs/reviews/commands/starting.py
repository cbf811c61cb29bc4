"""What the commands begin with: the reviews of a seed in the words of a model, and that model."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from attnlab_theory.labs.reviews.commands.data import Data
from attnlab_theory.labs.reviews.presets import Preset

if TYPE_CHECKING:
    from attnlab_theory.labs.reviews.material import Material, Sizes
    from attnlab_theory.labs.reviews.starts import Start


def beginning(
    preset: Preset, data: Data, drawn: "Sizes | None" = None
) -> tuple[Callable[[int], "Material"], Callable[["Material"], "Start"]]:
    """The reviews of every seed, and where training begins on them.

    Args:
        preset: whose model is wanted.
        data: which reviews are read.
        drawn: how many there are, where they are drawn from the grammar.

    Raises:
        ValueError: if a pretrained model is not installed.
    """
    from attnlab_theory.labs.reviews.starts import pretrained, scratch

    sizes = preset.model
    if sizes is not None:
        return lambda seed: data.material(seed, sizes=drawn), lambda material: scratch(sizes, material.text)
    start, text = pretrained()
    return lambda seed: data.material(seed, text, drawn), lambda _: start
