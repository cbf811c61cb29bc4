"""BLEU of many sentences, each against all of many references.

Two libraries define it, and they differ on short sentences. nltk scores a sentence, and adds a tenth of a match to
a precision of zero (its smoothing method 1). sacrebleu pools the counts of a corpus. Both are here. The references
are counted once, so 5,000 sentences are scored against 5,000 in a fraction of a second. The libraries count the
references again for every hypothesis. The tests compare with both.
"""

import dataclasses
import itertools
import math
from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

ORDER = 4
"""The longest n-grams that count."""

EPSILON = 0.1
"""The number of matches that nltk's smoothing method 1 takes instead of zero."""

Sentence = Sequence[Hashable]
"""Tokens: numbers or words."""


class References:
    """Sentences to compare with.

    Args:
        sentences: at least one. Empty ones are allowed and match nothing.
        apart: whether each of them shall be compared with the others (`matches_of_others`).

    Raises:
        ValueError: if there is none, or only one with `apart`.
    """

    def __init__(self, sentences: Sequence[Sentence], *, apart: bool = False) -> None:
        if len(sentences) < 1 + apart:
            least = "two sentences, each a reference of the other" if apart else "one reference"
            raise ValueError(f"BLEU needs at least {least}")
        self._sentences = sentences if apart else None
        self._holders: list[Int[np.ndarray, " grams"]] = []
        self._second: list[Int[np.ndarray, " grams"]] = []
        seen = dict.fromkeys(itertools.chain.from_iterable(sentences))
        self._numbers: dict[Hashable, int] = {token: number for number, token in enumerate(seen)}
        flat = _Flat.of(sentences, self._numbers)
        self.lengths, self._of_length = np.unique(flat.lengths, return_counts=True)
        self._keys: list[Int[np.ndarray, " grams"]] = []
        self._most: list[Int[np.ndarray, " grams"]] = []
        ranks = flat.tokens
        for order in range(1, ORDER + 1):
            ranks = self._longer(ranks, flat, order)
            here = np.flatnonzero(flat.holds(order))
            place, begins = _in_groups(ranks[here])
            sentence = flat.sentence[here[place]]
            # Of equal n-grams those of one sentence lie side by side.
            first = np.flatnonzero(begins | (np.diff(sentence, prepend=-1) != 0))
            counts = np.diff(first, append=len(place))
            of_gram = np.flatnonzero(begins[first])
            self._keys.append(ranks[here[place[begins]]])
            self._most.append(np.maximum.reduceat(counts, of_gram) if len(of_gram) else counts)
            if apart:
                self._without_holders(counts, of_gram, sentence[first])
            ranks = np.full_like(ranks, -1)
            ranks[here[place]] = np.cumsum(begins) - 1

    def _without_holders(
        self,
        counts: Int[np.ndarray, " runs"],
        of_gram: Int[np.ndarray, " grams"],
        sentence: Int[np.ndarray, " runs"],
    ) -> None:
        """For each n-gram, a sentence that has it most often, and the most that another one has."""
        if not len(of_gram):
            self._holders.append(of_gram)
            self._second.append(of_gram)
            return
        gram = np.repeat(np.arange(len(of_gram)), np.diff(of_gram, append=len(counts)))
        runs = np.flatnonzero(counts == self._most[-1][gram])
        _, which = np.unique(gram[runs], return_index=True)
        self._holders.append(sentence[runs[which]])
        others = counts.copy()
        others[runs[which]] = 0
        self._second.append(np.maximum.reduceat(others, of_gram))

    def closest_other(self, lengths: Int[np.ndarray, " sentences"]) -> Int[np.ndarray, " sentences"]:
        """For each reference, the length of the other one whose length is nearest."""
        at = np.searchsorted(self.lengths, lengths)
        far = np.iinfo(np.int64).max // 2
        padded = np.concatenate([[-far], self.lengths, [far]])
        shorter, longer = padded[at], padded[at + 2]
        nearest = np.where(lengths - shorter <= longer - lengths, shorter, longer)
        return np.where(self._of_length[at] > 1, lengths, nearest)

    def closest(self, lengths: Int[np.ndarray, " sentences"]) -> Int[np.ndarray, " sentences"]:
        """For each length, the nearest length of a reference. Of two equally near ones, the shorter."""
        above = np.searchsorted(self.lengths, lengths)
        longer = self.lengths[np.minimum(above, len(self.lengths) - 1)]
        shorter = self.lengths[np.maximum(above - 1, 0)]
        return np.where(np.abs(shorter - lengths) <= np.abs(longer - lengths), shorter, longer)

    def matches(self, hypotheses: Sequence[Sentence]) -> "Matches":
        """The n-grams that each hypothesis shares with the references, each at most as often as in one of them."""
        return self._matches(hypotheses, apart=False)

    def matches_of_others(self) -> "Matches":
        """The n-grams that each reference shares with the others, each at most as often as in one of them.

        Raises:
            ValueError: if the references were not made to be compared apart.
        """
        if self._sentences is None:
            raise ValueError("these references are compared with others only: make them with apart=True")
        return self._matches(self._sentences, apart=True)

    def _matches(self, hypotheses: Sequence[Sentence], *, apart: bool) -> "Matches":
        flat = _Flat.of(hypotheses, self._numbers)
        shared = np.zeros((ORDER, len(hypotheses)), dtype=np.int64)
        ranks = flat.tokens
        for order in range(1, ORDER + 1):
            ranks = self._longer(ranks, flat, order)
            keys, most = self._keys[order - 1], self._most[order - 1]
            place = np.searchsorted(keys, ranks)
            known = flat.holds(order) & (ranks >= 0) & (place < len(keys))
            known[known] = keys[place[known]] == ranks[known]
            ranks = np.where(known, place, -1)
            here = np.flatnonzero(known)
            place, begins = _in_groups(ranks[here])
            here = here[place]
            first = np.flatnonzero(begins | (np.diff(flat.sentence[here], prepend=-1) != 0))
            limit = most[ranks[here[first]]]
            if apart:
                own = self._holders[order - 1][ranks[here[first]]] == flat.sentence[here[first]]
                limit = np.where(own, self._second[order - 1][ranks[here[first]]], limit)
            clipped = np.minimum(np.diff(first, append=len(here)), limit)
            shared[order - 1] = np.bincount(flat.sentence[here[first]], weights=clipped, minlength=len(hypotheses))
        grams = np.maximum(flat.lengths - np.arange(ORDER)[:, None], 0)
        closest = (self.closest_other if apart else self.closest)(flat.lengths)
        return Matches(shared=shared, grams=grams, lengths=flat.lengths, closest=closest)

    def _longer(self, ranks: Int[np.ndarray, " tokens"], flat: "_Flat", order: int) -> Int[np.ndarray, " tokens"]:
        """The numbers of the (n+1)-grams that begin at each token, from those of the n-grams."""
        if order == 1:
            return ranks
        last = np.append(flat.tokens, np.full(order - 1, -1))[order - 1 :]
        return np.where((ranks >= 0) & (last >= 0), ranks * (len(self._numbers) + 1) + last, -1)


