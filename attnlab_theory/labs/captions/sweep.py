"""Models times decodings: what is generated, and how it compares with real captions."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attnlab_theory import refuse
from attnlab_theory.labs.captions import decodings
from attnlab_theory.labs.captions.generate import Tokens, captions
from attnlab_theory.labs.captions.rules import DecodingName
from attnlab_theory.labs.captions.scores import Scores, scores
from attnlab_theory.language.checkpoint import Saved
from attnlab_theory.language.text.bleu import References
from attnlab_theory.seeds import key_for


@dataclasses.dataclass(frozen=True, kw_only=True)
class Named:
    """A model of the lab."""

    arm: str
    seed: int
    saved: Saved


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """The scores of one set of captions."""

    arm: str
    seed: int
    """Of the training."""
    decoding: str
    generation: int
    """Its number: each generation of a model is independent of the others."""
    scores: Scores

    def as_json(self) -> dict[str, Any]:
        """All numbers in one level."""
        known = {"arm": self.arm, "seed": self.seed, "decoding": self.decoding, "generation": self.generation}
        return {**known, **vars(self.scores), "harmonic": self.scores.harmonic}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Row":
        """What `as_json` wrote."""
        own = {name: value[name] for name in ("arm", "seed", "decoding", "generation")}
        return cls(**own, scores=Scores(**{field.name: value[field.name] for field in dataclasses.fields(Scores)}))


@dataclasses.dataclass(frozen=True)
class Generated:
    """One set of captions and its scores."""

    row: Row
    captions: Sequence[Tokens]


def sweep(
    models: Sequence[Named], real: Sequence[str], names: Sequence[DecodingName], *, count: int, generations: int
) -> Iterator[Generated]:
    """Generate with every model in every way, and score.

    Args:
        models: which are to generate.
        real: sentences to compare with.
        names: of decodings.
        count: captions of one set.
        generations: independent sets for each model and decoding.

    Raises:
        ValueError: if a decoding is unknown, or a number is no positive whole number.
    """
    refuse.not_a_size(count=count, generations=generations)
    laws = {name: decodings.sampling(name) for name in names}
    known: dict[str, tuple[list[Tokens], References]] = {}
    for model in models:
        text = model.saved.text
        kind = str(text.as_json())
        if kind not in known:
            tokens = [tuple(text.encode_text(sentence).tolist()) for sentence in real]
            known[kind] = tokens, References(tokens)
        tokens, references = known[kind]
        for name, sampling in laws.items():
            for number in range(generations):
                key = key_for(model.seed, "captions", name, str(number))
                drawn = captions(key, model.saved.model, text, count, choosing=sampling)
                found = scores(drawn, tokens, references)
                row = Row(arm=model.arm, seed=model.seed, decoding=name, generation=number, scores=found)
                yield Generated(row, drawn)
