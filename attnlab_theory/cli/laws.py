"""Commands about laws: list, run, answers."""

import contextlib
import dataclasses
import functools
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from attnlab_theory import files
from attnlab_theory.options import RunOptions
from attnlab_theory.plurals import several

if TYPE_CHECKING:
    from attnlab_theory.answers.declarations import Fresh
    from attnlab_theory.answers.homework import Homework
    from attnlab_theory.answers.questions import Declared
    from attnlab_theory.answers.sheet import Evidence
    from attnlab_theory.claims import Claim, Findings
    from attnlab_theory.experiment import Experiment
    from attnlab_theory.grader.own_questions import Trial

LABS = ("knowledge", "captions", "mixers", "recurrent", "reviews")
"""Each writes the findings of a training run into a file of its name."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class List:
    """List every experiment, its question and its claims."""

    json: bool = False
    """Print one JSON value and nothing else."""
    source: str = ""
    """Only claims that cite this: a paper, as arxiv:2505.06708 or a heading of docs/sources.md, or a question."""

    def run(self) -> int:
        """Print the list."""
        from attnlab_theory.cli import library

        every, labs = library.experiments(), {**library.labs(), "heads": library.heads()}
        if self.source:
            every, labs = _citing(self.source, every, labs)
        if self.json:
            listed = [
                {
                    "name": e.name,
                    "question": e.question,
                    "claims": [
                        {
                            "name": c.name,
                            "statement": c.statement,
                            "source": c.source,
                            "settings": len(c.settings),
                            "expect": str(c.expect),
                        }
                        for c in e.claims
                    ],
                }
                for e in every
            ]
            listed += [
                {
                    "name": name,
                    "question": lab.question,
                    "claims": [
                        {
                            "name": each.name,
                            "statement": each.statement,
                            "source": each.source,
                            "settings": None,
                            "expect": each.expect and str(each.expect),
                        }
                        for each in lab.statements
                    ],
                }
                for name, lab in labs.items()
            ]
            print(json.dumps(listed, indent=1, ensure_ascii=False))
            return 0
        if self.source and not every and not labs:
            print(f"no claim cites {self.source}")
        for experiment in every:
            print(f"{experiment.name}: {experiment.question}")
            for claim in experiment.claims:
                foil = "  (a foil: to be REFUTED)" if claim.expect == "REFUTED" else ""
                print(f"    {claim.name}{foil}")
        for name, lab in labs.items():
            print(f"attnlab {name}: {lab.question}")
            for claim in dict.fromkeys(each.name for each in lab.statements):
                open_ = all(each.expect is None for each in lab.statements if each.name == claim)
                print(f"    {claim}{'  (nobody knows what to expect)' if open_ else ''}")
        return 0


def _citing(
    name: str, every: "list[Experiment]", labs: "dict[str, Declared]"
) -> "tuple[list[Experiment], dict[str, Declared]]":
    """The experiments and labs with those of their claims that cite something; those with none are left out."""
    from attnlab_theory.claims.sources import cited
    from attnlab_theory.cli import citations

    sources = [claim.source for experiment in every for claim in experiment.claims]
    sources += [each.source for lab in labs.values() for each in lab.statements]
    heading = citations.wanted(name, sources)

    def cite(claims: Any) -> Any:
        return tuple(claim for claim in claims if heading in dict(cited(claim.source)))

    found = [dataclasses.replace(each, claims=cite(each.claims)) for each in every if cite(each.claims)]
    stated = {name: lab._replace(statements=cite(lab.statements)) for name, lab in labs.items()}
    return found, {name: lab for name, lab in stated.items() if lab.statements}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(RunOptions):
    """Check claims: compare each predicted number with a measured one. Writes results and figures."""

    names: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[NAME|NAME::CLAIM|FILE.py ...]")
    ] = ()
    """Experiments, or Python files with claims of your own. NAME::CLAIM is one claim. Without a name all
    experiments are run."""

    def run(self) -> int:
        """Run the experiments."""
        from attnlab_theory import interrupts

        # From before jax is imported: it is then that an interrupt can be lost.
        with interrupts.remembered() as pressed:
            from attnlab_theory.cli import own_claims
            from attnlab_theory.report import progress
            from attnlab_theory.sandbox import processes

            # Processes judge the lab's own experiments, if there are several; a person's file runs once, here.
            own = [Path(name.partition("::")[0]) for name in self.names if own_claims.is_file(name)]
            shared = len(self.names) != 1 and not own and not any("::" in name for name in self.names)
            if shared and not self.cluster:
                processes.get_ready("attnlab_theory.cli.preload")
            with progress.said("loading the experiments", quiet=self.json):
                from attnlab_theory import experiment
                from attnlab_theory.cli import library

                chosen = library.chosen(self.names)
            load = library.by_name if shared else None
            if self.cluster:
                sources = {path.name: path.read_text("utf-8") for path in own}
                if len(sources) < len(set(own)):
                    raise ValueError("with --cluster, files of claims need different names: rename one of them")
                load = functools.partial(library.with_sources, sources, self.names)
            return experiment.run(chosen, self, pressed, load)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answers:
    """Print the answer sheet of five homeworks, with evidence that is judged now."""

    question: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[HOMEWORK[/QUESTION]]")] = ""
    """A homework (cs224n) or one question of it (cs224n/1a.i). Without it, all questions are answered."""
    homework: Annotated[str, tyro.conf.arg(aliases=("--rubric",))] = ""
    """A TOML file with questions of your own. Its references and its typical wrong answers are tried, too."""
    findings: Path | None = None
    """Folder with the results of one lab for the answers to quote. By default lab/LAB, for example lab/captions,
    else the results inside attnlab."""
    list: bool = False
    """Print the ids of the questions and nothing else. Nothing is judged."""
    html: Path | None = None
    """Write the answers into this file, as one page to hand in."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Judge the evidence and print the answers."""
        from attnlab_theory import interrupts

        if self.list:
            if self.html is not None:
                raise ValueError("--list judges nothing, and --html is a page of answers: leave one of them out")
            return self._listed()
        if self.html is not None:
            own = self._own()
            files.refuse_unwritable(self.html, *(own.read if own else []), form=files.Form.ANSWERS)
        with interrupts.remembered() as pressed:
            return self._answer(pressed)

    def _own(self) -> "Homework | None":
        if not self.homework:
            return None
        from attnlab_theory.answers.homework import of_file

        written = of_file(self.homework)
        if not written.questions:
            raise ValueError(
                f"{self.homework} holds points alone; attnlab answers {written.name} prints the answers"
            )
        return written

    def _listed(self) -> int:
        from attnlab_theory.answers import questions

        asked = questions.chosen(self.question, self._own())
        if self.json:
            print(json.dumps([{"id": e.id, "question": e.question} for e in asked], indent=1, ensure_ascii=False))
            return 0
        for entry in asked:
            print(f"{entry.id}  {entry.question}")
        return 0

    def _answer(self, pressed: Sequence[int]) -> int:
        from attnlab_theory.report import progress

        with progress.said("loading the experiments", quiet=self.json):
            from attnlab_theory.answers import declarations, questions, sheet
            from attnlab_theory.claims import CLAIMS, Findings
            from attnlab_theory.cli import library
            from attnlab_theory.experiment import judge_claim
            from attnlab_theory.report.board import Board
            from attnlab_theory.report.table import show

            written = self._own()
            asked, labs = questions.chosen(self.question, written), library.labs()
            questions.refuse_undeclared(asked, labs)
            runs, undecidable = declarations.declared()
            recorded, fresh = _recorded(self.findings), _fresh(self.findings, runs)
            wanted = {name for entry in asked for name in entry.evidence}
            own, tried = ({}, {}) if written is None else (own_claims_of(written, wanted), _tried(written))
        claims = {*own, *(claim.name for claim in CLAIMS)} & wanted
        board = Board(len(claims), quiet=self.json or not claims)

        def judged(name: str) -> Findings:
            # With its experiment's share of the error budget: the same numbers as `attnlab run` gives.
            experiment, claim = own[name] if name in own else library.owner(name)
            board.begin(experiment.name, name)
            found = judge_claim(experiment, claim, seed=0, budget="quick")
            board.end(found)
            if pressed:
                raise KeyboardInterrupt
            return found

        options = {name: lab.option for name, lab in labs.items()}
        answers: list[sheet.Answer] = []
        interrupted = False
        try:
            with board.shown():
                told = {"recorded": recorded, "fresh": fresh, "undecidable": undecidable, "options": options}
                told |= {"own": own, "tried": tried}
                for answer in sheet.answered(asked, judged, **told):
                    answers.append(answer)
                    if not self.json:
                        with board.cleared():
                            show(sheet.sheet_text([answer]))
        except KeyboardInterrupt:
            interrupted = True
        if self.json:
            print(json.dumps([answer.as_json() for answer in answers], indent=1, ensure_ascii=False))
        if interrupted:
            print(
                f"attnlab: interrupted; {len(answers)} of {several(len(asked), 'question')} answered",
                file=sys.stderr,
            )
            return 130
        if self.html is not None:
            from attnlab_theory.answers import webpage

            which = [*filter(None, [self.question]), *(["--homework", self.homework] if self.homework else [])]
            command = shlex.join(["attnlab", "answers", *which, "--html", str(self.html)])
            files.write_text(self.html, webpage.page(answers, command))
        if not self.json:
            print(sheet.reason(answers))
        return sheet.exit_code(answers)


