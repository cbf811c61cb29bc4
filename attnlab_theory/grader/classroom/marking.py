"""The marks of one submission. Each question of the rubric is judged inside fences, and doubts are written down."""

import difflib
import json
import os
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from attnlab_theory import files
from attnlab_theory.exits import missing_device
from attnlab_theory.grader.cases import drawn_cases
from attnlab_theory.grader.classroom import versions
from attnlab_theory.grader.classroom.hand_ins import SUFFIXES, stage
from attnlab_theory.grader.classroom.marks import MISSING, NOT_JUDGED, Mark, Terms, by_hand
from attnlab_theory.grader.classroom.rubric import stems_of
from attnlab_theory.grader.contract import Faulty
from attnlab_theory.grader.contracts import CONTRACTS
from attnlab_theory.grader.grading import check_answer
from attnlab_theory.grader.judgement import Judgement
from attnlab_theory.sandbox import fences
from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason

MEMORY = 2 * 2**30
"""The bytes that the processes of a submission may hold together. Several submissions are judged at a time."""

MOST_FILES = 8
"""The most files of a folder in which a function is looked for."""

MOST_LATE = 2
"""How many questions may use up their time. Those after them are left to a person."""

SHORTER = 4
"""After a question has used up its time, the next ones get their time divided by this."""


def marks_of(folder: Path, names: Sequence[str], terms: Terms) -> dict[str, Mark]:
    """Judge a submission.

    Args:
        folder: where its files lie, and nothing else.
        names: of its files, inside the folder.
        terms: the rubric and the limits.

    Returns:
        A mark for each question of the rubric, by its part.
    """
    marking = _Marking(folder, names, terms)
    return {part: marking.mark(part) for part in terms.rubric.points}


def is_protected(missing: Sequence[fences.Fence]) -> bool:
    """Whether the fences kept every submission from forging a verdict, its own or another's.

    Code that can write the user's files could rewrite the journal too. Root judges under another user's name.
    """
    absent = {fence.name for fence in missing}
    own_files = "files" not in absent or (os.geteuid() == 0 and "processes" not in absent)
    return fences.JUDGE.name not in absent and own_files


def marks_of_files(handed_in: Mapping[str, bytes], terms: Terms) -> dict[str, Mark] | str:
    """Judge a submission in a folder of its own, which is gone afterwards.

    Args:
        handed_in: its files, as `hand_ins.files_of` gives them.
        terms: the rubric and the limits.

    Returns:
        A mark for each question of the rubric, by its part; or a line that says why there are none.

    Raises:
        NoDevice: if this machine lacks the platform on which jax must compute: then no submission can be judged.
    """
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="attnlab-")))
    # The submission may be another user.
    folder.chmod(0o755)
    try:
        stage(dict(handed_in), folder)
        return marks_of(folder, list(handed_in), terms)
    except ValueError as error:
        return str(error)
    except Exception as error:
        if missing := missing_device(error):
            raise missing from None
        # Whoever grades sees where, and whoever is graded sees no path.
        traceback.print_exc()
        return f"the lab failed: {type(error).__name__}; it is a mistake of attnlab, and none of this file"
    finally:
        files.remove_folder(folder)


def unprotected() -> str:
    """Why verdicts on this worker of a cluster could be forged; empty if they cannot.

    A worker and its scheduler listen, without a password as a rule. So the fence `network` has to stand, too.
    """
    contract = next(iter(CONTRACTS.values()))
    with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
        path = Path(os.path.realpath(folder)) / "submission.py"
        path.write_text("def probe(*_):\n    return 0\n")
        judged = check_answer(f"{path}::probe", contract, drawn=drawn_cases(contract), memory=MEMORY)
    is_open = any(fence.name == "network" for fence in judged.missing)
    return "" if is_protected(judged.missing) and not is_open else fences.warning(judged.missing)


