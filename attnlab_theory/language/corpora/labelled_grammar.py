"""Two languages with the same sentences and different probabilities: one for each label, with equal chances.

Every sentence has one derivation in both. So two exact log-probabilities give the exact posterior of a label. The
rule that follows the posterior is Bayes's rule. No rule that reads the words is right more often.
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
"""A sentence in which symbols that say nothing about the label stand unexpanded."""

MOST_CORES = 1_000_000
"""The most cores over which sums are taken."""


@dataclasses.dataclass(frozen=True)
class LabelledGrammar:
    """A label with equal chances, then a sentence of that label's language.

    Raises:
        ValueError: if the languages differ in more than the probabilities, or there are too many cores to sum over.
    """

    unfavourable: Grammar
    """The language of label 0."""
    favourable: Grammar
    """The language of label 1."""

    def __post_init__(self) -> None:
        forms = [
            {symbol: [choice.symbols for choice in choices] for symbol, choices in grammar.rules.items()}
            for grammar in self.languages
        ]
        if list(forms[0].items()) != list(forms[1].items()):
            raise ValueError("the languages of two labels must have the same rules, with other weights only")

    @classmethod
    def from_text(cls, text: str, *, where: str = "the grammar") -> "LabelledGrammar":
        """Read rules as `Grammar.from_text` does. A weight a/b means a for label 1, and b for label 0.

        Raises:
            ValueError: if the rules make no grammar, or the two languages do not go together.
        """
        unfavourable, favourable = (
            Grammar.from_text(PAIR.sub(rf"\g<{label}>:", text), where=where)
            for label in ("unfavourable", "favourable")
        )
        return cls(unfavourable, favourable)

    @property
    def languages(self) -> tuple[Grammar, Grammar]:
        """The two languages, by label."""
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
        """The exact accuracy of Bayes's rule: a sum over all cores."""
        return self._accuracy(lambda core: core)

    @functools.cached_property
    def counting_accuracy(self) -> float:
        """An upper bound on the accuracy of rules that count words and ignore their order.

        The bound is that of a rule that also knows which symbols without bearing on the label a sentence uses, and
        how often.
        """
        return self._accuracy(lambda core: frozenset(Counter(core).items()))

    def _accuracy(self, seen: Callable[[Core], Hashable]) -> float:
        """The accuracy of the best rule that sees only this part of a sentence."""
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
        """All expansions of symbols, down to words and symbols that say nothing about the label."""
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
        """The symbols that say something about the label, by their own choices or by those of their parts."""
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