def own_claims_of(written: "Homework", wanted: set[str]) -> "dict[str, tuple[Experiment, Claim]]":
    """The claims of a homework's own Python file that its answers name, each with its experiment.

    Raises:
        ValueError: if evidence names nothing, or a claim's file cannot be loaded.
    """
    from attnlab_theory.claims import CLAIMS
    from attnlab_theory.cli import library, own_claims
    from attnlab_theory.identities import IDENTITIES

    known = {each.name for each in (*CLAIMS, *IDENTITIES)}
    if wanted <= known:
        return {}
    path = Path(written.code_path) if written.code_path else Path(written.path).with_suffix(".py")
    found = {}
    # A file of functions alone is no fault of its own: what is named is nowhere.
    with contextlib.suppress(own_claims.NoClaim):
        experiment = own_claims.experiment_of(path, set(library.by_name()))
        found = {claim.name: (experiment, claim) for claim in experiment.claims}
    for question in written.questions:
        for name in question.evidence:
            if name not in known | set(found):
                remedy = f"no claim or identity of the lab is called so, and no claim of {path}"
                raise written.refused(question, "evidence", name, remedy)
    return found


def _tried(written: "Homework") -> "dict[str, list[Evidence]]":
    """What became of the references and the typical wrong answers of a homework, by the id of the question."""
    from attnlab_theory.answers.sheet import Evidence
    from attnlab_theory.claims import Verdict
    from attnlab_theory.grader.own_questions import judges

    def evidence(trial: "Trial") -> Evidence:
        kind = "reference" if trial.is_reference else "typical wrong answer"
        falls = trial.is_reference != trial.as_expected
        name = f"{trial.name}: {trial.remark}" if trial.remark else trial.name
        verdict = Verdict.REFUTED if falls else Verdict.SUPPORTED
        return Evidence(name=name, kind=kind, verdict=verdict, as_expected=trial.as_expected)

    return {
        f"{written.name}/{part}": [evidence(trial) for trial in judge.trials()]
        for part, judge in judges(written).items()
    }


