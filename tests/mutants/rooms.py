"""Change a room in a copy of the tree, one thing at a time, and ask the nearest tests first."""

import ast
import collections
import contextlib
import dataclasses
import functools
import itertools
import os
import queue
import random
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.mutants import record as records
from tests.mutants.changes import Change, changes_of, files_of
from tests.mutants.in_place import InPlace
from tests.mutants.nursery import Nursery
from tests.mutants.reach import saying_what_is_reached

ROOT = Path(__file__).parents[2]
KEPT_IN_PLACE = 12
"""So many files of tests are held by processes at a time."""
ABOUT_ONE_MODULE = ("tests/claims/test_claims.py", "tests/claims/test_every_claim_has_a_rival.py")
"""Long files of tests whose parameter is a name in a module: of a change those are asked that its module names."""
ABOUT_ALL = (*ABOUT_ONE_MODULE, "tests/claims/test_rivals_in_numbers.py")
"""Files about all claims: they import no module of a claim, and are near to each."""
READ_BY_OTHERS = "attnlab_theory/grader/"
"""Files below are read by processes that the tests start; a change has to be on disk, too."""
SECONDS_OF_TESTS = 60
"""So much processor time of tests without a change is asked of each change, the nearest and quickest first."""
SECONDS_IN_PLACE, LEAST_IN_PLACE = 12.0, 3.0
"""The same in place: for all files of tests together, which get equal shares, and for one at the least."""


