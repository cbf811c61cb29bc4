"""Commands about somebody's own problem: check, construct, leaks."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """Judge someone's own answer to a homework question, with a counterexample when it fails."""

    answer: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE.py::FUNCTION]")] = ""
    """The file with the answer and the function in it."""
    question: str = ""
    """The question it answers, as HOMEWORK/QUESTION."""
    template: str = ""
    """Print a file to fill in for this question, and nothing else."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Judge the answer, or print the template."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConstructSubset:
    """A query that attends to the chosen keys alone and equally, or the reason why there is none."""

    keys: Path
    """A .npy file with one key per row."""
    select: str
    """The keys to select, numbered from 0 and separated by commas: 0,3"""
    tolerance: float = 1e-3
    """Largest weight off the chosen keys that the query may leave."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Find the query and measure it."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConstructRouting:
    """Matrices K, Q, V that send every input where it is wanted, or the reason why there are none."""

    inputs: Path
    """A .npy file with one input per row."""
    routes: str
    """For every input the one it attends to, separated by commas; - leaves a row free: 2,0,-"""
    outputs: Path
    """A .npy file with one wanted output per row."""
    tolerance: float = 1e-3
    """Largest error of an output, in the outputs' own units."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Find the matrices and measure them."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Construct:
    """The inverse problem: the weights or the routing are wanted, the query or the matrices are found."""

    problem: (
        Annotated[ConstructSubset, tyro.conf.subcommand("subset")]
        | Annotated[ConstructRouting, tyro.conf.subcommand("routing")]
    )

    def run(self) -> int:
        """Solve the problem that was posed."""
        return self.problem.run()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Leaks:
    """Which outputs of somebody's function move with which future inputs."""

    function: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.py::FUNCTION")]
    """A file and a function in it that maps [length width] to [length anything]; numpy, jax or torch."""
    length: int = 12
    """Positions."""
    width: int = 8
    """Width of one input."""
    seed: int = 0
    """For the inputs and their replacements."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Intervene and print the matrix."""
        raise NotImplementedError
