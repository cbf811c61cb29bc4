"""The configuration of an encoder: sizes, rates and the layout of its positions, checked once."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, assert_never, get_args

from attnlab_theory import refuse
from attnlab_theory.language.models.config import Gelu, refuse_epsilon
from attnlab_theory.language.models.mixing import Shape
from attnlab_theory.language.models.positions import NoPositions


class Layout(enum.StrEnum):
    """How positions are numbered: the only difference between trained encoders of BERT and RoBERTa."""

    BERT = "bert"
    """Places of a row, from 0."""
    ROBERTA = "roberta"
    """Tokens are counted from `pad` + 1, without padding. Padding stands at `pad`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """BERT's base model by default, but for its vocabulary.

    Raises:
        ValueError: if a size is not a positive whole number, the width does not divide into heads, a rate is not in
            [0, 1), or the padding is no token. Also if there is no such layout or gelu. The message has the field
            and its value.

    Source: Devlin et al. 2019; Liu et al. 2019.
    """

    vocabulary: int
    block: int = 512
    """Tokens in the longest row."""
    types: int = 2
    """Kinds of segments that a token may belong to."""
    layers: int = 12
    heads: int = 12
    width: int = 768
    hidden: int | None = None
    """The hidden width of the feed-forward network. Four times the width if None."""
    layout: Layout = Layout.BERT
    pad: int = 0
    """The token that fills up rows; RoBERTa's is 1."""
    dropout: float = 0.1
    """The dropout rate of the embedding, and of what each half of a layer adds."""
    attention_dropout: float = 0.1
    gelu: Gelu = "exact"
    epsilon: float = 1e-12
    """Added to the variance by every LayerNorm; RoBERTa's is 1e-5."""

    def __post_init__(self) -> None:
        names = ("vocabulary", "block", "types", "layers", "heads", "width")
        refuse.not_a_size(**{name: getattr(self, name) for name in names})
        if self.hidden is not None:
            refuse.not_a_size(hidden=self.hidden)
        if self.width % self.heads:
            raise ValueError(f"width {self.width} cannot be cut into {self.heads} heads of equal width")
        refuse.not_whole(pad=self.pad)
        if not 0 <= self.pad < self.vocabulary:
            raise ValueError(f"pad must be a token of the vocabulary, 0 to {self.vocabulary - 1}, not {self.pad}")
        for name in ("dropout", "attention_dropout"):
            rate = getattr(self, name)
            refuse.not_one_real(**{name: rate})
            if not 0 <= rate < 1:
                raise ValueError(f"{name.replace('_', ' ')} must be at least 0 and less than 1, not {rate}")
        refuse_epsilon(self.epsilon)
        if self.gelu not in get_args(Gelu):
            raise ValueError(f"gelu must be one of {', '.join(get_args(Gelu))}, not {self.gelu!r}")
        if not isinstance(self.layout, Layout):
            raise ValueError(f"layout must be one of {', '.join(Layout)}, not {self.layout!r}")

    def as_json(self) -> dict[str, Any]:
        """The configuration as plain numbers and strings. `from_json` undoes it."""
        return dataclasses.asdict(self) | {"layout": str(self.layout)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "EncoderConfig":
        """What `as_json` wrote.

        Raises:
            ValueError: naming a field that is unknown, missing or out of range.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        for name in sorted(known ^ set(record)):
            raise ValueError(f"the configuration {'lacks' if name in known else 'has an unknown field'} {name!r}")
        if record["layout"] not in list(Layout):
            raise ValueError(f"layout must be one of {', '.join(Layout)}, not {record['layout']!r}")
        return cls(**{**record, "layout": Layout(record["layout"])})

    @property
    def hidden_width(self) -> int:
        """The hidden width of the feed-forward network."""
        return 4 * self.width if self.hidden is None else self.hidden

    @property
    def positions(self) -> int:
        """Rows of the table of positions."""
        match self.layout:
            case Layout.BERT:
                return self.block
            case Layout.ROBERTA:
                return self.block + self.pad + 1
            case _:
                assert_never(self.layout)

    @property
    def shape(self) -> Shape:
        """The sizes and rates that mixing layers need."""
        return Shape(
            width=self.width,
            heads=self.heads,
            block=self.block,
            dropout=self.attention_dropout,
            positions=NoPositions(),
        )
