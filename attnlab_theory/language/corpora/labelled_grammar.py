"""Two languages with the same sentences and other probabilities: one for each label, equally often.

Every sentence has one derivation in both, so that two exact log-probabilities give the exact posterior of a label.
No rule that reads the words is right more often than the one that follows the posterior, Bayes's rule.
"""

import dataclasses
import functools
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from importlib import resources

from attnlab_theory.language.corpora.grammar import Choice, Grammar

PAIR = re.compile(r"(?P<favourable>[0-9.eE+-]+)/(?P<unfavourable>[0-9.eE+-]+):")

Core = tuple[str, ...]
"""A sentence in which symbols that tell nothing of the label are left in their places."""

MOST_CORES = 1_000_000
"""More of them are not summed over."""


@dataclasses.dataclass(frozen=True)
class LabelledGrammar:
    """A label with even chances, then a sentence of that label's language.

    Raises:
        ValueError: if the languages differ in more than the probabilities, or sentences differ in their labels'
            favour in more ways than can be summed over.
    """

    unfavourable: Grammar
    """Of label 0."""
    favourable: Grammar
    """Of label 1."""

    def __post_init__(self) -> None:
        forms = [
            {symbol: [choice.symbols for choice in choices] for symbol, choices in grammar.rules.items()}
            for grammar in self.languages
        ]
        if list(forms[0].items()) != list(forms[1].items()):
            raise ValueError("the languages of two labels must have the same rules, with other weights only")

    @classmethod
    def from_text(cls, text: str, *, where: str = "the grammar") -> "LabelledGrammar":
        """Read rules as `Grammar.from_text` does, where a weight a/b is a for label 1 and b for label 0.

        Raises:
            ValueError: as `Grammar.from_text` and the class.
        """
        unfavourable, favourable = (
            Grammar.from_text(PAIR.sub(rf"\g<{label}>:", text), where=where)
            for label in ("unfavourable", "favourable")
        )
        return cls(unfavourable, favourable)

    @property
    def languages(self) -> tuple[Grammar, Grammar]:
        """By label."""
        return self.unfavourable, self.favourable

    @property
    def words(self) -> tuple[str, ...]:
        """All words, sorted."""
        return self.favourable.words

    def sample(self, rng: random.Random) -> tuple[int, list[str]]:
        """A label and a sentence, as words."""
        label = rng.randrange(2)
        return label, self.languages[label].sample(rng)

    def posterior(self, sentence: Sequence[str]) -> float:
        """The probability of label 1 given the words.

        Raises:
            ValueError: if no language has the sentence.
        """
        zero, one = (grammar.log_probability(sentence) for grammar in self.languages)
        if one == -math.inf:
            raise ValueError(f"the grammar has no sentence {' '.join(sentence)!r:.80}: its label has no posterior")
        return 1 / (1 + math.exp(zero - one))

    @functools.cached_property
    def bayes_accuracy(self) -> float:
        """How often Bayes's rule is right: exact, a sum over all that sentences tell of their label."""
        return self._accuracy(lambda core: core)

    @functools.cached_property
    def counting_accuracy(self) -> float:
        """No rule that counts words without regard to their order is right more often than this.

        Such a rule is here also told which symbols without bearing on the label a sentence uses, and how often.
        """
        return self._accuracy(lambda core: frozenset(Counter(core).items()))

    def _accuracy(self, seen: Callable[[Core], Hashable]) -> float:
        """Of the best rule that sees only this of a sentence."""
        chances: dict[Hashable, tuple[float, float]] = {}
        for core, (zero, one) in self._cores.items():
            before = chances.get(seen(core), (0.0, 0.0))
            chances[seen(core)] = before[0] + zero, before[1] + one
        return math.fsum(max(pair) for pair in chances.values()) / 2

    @functools.cached_property
    def _cores(self) -> Mapping[Core, tuple[float, float]]:
        """All cores, with their probability under label 0 and under label 1."""
        found: dict[Core, tuple[float, float]] = {}
        telling = self._telling()
        self._refuse_recursive(telling)
        for number, (core, chances) in enumerate(self._derived((self.favourable.start,), telling)):
            if number >= MOST_CORES:
                raise ValueError(
                    f"more than {MOST_CORES:,} sorts of sentences tell apart the labels: use fewer words"
                )
            before = found.get(core, (0.0, 0.0))
            found[core] = before[0] + chances[0], before[1] + chances[1]
        return found

    def _derived(
        self, symbols: tuple[str, ...], telling: frozenset[str]
    ) -> Iterator[tuple[Core, tuple[float, float]]]:
        """All that symbols are written as, down to words and symbols that tell nothing."""
        if not symbols:
            yield (), (1.0, 1.0)
            return
        first, rest = symbols[0], symbols[1:]
        if first not in telling:
            for core, chances in self._derived(rest, telling):
                yield (first, *core), chances
            return
        for zero, one in self._choices(first):
            for core, chances in self._derived((*zero.symbols, *rest), telling):
                yield core, (chances[0] * zero.probability, chances[1] * one.probability)

    def _choices(self, symbol: str) -> Iterable[tuple[Choice, Choice]]:
        return zip(self.unfavourable.rules[symbol], self.favourable.rules[symbol], strict=True)

    def _telling(self) -> frozenset[str]:
        """Symbols with choices that favour a label, their own or of a symbol that they are written with."""
        telling = {
            symbol
            for symbol in self.favourable.rules
            if any(not math.isclose(a.probability, b.probability, rel_tol=1e-12) for a, b in self._choices(symbol))
        }
        while True:
            more = {
                symbol
                for symbol, choices in self.favourable.rules.items()
                if any(part in telling for choice in choices for part in choice.symbols)
            }
            if more <= telling:
                return frozenset(telling)
            telling |= more

    def _refuse_recursive(self, telling: frozenset[str]) -> None:
        parts = {
            symbol: {part for choice in self.favourable.rules[symbol] for part in choice.symbols} & telling
            for symbol in telling
        }
        while parts:
            ended = {symbol for symbol, needed in parts.items() if not needed & set(parts)}
            if not ended:
                raise ValueError(
                    f"{min(parts)} is written with itself and favours a label: its Bayes rule is no finite sum"
                )
            parts = {symbol: needed for symbol, needed in parts.items() if symbol not in ended}


@functools.cache
def embedded() -> LabelledGrammar:
    """The grammar that comes with the package: one-sentence reviews of films."""
    text = resources.files("attnlab_theory.language.corpora").joinpath("reviews.grammar").read_text("utf-8")
    return LabelledGrammar.from_text(text, where="reviews.grammar")
