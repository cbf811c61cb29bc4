"""The names of arms and decodings in figures, and their meaning."""

import textwrap

MEANT = {
    "scratch": "12 heads, the same order of sentences in each epoch",
    "shuffled": "12 heads, a new order of sentences in each epoch",
    "pretrained": "trained on another text first",
    "heads-1": "1 head in each layer",
    "heads-6": "6 heads in each layer",
    "heads-8": "8 heads in each layer",
    "permuted": "features permuted before they are split into heads",
    "dropped-heads": "12 heads, random ones dropped in training",
}
"""The meaning of the arms' names, in as few words as a legend has room for."""


def in_words(arm: str) -> str:
    """The name of an arm, and its meaning."""
    return f"{arm} ({MEANT[arm]})" if arm in MEANT else arm


def two_lines(arm: str, width: int = 18) -> str:
    """The same in several lines, for a narrow place.

    Args:
        arm: its name.
        width: the most characters of a line of its meaning.
    """
    return "\n".join([arm, *textwrap.wrap(MEANT.get(arm, ""), width)])


def quoted(arm: str) -> str:
    """The name of an arm within a sentence. Most names are adjectives."""
    return f'the model "{arm}"'


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
