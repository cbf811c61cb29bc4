"""Which words are frequent enough, which sentences fit the laws of their keys, and which judge these laws."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from attnlab_theory import refuse
from attnlab_theory.labs.heads.traces import Tokens

TYPES = 3
"""The fewest types. With fewer, own directions cannot be told from those of others."""

SENTENCES = 20
"""The fewest sentences of each half that hold a type. One sentence's effect on its keys is no law of the type."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """The halves of the sentences that fit and that judge. They are dealt at random, so they are independent."""

    types: Int[np.ndarray, " types"]
    """The frequent tokens, most frequent first."""
    counts: Int[np.ndarray, " types"]
    """How often each occurs."""
    fitting: tuple[int, ...]
    """The sentences to which the laws of keys are fitted."""
    judging: tuple[int, ...]
    """The sentences on which the laws are judged."""
    groups: int
    """The number of groups of whole sentences in each half, for intervals."""

    def kinds(self, tokens: Tokens) -> Int[np.ndarray, " t"]:
        """The number of each token's type. -1 if it is special or not frequent."""
        order = np.argsort(self.types)
        at = np.minimum(np.searchsorted(self.types[order], tokens.ids), len(order) - 1)
        found = order[at]
        return np.where((self.types[found] == tokens.ids) & ~tokens.special, found, -1)


def planned(
    tokens: Sequence[Tokens],
    *,
    occurrences: int = 200,
    groups: int = 50,
    most: int = 40,
    seed: int = 0,
    source: str = "the text",
) -> Plan:
    """Deal the sentences and count the words.

    Args:
        tokens: of every sentence.
        occurrences: how many a type must have to be frequent.
        groups: for intervals. There are fewer if a half has fewer sentences.
        most: the most types that are measured.
        seed: of the dealing.
        source: the name of the text in error messages.

    Raises:
        ValueError: if fewer than `TYPES` types are frequent. The message says how many occurrences there are.
    """
    refuse.not_a_size(occurrences=occurrences, groups=groups, most=most)
    order = np.random.default_rng(seed).permutation(len(tokens))
    fitting, judging = order[::2], order[1::2]
    counted, held = Counter(), [Counter(), Counter()]
    for half, numbers in enumerate((fitting, judging)):
        for number in numbers:
            words = tokens[number].ids[~tokens[number].special].tolist()
            counted.update(words)
            held[half].update(set(words))
    ranked = sorted(counted, key=lambda token: (-counted[token], token))
    frequent = [w for w in ranked if counted[w] >= occurrences and min(each[w] for each in held) >= SENTENCES]
    if len(frequent) < TYPES:
        raise ValueError(_too_rare(ranked, counted, len(frequent), occurrences, len(tokens), source))
    chosen = frequent[:most]
    return Plan(
        types=np.array(chosen),
        counts=np.array([counted[w] for w in chosen]),
        fitting=tuple(fitting.tolist()),
        judging=tuple(judging.tolist()),
        groups=min(groups, len(judging)),
    )


def _too_rare(
    ranked: Sequence[int], counted: Counter, found: int, occurrences: int, sentences: int, source: str
) -> str:
    """The message about too few frequent types."""
    if len(ranked) < TYPES:
        return (
            f"{source} has {len(ranked)} different tokens, and {TYPES} frequent ones are needed: take another text"
        )
    most = counted[ranked[TYPES - 1]]
    told = f"{source} has {found} tokens that occur {occurrences} times and in {SENTENCES} sentences of either half"
    if most >= occurrences:
        return f"{told}, and {TYPES} are needed: its {sentences} sentences are too few"
    times = -(-occurrences // most)
    return (
        f"{told}, and {TYPES} are needed: the one of rank {TYPES} occurs {most} times; "
        f"take a text {times} times as long, or ask for fewer with --occurrences"
    )
