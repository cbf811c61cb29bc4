"""The configuration of a GPT: sizes, rates, a mixer and a position scheme, checked once."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, get_args

from attnlab_theory import refuse
from attnlab_theory.language.models.mixers import MIXERS, LayerChoice, Softmax
from attnlab_theory.language.models.mixing import Shape
from attnlab_theory.language.models.positions import SCHEMES, Learned, NoPositions

LARGEST_EPSILON = 1.0
"""The largest epsilon. A state's variance is about 1, so with a larger epsilon LayerNorm would not normalise."""

Gelu = Literal["exact", "tanh"]
"""The activation: x times the normal distribution function of x, or GPT-2's approximation by a tanh."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """The homework's model by default: 3,323,392 parameters.

    Raises:
        ValueError: if a size is not a positive whole number, the width does not divide into heads, or a rate is
            not in [0, 1). Also if mixer and position scheme do not go together. The message has the field and its
            value.

    Source: Stanford CS224n, assignment 5 (2021 to 2023), assignment 4 (2024).
    """

    vocabulary: int = 256
    block: int = 128
    """Tokens in the longest sequence that is trained on."""
    layers: int = 4
    heads: int = 8
    width: int = 256
    hidden: int | None = None
    """The hidden width of the feed-forward network. Four times the width if None."""
    embedding_dropout: float = 0.1
    residual_dropout: float = 0.1
    attention_dropout: float = 0.1
    mixer: LayerChoice = dataclasses.field(default_factory=Softmax)
    positions: NoPositions = dataclasses.field(default_factory=Learned)
    tied: bool = False
    """Whether the output head is the token embedding, transposed."""
    gelu: Gelu = "exact"
    epsilon: float = 1e-5
    """Added to the variance by every LayerNorm."""

    def __post_init__(self) -> None:
        sizes = {name: getattr(self, name) for name in ("vocabulary", "block", "layers", "heads", "width")}
        refuse.not_a_size(**sizes)
        if self.hidden is not None:
            refuse.not_a_size(hidden=self.hidden)
        if self.width % self.heads:
            raise ValueError(f"width {self.width} cannot be cut into {self.heads} heads of equal width")
        for name in ("embedding_dropout", "residual_dropout", "attention_dropout"):
            rate = getattr(self, name)
            refuse.not_one_real(**{name: rate})
            if not 0 <= rate < 1:
                raise ValueError(f"{name.replace('_', ' ')} must be at least 0 and less than 1, not {rate}")
        refuse_epsilon(self.epsilon)
        if self.gelu not in get_args(Gelu):
            raise ValueError(f"gelu must be one of {', '.join(get_args(Gelu))}, not {self.gelu!r}")
        self._refuse_strangers()

    def _refuse_strangers(self) -> None:
        """Refuse a mixer and a position scheme, or a rate, that cannot work together."""
        mixer, positions = self.mixer, self.positions
        if positions.turns and not mixer.compares:
            raise ValueError(
                f"{positions.name} turn queries and keys, and {mixer.name} compares none: choose others"
            )
        if positions.turns and (self.width // self.heads) % 2:
            raise ValueError(f"{positions.name} turn pairs, but a head has width {self.width // self.heads}")
        if positions.paired and self.width % 2:
            raise ValueError(f"{positions.name} come in pairs, but the width is {self.width}: choose an even one")
        if positions.biases and not mixer.scored:
            raise ValueError(f"{positions.name} biases scores, and {mixer.name} has none: choose other positions")
        if self.attention_dropout and not mixer.scored:
            raise ValueError(
                f"attention_dropout must be 0, not {self.attention_dropout}: {mixer.name} has no weights to drop"
            )

    def as_json(self) -> dict[str, Any]:
        """The configuration as plain numbers, strings and dictionaries. `config_from_json` undoes it."""
        choices = {"mixer": self.mixer, "positions": self.positions}
        named = {field: {"kind": type(x).__name__} | dataclasses.asdict(x) for field, x in choices.items()}
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)} | named

    @property
    def hidden_width(self) -> int:
        """The hidden width of the feed-forward network."""
        return 4 * self.width if self.hidden is None else self.hidden

    @property
    def longest(self) -> int | None:
        """Tokens in the longest sequence that the model can read. None if there is no limit."""
        return self.block if self.positions.bounded or self.mixer.bounded else None

    @property
    def shape(self) -> Shape:
        """The sizes and rates that mixing layers need."""
        return Shape(
            width=self.width,
            heads=self.heads,
            block=self.block,
            dropout=self.attention_dropout,
            positions=self.positions,
        )


def refuse_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that no LayerNorm should add to a variance.

    Raises:
        ValueError: if it is not a number, not positive, or larger than `LARGEST_EPSILON`.
    """
    refuse.not_positive(epsilon=epsilon)
    if not epsilon <= LARGEST_EPSILON:
        raise ValueError(f"epsilon must be at most {LARGEST_EPSILON:g}, not {epsilon}")


def config_from_json(record: Mapping[str, Any], *, mixers: tuple[type[LayerChoice], ...] = MIXERS) -> GPTConfig:
    """The configuration that `GPTConfig.as_json` wrote.

    Args:
        record: the fields by name.
        mixers: the mixers that it may name.

    Raises:
        ValueError: naming a field or a kind that is unknown, missing or out of range.
    """
    known = {f.name for f in dataclasses.fields(GPTConfig)}
    for name in sorted(known ^ set(record)):
        raise ValueError(f"the configuration {'lacks' if name in known else 'has an unknown field'} {name!r}")
    refuse.not_a_boolean(tied=record["tied"])
    chosen = {"mixer": _chosen(mixers, "mixer", record), "positions": _chosen(SCHEMES, "positions", record)}
    return GPTConfig(**{**record, **chosen})


def _chosen(kinds: tuple[type, ...], field: str, record: Mapping[str, Any]) -> Any:
    if not isinstance(record[field], Mapping):
        raise ValueError(f"{field} must be a kind with its options, not {record[field]!r}")
    options = dict(record[field])
    kind = options.pop("kind", None)
    for choice in kinds:
        if choice.__name__ == kind:
            if set(options) != {f.name for f in dataclasses.fields(choice)}:
                raise ValueError(f"{field} {kind} has other options than {', '.join(options) or 'none'}")
            for name, value in options.items():
                _refuse_other_type(f"{field} {kind}", name, value, type(getattr(choice, name)))
            return choice(**options)
    raise ValueError(f"{field} must be one of {', '.join(choice.__name__ for choice in kinds)}, not {kind!r}")


def _refuse_other_type(whose: str, name: str, value: Any, wanted: type) -> None:
    """Refuse an option whose type is not that of its default. A whole number may stand for a real one."""
    fits = type(value) is wanted or (wanted is float and type(value) is int)
    if not fits or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"{whose} has {name} {value!r:.60}, which is no {wanted.__name__}")