@dataclasses.dataclass(frozen=True)
class Matches:
    """The counts from which scores are computed."""

    shared: Int[np.ndarray, "order sentences"]
    """The number of n-grams of each hypothesis that match, clipped."""
    grams: Int[np.ndarray, "order sentences"]
    """The number of n-grams of each hypothesis."""
    lengths: Int[np.ndarray, " sentences"]
    """The lengths of the hypotheses, in tokens."""
    closest: Int[np.ndarray, " sentences"]
    """The lengths of the nearest references."""


@dataclasses.dataclass(frozen=True)
class _Flat:
    """All tokens of all sentences in a row."""

    tokens: Int[np.ndarray, " tokens"]
    """The numbers of the tokens; -1 for a token that no reference has."""
    sentence: Int[np.ndarray, " tokens"]
    left: Int[np.ndarray, " tokens"]
    """How many tokens of the sentence come from here on."""
    lengths: Int[np.ndarray, " sentences"]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], numbers: dict[Hashable, int]) -> "_Flat":
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        flat = itertools.chain.from_iterable(sentences)
        tokens = np.fromiter(map(numbers.get, flat, itertools.repeat(-1)), np.int64, int(lengths.sum()))
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(tokens))
        return cls(tokens, sentence, left, lengths)

    def holds(self, order: int) -> np.ndarray:
        """Where an n-gram of this order begins."""
        return self.left >= order


def _in_groups(values: Int[np.ndarray, " n"]) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """The places of the values in rising order, and which of them begin a group of equal values.

    The sort is stable. Values are at least 0. They are sorted digit by digit, the last digit first. numpy sorts
    numbers of 16 bits by their digits, four times as fast as longer ones by comparison.
    """
    place = np.arange(len(values))
    for shift in range(0, int(values.max(initial=0)).bit_length(), 16):
        digits = (values[place] >> shift).astype(np.uint16)
        place = place[np.argsort(digits, kind="stable")]
    return place, np.diff(values[place], prepend=-1) != 0


