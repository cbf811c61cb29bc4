"""Break the code in one place and see who notices: `python -m tests.mutants rooms stats claims`.

`theory` asks the claims about the formulas, and `rooms` asks the tests about everything else. `again` asks about
those that survived once more. `keep` copies records to where they are committed, and `table` writes Markdown.
A run that was killed goes on where it stopped.
"""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import tyro

from tests.mutants import record as records
from tests.mutants import rooms as running
from tests.mutants import theory

ROOMS = ("stats", "claims", "attention", "construct", "grader", "language")
ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "lab" / "mutants"
KEPT = Path(__file__).parent / "records"

Names = Annotated[tuple[str, ...], tyro.conf.Positional]
Files = Annotated[tuple[Path, ...], tyro.conf.Positional]


def _name(room: str, seed: int) -> str:
    return room.removesuffix(".py").replace("/", "-") + (f"-seed-{seed}" if seed else "")


def rooms(
    names: Names = ROOMS,
    sample: int = 100,
    far: float = 60.0,
    longest: float = 900.0,
    seed: int = 0,
    jobs: int = 1,
    commit: str = "HEAD",
    record: Path = RECORDS,
    quick: bool = False,
    seconds: float = running.SECONDS_IN_PLACE,
    first: int | None = None,
    known: tuple[Path, ...] = (),
) -> int:
    """Break a sample of a room's expressions, in copies of a commit; folders and files of a room will do too.

    Args:
        names: of rooms.
        sample: of changes in each room.
        seed: of the sample.
        far: of so many seconds the tests of other rooms are asked about a change that its own room lets pass.
        longest: files of tests that take more processor time than this, in seconds, are not asked.
        jobs: copies of the tree that work at a time.
        commit: whose tree is judged; what is not committed is not judged.
        record: a folder for one file of each room.
        quick: ask only the files of tests that are nearest, each in a process in which functions are changed where
            they lie. Changes that are listed are not asked. `again` asks about the survivors in full.
        seconds: so much processor time of tests is asked quickly about a change, at least 3 s of each file.
        first: so many of the sample are asked about; the same command with more goes on.
        known: older records; what they tell of is not asked again.
    """
    whole = running.commit_of(commit)
    if subprocess.run(["git", "diff", "--quiet", whole, "--", "attnlab_theory"], cwd=ROOT).returncode:
        raise records.Refused(
            f"attnlab_theory is not as in commit {whole[:12]}: commit it, or stash what you changed"
        )
    told = {records.key(fate) for path in known for fate in records.read(path)[1]}
    for name in names:
        changes, every = running.sampled(name, sample, seed)
        header = {"commit": whole, "room": name, "sample": len(changes), "seed": seed, "all": every}
        kept = records.Record(record / f"{_name(name, seed)}.jsonl", header)
        left = [change for change in changes[:first] if records.key(change) not in told]
        running.judge(left, name, kept, whole, jobs, far, longest, quick, seconds)
    return 0


def again(
    paths: Files,
    far: float = 60.0,
    longest: float = 900.0,
    jobs: int = 1,
    commit: str = "HEAD",
    record: Path = RECORDS,
    quick: bool = False,
    seconds: float = running.SECONDS_IN_PLACE,
    listed: bool = False,
) -> int:
    """Ask the tests of another commit about the survivors of records.

    Args:
        paths: of records.
        far, longest, jobs, commit, record, quick, seconds: as of `rooms`; new records have the old names with
            `-again`.
        listed: ask about the changes that are listed, and about no others: a test may notice one after all.
    """
    whole = running.commit_of(commit)
    for path in paths:
        old, *_ = records.read(path)
        header = {**old, "commit": whole, "survivors_of": old["commit"]}
        new = records.Record(record / f"{_name(old['room'], old['seed'])}-again.jsonl", header)
        running.judge(running.survivors(path, listed), old["room"], new, whole, jobs, far, longest, quick, seconds)
    return 0


def table(paths: Files) -> int:
    """Print Markdown of records, the old before the new."""
    print(records.table(list(paths)))
    return 0


def keep(paths: Files) -> int:
    """Copy records to where they are committed, without the lists of what each test reaches."""
    KEPT.mkdir(exist_ok=True)
    for path in paths:
        (KEPT / path.name).write_text(records.without_what_is_reached(path), "utf-8")
    return 0


def main() -> int:
    """One line for what is refused."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    commands = {"theory": theory.main, "rooms": rooms, "again": again, "keep": keep, "table": table}
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