def _recorded(folder: Path | None) -> "Findings":
    """The findings of all training runs, or of the run in a folder. A lab without a run has none.

    Raises:
        ValueError: if a named folder holds no findings.
    """
    from attnlab_theory.book.runs import BESIDE
    from attnlab_theory.claims import Findings
    from attnlab_theory.cli import library
    from attnlab_theory.report.record import read_findings

    found = []
    for lab in LABS:
        places = [folder] if folder else [Path("lab") / lab, library.trained(lab)]
        for name in (lab, *BESIDE.get(lab, ())):
            there = [place / f"{name}.json" for place in places if (place / f"{name}.json").is_file()]
            if there:
                found += read_findings(there[0])
    if folder and not found:
        files = " and no ".join(f"{lab}.json" for lab in LABS)
        raise ValueError(f"{folder} holds no {files}: make it with attnlab LAB run --out {folder}")
    return Findings(found)


def _fresh(folder: Path | None, runs: Sequence["Fresh"]) -> "Findings":
    """What runs of fresh seeds found of the statements that they decide.

    They are beside the committed runs. Where somebody's own run is quoted, they count for nothing.

    Args:
        folder: the folder of a run that is quoted, if one is named.
        runs: that were declared. Those that nobody has made yet have found nothing.
    """
    from attnlab_theory.claims import Findings
    from attnlab_theory.cli import library
    from attnlab_theory.report.record import read_findings

    found = []
    for run in runs:
        path = library.trained(run.lab) / "fresh" / run.name / f"{run.lab}.json"
        own = folder or (Path("lab") / run.lab / f"{run.lab}.json").is_file()
        if path.is_file() and not own:
            found += [finding for finding in read_findings(path) if finding.claim in run.decides]
    return Findings(found)