class _Marking:
    """The marking of one submission: what is known about its files after each question."""

    def __init__(self, folder: Path, names: Sequence[str], terms: Terms) -> None:
        self.folder, self.terms = folder, terms
        python = [name for name in names if name.lower().endswith(SUFFIXES)]
        # Outer files first, and of several versions the last.
        self.names = sorted(python, key=lambda name: (name.count("/"), *versions.order(Path(name).stem), name))
        self.functions = {name: versions.functions(folder / name) for name in self.names}
        self.alone = len(names) == 1
        self.unloadable: dict[str, Mark] = {}
        self.late = 0

    def mark(self, part: str) -> Mark:
        """Judge one question."""
        files, own = self.files_for(part)
        broken: Mark | None = None
        for name in files:
            if name in self.unloadable:
                broken = broken or self.not_loaded(name)
                continue
            if self.late == MOST_LATE:
                return by_hand(NOT_JUDGED, f"{MOST_LATE} questions before it have used up their time")
            found = self.asked(name, part, own)
            if found is not None and name not in self.unloadable:
                return self.beside_others(found, part, name)
            broken = broken or found
        if broken is not None:
            return broken
        wanted = self.terms.rubric.names(part)
        shown = f"{wanted[0]} (or {', '.join(wanted[1:4])})"
        more = f"; {MOST_FILES} files were looked through" if len(files) == MOST_FILES else ""
        claimed = {name for each in self.terms.rubric.points for name in self.terms.rubric.names(each)}
        other = {name for found in self.functions.values() for name in found if name not in claimed}
        near = difflib.get_close_matches(wanted[0], sorted(other), n=3, cutoff=0.0)
        renamed = f"; its functions {', '.join(near)} have no name of a question" if near else ""
        # In a cell that Jupyter does not run, or below `if __name__`, it is not defined for us.
        stands = [name for name in self.names if {*wanted} & {*self.functions[name]}]
        unread = f"; it stands in {', '.join(stands)}, where it is not defined by reading the file" * bool(stands)
        # An answer under another name is no missing answer, and only a person can tell.
        is_open = bool(near or stands) or len(files) == MOST_FILES
        return {**by_hand(MISSING, f"no function {shown}{more}{unread}{renamed}"), "by_hand": is_open}

    def not_loaded(self, name: str) -> Mark:
        """The mark of a question whose file has failed to load when another question was judged."""
        mark = self.unloadable[name]
        said = mark["said"].removeprefix(mark["judgement"]["answer"]).lstrip(": ")
        which = "the file" if self.alone else name
        return {**mark, "said": f"{which} cannot be loaded, so nothing of it is judged: {said}", "judgement": None}

    def beside_others(self, mark: Mark, part: str, name: str) -> Mark:
        """The same mark, with the names of other files that define the function, too."""
        wanted = {*self.terms.rubric.names(part)}
        others = [each for each in self.names if each != name and wanted & {*self.functions[each]}]
        if not others:
            return mark
        note = f"{name} was judged, and not {', '.join(others)}"
        return {**mark, "said": f"{mark['said']}; {note}" if mark["said"] else note}

    def files_for(self, part: str) -> tuple[list[str], bool]:
        """The files that may hold an answer, and whether they answer this question alone."""
        homework = self.terms.rubric.homework
        stems = stems_of(part, homework)
        own = [name for name in self.names if Path(name).stem.lower() in stems]
        if own and not self.alone:
            return own[:1], True
        others = {stem for each in self.terms.rubric.points for stem in stems_of(each, homework)}
        return [name for name in self.names if self.alone or Path(name).stem.lower() not in others][
            :MOST_FILES
        ], False

    def asked(self, name: str, part: str, own: bool) -> Mark | None:
        """The mark for the function in this file; None if it has none."""
        terms, contract = self.terms, self.terms.rubric.contract(part)
        names = [*terms.rubric.names(part), *([contract.function] if own else [])]
        limit = terms.time_limit / SHORTER**self.late
        path = self.folder / name
        try:
            judged = check_answer(
                f"{path}::{names[0]}",
                contract,
                drawn=drawn_cases(contract, terms.seed),
                seed=terms.seed,
                unfenced=terms.unfenced,
                names=names[1:],
                time_limit=limit,
                memory=MEMORY,
                alone=self.alone,
                means=terms.means,
            )
        except BrokenAnswer as error:
            if error.lacks:
                return None
            return self.cleaned(by_hand(MISSING, str(error)), path)
        except Faulty as error:
            return self.cleaned(by_hand(NOT_JUDGED, str(error)), path)
        late = judged.reason == Reason.TIMED_OUT
        found = self.cleaned(_mark(judged, terms, shortened=late and self.late > 0), path)
        self.late += late
        if judged.counterexample is None and judged.reason.exit_code == 1 and not judged.cases:
            # An error beside the function, such as a test of the student's own, says nothing of the function.
            is_open = found["by_hand"] or judged.reason == Reason.RAISED
            found = self.unloadable[name] = found | {"by_hand": is_open}
        return found

    def cleaned(self, mark: Mark, path: Path) -> Mark:
        """The same mark, without the names of folders of this machine. Students read it."""
        text = json.dumps(mark)
        homework = Path(self.terms.rubric.written.path).parent
        places = [f"{path}::"] if self.alone else []
        for folder in (self.folder, homework.resolve(), homework, Path(__file__).parents[3], Path.home()):
            # Of "." and "/" no name can be taken away.
            places += [f"{folder}/"] if len(folder.parts) > 1 or folder.name.strip(".") else []
        for place in places:
            text = text.replace(json.dumps(place)[1:-1], "")
        return json.loads(text)


def _mark(judged: Judgement, terms: Terms, *, shortened: bool) -> Mark:
    reason, said, left_open = str(judged.reason), judged.said, judged.reason == Reason.INCONCLUSIVE
    if judged.right and not (terms.unfenced or is_protected(judged.missing)):
        reason, left_open = str(Reason.INCONCLUSIVE), True
        said = (
            "The answer is within the tolerance in every case, but nothing here keeps a submission from forging "
            "verdicts. Say --unfenced if you trust their authors."
        )
    if shortened:
        left_open, said = True, f"{said}; an earlier question had used up its time, so this one got less time"
    plain = judged.as_json() | {"reason": reason, "said": said, "right": reason == Reason.RIGHT}
    return {
        "reason": reason,
        "said": said,
        "by_hand": left_open,
        "fences": [fence.name for fence in judged.missing],
        "judgement": plain,
    }
