"""Finds and loads the experiments, and names the nearest when one is unknown."""

import difflib
import importlib.util
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attnlab_theory
from attnlab_theory import interrupts
from attnlab_theory.cli import own_claims

if TYPE_CHECKING:
    from attnlab_theory.answers.questions import Declared
    from attnlab_theory.claims import Claim
    from attnlab_theory.experiment import Experiment


def root() -> Path:
    """Where experiments, documents and committed results lie: the installed package, or the checkout around it.

    Raises:
        ValueError: if they are in neither place.
    """
    package = Path(attnlab_theory.__file__).parent
    for place in (package, package.parent):
        if (place / "experiments").is_dir():
            return place
    raise ValueError(f"no experiments beside {package}; install attnlab again")


def folder() -> Path:
    """Where the experiments lie."""
    return root() / "experiments"


def trained(lab: str) -> Path:
    """The committed run of a lab."""
    return root() / "figures" / lab


def experiments() -> list["Experiment"]:
    """Every experiment, in the order of the claims it asks about."""
    from attnlab_theory.claims import CLAIMS

    place = {claim.name: i for i, claim in enumerate(CLAIMS)}
    loaded = [_load(path) for path in sorted(folder().glob("*.py")) if not path.stem.startswith("_")]
    return sorted(loaded, key=lambda e: min(place[claim.name] for claim in e.claims))


def labs() -> "dict[str, Declared]":
    """What each lab that trains models declares, by its name. Explicit: no discovery."""
    from attnlab_theory.answers.questions import Declared
    from attnlab_theory.labs.captions import claims as captions
    from attnlab_theory.labs.captions.tasks import Run as Captions
    from attnlab_theory.labs.knowledge import claims as knowledge
    from attnlab_theory.labs.knowledge.tasks import Run as Knowledge
    from attnlab_theory.labs.mixers import claims as mixers
    from attnlab_theory.labs.mixers.tasks import Run as Mixers
    from attnlab_theory.labs.recurrent import claims as recurrent
    from attnlab_theory.labs.recurrent.tasks import Run as Recurrent
    from attnlab_theory.labs.reviews import claims as reviews
    from attnlab_theory.labs.reviews.tasks import Run as Reviews

    pairs = ((Captions, captions), (Mixers, mixers), (Recurrent, recurrent), (Reviews, reviews))
    every = ((Knowledge, knowledge), *pairs)
    return {run.name: Declared(claims.STATEMENTS, run.question, "--arms") for run, claims in every}


def heads() -> "Declared":
    """What the lab of heads declares. It trains nothing, so it has no `run`."""
    from attnlab_theory.answers.questions import Declared
    from attnlab_theory.labs.heads.claims import STATEMENTS
    from attnlab_theory.labs.heads.commands import QUESTION

    return Declared(STATEMENTS, QUESTION, "--arms")


def by_name() -> "dict[str, Experiment]":
    """Every experiment by its name."""
    return {experiment.name: experiment for experiment in experiments()}


def with_sources(sources: Mapping[str, str], names: Sequence[str] = ()) -> "dict[str, Experiment]":
    """Every experiment by its name, and those of somebody's own files: for a machine that does not have the files.

    Args:
        sources: of these files, by their names.
        names: as `chosen` takes them, so that parts of experiments are there, too; paths may have any folder.

    Raises:
        ValueError: as `own_claims.experiment_of`.
    """
    with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
        for name, source in sources.items():
            (Path(folder) / name).write_text(source, "utf-8")
        asked = [str(Path(folder) / Path(name).name) if own_claims.is_file(name) else name for name in names]
        every = [*by_name().values(), *chosen([*(str(Path(folder) / name) for name in sources), *asked])]
    return {experiment.name: experiment for experiment in every}


def chosen(names: Sequence[str]) -> list["Experiment"]:
    """The experiments of the given names, those of somebody's own files last; all of the lab's if none is given.

    Args:
        names: of experiments, or paths of files; with ::CLAIM after it, that claim alone.

    Raises:
        ValueError: if a name is unknown, with the nearest one suggested, or if `own_claims.experiment_of` refuses a
            file.
    """
    known = by_name()
    asked = [name.partition("::") for name in dict.fromkeys(names)]
    for name, _, _ in asked:
        if name not in known and not own_claims.is_file(name):
            raise unknown("experiment", name, known, "attnlab list")
    paths = list(dict.fromkeys(name for name, _, _ in asked if own_claims.is_file(name)))
    own = {path: own_claims.experiment_of(Path(path), set(known)) for path in paths}
    for name, count in Counter(experiment.name for experiment in own.values()).items():
        if count > 1:
            raise ValueError(f"{count} files make an experiment called {name}; rename one of them")
    found: list[Experiment] = []
    for name, experiment in {**known, **own}.items():
        if not names or (name, "", "") in asked:
            found.append(experiment)
        found += [_part(experiment, claim) for other, mark, claim in asked if mark and other == name]
    return found


def _part(experiment: "Experiment", name: str) -> "Experiment":
    from attnlab_theory.experiment import part

    claims = {claim.name: claim for claim in experiment.claims}
    if name not in claims:
        raise unknown(f"claim of {experiment.name}", name, claims, "attnlab list")
    return part(experiment, claims[name])


def owner(claim_name: str) -> "tuple[Experiment, Claim]":
    """The experiment that asks about a claim, and the claim.

    Raises:
        ValueError: if no experiment does.
    """
    owners = {claim.name: (e, claim) for e in experiments() for claim in e.claims}
    if claim_name not in owners:
        raise unknown("claim", claim_name, owners, "attnlab list")
    return owners[claim_name]


def unknown(kind: str, name: str, known: Iterable[str], where: str) -> ValueError:
    """The error for a name that is not known, with the nearest that is."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"{where} names them"
    return ValueError(f"no {kind} is called {name!r}; {hint}")


def _load(path: Path) -> "Experiment":
    # Named inside the package, so that no top-level module called `experiments` ever exists.
    name = f"attnlab_theory.experiments.{path.stem}"
    if name not in sys.modules:
        interrupts.heed()
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name].EXPERIMENT
