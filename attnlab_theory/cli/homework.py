"""The command about a homework of one's own: homework new."""

import dataclasses
import importlib.resources
import json
import re
import shlex
from pathlib import Path
from typing import Annotated, Literal, get_args

import tyro

Topic = Literal["masks", "heads", "rotary", "cache", "linear", "smoothing"]

TOPICS = get_args(Topic)
"""The examples. Each is a TOML file and a Python file of its name."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class New:
    """Write a homework that works: a TOML file, and the Python file that it names. No file is written over."""

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.toml")]
    """The TOML file to write. The Python file beside it gets the same name."""
    topic: Topic = "masks"
    """What the example asks about."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Write both files, and say what to do with them."""
        from attnlab_theory import files

        if self.file.suffix != ".toml" or not re.fullmatch(r"[A-Za-z0-9][\w-]*", self.file.stem):
            raise ValueError(f"{self.file}: name a file such as mine.toml, of letters, digits, - and _")
        code = self.file.with_suffix(".py")
        for path in (self.file, code):
            if path.exists() or path.is_symlink():
                raise ValueError(f"{path} is there already, and is not written over; name another file")
            files.refuse_unwritable(path, form=files.Form.LINES)
        place = importlib.resources.files("attnlab_theory.grader").joinpath("examples")
        written, functions = (place.joinpath(f"{self.topic}.{end}").read_text("utf-8") for end in ("toml", "py"))
        for end in ("toml", "py"):
            written = written.replace(f"{self.topic}.{end}", f"{self.file.stem}.{end}")
            functions = functions.replace(f"{self.topic}.{end}", f"{self.file.stem}.{end}")
        written = written.replace(f'homework = "{self.topic}"', f'homework = "{self.file.stem}"')
        # The Python file first: a TOML file without it would not work.
        files.write_text(code, functions)
        files.write_text(self.file, written)
        if self.json:
            print(json.dumps({"homework": str(self.file), "code": str(code)}, indent=1))
            return 0
        named = shlex.quote(str(self.file))
        print(f"wrote {self.file} and {code}")
        print(f"try it:          attnlab homework try {named}")
        print(f"for students:    attnlab grade --homework {named} --template > answers.py")
        print(f"judge one file:  attnlab check answers.py::FUNCTION --homework {named} --question ID")
        print(f"grade a class:   attnlab grade FOLDER --homework {named} --csv grades.csv")
        return 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Try:
    """Try a homework: its references must be right, and each typical wrong answer must get its own hint.

    The exit code is 1 if one of them does not.
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.toml")]
    """The TOML file."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Try each question, and print what became of it."""
        from attnlab_theory.cli.laws import own_claims_of
        from attnlab_theory.grader.classroom.rubric import rubric_of
        from attnlab_theory.grader.own_questions import judges
        from attnlab_theory.plurals import agree

        rubric = rubric_of(str(self.file))
        named = {name for question in rubric.written.questions for name in question.evidence}
        if named:
            own_claims_of(rubric.written, named)

        def worth(part: str) -> str:
            return f"{part}, {rubric.points[part]:g} {agree(rubric.points[part], 'point', 'points')}"

        tried = {part: judge.trials() for part, judge in judges(rubric.written).items()}
        if self.json:
            told = {part: [trial._asdict() for trial in trials] for part, trials in tried.items()}
            print(json.dumps(told, indent=1))
        for part, trials in {} if self.json else tried.items():
            print(worth(part))
            for trial in trials:
                kind = "reference" if trial.is_reference else "wrong answer"
                well = "is right" if trial.is_reference else "falls, with its hint"
                print(f"  {kind} {trial.name}: {well if trial.as_expected else trial.remark}")
        for part in () if self.json else rubric.points:
            if part not in tried:
                print(f"{worth(part)}: judged by a contract of the lab")
        return 0 if all(trial.as_expected for trials in tried.values() for trial in trials) else 1


@dataclasses.dataclass(frozen=True)
class Homework:
    """Write a homework of your own: questions in a TOML file, judged by functions of Python beside it."""

    task: Annotated[New, tyro.conf.subcommand("new")] | Annotated[Try, tyro.conf.subcommand("try")]

    def run(self) -> int:
        """Do it."""
        return self.task.run()
