"""attnlab estimators: which random features somebody's own queries and keys need."""

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from attnlab_theory.plurals import several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from attnlab_theory.estimators import Advice


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimators:
    """Compute the errors of random-feature attention on your queries and keys, and choose the features."""

    queries: Path
    """A .npy file with one query per row. With heads, [h n d] or [b h n d], each head is judged by itself."""
    keys: Path
    """A .npy file with one key per row, and with the same heads."""
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
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Predict, measure, choose."""
        import numpy as np

        from attnlab_theory.cli.arrays import read_matrix
        from attnlab_theory.estimators import advise, pose
        from attnlab_theory.estimators.advice import as_json
        from attnlab_theory.report import progress

        if self.out is not None:
            from attnlab_theory.report import style

            style.refuse_path(self.out, self.queries, self.keys)
        queries, keys = (read_matrix(path, heads=True) for path in (self.queries, self.keys))
        heads = queries.shape[:-2]
        if heads != keys.shape[:-2]:
            raise ValueError(
                f"{self.queries} has shape {queries.shape} and {self.keys} {keys.shape}: both need the same heads; "
                "repeat keys that heads share"
            )
        if heads and self.out is not None:
            raise ValueError(
                f"--out draws one head, and {self.queries} has {heads}: save x[{', '.join('0' * len(heads))}]"
            )
        places = [*np.ndindex(heads)]
        problems = [pose(queries[at], keys[at], scale=self.scale, seed=self.seed) for at in places]
        told = {"features": self.features, "error": self.error, "seed": self.seed}
        found = []
        with progress.counted("measuring estimators", quiet=self.json) as tell:
            for problem in problems:
                before, of = len(found), len(problems)
                found.append(
                    advise(
                        problem,
                        **told,
                        progress=lambda done, n, before=before, of=of: tell(before * n + done, of * n),
                    )
                )
        if self.out is not None:
            from attnlab_theory.estimators.figures import write_map

            write_map(found[0], self.out)
        if self.json:
            each = [as_json(advice) for advice in found]
            named = [{"head": [*at], **one} for at, one in zip(places, each, strict=True)]
            print(json.dumps({"heads": named} if heads else each[0], indent=1))
        elif heads:
            _print_heads(places, found)
        else:
            _print(found[0])
        return 0


def _print(advice: "Advice") -> None:
    from attnlab_theory.plurals import several
    from attnlab_theory.report.table import show

    problem = advice.problem
    given, seen = problem.given, (len(problem.q), len(problem.k))
    width = problem.q.shape[1]
    queries, keys = several(given[0], "query", "queries"), several(given[1], "key")
    print(f"{queries}, {keys} of width {width}, scale {problem.scale:.6g}")
    if seen != given:
        queries, keys = several(seen[0], "query", "queries"), several(seen[1], "key")
        print(f"looked at: a random {queries} and {keys} ({several(seen[0] * seen[1], 'pair')}),")
        print("and attention over these keys alone")
    print(f"relative error of a row, {advice.features} features, measured over {advice.draws} draws\n")
    show(_table(advice))
    if not all(line.trusted and line.kernel_met for line in advice.lines):
        print("- no prediction: none applies here, or the measurement beside it refutes it")
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
            _number(line.kernel) if line.kernel_met else "-",
            _number(line.measured[COUPLINGS[0]].kernel),
            _number(line.weights) if line.trusted else "-",
            *(_number(line.measured[coupling].weights) for coupling in COUPLINGS),
            _count(line.features_needed) if line.trusted else "-",
            style="bold" if chosen else None,
        )
    return table


def _print_heads(places: "Sequence[tuple[int, ...]]", found: "Sequence[Advice]") -> None:
    from rich.table import Table

    from attnlab_theory.report.table import show

    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    for column in (*["batch"] * (len(places[0]) - 1), "head", "features", "projections"):
        table.add_column(column, no_wrap=True)
    for column in ("error", f"needed for {found[0].error:g}", "keys"):
        table.add_column(column, justify="right", no_wrap=True)
    for at, advice in zip(places, found, strict=True):
        measured = advice.chosen.measured[advice.coupling].weights
        features = "none: exact attention" if advice.exact_is_cheaper else str(advice.chosen.estimator)
        needed = ("≥ " if advice.by_measurement else "") + _count(advice.needed)
        projections = "" if advice.exact_is_cheaper else str(advice.coupling)
        keys = f"{advice.problem.given[1]:,}"
        table.add_row(*map(str, at), features, projections, _number(measured), needed, keys)
    print(f"relative error of a row, {found[0].features} features, measured over {found[0].draws} draws\n")
    show(table)
    exact = sum(advice.exact_is_cheaper for advice in found)
    print(
        f"\nUse exact attention in {exact} of {several(len(found), 'head')}, where so many features cost no less."
    )
    print(f"One head in full: save x[{', '.join('0' * len(places[0]))}]")


def _count(needed: float) -> str:
    return f"{needed:,.0f}" if needed < 1e6 else _number(needed)


def _number(x: float) -> str:
    if not math.isfinite(x):
        return "∞"
    return f"{x:.3g}" if 1e-3 < x < 1e3 else f"{x:.0e}".replace("e+0", "e").replace("e+", "e")
