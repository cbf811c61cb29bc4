"""Training on the workers of a cluster. A worker trains an arm for a seed, and its files come back."""

import dataclasses
import functools
import os
import pickle
import tempfile
from collections.abc import Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attnlab_theory import files
from attnlab_theory.cluster.client import Cluster
from attnlab_theory.labs.engine.lab import Lab, Unit

MOST = 256
"""The most units that wait for a worker at the same time."""

PASSING = (".lock",)
"""The ends of names of files that stay on their machine."""


def trained(command: Any, lab: Lab, cluster: Cluster, tell: Callable[[str], None]) -> None:
    """Train every arm for every seed. What a stopped run has left goes to the workers, so it is not done again.

    Args:
        command: makes the same lab on every worker.
        lab: of the command.
        cluster: whose workers train.
        tell: called with a line about the progress.

    Raises:
        ValueError: if all workers are gone, too many died, or a worker refuses the work.
    """
    carried = pickle.dumps(_carried(command))

    for wave in lab.waves():
        paths = {lab.path(*unit) for unit in wave}

        def ask(unit: Unit, paths: Set[Path] = paths) -> tuple[Mapping[str, bytes], Mapping[str, bytes]]:
            left = _left(lab, unit, paths)
            return left, cluster.call(train_unit, carried, unit, left)

        with ThreadPoolExecutor(min(len(wave), MOST) or 1) as threads:
            pending = [threads.submit(ask, unit) for unit in wave]
            try:
                for done, (unit, future) in enumerate(zip(wave, pending, strict=True), 1):
                    left, found = future.result()
                    _write(found, lab.folder)
                    for name in left.keys() - found.keys():
                        (lab.folder / name).unlink(missing_ok=True)
                    tell(f"{getattr(unit.arm, 'name', unit.arm)}, seed {unit.seed}: {done} of {len(wave)} trained")
            except BaseException:
                cluster.close()
                threads.shutdown(cancel_futures=True)
                raise


def train_unit(carried: bytes, unit: Unit, left: Mapping[str, bytes]) -> dict[str, bytes]:
    """Train an arm for a seed, in a folder of its own.

    Args:
        carried: the pickled result of `_carried`.
        unit: the arm and the seed.
        left: files of a stopped run.

    Returns:
        Its files, by their place in the folder of models.
    """
    command, lab = _lab_of(carried)
    with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
        lab = dataclasses.replace(lab, folder=Path(folder))
        _write(left, lab.folder)
        for stage in lab.stages(*unit):
            command.train(stage)
        every = (path for path in lab.folder.rglob("*") if path.is_file() and path.suffix not in PASSING)
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in every}


def _left(lab: Lab, unit: Unit, paths: Set[Path]) -> dict[str, bytes]:
    """The files of a unit that lie in the folder of models.

    A stage before the last has a file of its own whose name begins with that of the model, such as ARM.before. So
    may another arm.

    Args:
        lab: whose folder it is.
        unit: the arm and the seed.
        paths: of the models of all units that are trained beside it.
    """
    path = lab.path(*unit)
    others = [each for each in paths if _belongs(each, path) and each != path]
    every = [each for each in path.parent.iterdir() if _belongs(each, path) and each.suffix not in PASSING]
    own = [each for each in every if not any(_belongs(each, other) for other in others)]
    return {each.relative_to(lab.folder).as_posix(): each.read_bytes() for each in own}


def _belongs(file: Path, model: Path) -> bool:
    return file.parent == model.parent and f"{file.name}.".startswith(f"{model.name}.")


def _write(found: Mapping[str, bytes], folder: Path) -> None:
    """Write files by their names in a folder.

    Raises:
        ValueError: if a name leads out of the folder: whoever joins the cluster chooses the names.
    """
    inside = Path(os.path.realpath(folder))
    for name in found:
        path = Path(os.path.realpath(folder / name))
        if not name or not path.is_relative_to(inside) or path == inside or ".." in Path(name).parts:
            raise ValueError(f"a worker names the file {name!r:.80}, which does not lie in {folder}")
    for name, content in found.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not (path.exists() and path.read_bytes() == content):
            with files.replacing(path) as written:
                written.write_bytes(content)


def _carried(command: Any) -> tuple[Any, dict[Path, bytes]]:
    """A command for another machine, and the files among its options."""
    found: dict[Path, bytes] = {}

    def look(value: Any) -> None:
        if isinstance(value, Path):
            if value.is_file():
                found[value] = value.read_bytes()
        elif isinstance(value, (tuple, list)):
            for each in value:
                look(each)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                look(getattr(value, field.name))

    look(command)
    return dataclasses.replace(command, resume=True, cluster=None, processes=None), found


def _elsewhere(value: Any, places: Mapping[Path, Path]) -> Any:
    """A value of an option, with other places for its files."""
    if isinstance(value, Path):
        return places.get(value, value)
    if isinstance(value, tuple):
        return tuple(_elsewhere(each, places) for each in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = {field.name: _elsewhere(getattr(value, field.name), places) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **given)
    return value


@functools.lru_cache(maxsize=1)
def _lab_of(carried: bytes) -> tuple[Any, Any]:
    command, given = pickle.loads(carried)
    with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
        places = {path: Path(folder) / str(number) / path.name for number, path in enumerate(given)}
        for path, place in places.items():
            place.parent.mkdir()
            place.write_bytes(given[path])
        command = _elsewhere(command, places)
        # It reads its files here, as it does on one machine before anything is trained.
        return command, command.lab()
