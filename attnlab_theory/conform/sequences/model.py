"""The kind `model`: token ids to logits, with or without a cache."""

from typing import ClassVar

from attnlab_theory.conform.sequences import against, continuations, logits, padding
from attnlab_theory.conform.sequences.language_model import LanguageModelSuite
from attnlab_theory.conform.suite import NOTHING


class ModelSuite(LanguageModelSuite):
    """A model, and what it promises."""

    LAWS: ClassVar = {
        "lengths": logits.all_lengths,
        "causality": logits.causality,
        "prefixes": logits.prefixes,
        "elements apart": logits.elements,
        "token by token": lambda suite: continuations.single(suite) if suite.caches else NOTHING,
        "chunks": lambda suite: continuations.chunks(suite) if suite.caches else NOTHING,
        "prefill, then steps": lambda suite: continuations.prefilled(suite) if suite.caches else NOTHING,
        "many tokens": lambda suite: continuations.lasting(suite) if suite.caches else NOTHING,
        "two caches": lambda suite: continuations.separate(suite) if suite.caches else NOTHING,
        "old cache": lambda suite: continuations.branching(suite) if suite.caches else NOTHING,
        "reordered cache": lambda suite: continuations.reordered(suite) if suite.caches else NOTHING,
        "decoded apart": lambda suite: continuations.elements(suite) if suite.caches else NOTHING,
        "padding right": padding.right,
        "padding left": padding.left,
        "padding in a cache": padding.cached,
        "two objects": lambda suite: continuations.objects(suite) if suite.caches else NOTHING,
        "same result": logits.repeated,
        "refused step": lambda suite: logits.refusal(suite) if suite.caches else NOTHING,
        "against": against.against,
        "inputs unchanged": logits.unwritten,
    }
    IDENTITIES = tuple(LAWS)