def sentence_bleu(hypotheses: Sequence[Sentence], references: References) -> Float[np.ndarray, " sentences"]:
    """The BLEU-4 of each hypothesis against all references, by nltk's `sentence_bleu` with smoothing method 1.

    Args:
        hypotheses: token sequences. One that is empty or shares no token with any reference scores 0.
        references: with which they are compared.

    Returns:
        Numbers from 0 to 1.

    Source: Papineni et al. 2002; Chen and Cherry 2014, smoothing method 1.
    """
    return _smoothed(references.matches(hypotheses))


def self_bleu(sentences: Sequence[Sentence]) -> Float[np.ndarray, " sentences"]:
    """The BLEU-4 of each sentence against all others, by `sentence_bleu`. It is high if they differ little.

    A sentence is no reference of its own. If it stands there twice, its copy is one, and it scores 1.

    Raises:
        ValueError: if there are fewer than two sentences.

    Source: Zhu et al. 2018.
    """
    return _smoothed(References(sentences, apart=True).matches_of_others())


def _smoothed(found: Matches) -> Float[np.ndarray, " sentences"]:
    """The BLEU of each hypothesis with nltk's smoothing method 1."""
    precisions = np.where(found.shared > 0, found.shared, EPSILON) / np.maximum(found.grams, 1)
    scores = _brevity(found.lengths, found.closest) * np.exp(np.mean(np.log(precisions), axis=0))
    return np.where(found.shared[0] > 0, scores, 0.0)


def corpus_bleu(hypotheses: Sequence[Sentence], references: References) -> float:
    """The BLEU-4 of all hypotheses together: sacrebleu's `corpus_bleu` without its tokenizer, divided by 100.

    The first order without a match counts as half a match, the second as a quarter, and so on. That is sacrebleu's
    default smoothing, `exp`.

    Raises:
        ValueError: if there is no hypothesis.

    Source: Papineni et al. 2002; Post 2018.
    """
    if not len(hypotheses):
        raise ValueError("the BLEU of a corpus needs at least one hypothesis")
    found = references.matches(hypotheses)
    shared, grams = found.shared.sum(axis=1).astype(np.float64), found.grams.sum(axis=1).astype(np.float64)
    # Orders that no hypothesis is long enough for have no precision, and the score is 0.
    if not np.any(shared) or not np.all(grams):
        return 0.0
    missing = shared == 0
    shared = np.where(missing, 0.5 ** np.cumsum(missing), shared)
    brevity = _brevity(found.lengths.sum(keepdims=True), found.closest.sum(keepdims=True))[0]
    return float(brevity * math.exp(np.mean(np.log(shared / grams))))


def _brevity(
    lengths: Int[np.ndarray, " sentences"], closest: Int[np.ndarray, " sentences"]
) -> Float[np.ndarray, " sentences"]:
    """The brevity penalty: a factor for hypotheses that are shorter than the references. An empty one gets 0."""
    with np.errstate(divide="ignore", over="ignore"):
        penalty = np.exp(np.minimum(1 - closest / np.maximum(lengths, 1), 0.0))
    return np.where(lengths > 0, penalty, 0.0)


@dataclasses.dataclass(frozen=True)
class ForwardBackward:
    """How generated sentences compare with real ones, both ways."""

    forward: float
    """The mean BLEU of generated sentences against all real ones: are they well formed?"""
    backward: float
    """The mean BLEU of real sentences against all generated ones: are all real ones covered?"""

    @property
    def harmonic(self) -> float:
        """The harmonic mean of the two."""
        both = self.forward + self.backward
        return 2 * self.forward * self.backward / both if both else 0.0


def forward_backward(generated: Sequence[Sentence], real: Sequence[Sentence]) -> ForwardBackward:
    """Forward and backward BLEU-4, each the mean of `sentence_bleu`.

    Raises:
        ValueError: if there are no sentences of one kind.
    """
    for name, sentences in {"generated": generated, "real": real}.items():
        if not len(sentences):
            raise ValueError(f"forward and backward BLEU need at least one {name} sentence")
    return ForwardBackward(
        forward=float(np.mean(sentence_bleu(generated, References(real)))),
        backward=float(np.mean(sentence_bleu(real, References(generated)))),
    )
