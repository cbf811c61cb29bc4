"""The meaning of the words in the tables of a page: those of several labs, and where each lab has its own."""

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping

from attnlab_theory import labs

MCNEMAR = {"mcnemar p": "the p-value of McNemar's exact test that both are right equally often"}

DISCORDANT = {
    "only first, only second": "how many questions only the first, or only the second, answers right",
    "discordant odds": "questions that only the second answers right, divided by those of the first alone",
    **MCNEMAR,
}

ARM = "one of the models that are compared"

ABOVE = (
    "the mean over test sentences of a sentence's loss per token minus that of the grammar that drew it, in nats. "
    "The test loss is a mean over tokens instead, so long sentences count more there"
)

UNIGRAM = {
    "loss of a unigram": "the least loss per token of a model that knows how frequent tokens are, and ignores the "
    "context",
    "test loss below a unigram": "that loss minus the test loss",
}

SEARCHED = {
    "n": "trials of one search",
    "best of n": "the highest validation accuracy among n trials, averaged over all sets of n of the trials",
    "optimism": "how much the winner's validation accuracy exceeds its test accuracy because it won",
}


@functools.cache
def of_records() -> Mapping[str, Mapping[str, str]]:
    """The words of every lab's `terms.py`, by the name of the record whose page they stand on."""
    found: dict[str, Mapping[str, str]] = {}
    for module in pkgutil.iter_modules(labs.__path__, f"{labs.__name__}."):
        if module.ispkg and importlib.util.find_spec(f"{module.name}.terms"):
            found |= importlib.import_module(f"{module.name}.terms").TERMS
    return found
