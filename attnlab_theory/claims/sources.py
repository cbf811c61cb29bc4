"""What the source of a claim names, the papers and homeworks that `docs/sources.md` lists, and what these say."""

import dataclasses
import enum
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5}|[\w.-]+/\d{7})")


def cited(source: str) -> list[tuple[str, str]]:
    """The parts of a source: what is named, and the free words after it.

    Example:
        >>> cited("mathematics/sinks.md#silence; Miller 2023, the note")
        [('mathematics/sinks.md#silence', ''), ('Miller 2023', 'the note')]
    """
    parts = (part.partition(",") for part in source.split("; ") if part.strip())
    return [(named.strip(), words.strip()) for named, _, words in parts]


@dataclasses.dataclass(frozen=True)
class Source:
    """A paper or a homework, as `docs/sources.md` has it.

    Example:
        >>> paper = Source("Xiao 2023", "*Efficient Streaming Language Models*, arXiv:2309.17453.")
        >>> paper.title, paper.arxiv
        ('Efficient Streaming Language Models', '2309.17453')
    """

    key: str
    text: str
    """Markdown."""

    @property
    def title(self) -> str:
        """The title of the paper; the key of what has none."""
        found = re.search(r"\*(.+?)\*", " ".join(self.text.split()))
        return found[1] if found else self.key

    @property
    def numbers(self) -> list[str]:
        """Its numbers on arXiv: one entry may hold several papers."""
        return ARXIV.findall(self.text)

    @property
    def arxiv(self) -> str:
        """The first of them; empty if it has none."""
        return next(iter(self.numbers), "")


def listed(path: Path) -> Iterator[Source]:
    """The sources of a file, in its order.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sources.md")
        ...     _ = path.write_text("# Sources\\n\\n## Graves 2014\\n\\n*Neural Turing Machines*\\n")
        ...     [each.key for each in listed(path)]
        ['Graves 2014']
    """
    parts = re.split(r"^## (.+)$", path.read_text("utf-8"), flags=re.MULTILINE)
    return (Source(key.strip(), text.strip()) for key, text in zip(parts[1::2], parts[2::2], strict=True))


class Wording(enum.StrEnum):
    """Whose words a sentence has.

    Example:
        >>> [wording.value for wording in Wording]
        ['quotation', 'paraphrase', 'reading']
    """

    QUOTATION = "quotation"
    """Those of the source, compared with a copy of it."""
    PARAPHRASE = "paraphrase"
    """Ours, for what it says."""
    READING = "reading"
    """Those of readers or of summaries. The source itself may not say so."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Said:
    """A sentence of a source, and what judges it.

    Example:
        >>> Said(source="Miller 2023", wording="paraphrase", text="No silence.", judged_by=("silence",)).wording
        <Wording.PARAPHRASE: 'paraphrase'>
    """

    source: str
    """The key in `docs/sources.md`."""
    wording: Wording
    text: str
    """With formulas between dollars."""
    judged_by: tuple[str, ...]
    """Names of claims and foils."""
    where: str = ""
    """The place in the source, or who reads it so."""
    compared: str = ""
    """The part of a copy of the source that a paraphrase was compared with; empty if nobody has compared it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "wording", Wording(self.wording))
        object.__setattr__(self, "judged_by", tuple(self.judged_by))
        if self.compared and self.wording != Wording.PARAPHRASE:
            raise ValueError(f"only a paraphrase says with what it was compared, and this is a {self.wording}")


def sentences(path: Path) -> list[Said]:
    """What sources say, in the order of a file like `docs/sources.toml`.

    Raises:
        ValueError: if a field is missing or unknown, or a wording is.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sources.toml")
        ...     _ = path.write_text('said = [{source = "Hu", wording = "reading", text = "So.", judged_by = []}]')
        ...     [each.text for each in sentences(path)]
        ['So.']
    """
    told = tomllib.loads(path.read_text("utf-8"))
    try:
        return [Said(**each) for each in told["said"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} does not say what sources say: {error}; compare its first entries") from None
