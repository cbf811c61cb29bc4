"""The command for a class: grade."""

import contextlib
import dataclasses
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from attnlab_theory.plurals import some_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from attnlab_theory.cluster.client import Cluster
    from attnlab_theory.grader.classroom.hand_ins import HandIn
    from attnlab_theory.grader.classroom.journal import Journal
    from attnlab_theory.grader.classroom.marks import Attendance, Row
    from attnlab_theory.grader.classroom.senders import Roster

SPEAK_EVERY = 30.0
"""Seconds between two lines of progress, where nobody sees a bar."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grade:
    """Grade a folder of submissions. Each file and each folder in it is a submission.

    A function is found by the number of its question: q2b, q2c_1. --template prints a file with an empty function
    for each question.
    A run that was stopped goes on from its journal. The exit code is 0 if every submission has got its marks,
    whatever they are.
    """

    folder: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[FOLDER]")] = None
    """The folder with the submissions."""
    rubric: Annotated[str, tyro.conf.arg(aliases=("--homework",))]
    """The homework: practical4, cs224n or uw. Or a TOML file with questions or points of your own."""
    csv: Path | None = None
    """Write a line for each submission into this file."""
    html: Path | None = None
    """Write a page for each submission, with its counterexamples, into this folder."""
    roster: Path | None = None
    """A CSV file with the students of the class. Who has handed in nothing is listed."""
    gradescope: Path | None = None
    """Take the folder for one submission, and write Gradescope's results.json for its autograder into this file."""
    journal: Path | None = None
    """The record from which a stopped run goes on. By default it is FOLDER-HOMEWORK.jsonl, beside the folder."""
    seed: int | None = None
    """The seed of the cases. By default each run draws one, and names it. All submissions get the same cases."""
    template: bool = False
    """Print a file with all functions to fill in, and nothing else."""
    time_limit: float = 20.0
    """Seconds of processor time for each question. After one that uses them up, the others get a quarter."""
    processes: int = 0
    """How many submissions to judge at a time. 0: two more than there are cores, ten at most."""
    unfenced: bool = False
    """Grade even if this system cannot isolate a submission, which could then rewrite its own verdict."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""
    json: bool = False
    """Print one JSON value and nothing else."""
    cluster: str | None = None
    """Judge on a Dask cluster: the address of its scheduler, tcp://HOST:PORT (docs/cluster.md)."""

    def run(self) -> int:
        """Grade the class, or print the template."""
        from attnlab_theory.grader.classroom import gradebook, rubric

        chosen = rubric.rubric_of(self.rubric)
        if self.template:
            if self.folder or self.csv or self.html or self.json or self.gradescope or self.roster:
                raise ValueError("--template stands alone: attnlab grade --rubric HOMEWORK --template > mine.py")
            print(rubric.template(chosen), end="")
            return 0
        rows, attendance, seed = self._graded()
        if self.csv is not None:
            from attnlab_theory import files

            files.write_text(self.csv, gradebook.csv_text(rows, chosen, attendance))
        if self.gradescope is not None:
            from attnlab_theory import files

            told = gradebook.for_gradescope(rows[0])
            files.write_text(self.gradescope, json.dumps(told, indent=1, ensure_ascii=True) + "\n")
        if self.html is not None:
            from attnlab_theory.grader.classroom.pages import write_pages

            write_pages(self.html, rows, chosen, seed)
        if self.json:
            print(json.dumps(gradebook.as_json(rows, chosen, seed, attendance), indent=1, ensure_ascii=True))
        else:
            from attnlab_theory.report.table import show

            show(gradebook.table(rows, chosen, seed, attendance))
        return 0

    def _graded(self) -> "tuple[list[Row], Attendance, int]":
        """The rows, who is missing, and the seed of the cases."""
        from attnlab_theory import files
        from attnlab_theory.cli.problems import refuse_time_limit
        from attnlab_theory.grader.classroom.hand_ins import hand_ins, one_hand_in
        from attnlab_theory.grader.classroom.journal import Journal
        from attnlab_theory.grader.classroom.marks import Attendance, Terms
        from attnlab_theory.grader.classroom.rubric import rubric_of
        from attnlab_theory.grader.classroom.senders import roster_of
        from attnlab_theory.sandbox import fences

        if self.folder is None:
            raise ValueError("attnlab grade needs a FOLDER with the submissions")
        refuse_time_limit(self.time_limit)
        if self.cluster and self.processes:
            raise ValueError("--processes is for this machine, --cluster for others: name one of them")
        if self.seed is not None and self.seed < 1:
            raise ValueError(f"--seed is at least 1, not {self.seed}")
        if self.processes < 0:
            raise ValueError(f"--processes is at least 0, not {self.processes}")
        chosen = rubric_of(self.rubric)
        roster = roster_of(self.roster) if self.roster else None
        found = one_hand_in(self.folder) if self.gradescope else hand_ins(self.folder)
        place = self.folder.resolve()
        path = self.journal or place.with_name(f"{place.name}-{chosen.homework}.jsonl")
        written = {"--csv": self.csv, "--html": self.html, "--journal": path, "--gradescope": self.gradescope}
        written["--roster"] = self.roster
        for option, out in written.items():
            if out is not None and out.resolve().is_relative_to(place):
                raise ValueError(f"{option} {out} lies among the submissions; name a place outside {self.folder}")
        questions = [*chosen.written.read, *([Path(self.rubric)] if self.rubric.endswith(".toml") else [])]
        for kept in (place, *questions, *written.values(), Path(tempfile.gettempdir())):
            if kept is not None and (inside := fences.visible(kept)):
                raise ValueError(f"{kept} lies in {inside}, which every submission can read; move it elsewhere")
        if self.html is not None:
            pages = ["index.html", *(each.page for each in found)]
            read = (*questions, path, self.csv, self.roster, self.gradescope)
            files.make_folder(self.html, *pages, read=read, option="--html")
        if self.csv is not None:
            files.refuse_unwritable(self.csv, *questions, path, self.roster, form=files.Form.TABLE)
        if self.gradescope is not None:
            read = (*questions, path, self.csv, self.roster)
            files.refuse_unwritable(self.gradescope, *read, form=files.Form.AUTOGRADER)
        # A file that is no journal is refused where it is read.
        if files.is_ours(path, files.Form.JOURNAL):
            files.refuse_unwritable(path, *questions, self.roster, form=files.Form.JOURNAL)
        # Where nothing else protects the judge, this process is protected like those that judge.
        terms = Terms(rubric=chosen, time_limit=self.time_limit, seed=self.seed or 0, unfenced=self.unfenced)
        # A cluster that does not answer is told of before a journal is begun.
        with self._reached() as cluster, Journal(path, terms).open() as journal:
            fences.become_undumpable()
            unjudged = self._judge(found, journal, cluster)
        rows = _rows(found, journal, unjudged)
        rows, attendance = (rows, Attendance()) if roster is None else _called(rows, roster)
        return rows, attendance, journal.terms.seed

    def _judge(self, found: "list[HandIn]", journal: "Journal", cluster: "Cluster | None") -> dict[str, str]:
        """Judge the submissions that are not in the journal. Returns why some have no marks, by content."""
        from attnlab_theory.grader.classroom import markers
        from attnlab_theory.report.progress import Progress

        new = {
            hand_in.content: hand_in
            for hand_in in found
            if hand_in.content and hand_in.content not in journal.marks
        }
        known = sum(1 for hand_in in found if hand_in.content in journal.marks)
        if known:
            said = some_of(known, len(found), "submission", "is", "are")
            print(f"{said} known from {journal.path}", file=sys.stderr)
        unjudged: dict[str, str] = {}
        if not new:
            return unjudged
        parts = "submissions" if len(new) > 1 else "submission"
        work, terms = list(new.values()), journal.terms
        if cluster is None:
            marked = markers.marked(work, self.processes or markers.most_at_once(), terms)
        else:
            marked = markers.marked_there(work, cluster, terms)
        with Progress("judging", len(new), parts, every=SPEAK_EVERY) as progress:
            for hand_in, marks in marked:
                if isinstance(marks, str):
                    unjudged[hand_in.content] = marks
                else:
                    journal.add(hand_in.content, marks)
                progress.advance()
        return unjudged

    def _reached(self) -> "AbstractContextManager[Cluster | None]":
        """The cluster that judges, if one is named."""
        if self.cluster is None:
            return contextlib.nullcontext()
        from attnlab_theory.cluster.client import Cluster
        from attnlab_theory.grader.classroom.marking import unprotected

        return Cluster(self.cluster, able=None if self.unfenced else unprotected)


