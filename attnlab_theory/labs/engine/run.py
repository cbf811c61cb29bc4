"""`attnlab LAB run` and `attnlab LAB judge`, of any lab. Nothing here imports jax: the command line reads it first.

A lab declares its options, what is trained and how it is measured. The rest is the same everywhere: one folder for
one run, checkpoints, Ctrl-C, processes, the record of the run, verdicts, the exit code.
"""

import abc
import dataclasses
import inspect
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro
from tyro.conf import subcommand

from attnlab_theory import files
from attnlab_theory.interrupts import Interrupts
from attnlab_theory.labs import folders
from attnlab_theory.labs.options import WholeRun
from attnlab_theory.labs.training import refuse_no_time, train

if TYPE_CHECKING:
    from attnlab_theory.cluster.client import Cluster
    from attnlab_theory.labs.engine.lab import Lab, Stage
    from attnlab_theory.labs.engine.record import Results
    from attnlab_theory.labs.processes import Workers


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunLab(WholeRun, abc.ABC):
    """Train every arm for every seed. Then measure, judge, write and report."""

    name: ClassVar[str]
    """The lab's command, and the name of its findings."""
    question: ClassVar[str]
    """What the lab asks."""
    shares: ClassVar[tuple[str, ...]] = ()
    """Names of other runs that may lie in the same folder."""
    processes: int | None = None
    """How many models are trained at once, each by a process on one core. By default as many as there are cores, at
    most 8, for small models on a processor, and 1 for every other.
    Results have the same bytes for any number from 2 on. With 1, all cores train one model: last digits differ."""
    cluster: str | None = None
    """Train on a Dask cluster: the address of its scheduler, tcp://HOST:PORT (docs/cluster.md)."""

    @abc.abstractmethod
    def lab(self) -> "Lab":
        """What is trained on what. It is the same whenever it is asked for, in every process.

        Raises:
            ValueError: of bad input, before anything is written.
        """

    @abc.abstractmethod
    def results(self, lab: Any) -> "Results":
        """Measure what is trained, and judge it.

        Raises:
            ValueError: if a model is missing.
        """

    @abc.abstractmethod
    def about(self, lab: Any) -> dict[str, Any]:
        """What the record of the run says of its options, beside the seeds."""

    @property
    def small(self) -> bool:
        """Whether one core trains a model as fast as several. Then each core trains one, by default."""
        return False

    def train(self, stage: "Stage", interrupts: Interrupts | None = None) -> bool:
        """Train a stage; False if Ctrl-C stopped that.

        Raises:
            ValueError: as `training.train`.
        """
        told = f", seed {stage.run.training.seed}"
        return train(stage.run, self.checkpoints(stage.path), told=told, interrupts=interrupts) is not None

    def run(self) -> int:
        """Train, measure, write; 1 if a verdict is not the expected one, 130 after Ctrl-C."""
        from attnlab_theory.cluster.client import Cluster
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
            about |= {**found.about, "seconds": round(time.monotonic() - began, 2), **found.verdicts.as_json()}
            files.write_text(self.out / f"{self.name}{folders.RUN}", record.to_text(about))
        return report(found, about, self.out, json=self.json)

    def trained(self, lab: "Lab", processes: "AbstractContextManager[Workers | Cluster | None]") -> bool:
        """Train every arm for every seed; False if Ctrl-C stopped that.

        Args:
            lab: of this command.
            processes: those that train, or a cluster; None: this process does.

        Raises:
            ValueError: as `train`, `processes.Workers.finished` and `remote.trained`.
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
class JudgeLab(abc.ABC):
    """Judge a finished run again, from the numbers in its folder. Nothing is trained.

    Findings are written anew, and the numbers over seeds that they rest on. The record of the run keeps the commit
    that trained it, and names the one that judged it.
    """

    name: ClassVar[str]
    """The lab's command, and the name of its findings."""
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder of a finished run."""
    json: bool = False
    """Print one JSON value on standard output and nothing else."""

    @abc.abstractmethod
    def again(self) -> "Results":
        """What the folder holds, judged again. Tables, texts and figures are those that tell of verdicts.

        Raises:
            ValueError: if a file is missing or damaged.
        """

    def run(self) -> int:
        """Read, judge, write, report; 1 if a verdict is not the expected one.

        Raises:
            ValueError: in one line, if the folder lacks what it takes.
        """
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
        about |= {**found.verdicts.as_json(), "judged": judge}
        with files.held(self.folder):
            found.write(self.name, self.folder)
            files.write_text(about_path, record.to_text(about))
        return report(found, about, self.folder, json=self.json)


JUDGE = subcommand("judge", description=inspect.getdoc(JudgeLab))
"""How the command of a subclass is called."""


def report(found: "Results", about: Mapping[str, Any], folder: Path, *, json: bool) -> int:
    """Print numbers, verdicts, their error rates, and what is not judged; or all of it as one JSON value.

    Args:
        found: by a run.
        about: the record of the run.
        folder: where its files are.
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
