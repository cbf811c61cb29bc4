"""What the committed runs of labs leave undecided, and what was declared about it.

A run of fresh seeds is declared before anybody makes it: its seeds, their number, and the statements that it
decides. The run before it stays where it is, and the sheet shows both verdicts. If no run of this size can decide a
statement, that is declared too, with the number of training runs that would.
"""

import dataclasses
import functools
import importlib.resources
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from attnlab_theory.answers.questions import setting_of
from attnlab_theory.claims import Finding


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fresh:
    """A run of fresh seeds. It alone decides its statements, at the settings that it has."""

    lab: str
    name: str
    """Its folder is `fresh/NAME` beside the findings of the lab's committed run."""
    first: int
    """The first seed. The committed run has none of the seeds."""
    seeds: int
    """How many seeds there are."""
    options: str
    """The options of the run, beside its seeds and its folder."""
    decides: tuple[str, ...]
    """The statements that it decides. What else it finds does not count on the sheet."""

    @property
    def command(self) -> str:
        """The command of the run."""
        seeds = f"--seed {self.first} --seeds {self.seeds}"
        return f"attnlab {self.lab} run {seeds} {self.options} --out figures/{self.lab}/fresh/{self.name}"

    def refuse_other(self, record: Mapping[str, Any]) -> None:
        """Refuse a run that is not the declared one.

        Args:
            record: of the run, from its `LAB.run.json`.

        Raises:
            ValueError: naming both commands.
        """
        made = record["command"].removesuffix(" --resume")
        if (made, record["seed"], record["seeds"]) != (self.command, self.first, self.seeds):
            raise ValueError(f"the run {self.name} is declared as `{self.command}`, and `{made}` made it")

    def refuse_seen(self, record: Mapping[str, Any]) -> None:
        """Refuse seeds that the committed run has: they have been looked at.

        Args:
            record: of the committed run.

        Raises:
            ValueError: naming such a seed.
        """
        seen = set(range(record["seed"], record["seed"] + record["seeds"]))
        if again := seen & set(range(self.first, self.first + self.seeds)):
            raise ValueError(f"{self.name} is to be of fresh seeds, and the committed run has seed {min(again)}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Undecidable:
    """A statement that no run of this size decides, at one setting."""

    lab: str
    claim: str
    setting: str
    """Fields of the setting, written as in an answer."""
    seeds: int
    """How many training runs the undecided finding has. More of them may decide, and are not meant."""
    decide: int | None = None
    """How many training runs would decide, if the next are like these."""
    chance: float | None = None
    """With what probability so many would decide; given with `decide`."""
    more_than: int | None = None
    """So many training runs would not decide. Either this or `decide` is given."""
    why: str
    """Why nobody makes so many."""

    def __post_init__(self) -> None:
        if (self.decide is None) == (self.more_than is None):
            raise ValueError(f"{self.claim} at {self.setting} needs one of decide and more_than")
        if (self.chance is None) == (self.decide is not None):
            raise ValueError(f"{self.claim} at {self.setting} needs chance beside decide, and only there")

    @property
    def runs(self) -> str:
        """The number of training runs that would decide, in words."""
        return f"more than {self.more_than}" if self.decide is None else f"about {self.decide}"

    def covers(self, lab: str, finding: Finding) -> bool:
        """Whether it is about this INCONCLUSIVE finding, of a run of this size or a smaller one."""
        return (
            (self.lab, self.claim) == (lab, finding.claim)
            and setting_of(self.setting).items() <= finding.setting.items()
            and finding.draws <= self.seeds
        )

    def as_json(self) -> dict[str, Any]:
        """The claim, its setting, how many runs there are, and how many would decide: null if more than 100."""
        told = {"claim": self.claim, "setting": setting_of(self.setting), "runs": self.seeds}
        return {**told, "runs_that_decide": self.decide, "probability": self.chance, "why": self.why}


T = TypeVar("T", Fresh, Undecidable)


@functools.cache
def declared() -> tuple[tuple[Fresh, ...], tuple[Undecidable, ...]]:
    """The runs of fresh seeds, and the statements that no run of this size decides.

    Raises:
        ValueError: if the file lacks a field or has one that is not known, or two runs decide one statement.
    """
    text = importlib.resources.files("attnlab_theory.answers").joinpath("undecided.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    if other := set(tables) - {"fresh", "undecidable"}:
        raise ValueError(f"undecided.toml has tables called fresh and undecidable, not {min(other)}")
    fresh = tuple(_made(Fresh, table) for table in tables.get("fresh", ()))
    refuse_two(fresh)
    return fresh, tuple(_made(Undecidable, table) for table in tables.get("undecidable", ()))


def refuse_two(fresh: Iterable[Fresh]) -> None:
    """Refuse two runs that decide one statement: whoever reads them could choose.

    Raises:
        ValueError: naming the statement.
    """
    owners: dict[tuple[str, str], str] = {}
    for each in fresh:
        for claim in each.decides:
            other = owners.setdefault((each.lab, claim), each.name)
            if other != each.name:
                raise ValueError(f"{other} and {each.name} both decide {claim}: let one decide it")


def _made(kind: type[T], table: dict[str, Any]) -> T:
    known = dataclasses.fields(kind)
    needed = {field.name for field in known if field.default is dataclasses.MISSING}
    if not needed <= set(table) <= {field.name for field in known}:
        what = f"a table {kind.__name__.lower()} of undecided.toml"
        raise ValueError(f"{what} has the fields {sorted(needed)}, not {sorted(table)}")
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in table.items()
    }
    return kind(**values)
