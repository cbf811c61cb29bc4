"""attnlab estimators: which random features somebody's own queries and keys need."""

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from rich.table import Table

    from attnlab_theory.estimators import Advice


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimators:
    """Compute the errors of random-feature attention on your queries and keys, and choose the features."""

    queries: Path
    """A .npy file with one query per row."""
    keys: Path
    """A .npy file with one key per row."""
    features: int = 256
    """How many random features each query and key gets, the same for every feature map."""
    scale: float | None = None
    """Inverse temperature of the scores; by default 1/sqrt(width)."""
    error: float = 0.05
    """The last column says how many features give this root mean square error of a row of weights, relative to
    the row's norm."""
    seed: int = 0
    """The seed of all random numbers."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["--figure"])] = None
    """Draw a figure, .svg or .png: where each feature map is best, with a point for each
    query-key pair, and the errors."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Predict, measure, choose."""
        from attnlab_theory.cli.arrays import read_matrix
        from attnlab_theory.estimators import advise, pose
        from attnlab_theory.estimators.advice import as_json
        from attnlab_theory.report import progress

        if self.out is not None:
            from attnlab_theory.report import style

            style.refuse_path(self.out)
        problem = pose(read_matrix(self.queries), read_matrix(self.keys), scale=self.scale, seed=self.seed)
        with progress.counted("measuring estimators", quiet=self.json) as tell:
            advice = advise(problem, features=self.features, error=self.error, seed=self.seed, progress=tell)
        if self.out is not None:
            from attnlab_theory.estimators.figures import write_map

            write_map(advice, self.out)
        if self.json:
            print(json.dumps(as_json(advice), indent=1))
            return 0
        _print(advice)
        return 0


def _print(advice: "Advice") -> None:
    from attnlab_theory.report.table import show

    problem = advice.problem
    given, seen = problem.given, (len(problem.q), len(problem.k))
    width = problem.q.shape[1]
    print(f"{given[0]:,} queries, {given[1]:,} keys of width {width}, scale {problem.scale:.6g}")
    if seen != given:
        print(f"looked at: a random {seen[0]:,} queries and {seen[1]:,} keys ({seen[0] * seen[1]:,} pairs),")
        print("and attention over these keys alone")
    print(f"relative error of a row, {advice.features} features, measured over {advice.draws} draws\n")
    show(_table(advice))
    if not all(line.trusted for line in advice.lines):
        print("~ the prediction does not apply here, or the measurement next to it refutes it")
    said = (advice.amount, advice.reason) if advice.exact_is_cheaper else (advice.reason, advice.amount)
    print("\n" + "\n".join(said))


def _table(advice: "Advice") -> "Table":
    from rich.table import Table

    from attnlab_theory.estimators.errors import COUPLINGS

    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    table.add_column("\nfeatures", no_wrap=True)
    columns = ("kernel\npred.", "\nindep.", "weights\npred.", "\nindep.", "\northog.", "\nQMC")
    for column in (*columns, f"needed\nfor {advice.error:g}"):
        table.add_column(column, justify="right", no_wrap=True)
    for line in advice.lines:
        chosen = line is advice.chosen
        table.add_row(
            line.estimator + ("*" if chosen else ""),
            _number(line.kernel),
            _number(line.measured[COUPLINGS[0]].kernel),
            _number(line.weights, rough=not line.trusted),
            *(_number(line.measured[coupling].weights) for coupling in COUPLINGS),
            f"{line.features_needed:,.0f}" if line.features_needed < 1e6 else _number(line.features_needed),
            style="bold" if chosen else None,
        )
    return table


def _number(x: float, *, rough: bool = False) -> str:
    if not math.isfinite(x):
        return "∞"
    text = f"{x:.3g}" if 1e-3 < x < 1e3 else f"{x:.0e}".replace("e+0", "e").replace("e+", "e")
    return ("~" if rough else "") + text
