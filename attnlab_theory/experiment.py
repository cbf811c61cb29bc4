"""An experiment is a declaration. This is the only loop that runs one.

The loop owns the command line, the random keys, the error budget, the JSON, the provenance, the progress bar and
the file names. `draw_figure` receives findings only. `tests/test_figures.py` finds numbers that are typed into it.

Several threads judge the experiments. The main thread draws and writes what they find, in the order asked for. Each
thread has a process that does its work, if the experiments can be loaded there too. Random keys come from names, so
no number depends on what runs at the same time.
"""

import contextlib
import dataclasses
import functools
import gc
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab_theory import compilation, exits, files, interrupts, judges
from attnlab_theory.claims import Claim, Finding, Findings, check
from attnlab_theory.options import Budget, RunOptions, parsed_in_one_line
from attnlab_theory.plurals import several
from attnlab_theory.report import provenance, record
from attnlab_theory.report.board import Board
from attnlab_theory.seeds import key_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab_theory.cluster.client import Cluster

THREADS = 2
"""Experiments that one process judges at the same time. XLA compiles without Python's lock, but tracing and drawing
hold it, so a third would gain nothing."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """A question, the claims that answer it, and how to draw what was found."""

    name: str
    question: str
    claims: tuple[Claim, ...]
    draw_figure: Callable[[Findings], "Figure"]
    max_draws: dict[Budget, int] = dataclasses.field(default_factory=lambda: {"quick": 2**17, "full": 2**21})
    """The cap on draws of one claim at one setting, declared before looking."""
    error_rate: float = 1e-6
    """Split evenly over every claim and setting of this experiment."""
    part_of: "Experiment | None" = None
    """The experiment of which this is one claim. They share one error rate, and findings have its name."""


def part(experiment: Experiment, claim: Claim) -> Experiment:
    """One claim of an experiment, to be run alone. The numbers are those of a whole run; the figure is its own."""
    from attnlab_theory.report import forest
    from attnlab_theory.report.formulas import plain

    return dataclasses.replace(
        experiment,
        name=f"{experiment.name}.{claim.name}",
        question=plain(claim.statement),
        claims=(claim,),
        draw_figure=forest.draw,
        part_of=experiment,
    )


Load = Callable[[], Mapping[str, Experiment]]
"""A function that gives experiments by name. Another process can call it: it stands at the top of a module."""


def judge_claim(experiment: Experiment, claim: Claim, *, seed: int, budget: Budget) -> Findings:
    """Judge one claim of an experiment, with its share of the error rate. The numbers are those of a whole run.

    Raises:
        ValueError: if the claim cannot be judged: `check` says when.
    """
    whole = experiment.part_of or experiment
    return check(
        claim,
        key=key_for(seed, claim.stream_name),
        error_rate=whole.error_rate / sum(len(each.settings) for each in whole.claims),
        max_draws=whole.max_draws[budget],
        experiment=whole.name,
    )


def judge_of(load: Load) -> "judges.Load":
    """What a process of `judges` needs in order to judge claims of these experiments, each named by its number.

    Args:
        load: a function of a module, which gives the experiments by name.
    """
    return functools.partial(_judge_of, load)


def _judge_of(load: Load) -> Callable[[str, int, dict[str, Any]], Findings]:
    experiments = load()

    def judge(name: str, number: int, options: dict[str, Any]) -> Findings:
        experiment = experiments[name]
        return judge_claim(experiment, experiment.claims[number], **options)

    return judge


def findings_of(
    experiment: Experiment,
    *,
    seed: int,
    budget: Budget,
    board: Board | None = None,
    stopped: Callable[[], object] = bool,
    judge: "judges.Judge | judges.JudgeOfCluster | None" = None,
) -> Findings:
    """Judge every claim of an experiment.

    Args:
        experiment: whose claims are judged.
        seed: of all random numbers.
        budget: how many draws a claim may use.
        board: shows every verdict.
        stopped: asked after each claim whether to stop.
        judge: the process that does the work. None for this one.

    Raises:
        ValueError: if a claim cannot be judged, or the process was killed.
        KeyboardInterrupt: after a claim, if the run is `stopped`.
    """
    found: list[Finding] = []
    for number, claim in enumerate(experiment.claims):
        if board:
            board.begin(experiment.name, claim.name)
        if judge:
            judged = judge.findings_of(experiment.name, number, {"seed": seed, "budget": budget})
        else:
            judged = judge_claim(experiment, claim, seed=seed, budget=budget)
        found += judged
        if board:
            board.end(judged)
        if stopped():
            raise KeyboardInterrupt
    return Findings(found)


def run(
    experiments: Sequence[Experiment],
    options: RunOptions,
    pressed: Sequence[int] = (),
    load: Load | None = None,
) -> int:
    """Run experiments, and write the findings of each as soon as they are there, in the order asked for.

    Whatever stops a run, the finished experiments are kept. No file is half written, and
    a line names what was not run.

    Args:
        experiments: what is run.
        options: the budget, the seed, the folder, and how to print.
        pressed: the signals so far that asked to stop: the list of `interrupts.remembered`.
        load: gives the same experiments by name in another process. None: all are judged in this one.

    Returns:
        The exit code: 0 if every verdict is as expected, 1 if not, 130 after Ctrl-C. It is 2 if the seed is no
        seed, the folder cannot be written or a claim cannot be judged.
    """
    try:
        key_for(options.seed)
    except ValueError as error:
        return exits.refuse(f"--seed: {error}")
    with contextlib.ExitStack() as holding:
        try:
            # A cluster that does not answer is told of before anything is written.
            cluster = holding.enter_context(_cluster(options.cluster)) if options.cluster else None
            ends = (".json", ".svg", ".png", ".run.json")
            names = [f"{each.name}{end}" for each in experiments for end in ends]
            files.make_folder(options.out, *names)
            holding.enter_context(files.held(options.out))
        except ValueError as error:
            return exits.refuse(str(error))
        return _run(experiments, options, pressed, load, cluster)


def _cluster(address: str) -> "Cluster":
    from attnlab_theory.cluster.client import Cluster

    return Cluster(address, one_core=True)


def _run(
    experiments: Sequence[Experiment],
    options: RunOptions,
    pressed: Sequence[int],
    load: Load | None,
    cluster: "Cluster | None",
) -> int:
    done: list[Experiment] = []
    findings = Findings()
    begin = time.perf_counter()
    # The claims of one experiment come one after the other; those of several come mixed, and a table sorts them.
    alone, first = len(experiments) == 1, experiments[0]
    title = "" if first.part_of else f"{first.name}: {first.question}"
    board = Board(sum(len(e.claims) for e in experiments), quiet=options.json, prints=alone, title=title)
    try:
        with (
            board.shown(),
            _judging(experiments, options, board, pressed, load, cluster) as judged,
        ):
            for experiment, found, seconds in judged:
                _write(experiment, found, options, seconds)
                findings = Findings((*findings, *found))
                done.append(experiment)
                if pressed:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        print(f"attnlab: interrupted; {_left(experiments, done, options)}", file=sys.stderr)
        return 130
    except _Stopped as error:
        return exits.refuse(f"{error}; {_left(experiments, done, options)}")
    if options.json:
        about = _provenance(done, options, time.perf_counter() - begin)
        print(record.to_text({"findings": [record.as_json(f) for f in findings], "run": about}), end="")
    else:
        _print_verdicts(experiments, findings, options.out)
    return 0 if all(f.as_expected for f in findings) else 1


def main(experiment: Experiment) -> int:
    """The command line of one experiment, for `python experiments/NAME.py`."""
    import tyro

    from attnlab_theory import layout

    compilation.compile_in_haste()  # the flags of `attnlab run`: another program may round otherwise

    def command() -> int:
        options = parsed_in_one_line(
            lambda: tyro.cli(
                RunOptions,
                description=experiment.question,
                prog=f"{experiment.name}.py",
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone),
                registry=layout.registry() if {"-h", "--help"} & set(sys.argv[1:]) else None,
            )
        )
        with interrupts.remembered() as pressed:
            return run([experiment], options, pressed)

    return exits.exit_code(command)


class _Stopped(Exception):
    """A claim that could not be judged, or a folder that could not be written: the message names it."""


@contextlib.contextmanager
def _judging(
    experiments: Sequence[Experiment],
    options: RunOptions,
    board: Board,
    pressed: Sequence[int],
    load: Load | None,
    cluster: "Cluster | None",
) -> Iterator[Iterator[tuple[Experiment, Findings, float]]]:
    """Each experiment, its findings and its seconds, in order. Threads judge ahead until the block is left.

    Ctrl-C raises KeyboardInterrupt in the main thread alone, and even there it can be lost. So each thread checks
    between two blocks of draws whether it should stop. A compiler cannot be stopped: the process ends
    without it.
    """
    left = threading.Event()
    processes: queue.SimpleQueue[judges.Judge | judges.JudgeOfCluster | None] = queue.SimpleQueue()

    def judged(experiment: Experiment) -> tuple[Experiment, Findings, float]:
        started = time.perf_counter()
        judge = processes.get()
        try:
            found = findings_of(
                experiment,
                seed=options.seed,
                budget=options.budget,
                board=board,
                stopped=lambda: pressed or left.is_set(),
                judge=judge,
            )
        except ValueError as error:
            # Only what judging refuses is bad input; a mistake in drawing is ours and keeps its traceback.
            raise _Stopped(f"{experiment.name}: {error}") from error
        finally:
            processes.put(judge)
        return experiment, found, time.perf_counter() - started

    count = len(experiments) if cluster else judges.can_share(len(experiments)) if load else 0
    threads, work = ThreadPoolExecutor(count or THREADS), []
    # Programs that are traced stay: looking through them again and again takes several seconds of a quick run.
    youngest, *older = gc.get_threshold()
    gc.set_threshold(100_000, *older)
    try:
        with judges.judges(count, judge_of(load), cluster) if load else contextlib.nullcontext([]) as running:
            for judge in running or [None] * THREADS:
                processes.put(judge)
            work += [threads.submit(judged, experiment) for experiment in experiments]
            try:
                yield (each.result() for each in work)
            finally:
                left.set()
    finally:
        gc.set_threshold(youngest, *older)
        threads.shutdown(wait=False, cancel_futures=True)
        interrupts.leave_behind(work)


def _left(experiments: Sequence[Experiment], done: Sequence[Experiment], options: RunOptions) -> str:
    left = ", ".join(e.name for e in experiments if e not in done) or "none"
    return f"{len(done)} finished and kept in {options.out}; not run: {left}"


def _write(experiment: Experiment, findings: Findings, options: RunOptions, seconds: float) -> None:
    from attnlab_theory.report import style

    about = {"question": experiment.question, **_provenance([experiment], options, seconds)}
    try:
        # The book looks for .run.json: it comes last.
        with files.replacing_all(options.out / experiment.name, (".json", ".svg", ".png", ".run.json")) as written:
            style.save(lambda: experiment.draw_figure(findings), [written[".svg"], written[".png"]])
            written[".json"].write_text(record.to_text([record.as_json(f) for f in findings]), "utf-8")
            written[".run.json"].write_text(record.to_text(about), "utf-8")
    except OSError as error:
        raise _Stopped(files.unwritable_folder(options.out, error)) from error


def _print_verdicts(experiments: Sequence[Experiment], findings: Findings, folder: Path) -> None:
    from attnlab_theory.report.table import notes, show, verdict_table

    alone = len(experiments) == 1
    if not alone:
        show(verdict_table(findings))
    for note in notes(findings):
        show(f"\n{note}")
    rate, figure = sum(e.error_rate for e in experiments), folder / experiments[0].name
    show(
        f"\n{several(len(findings), 'finding')}; all verdicts together err with probability at most {rate:.1g}, if "
        "what every bound assumes of the draws is true."
    )
    # A path on a line of its own, however narrow the terminal is, can be copied.
    print(f"Figure: {figure}.png\nData:   {figure}.json" if alone else f"Figures and data: {folder}/")


def _provenance(experiments: Sequence[Experiment], options: RunOptions, seconds: float) -> dict[str, Any]:
    return {
        "seed": options.seed,
        "budget": options.budget,
        **provenance.of_this_process(),
        "seconds": round(seconds, 2),
        "family_error_rate": sum(e.error_rate for e in experiments),
    }
