"""Commands about somebody's own problem: check, construct."""

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from attnlab_theory import exits
from attnlab_theory.cli.arrays import read_matrix

if TYPE_CHECKING:
    from attnlab_theory.grader.contract import Contract

LONGEST = 24 * 60 * 60
"""The longest time limit in seconds: clocks do not take any number."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """Judge your own answer to a homework question. A wrong answer gets a counterexample.

    The exit code is 0 if the answer is right, 1 if it is wrong, and 3 if that is not decided.

    The questions are practical4/2b, 2c.1, 2d.1, 2d.2, 2e.2; cs224n/1b.i, 1b.ii, 1c.i, 1d.i, 1d.ii;
    uw/1.2.1, 1.2.2, 1.3.1, 1.3.2.
    """

    answer: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE.py::FUNCTION]")] = ""
    """A file or a notebook with your answer, and the function in it. Without it, the questions are listed."""
    question: str = ""
    """The question that the function answers, as HOMEWORK/QUESTION."""
    homework: Annotated[str, tyro.conf.arg(aliases=("--rubric",))] = ""
    """A TOML file with questions of your own, as `attnlab homework new` writes it. QUESTION then stands alone."""
    list: bool = False
    """List the questions that can be judged."""
    template: str = ""
    """Print a file to fill in for this question, and nothing else."""
    replay: str = ""
    """Try one case alone. Give the text that a counterexample prints, or a file with the output of --json."""
    seed: int = 0
    """The seed of the cases. By default every call tries the same ones; attnlab grade draws a seed and names it."""
    show_output: bool = False
    """Show what the answer prints."""
    time_limit: float = 60.0
    """Seconds of processor time for everything the answer does, its imports included. The judge waits at most four
    times as long, plus ten seconds.
    """
    unfenced: bool = False
    """Judge even if this system cannot isolate the answer, which could then rewrite its own verdict."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Judge the answer, or print the template or the questions."""
        from attnlab_theory.grader import grading, questions
        from attnlab_theory.grader.judgement import judgement_text
        from attnlab_theory.report import progress
        from attnlab_theory.report.table import show

        own = self._own()
        if self.template:
            if self.answer or self.question or self.list:
                raise ValueError("--template stands alone: attnlab check --template HOMEWORK/QUESTION > mine.py")
            source = grading.template_of(_one(own, self.template) if own else self.template)
            in_json = json.dumps({"question": self.template, "template": source}, indent=1, ensure_ascii=False)
            print(in_json + "\n" if self.json else source, end="")
            return 0
        if self.list or not (self.answer or self.question):
            if self.answer or self.question or self.replay:
                raise ValueError("--list stands alone: attnlab check --list")
            listed = [*own.values()] if own else None
            print(json.dumps(questions.as_json(listed), indent=1, ensure_ascii=False)) if self.json else show(
                questions.table(listed)
            )
            return 0
        if not self.answer or not (self.question or len(own) == 1):
            missing = "a FILE.py::FUNCTION" if not self.answer else "--question HOMEWORK/QUESTION"
            raise ValueError(
                f"attnlab check needs {missing}; attnlab check lists the questions, and attnlab check --template "
                "HOMEWORK/QUESTION prints a start"
            )
        refuse_time_limit(self.time_limit)
        with progress.counted(f"asking {self.answer}") as asked:
            judged = grading.check_answer(
                self.answer,
                _one(own, self.question) if own else self.question,
                at=self.replay,
                seed=self.seed,
                unfenced=self.unfenced,
                time_limit=self.time_limit,
                progress=asked,
            )
        if self.json:
            print(json.dumps(judged.as_json(), indent=1, ensure_ascii=False))
        else:
            show(judgement_text(judged, show_output=self.show_output))
            if judged.again and not self.replay:
                # A line of its own however wide the terminal is, so that it can be copied.
                exits.say(f"again: {judged.again}")
        return judged.exit_code

    def _own(self) -> "dict[str, Contract]":
        """The questions of a homework of one's own, by the part of the id after the homework."""
        if not self.homework:
            return {}
        from attnlab_theory.grader.classroom.rubric import rubric_of

        rubric = rubric_of(self.homework)
        return {part: rubric.contract(part) for part in rubric.points}