def commit_of(name: str) -> str:
    """The commit of a name, such as HEAD.

    Raises:
        ValueError: if git knows none.
    """
    found = subprocess.run(["git", "rev-parse", f"{name}^{{commit}}"], cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        raise ValueError(f"git knows no commit {name}")
    return found.stdout.strip()


@contextlib.contextmanager
def copied(commit: str) -> Iterator[Path]:
    """A folder with the tree of a commit, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="attnlab-mutants-") as folder:
        archive = subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
        if archive.wait():
            raise OSError(f"git archive of {commit} failed")
        yield Path(folder)


class Tree:
    """A copy of the tree, with the process that runs its tests."""

    _times = itertools.count(1_000_000_000)
    """Every file that is written gets a time of its own: no bytecode of another source is taken for its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.in_place: dict[str, InPlace] = {}

    @functools.cached_property
    def nursery(self) -> Nursery:
        """Begun when it is first asked: quick questions may need none."""
        return Nursery(self.folder)

    def asking_in_place(self, file: str) -> InPlace:
        """The process that holds this file of tests; of several the one that was asked least recently ends."""
        one = self.in_place.pop(file, None)
        if one is None or one.process.poll() is not None:
            one = InPlace(self.folder, file)
        self.in_place[file] = one
        if len(self.in_place) > KEPT_IN_PLACE:
            self.in_place.pop(next(iter(self.in_place))).close()
        return one

    def close(self) -> None:
        """End its processes."""
        if "nursery" in vars(self):
            self.nursery.close()
        for one in self.in_place.values():
            one.close()

    def write(self, file: str, source: bytes) -> None:
        """Put a source in its place."""
        path, time = self.folder / file, next(self._times)
        path.write_bytes(source)
        os.utime(path, (time, time))

    @contextlib.contextmanager
    def holding(self, sources: dict[str, bytes]) -> Iterator[None]:
        """Other sources for as long as the block lasts."""
        before = {file: (self.folder / file).read_bytes() for file in sources}
        try:
            for file, source in sources.items():
                self.write(file, source)
            yield
        finally:
            for file, source in before.items():
                self.write(file, source)


@dataclasses.dataclass
class Room:
    """What is changed, and the record of it."""

    files: list[str]
    record: records.Record
    far: float
    longest: float
    """Processor time of the tests of other rooms for one change, and of a file of its own room, in seconds."""
    quick: bool = False
    """Whether only the nearest files are asked, in place."""
    seconds: float = SECONDS_IN_PLACE
    """Processor time of all of these for one change."""
    controlling: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def control(self, tree: Tree, file: str, change: Change, seconds: float) -> dict[str, Any]:
        """What the tests of a file do and reach without a change, or those of them that are about its module."""
        at = file, about(file, change)
        with self.controlling:
            known = self.record.controls
            if at in known:
                return known[at]
            sources = {
                f: saying_what_is_reached((tree.folder / f).read_text("utf-8"), f).encode() for f in self.files
            }
            names = sorted(named_in_or_beside(change.file, tree.folder)) if at[1] else None
            with tree.holding(sources):
                found = tree.nursery.ask([file], None, seconds, names)
            told = {name.removeprefix(file): rest for name, rest in found.pop("told", {}).items()}
            of = {"tests_of": file} | ({"about": at[1]} if at[1] else {})
            self.record.add({**of, **found, "told": told})
            return self.record.controls[at]

    def reaching(self, change: Change, files: list[str]) -> list[tuple[float, str]]:
        """Tests of files whose control is known, with their seconds, in the order in which they are asked.

        Tests that reach the function come before others that reach its module; of either, those in the file of the
        module's name before others, the quick before the slow.
        """
        name = f"test_{Path(change.file).stem}.py"
        found = []
        for file in files:
            for test, (outcome, seconds, reached) in self.record.controls[file, about(file, change)][
                "told"
            ].items():
                far = 0 if change.function in reached else 1
                if outcome != "passed" or (far and not any(r.startswith(f"{change.file}:") for r in reached)):
                    continue
                found.append((far, not file.endswith(f"/{name}"), seconds, file + test))
        return [(seconds, test) for _, _, seconds, test in sorted(found)]

    @staticmethod
    def unasked(change: Change) -> dict[str, Any]:
        """What is written of a change before any test is asked."""
        spent = {"asked": 0, "reaching": 0, "cpu": 0.0, "wall": 0.0}
        return {**dataclasses.asdict(change), "state": "passed", "killer": "", **spent}

    def fate(self, tree: Tree, change: Change) -> dict[str, Any]:
        """Which tests kill a change. Tests of its own file are asked first, then those of its room that import its
        module, then the rest of the room. At last, for some seconds, tests of other rooms that import it are asked.
        """
        line = self.unasked(change)
        room = tests_of(change.file.removeprefix("attnlab_theory/"), tree.folder)
        own = [file for file in room if Path(file).name == f"test_{Path(change.file).stem}.py"]
        imports = importing(change.file, tree.folder)
        near = [file for file in room if file in imports and file not in own]
        rest = [file for file in room if file not in own + near]
        if self.quick:
            nearest = [*own, *near, *(file for file in rest if file in ABOUT_ALL)]
            short_first = sorted(rest, key=lambda file: (tree.folder / file).stat().st_size)
            self._quickly(tree, line, change, nearest or short_first)
            if line["asked"]:
                return line
        for files in (own, near, rest):
            known = [file for file in files if (file, about(file, change)) in self.record.controls]
            unknown = sorted({*files} - {*known}, key=lambda file: (tree.folder / file).stat().st_size)
            for some in (known, *([file] for file in unknown)):
                if some and self._is_killed(tree, line, change, some, self.longest):
                    return line
        left = self.far
        for file in imports:
            if file not in room and left > 0:
                if self._is_killed(tree, line, change, [file], min(left, self.longest)):
                    return line
                left -= self.record.controls[file, about(file, change)]["cpu"]
        return line

    def _quickly(self, tree: Tree, line: dict[str, Any], change: Change, files: list[str]) -> None:
        """Ask files in place until one has a test that falls, those first that have killed most."""
        before = (tree.folder / change.file).read_bytes()
        seconds = max(self.seconds / len(files), LEAST_IN_PLACE) if files else 0.0
        kills = collections.Counter(fate["killer"].partition("::")[0] for fate in self.record.fates.values())
        for file in sorted(files, key=lambda file: -kills[file]):
            names = sorted(named_in_or_beside(change.file, tree.folder)) if about(file, change) else None
            on_disk = change.file.startswith(READ_BY_OTHERS)
            one, found = self._asked_in_place(
                tree, file, change.file, before, change.source(before), names, on_disk, seconds
            )
            if on_disk:
                tree.write(change.file, before)
            if found["state"] in ("unfound", "spoilt"):
                continue
            line.update(state=found["state"], killer=found["killer"])
            line.update(asked=line["asked"] + found["asked"], reaching=line["reaching"] + one.tests)
            line.update(cpu=round(line["cpu"] + found["cpu"], 2), wall=round(line["wall"] + found["wall"], 2))
            if found["state"] != "passed":
                return

    @staticmethod
    def _asked_in_place(tree: Tree, tests: str, *question: Any) -> tuple[InPlace, dict[str, Any]]:
        """The answer, of a new process if the old one is spoilt."""
        for _ in range(2):
            one = tree.asking_in_place(tests)
            found = one.ask(*question)
            if found["state"] != "spoilt":
                break
            one.close()
        return one, found

    def _is_killed(self, tree: Tree, line: dict[str, Any], change: Change, files: list[str], limit: float) -> bool:
        known = [file for file in files if self.control(tree, file, change, limit)["state"] != "clock"]
        reaching = self.reaching(change, known)
        if not reaching:
            return False
        until = np.cumsum([seconds for seconds, _ in reaching])
        tests = [test for _, test in reaching[: max(1, int(np.sum(until <= SECONDS_OF_TESTS)))]]
        line["reaching"] += len(reaching)
        with tree.holding({change.file: change.source((tree.folder / change.file).read_bytes())}):
            found = tree.nursery.ask(
                sorted({t.partition("::")[0] for t in tests}),
                tests,
                30 + 5 * min(float(until[-1]), SECONDS_OF_TESTS),
            )
        line.update(state=found["state"], killer=found["killer"], asked=line["asked"] + len(tests))
        line.update(cpu=round(line["cpu"] + found["cpu"], 2), wall=round(line["wall"] + found["wall"], 2))
        return found["state"] != "passed"


def about(file: str, change: Change) -> str:
    """The module whose tests alone are asked about the change, if not all tests of the file are."""
    return change.file if file in ABOUT_ONE_MODULE else ""


def named_in_or_beside(file: str, tree: Path) -> set[str]:
    """The texts in a module, and in those beside it that import it: the names of its claims are among them."""
    module = Path(file).stem
    found: set[str] = set()
    for path in sorted((tree / file).parent.glob("*.py")):
        source = ast.parse(path.read_bytes())
        imports = [node for node in ast.walk(source) if isinstance(node, ast.ImportFrom)]
        imported = {str(node.module).rpartition(".")[2] for node in imports}
        imported |= {alias.name for node in imports for alias in node.names}
        if path.stem == module or module in imported:
            found |= {n.value for n in ast.walk(source) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return found


def tests_of(room: str, tree: Path) -> list[str]:
    """The files of a room's tests; of a file or folder in a room, those of the room."""
    return sorted(p.relative_to(tree).as_posix() for p in (tree / "tests" / Path(room).parts[0]).rglob("test_*.py"))


def importing(file: str, tree: Path) -> list[str]:
    """The files of tests that import a module, or what its package exports of it."""
    module = file.removesuffix(".py").replace("/", ".")
    package, _, stem = module.rpartition(".")
    wanted = {module}
    for node in ast.walk(ast.parse((tree / file).with_name("__init__.py").read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module in (module, stem):
            wanted |= {f"{package}.{alias.asname or alias.name}" for alias in node.names}
    files = sorted((tree / "tests").rglob("test_*.py"))
    return [path.relative_to(tree).as_posix() for path in files if wanted & _imported(path)]


@functools.cache
def _imported(path: Path) -> set[str]:
    """The names in a package that a file imports, and the modules that it takes them from."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def judge(
    changes: list[Change],
    room: str,
    record: records.Record,
    commit: str,
    jobs: int,
    far: float,
    longest: float,
    quick: bool = False,
    seconds: float = SECONDS_IN_PLACE,
) -> None:
    """Ask the tests about every change that has no fate yet, and write it down."""
    left: queue.SimpleQueue[Change] = queue.SimpleQueue()
    # Those of a file one after the other, for which the same processes lie ready.
    for change in sorted(changes, key=lambda change: change.file) if quick else changes:
        if records.key(change) not in record.fates:
            left.put(change)
    if left.empty():
        return
    listed = records.equivalents()
    of_room = Room(
        [path.relative_to(ROOT).as_posix() for path in files_of(room)], record, far, longest, quick, seconds
    )
    failures: list[BaseException] = []

    def work(tree: Tree) -> None:
        with contextlib.suppress(queue.Empty):
            while not failures:
                change = left.get_nowait()
                # What nobody could notice costs the most: all tests would be asked.
                is_listed = quick and records.key(change)[:3] in listed
                fate = of_room.unasked(change) if is_listed else of_room.fate(tree, change)
                record.add(fate)
                word = "SURVIVES" if fate["state"] == "passed" else fate["killer"] or fate["state"]
                where = f"{len(record.fates)}/{len(changes)}  {change.file}:{change.line}"
                print(f"{room} {where} {change.change}  {word}", flush=True)

    def safely(tree: Tree) -> None:
        try:
            work(tree)
        except BaseException as error:
            failures.append(error)

    # Whatever ends this process, its copies of the tree and their processes end with it.
    with contextlib.ExitStack() as stack:
        trees = [Tree(stack.enter_context(copied(commit))) for _ in range(jobs)]
        for tree in trees:
            stack.callback(tree.close)
        threads = [threading.Thread(target=safely, args=[tree], daemon=True) for tree in trees]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def sampled(room: str, sample: int, seed: int) -> tuple[list[Change], int]:
    """Changes of a room in the order of the draw, each beginning a sample too; and how many there are."""
    every = [change for path in files_of(room) for change in changes_of(path)]
    return random.Random(seed).sample(every, min(sample, len(every))), len(every)


def survivors(path: Path, listed: bool = False) -> list[Change]:
    """What nobody killed and is not listed, or is, where the sources still have it.

    A line that has moved is found where there is one such change in its file.
    """
    known, here = records.equivalents(), {}
    found = []
    for line in records.read(path)[1]:
        at, start = (line["file"], line["text"], line["change"]), records.key(line)[3]
        if line["state"] != "passed" or (at in known) != listed:
            continue
        if line["file"] not in here:
            here[line["file"]] = changes_of(ROOT / line["file"])
        alike = [c for c in here[line["file"]] if (c.file, c.text, c.change) == at]
        there = [c for c in alike if c.start == start]
        moved = [dataclasses.replace(c, was=start) for c in alike] if len(alike) == 1 else []
        found += (there or moved)[:1]
    return found
