"""`attnlab LAB run` and `attnlab LAB judge` for any lab. Nothing here imports jax: the command line reads it first.

A lab declares its options, what is trained and how it is measured. The rest is the same everywhere: one folder for
one run, checkpoints, Ctrl-C, processes, the record of the run, verdicts, the exit code. What a command does not
declare is done by `measure.py`, which lies beside it.
"""

import abc
import dataclasses
import functools
import importlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import tyro
from tyro.conf import subcommand

from attnlab_theory import files
from attnlab_theory.interrupts import Interrupts
from attnlab_theory.labs import folders
from attnlab_theory.labs.options import WholeRun, WithJson
from attnlab_theory.labs.training import refuse_no_time, train
from attnlab_theory.plurals import several

if TYPE_CHECKING:
    from attnlab_theory.cluster.client import Cluster
    from attnlab_theory.labs.engine.lab import Lab, Stage
    from attnlab_theory.labs.engine.record import Results
    from attnlab_theory.labs.processes import Workers

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunLab(WholeRun, abc.ABC):
    """Train every model for every seed. Then measure, decide the claims, write and report."""

    name: ClassVar[str]
    """The lab's command, and the name of its findings."""
    question: ClassVar[str]
    """What the lab asks."""
    shares: ClassVar[tuple[str, ...]] = ()
    """Names of other runs that may lie in the same folder."""
    arms: tuple[str, ...]
    """What is compared."""
    processes: int | None = None
    """How many models train at once, one core each; by default at most 8.
    With 1, a model uses all cores; results differ by rounding."""
    cluster: str | None = None
    """Train on a Dask cluster: the address of its scheduler, tcp://HOST:PORT (docs/cluster.md)."""

    @abc.abstractmethod
    def lab(self) -> "Lab":
        """What is trained on what. Every call gives the same, in every process.

        Raises:
            ValueError: if the input is bad, before anything is written.
        """

    def every_lab(self) -> dict[str, Any]:
        """What every lab is made of: arms, seeds, and the folder of the models."""
        return {"arms": self.arms, "seeds": self.every_seed(), "folder": self.out / "models"}

    def of_seeds(self, read: Callable[[int], T], *, drawn: bool) -> Callable[[int], T]:
        """The material of each seed. That of the first is read at once, so that bad input is refused.

        Args:
            read: the material of a seed.
            drawn: whether it follows from the seed; else it lies in files, and is the same for all seeds.

        Raises:
            ValueError: if `read` refuses the material of the first seed.
        """
        first = read(self.every_seed()[0])
        return functools.cache(read) if drawn else lambda _: first

    def results(self, lab: Any) -> "Results":
        """Measure what is trained, and judge it: by default by `measure.results`.

        Args:
            lab: whose models are trained. `measure.results` also takes `tell`.

        Raises:
            ValueError: if a model is missing.
        """
        return _measure(self).results(lab, tell)

    def about(self, lab: Any) -> dict[str, Any]:
        """What the record of the run says of its options, beside the seeds: by default the arms."""
        return {"arms": list(self.arms)}

    @property
    def small(self) -> bool:
        """Whether one core trains a model as fast as several. Then each core trains one, by default."""
        return False

    def train(self, stage: "Stage", interrupts: Interrupts | None = None) -> bool:
        """Train a stage. Returns False if Ctrl-C stopped it.

        Raises:
            ValueError: if the stage cannot begin or go on, or diverges.
        """
        told = f", seed {stage.run.training.seed}"
        return train(stage.run, self.checkpoints(stage.path), told=told, interrupts=interrupts) is not None

    def run(self) -> int:
        """Train, measure, write. Returns 1 if a verdict is not the expected one, 130 after Ctrl-C."""
        from attnlab_theory.cluster.client import Cluster
        from attnlab_theory.labs import page
        from attnlab_theory.labs.processes import ONE_CORE, workers
        from attnlab_theory.labs.verdicts import ERROR_RATE
        from attnlab_theory.report import provenance, record

        began = time.monotonic()
        refuse_no_time(self.save_every)
        lab = self.lab()
        if self.cluster and self.processes:
            raise ValueError("--processes is for this machine, --cluster for others: name one of them")
        lab.refuse_unmeasurable()
        # Both complain before anything is written.
        if self.cluster:
            processes = Cluster(self.cluster, tell=tell, one_core=True, xla_flags=ONE_CORE)
        else:
            processes = workers(self.processes, small=self.small, tell=tell)
        # Asked for before anything is written, which may be a change to the checkout.
        about = {"question": self.question, "seed": self.seed, "seeds": self.seeds, **self.about(lab)}
        about |= {**provenance.of_this_process(), "error_rate": ERROR_RATE}
        with folders.begun(self.out, self.name, *self.shares):
            if not self.resume:
                lab.refuse_left_over()
            if not self.trained(lab, processes):
                return 130
            found = self.results(lab)
            found.write(self.name, self.out)
            about |= {**found.about, "seconds": round(time.monotonic() - began, 2), **found.counted()}
            files.write_text(self.out / f"{self.name}{folders.RUN}", record.to_text(about))
            page.write(self.out, found.verdicts.sentences(), found.further)
        return report(found, about, self.out, json=self.json)

    def trained(self, lab: "Lab", processes: "AbstractContextManager[Workers | Cluster | None]") -> bool:
        """Train every arm for every seed. Returns False if Ctrl-C stopped it.

        Args:
            lab: of this command.
            processes: the processes that train, or a cluster. None: this process trains.

        Raises:
            ValueError: if a stage cannot begin or go on, or diverges, or a process was killed.
        """
        from attnlab_theory.cluster.client import Cluster
        from attnlab_theory.labs.engine import remote
        from attnlab_theory.labs.processes import unit_trained

        with processes as pool:
            if isinstance(pool, Cluster):
                remote.trained(self, lab, pool, tell)
                return True
            for wave in lab.waves():
                if pool is None:
                    if not all(self.train(stage) for unit in wave for stage in lab.stages(*unit)):
                        return False
                elif not pool.finished(unit_trained, [(self, unit) for unit in wave]):
                    return False
        return True


