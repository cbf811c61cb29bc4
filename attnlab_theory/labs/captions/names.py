"""The names of arms and decodings in figures, and their meaning."""

import textwrap

MEANT = {
    "scratch": "12 heads, one order of sentences",
    "shuffled": "a new order in each epoch",
    "pretrained": "another text first",
    "heads-1": "1 head",
    "heads-6": "6 heads",
    "heads-8": "8 heads",
    "permuted": "features permuted before heads",
    "dropped-heads": "heads dropped in training",
}
"""The meaning of the arms' names, in as few words as a legend has room for."""


def in_words(arm: str) -> str:
    """The name of an arm, and its meaning."""
    return f"{arm} ({MEANT[arm]})" if arm in MEANT else arm


def two_lines(arm: str) -> str:
    """The same in several lines, for a narrow place."""
    return "\n".join([arm, *textwrap.wrap(MEANT.get(arm, ""), 18)])


def called(decoding: str) -> str:
    """A decoding as a label says it."""
    kind, _, temperature = decoding.partition("-t")
    if kind == "random":
        return f"temperature {temperature or 1}"
    words = kind.replace("top_p", "top-p ").replace("top_k", "top-k ").replace("min_p", "min-p ")
    return f"{words}, temperature {temperature}" if temperature else words


def joined(decoding: str) -> str:
    """A decoding within a sentence."""
    return called(decoding).replace(", ", " and ")
