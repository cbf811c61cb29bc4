"""Languages of known entropy: probabilistic grammars in which every sentence has one derivation.

The probability of a sentence is then the product of the choices in its derivation. The entropy of the language is
the sum over symbols of the expected number of uses times the entropy of the choice. No model's cross-entropy is
lower.

Whether a grammar is ambiguous is undecidable. So a grammar must be LL(1): one word of lookahead parses it. And its
derivations must end with a finite expected length. All others are refused.
"""

import dataclasses
import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np

END = ""
"""The end of a sentence, in tables of next words. No word is empty."""

RULE = re.compile(r"^(?P<symbol>[A-Z][A-Z0-9_]*)\s*->(?P<choices>.*)$")
CHOICE = re.compile(r"^\s*(?P<weight>[0-9.eE+-]+)\s*:(?P<symbols>.*)$")


@dataclasses.dataclass(frozen=True)
class Choice:
    """One way to write a symbol."""

    probability: float
    symbols: tuple[str, ...]
    """Words and symbols, in order. None for the empty text."""


class Derivation(NamedTuple):
    """A sentence, and one derivation of it."""

    words: list[str]
    log_probability: float
    """The log-probability of the choices, in nats. In a language without ambiguity it is that of the sentence."""


class Grammar:
    """A probabilistic grammar without ambiguity.

    Args:
        rules: the choices of each symbol, whose probabilities add up to one. The first symbol is the start. What
            has no rule is a word.

    Raises:
        ValueError: if a probability is not positive, or those of a symbol do not add up to one. Also if a symbol is
            never used, one word of lookahead does not tell two of its choices apart, or the expected length of a
            sentence is not finite.

    Source: Aho and Ullman 1972, section 5.1, for LL(1); Chi 1999 for the expected numbers of symbols.
    """

    def __init__(self, rules: Mapping[str, Sequence[Choice]]) -> None:
        if not rules:
            raise ValueError("a grammar needs at least one rule")
        self.rules = {symbol: tuple(choices) for symbol, choices in rules.items()}
        self.start = next(iter(rules))
        self._refuse_bad_probabilities()
        self._refuse_unused()
        self._table = self._lookahead()
        self._expected = self._uses()

    @classmethod
    def from_text(cls, text: str, *, where: str = "the grammar") -> "Grammar":
        """Read rules, one a line: `SYMBOL -> weight: words and SYMBOLS | weight: ...`; `#` begins a comment.

        Symbols are in capitals. Weights are divided by their sum.

        Raises:
            ValueError: if a line is not a rule, a symbol has two rules or none, or the rules make no grammar.
        """
        rules: dict[str, list[Choice]] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            line = line.partition("#")[0].strip()
            if not line:
                continue
            rule = RULE.match(line)
            if rule is None:
                raise ValueError(
                    f"line {number} of {where} is not a rule SYMBOL -> weight: words | weight: words: {line!r}"
                )
            symbol = rule["symbol"]
            if symbol in rules:
                raise ValueError(f"line {number} of {where} gives {symbol} a second rule")
            rules[symbol] = [_choice(part, number, where) for part in rule["choices"].split("|")]
            total = sum(choice.probability for choice in rules[symbol])
            rules[symbol] = [Choice(choice.probability / total, choice.symbols) for choice in rules[symbol]]
        used = {s for choices in rules.values() for choice in choices for s in choice.symbols}
        for symbol in sorted(s for s in used if s.isupper() and s not in rules):
            raise ValueError(f"{where} uses {symbol}, which has no rule; words are not written in capitals")
        return cls(rules)

    def evened(self, power: float) -> "Grammar":
        """The same sentences with other probabilities: each is raised to this power, and then normalised.

        Args:
            power: below 1 the probabilities come closer together; 0 makes them equal.

        Raises:
            ValueError: if the expected length of a sentence becomes infinite.
        """
        rules: dict[str, tuple[Choice, ...]] = {}
        for symbol, choices in self.rules.items():
            weights = [choice.probability**power for choice in choices]
            total = math.fsum(weights)
            rules[symbol] = tuple(
                Choice(weight / total, choice.symbols) for weight, choice in zip(weights, choices, strict=True)
            )
        return Grammar(rules)

    @property
    def words(self) -> tuple[str, ...]:
        """All words, sorted."""
        used = {s for choices in self.rules.values() for choice in choices for s in choice.symbols}
        return tuple(sorted(used - set(self.rules)))

    def sample(self, rng: random.Random) -> list[str]:
        """A sentence, as words."""
        return self.derive(rng).words

    def derive(self, rng: random.Random) -> Derivation:
        """A sentence, and the probability of the choices that led to it."""
        sentence: list[str] = []
        total = 0.0
        stack = [self.start]
        while stack:
            symbol = stack.pop()
            if symbol in self.rules:
                choices = self.rules[symbol]
                (chosen,) = rng.choices(choices, [choice.probability for choice in choices])
                total += math.log(chosen.probability)
                stack.extend(reversed(chosen.symbols))
            else:
                sentence.append(symbol)
        return Derivation(sentence, total)

    def log_probability(self, sentence: Sequence[str]) -> float:
        """The logarithm of a sentence's probability, in nats. Minus infinity if it is not in the language."""
        total = 0.0
        stack = [self.start]
        words = [*sentence, END]
        place = 0
        while stack:
            symbol = stack.pop()
            if symbol in self.rules:
                chosen = self._table[symbol].get(words[place])
                if chosen is None:
                    return -math.inf
                total += math.log(chosen.probability)
                stack.extend(reversed(chosen.symbols))
            elif symbol == words[place]:
                place += 1
            else:
                return -math.inf
        return total if place == len(sentence) else -math.inf

    @property
    def entropy(self) -> float:
        """The entropy of a sentence, in nats: the least cross-entropy of any model of the language."""
        return float(sum(n * _entropy(self.rules[s]) for s, n in self._expected.items()))

    @property
    def mean_length(self) -> float:
        """The mean number of words of a sentence."""
        return float(
            sum(
                n * sum(c.probability * sum(s not in self.rules for s in c.symbols) for c in self.rules[symbol])
                for symbol, n in self._expected.items()
            )
        )

    @property
    def entropy_per_token(self) -> float:
        """The entropy divided by the mean number of tokens: words, and one end for each sentence."""
        return self.entropy / (self.mean_length + 1)

    @property
    def unigram_entropy(self) -> float:
        """The entropy of a single token, in nats: the least loss per token of any model without context."""
        counts = dict.fromkeys((*self.words, END), 0.0) | {END: 1.0}
        for symbol, uses in self._expected.items():
            for choice in self.rules[symbol]:
                for word in choice.symbols:
                    if word not in self.rules:
                        counts[word] += uses * choice.probability
        total = math.fsum(counts.values())
        return -math.fsum(n / total * math.log(n / total) for n in counts.values())

    @property
    def log_probability_variance(self) -> float:
        """The variance of the log-probability of a random sentence, in squared nats.

        A symbol adds the logarithm of its choice, and what its parts add. The parts are independent given the
        choice. So variances obey the same linear equations as numbers of symbols.
        """
        symbols = list(self.rules)
        own = np.array([_entropy(self.rules[s]) for s in symbols])
        means = np.linalg.solve(np.eye(len(symbols)) - self._mean_parts(symbols), own)
        at = dict(zip(symbols, means, strict=True))
        here = []
        for symbol, mean in at.items():
            totals = [
                -math.log(c.probability) + sum(at[s] for s in c.symbols if s in at) for c in self.rules[symbol]
            ]
            squares = (c.probability * (t - mean) ** 2 for c, t in zip(self.rules[symbol], totals, strict=True))
            here.append(sum(squares))
        return float(sum(n * v for n, v in zip(self._expected.values(), here, strict=True)))

    def _refuse_bad_probabilities(self) -> None:
        for symbol, choices in self.rules.items():
            if not choices or not all(0 < choice.probability <= 1 for choice in choices):
                raise ValueError(f"the choices of {symbol} need probabilities above 0")
            if not math.isclose(sum(choice.probability for choice in choices), 1.0, rel_tol=1e-9):
                raise ValueError(f"the probabilities of {symbol} must add up to one")

    def _refuse_unused(self) -> None:
        seen, ahead = {self.start}, [self.start]
        while ahead:
            for choice in self.rules[ahead.pop()]:
                for symbol in choice.symbols:
                    if symbol in self.rules and symbol not in seen:
                        seen.add(symbol)
                        ahead.append(symbol)
        for symbol in self.rules:
            if symbol not in seen:
                raise ValueError(f"no sentence uses {symbol}; take its rule out")

    def _lookahead(self) -> dict[str, dict[str, Choice]]:
        """The only choice that fits, for every symbol and next word."""
        empty = self._can_be_empty()
        first = self._first_words(empty)
        follow = self._following_words(empty, first)
        table: dict[str, dict[str, Choice]] = {}
        for symbol, choices in self.rules.items():
            table[symbol] = {}
            for choice in choices:
                words, may_end = self._first_of(choice.symbols, empty, first)
                for word in words | (follow[symbol] if may_end else set()):
                    if word in table[symbol]:
                        what = f"the word '{word}'" if word != END else "the end of the sentence"
                        raise ValueError(
                            f"{what} fits two choices of {symbol}: one word of lookahead must tell them apart, or "
                            "a sentence could have two derivations"
                        )
                    table[symbol][word] = choice
        return table

    def _can_be_empty(self) -> set[str]:
        empty: set[str] = set()
        while True:
            more = {
                symbol
                for symbol, choices in self.rules.items()
                if any(all(s in empty for s in choice.symbols) for choice in choices)
            }
            if more == empty:
                return empty
            empty = more

    def _first_words(self, empty: set[str]) -> dict[str, set[str]]:
        first: dict[str, set[str]] = {symbol: set() for symbol in self.rules}
        changed = True
        while changed:
            changed = False
            for symbol, choices in self.rules.items():
                for choice in choices:
                    words, _ = self._first_of(choice.symbols, empty, first)
                    if not words <= first[symbol]:
                        first[symbol] |= words
                        changed = True
        return first

    def _first_of(
        self, symbols: Iterable[str], empty: set[str], first: Mapping[str, set[str]]
    ) -> tuple[set[str], bool]:
        """The words with which these symbols can begin, and whether they can be empty."""
        words: set[str] = set()
        for symbol in symbols:
            if symbol not in self.rules:
                return words | {symbol}, False
            words |= first[symbol]
            if symbol not in empty:
                return words, False
        return words, True

    def _following_words(self, empty: set[str], first: Mapping[str, set[str]]) -> dict[str, set[str]]:
        follow: dict[str, set[str]] = {symbol: set() for symbol in self.rules}
        follow[self.start].add(END)
        changed = True
        while changed:
            changed = False
            for symbol, choices in self.rules.items():
                for choice in choices:
                    for i, part in enumerate(choice.symbols):
                        if part not in self.rules:
                            continue
                        words, may_end = self._first_of(choice.symbols[i + 1 :], empty, first)
                        words = words | (follow[symbol] if may_end else set())
                        if not words <= follow[part]:
                            follow[part] |= words
                            changed = True
        return follow

    def _mean_parts(self, symbols: list[str]) -> np.ndarray:
        """The mean number of times that a rule of each symbol (row) writes each symbol (column)."""
        parts = np.zeros((len(symbols), len(symbols)))
        for i, symbol in enumerate(symbols):
            for choice in self.rules[symbol]:
                for part in choice.symbols:
                    if part in self.rules:
                        parts[i, symbols.index(part)] += choice.probability
        return parts

    def _uses(self) -> dict[str, float]:
        """The mean number of times that a sentence uses each symbol."""
        symbols = list(self.rules)
        parts = self._mean_parts(symbols)
        growth = float(np.max(np.abs(np.linalg.eigvals(parts))))
        if not growth < 1 - 1e-9:
            raise ValueError(
                f"the expected length of a sentence is not finite: symbols grow by a factor of {growth:.4g} at a "
                "step; make recursive choices rarer"
            )
        start = np.eye(len(symbols))[symbols.index(self.start)]
        return dict(zip(symbols, np.linalg.solve(np.eye(len(symbols)) - parts.T, start), strict=True))


EMBEDDED = "captions"
"""What the grammar that comes with the package describes."""


def embedded() -> Grammar:
    """The grammar that comes with the package: short descriptions of photographs."""
    file = f"{EMBEDDED}.grammar"
    text = resources.files("attnlab_theory.language.corpora").joinpath(file).read_text("utf-8")
    return Grammar.from_text(text, where=file)


def _choice(part: str, number: int, where: str) -> Choice:
    choice = CHOICE.match(part)
    try:
        weight = float(choice["weight"]) if choice else math.nan
    except ValueError:
        weight = math.nan
    if choice is None or not 0 < weight < math.inf:
        raise ValueError(
            f"line {number} of {where}: a choice is weight: words, with a weight above 0, not {part.strip()!r}"
        )
    return Choice(weight, tuple(choice["symbols"].split()))


def _entropy(choices: Iterable[Choice]) -> float:
    return -sum(choice.probability * math.log(choice.probability) for choice in choices)