def _rows(found: "list[HandIn]", journal: "Journal", unjudged: dict[str, str]) -> "list[Row]":
    from attnlab_theory.grader.classroom.marks import NOT_JUDGED, Row, by_hand

    rubric, rows = journal.terms.rubric, []
    for hand_in in found:
        why = hand_in.refused or unjudged.get(hand_in.content, "")
        nothing = dict.fromkeys(rubric.points, by_hand(NOT_JUDGED, why))
        same = [other.name for other in found if other.content == hand_in.content and other is not hand_in]
        rows.append(
            Row(
                hand_in=hand_in,
                rubric=rubric,
                marks=nothing if why else journal.marks[hand_in.content],
                copies=tuple(same) if hand_in.content else (),
                students=hand_in.sender.students,
            )
        )
    return rows


def _called(rows: "list[Row]", roster: "Roster") -> "tuple[list[Row], Attendance]":
    """The rows with the names of the roster, and who is missing or unknown."""
    from attnlab_theory.grader.classroom.marks import Attendance

    found = [roster.named(row.hand_in.path.name, row.hand_in.sender) for row in rows]
    named = [dataclasses.replace(row, students=each or row.students) for row, each in zip(rows, found, strict=True)]
    unknown = tuple(row.hand_in.name for row, each in zip(rows, found, strict=True) if not each)
    missing = roster.missing(student for each in found for student in each)
    return named, Attendance(missing=tuple(missing), unknown=unknown)
