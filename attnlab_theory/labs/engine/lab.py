"""What a lab trains: each arm for each seed, in one stage or several, and the files of the models."""

import abc
import dataclasses
import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from attnlab_theory.language.checkpoint import Saved, load_model
from attnlab_theory.language.models.model import KINDS, Kind
from attnlab_theory.language.runs import Run, refuse_left_over


class Unit(NamedTuple):
    """An arm and a seed. Units of one wave do not depend on each other."""

    arm: Any
    """The arm: a name, or a value with a `name`."""
    seed: int


class Stage(NamedTuple):
    """A run, and the file for its model."""

    run: Run
    path: Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lab(abc.ABC):
    """Which arms are trained for which seeds, and where the models are kept.

    Raises:
        ValueError: if there is no seed or no arm, or an arm is named twice.
    """

    kinds: ClassVar[Mapping[str, Kind]] = KINDS
    """The models that its files may hold."""
    arms: tuple[Any, ...]
    """What is compared, by name."""
    seeds: tuple[int, ...]
    folder: Path
    """The folder for the models."""

    def __post_init__(self) -> None:
        if not self.seeds:
            raise ValueError("a run needs at least one seed")
        each_once("arm", self.arms)

    def arms_of(self, seed: int) -> Sequence[Any]:
        """The arms that are trained for a seed: by default all of them."""
        return self.arms

    @abc.abstractmethod
    def stages(self, arm: Any, seed: int) -> Iterator[Stage]:
        """The stages of an arm for a seed. Each stage must be trained before the next one is taken.

        Raises:
            ValueError: if the input is bad.
        """

    def waves(self) -> Iterator[Sequence[Unit]]:
        """All units, in waves; by default one wave. Each wave must be trained before the next one is taken."""
        yield [Unit(arm, seed) for seed in self.seeds for arm in self.arms_of(seed)]

    def path(self, arm: Any, seed: int) -> Path:
        """The file of a model. Its folder is made."""
        path = self.folder / f"seed-{seed}" / str(getattr(arm, "name", arm))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def saved(self, arm: Any, seed: int) -> Saved:
        """A trained model.

        Raises:
            ValueError: if it is missing.
        """
        return load_model(self.path(arm, seed), kinds=self.kinds)

    def refuse_unmeasurable(self) -> None:
        """Refuse, before anything is trained, what could not be measured afterwards. By default nothing is refused.

        Raises:
            ValueError: naming what could not be measured.
        """
        return

    def refuse_left_over(self) -> None:
        """Refuse to start again if a stopped run has left a checkpoint.

        Raises:
            ValueError: naming the checkpoint.
        """
        for partial in sorted(self.folder.glob("*/*.partial")):
            refuse_left_over(partial.with_suffix(""))


def each_named(names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The arms that names stand for: an arm for itself, a group for all of its arms.

    Args:
        names: of arms and groups.
        groups: the names of the arms of each group. No arm is in two groups.

    Raises:
        ValueError: if there is no name or an unknown one, or an arm is named twice.
    """
    each_once("arm", names)
    known = {**groups, **{arm: (arm,) for arms in groups.values() for arm in arms}}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? There are" if near else "there are"
            raise ValueError(f"no arm is called {name!r}; {hint} {', '.join(known)}")
    arms = tuple(arm for name in names for arm in known[name])
    if arms:
        each_once("arm", arms)
    return arms


def each_once(kind: str, names: Sequence[str]) -> None:
    """Refuse a lack of names, and a name that comes twice.

    Args:
        kind: what is named.
        names: of what is compared.

    Raises:
        ValueError: naming what comes twice.
    """
    if not names:
        raise ValueError(f"a run needs at least one {kind}")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{kind} {name} is named twice; once is enough")
