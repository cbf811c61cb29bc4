"""The kind `decode`: a cache, f(q, k, v, cache) -> (out, cache), f(x, cache), or an object with `step`."""

from typing import ClassVar

from attnlab_theory.conform.sequences import continuations, passes, row_lengths
from attnlab_theory.conform.sequences.cached_layer import CachedLayerSuite


class DecodeSuite(CachedLayerSuite):
    """A cache, and what it promises."""

    LAWS: ClassVar = {
        "token by token": continuations.single,
        "chunks": continuations.chunks,
        "prefill, then steps": continuations.prefilled,
        "many tokens": continuations.lasting,
        "full cache": continuations.full,
        "two caches": continuations.separate,
        "old cache": continuations.branching,
        "reordered cache": continuations.reordered,
        "elements apart": continuations.elements,
        "rows of other lengths": row_lengths.unequal,
        "two objects": continuations.objects,
        "causality": passes.causality,
        "float64": lambda suite: passes.typed(suite, "float64"),
        "float16": lambda suite: passes.typed(suite, "float16"),
        "bfloat16": lambda suite: passes.typed(suite, "bfloat16"),
        "same result": continuations.repeated,
        "refused step": passes.refusal,
        "inputs unchanged": passes.unwritten,
    }
    IDENTITIES = tuple(LAWS)