@dataclasses.dataclass(frozen=True, kw_only=True)
class JudgeLab(WithJson):
    """Decide the claims of a finished run again, from the numbers in its folder. Nothing is trained.

    The command writes the verdicts again, and the means over seeds from which they follow. The record of the run
    keeps the commit that trained it, and names the commit that judged it.
    """

    name: ClassVar[str]
    """The lab's command, and the name of its findings."""
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder of a finished run."""

    def again(self) -> "Results":
        """What the folder holds, judged again: by default by `measure.again`.

        Tables, texts and figures are those that tell of verdicts.

        Raises:
            ValueError: if a file is missing or damaged.
        """
        return _measure(self).again(self.folder)

    def run(self) -> int:
        """Read, judge, write, report. Returns 1 if a verdict is not the expected one.

        Raises:
            ValueError: if the folder lacks a file that is needed.
        """
        from attnlab_theory.labs import page
        from attnlab_theory.labs.engine.record import read, usable
        from attnlab_theory.report import provenance, record

        about_path = self.folder / f"{self.name}{folders.RUN}"
        for path in (about_path, self.folder / "estimates.json"):
            if not path.is_file():
                raise ValueError(
                    f"{self.folder} has no {path.name}: name a folder that `attnlab {self.name} run` wrote"
                )
        about = read(about_path, dict)
        with usable(self.folder, to="judged"):
            found = self.again()
        process = provenance.of_this_process()
        judge = {key: process[key] for key in ("commit", "versions", "command")}
        about |= {**found.counted(), "judged": judge}
        with files.held(self.folder):
            found.write(self.name, self.folder)
            files.write_text(about_path, record.to_text(about))
            page.write(self.folder, found.verdicts.sentences(), found.further)
        return report(found, about, self.folder, json=self.json)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DrawLab(WithJson):
    """Draw the figures of a run again, from the JSON files in its folder. Nothing is trained or measured."""

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder that a run of this lab wrote."""

    def run(self) -> int:
        """Read and draw what there is to draw; nothing is removed.

        Raises:
            ValueError: in one line, if the folder lacks what it takes.
        """
        from attnlab_theory.labs.engine.record import draw, usable

        if not (self.folder / "estimates.json").is_file():
            raise ValueError(f"{self.folder} holds no estimates.json: name a folder that the lab wrote")
        with usable(self.folder, to="drawn"):
            figures = {name: each for name, each in _measure(self).figures_in(self.folder).items() if each}
            draw(figures, self.folder)
        if self.json:
            print(json.dumps({"folder": str(self.folder), "figures": len(figures)}))
        else:
            print(f"{several(len(figures), 'figure is', 'figures are')} drawn in {self.folder}")
        return 0


@dataclasses.dataclass(frozen=True)
class Tasks:
    """The commands of a lab."""

    task: Any  # The one that was called; subclasses name what there is.

    def run(self) -> int:
        """Do the task."""
        return self.task.run()


def _measure(command: object) -> Any:
    """The module `measure` that lies beside the one of a command."""
    folder, _, _ = type(command).__module__.rpartition(".")
    return importlib.import_module(f"{folder}.measure")


DRAW = subcommand("draw", description=inspect.getdoc(DrawLab))
JUDGE = subcommand("judge", description=inspect.getdoc(JudgeLab))
"""How the commands of subclasses are called."""


def report(found: "Results", about: Mapping[str, Any], folder: Path, *, json: bool) -> int:
    """Print numbers, verdicts, their error rates, and what is not judged. Or print everything as one JSON value.

    Args:
        found: the results of a run.
        about: the record of the run.
        folder: with the files of the run.
        json: whether to print JSON.

    Returns:
        The exit code: 1 if a verdict is not the expected one.
    """
    from attnlab_theory.report import record
    from attnlab_theory.report.table import show, verdict_table

    findings = found.verdicts.findings
    if json:
        rows = {"findings": [record.as_json(each) for each in findings]}
        rows["estimates"] = [each.as_json() for each in found.estimates]
        print(record.to_text({**rows, "run": about}), end="")
        return 0 if found.as_expected else 1
    for each in (*found.shown, *([verdict_table(findings)] if findings else [])):
        show(each)
    seconds = f"{about['seconds']:.0f} s. " if "seconds" in about else ""
    for line in ("", *found.verdicts.sentences(), f"{seconds}Figures and data: {folder}/"):
        show(line)
    return 0 if found.as_expected else 1


def tell(text: str) -> None:
    """Say on standard error what is being done."""
    print(text, file=sys.stderr)