def _one(own: "Mapping[str, Contract]", asked: str) -> "Contract":
    """The question that is asked for; the only one if none is named.

    Raises:
        ValueError: if the homework has none of this name.
    """
    by_name = {**own, **{contract.question: contract for contract in own.values()}}
    if not asked and len(own) == 1:
        return next(iter(own.values()))
    if asked not in by_name:
        raise ValueError(f"--question {asked!r}: the homework has {', '.join(own)}")
    return by_name[asked]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConstructSubset:
    """Find a query that attends to the chosen keys alone and equally, or say why there is none."""

    keys: Path
    """A .npy file with one key per row."""
    select: str
    """The keys to select, numbered from 0 and separated by commas: 0,3"""
    tolerance: float = 1e-3
    """The largest weight that the other keys may have together."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Find the query and measure it."""
        import jax

        from attnlab_theory.construct import query_for_subset

        found = query_for_subset(
            read_matrix(self.keys), [_index(part, "--select") for part in self.select.split(",")]
        )
        # The certificate counts the rounding of the operator, and a file's numbers are float64 as a rule.
        with jax.enable_x64(True):
            strength = found.strength(self.tolerance)
            result = {
                "subset": list(found.subset),
                "query": found.scaled(strength).tolist(),
                "margin": found.margin if math.isfinite(found.margin) else None,
                "strength": strength,
                "tolerance": self.tolerance,
                "certified": found.error_bound(strength),
                "measured": found.measured_error(strength),
            }
        if self.json:
            print(json.dumps(result, indent=1))
            return 0
        margin = "all keys are wanted: the query is zero" if result["margin"] is None else f"{found.margin:.6g}"
        print(f"query (scale 1)       {_vector(result['query'])}")
        print(f"margin at length 1    {margin}")
        print(f"length of the query   {strength:.6g}")
        print(f"error of the weights  certified ≤ {result['certified']:.3g}, measured {result['measured']:.3g}")
        return 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConstructRouting:
    """Find matrices K, Q, V that give every input its wanted output, or say why there are none."""

    inputs: Path
    """A .npy file with one input per row."""
    routes: str
    """For every input, the number of the one that it attends to, such as 2,0,-. A dash: any will do, and its
    output is ignored."""
    outputs: Path
    """A .npy file with one wanted output per row."""
    tolerance: float = 1e-3
    """Largest error of an output, in the outputs' own units."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Find the matrices and measure them."""
        from attnlab_theory.construct import route

        routes = [None if part.strip() == "-" else _index(part, "--routes") for part in self.routes.split(",")]
        inputs = read_matrix(self.inputs)
        for goal in routes:
            if goal is not None and not 0 <= goal < len(inputs):
                raise ValueError(
                    f"--routes: no input is numbered {goal}, only 0 to {len(inputs) - 1}; - leaves a row free"
                )
        found = route(inputs, routes, read_matrix(self.outputs, gaps=True), tolerance=self.tolerance)
        if self.json:
            result = {
                "routes": routes,
                **{name: getattr(found, name).tolist() for name in ("k", "q", "v", "weights", "outputs")},
                "margin": found.margin if math.isfinite(found.margin) else None,
                "tolerance": self.tolerance,
                "certified": found.certified,
                "measured": found.measured,
            }
            print(json.dumps(result, indent=1))
            return 0
        for name in ("k", "q", "v"):
            print(f"{name.upper()} =")
            for row in getattr(found, name).tolist():
                print(f"  {_vector(row)}")
        lead = f"leads by at least {found.margin:.6g} (scale 1)"
        print(f"every wanted score {'has no other to lead' if math.isinf(found.margin) else lead}")
        print(f"error of the outputs  certified ≤ {found.certified:.3g} in float64, measured {found.measured:.3g}")
        return 0


@dataclasses.dataclass(frozen=True)
class Construct:
    """Find the query, or the matrices, that give the attention you want."""

    problem: (
        Annotated[ConstructSubset, tyro.conf.subcommand("subset")]
        | Annotated[ConstructRouting, tyro.conf.subcommand("routing")]
    )

    def run(self) -> int:
        """Solve the problem that was posed."""
        return self.problem.run()


def refuse_time_limit(seconds: float) -> None:
    """Refuse a time limit that is not positive, or too large for a clock.

    Raises:
        ValueError: naming it.
    """
    if not 0 < seconds <= LONGEST:
        raise ValueError(f"--time-limit must be positive and at most {LONGEST} (a day), not {seconds:g}")


def _index(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{option} takes numbers separated by commas, such as 0,3, not {text!r}") from None


def _vector(numbers: list[float]) -> str:
    return "[" + ", ".join(f"{number:.6g}" for number in numbers) + "]"
