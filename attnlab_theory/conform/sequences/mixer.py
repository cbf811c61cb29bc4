"""The kind `mixer`: a sequence to a sequence."""

from typing import ClassVar

from attnlab_theory.conform.sequences import mixtures
from attnlab_theory.conform.sequences.layer import LayerSuite


class MixerSuite(LayerSuite):
    """A layer, and what it promises."""

    LAWS: ClassVar = {
        "lengths": mixtures.all_lengths,
        "causality": mixtures.causality,
        "prefixes": mixtures.prefixes,
        "elements apart": mixtures.elements,
        "non-contiguous": mixtures.strided,
        "float64": lambda suite: mixtures.typed(suite, "float64"),
        "float16": lambda suite: mixtures.typed(suite, "float16"),
        "bfloat16": lambda suite: mixtures.typed(suite, "bfloat16"),
        "same result": mixtures.repeated,
        "two objects": mixtures.objects,
        "empty batch": mixtures.empty,
        "inputs unchanged": mixtures.unwritten,
    }
    IDENTITIES = tuple(LAWS)
