"""Break the code in one place and see which tests notice: `python -m tests.mutants rooms stats claims`.

`reach` runs all tests once and notes which functions each of them calls. `rooms` breaks a sample of the
expressions of a room and asks the tests that reach them, those of the inner circle first. `again` asks once more
about what the inner circle let pass. `table` writes Markdown. A run that was killed goes on where it stopped.
"""

import signal
import sys
from pathlib import Path
from typing import Annotated

import tyro

from tests.mutants import reach as reaching
from tests.mutants import record as records
from tests.mutants import trials
from tests.mutants.changes import ROOT

ROOMS = ("theory", "stats", "claims", "attention", "construct", "grader", "sandbox", "language")
RECORDS = ROOT / "lab" / "mutants"
REACH = RECORDS / "reach.jsonl"

Names = Annotated[tuple[str, ...], tyro.conf.Positional]
Files = Annotated[tuple[Path, ...], tyro.conf.Positional]


def reach(
    tests: Names = (), marks: str = "not torch", jobs: int = 2, commit: str = "HEAD", file: Path = REACH
) -> int:
    """Run the tests on a copy of a commit, and note what each of them calls.

    Args:
        tests: files, folders or names of tests; by default all.
        marks: an expression of marks, by default that of both circles.
        jobs: workers.
        commit: whose tree is run.
        file: that is written. What it knows of other tests of the commit stays.
    """
    options = ["-n", str(jobs), "--dist", "worksteal", "-m", marks, *tests]
    return reaching.run(trials.commit_of(commit), file, options)


def rooms(
    names: Names = ROOMS,
    sample: int = 100,
    seed: int = 0,
    seconds: tuple[float, float] = (20.0, 20.0),
    jobs: int = 2,
    commit: str = "HEAD",
    record: Path = RECORDS,
    file: Path = REACH,
    to_the_end: bool = False,
) -> int:
    """Break a sample of a room's expressions, in copies of a commit; folders and files of a room will do too.

    Args:
        names: of rooms.
        sample: of changes in each room.
        seed: of the sample.
        seconds: processor time of tests that is spent on a change, of the inner and of the outer circle.
        jobs: copies of the tree that work at a time.
        commit: whose tree is judged; what is not committed is not judged.
        record: a folder for one file of each room.
        file: what each test reaches, as `reach` wrote it.
        to_the_end: ask all tests that these seconds allow, though one has failed. `families` reads such records.
    """
    whole, reached = _ready(commit, file)
    for name in names:
        changes, every = trials.sampled(name, sample, seed)
        header = {"commit": whole, "room": name, "sample": len(changes), "seed": seed, "all": every}
        kept = records.Record(record / f"{_name(name, seed)}.jsonl", {**header, "seconds": list(seconds)})
        trials.judge(changes, kept, whole, reached, jobs, seconds, to_the_end=to_the_end)
    return 0


def again(
    paths: Files,
    seconds: tuple[float, float] = (60.0, 60.0),
    jobs: int = 2,
    commit: str = "HEAD",
    record: Path = RECORDS,
    file: Path = REACH,
) -> int:
    """Ask the tests of a commit about what the inner circle let pass in records.

    Args:
        paths: of records.
        seconds, jobs, commit, record, file: as of `rooms`; new records have the old names with `-again`.
    """
    whole, reached = _ready(commit, file)
    for path in paths:
        old, _ = records.read(path)
        changes = trials.not_killed(path)
        header = {**old, "commit": whole, "sample": len(changes), "again": old["commit"], "seconds": list(seconds)}
        new = records.Record(record / f"{_name(old['room'], old['seed'])}-again.jsonl", header)
        trials.judge(changes, new, whole, reached, jobs, seconds)
    return 0


def table(paths: Files) -> int:
    """Print Markdown of records, the old before the new."""
    print(records.table(list(paths)))
    return 0


def families(paths: Files) -> int:
    """Print Markdown: which parametrised tests fell together, in records of `rooms --to-the-end`."""
    print(records.families(list(paths)))
    return 0


def _ready(commit: str, file: Path) -> tuple[str, reaching.Reach]:
    whole, reached = trials.commit_of(commit), reaching.Reach(file)
    trials.refuse_another_package(whole)
    trials.refuse_another_package(reached.commit)
    return whole, reached


def _name(room: str, seed: int) -> str:
    return room.removesuffix(".py").replace("/", "-") + (f"-seed-{seed}" if seed else "")


def main() -> int:
    """One line for what is refused."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    commands = {"reach": reach, "rooms": rooms, "again": again, "table": table, "families": families}
    try:
        return tyro.extras.subcommand_cli_from_dict(commands, prog="python -m tests.mutants", description=__doc__)
    except (records.Refused, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
