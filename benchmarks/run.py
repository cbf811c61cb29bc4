"""Run the benchmarks and write results.json and RESULTS.md: `python -m benchmarks.run [--only NAME] [--quick]`."""

import dataclasses
import difflib
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from attnlab_theory import files, interrupts
from benchmarks import machine, table
from benchmarks.ratios import Benchmark, Row

HERE = Path(__file__).parent

AVX2 = {
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
"""The variables that tell each library, before it is loaded, not to use AVX-512."""

ASKED_FOR_AVX2 = " --isa avx2"
"""Stands after the name of a benchmark that ran so: the arguments that repeat it."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Race attnlab against its peers on this machine. One process per run, interleaved, medians of ratios."""

    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME")] = ()
    """Benchmarks to run; the others keep the results they have. None: all."""
    quick: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Few rounds and short inputs: to see that it works."""
    isa: Literal["best", "avx2"] = "best"
    """Instructions that libraries may use. best: all that the processor has.
    avx2: as without AVX-512, as far as they obey: jax's matrix products do not."""
    out: Path = HERE
    """Folder for results.json and RESULTS.md."""


def benchmarks() -> tuple[Benchmark, ...]:
    """Every benchmark, explicitly. Imported here: `--help` should not wait for jax."""
    from benchmarks import (
        additive,
        block_sparse,
        blocked_attention,
        captions,
        feature_attention,
        generation,
        hidden_values,
        monte_carlo,
        recurrent,
        reviews,
        training,
    )

    attention = (blocked_attention, feature_attention, additive, block_sparse, hidden_values)
    modules = (monte_carlo, *attention, generation, training, captions, recurrent, reviews)
    return tuple(module.BENCHMARK for module in modules)


def complaint(options: Options, known: Sequence[Benchmark]) -> str | None:
    """One line about what is wrong with the request, or None."""
    names = [b.name for b in known]
    for name in options.only:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1, 0)
            hint = f" Did you mean {near[0]}?" if near else ""
            return f"no benchmark is called {name!r}.{hint} There are: {', '.join(names)}"
    for benchmark in known:
        missing = [p for p in benchmark.peers if importlib.util.find_spec(p) is None]
        if missing and (not options.only or benchmark.name in options.only):
            return f"{benchmark.name} compares with {', '.join(missing)}: install them with pip install '.[peers]'"
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"cannot write to {options.out}: {error.strerror}"
    return None if os.access(options.out, os.W_OK) else f"cannot write to {options.out}: choose another --out"


def as_json(row: Row, best: float) -> dict:
    """A row as plain values, its share of the best matrix product filled in."""
    share = None if row.flops is None else row.flops / (best * 1e9)
    return dataclasses.asdict(dataclasses.replace(row, share=share)) | {"verdict": row.verdict}


def run(options: Options, known: Sequence[Benchmark]) -> int:
    """Measure what is asked for, write each benchmark as soon as it is over, print the tables.

    The rest of results.json is kept. Progress goes to standard error.

    Returns:
        The exit code: 2 for a bad request, 130 after Ctrl-C, which loses only the benchmark that it stops.
    """
    if problem := complaint(options, known):
        print(problem, file=sys.stderr)
        return 2
    path = options.out / "results.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    titles = [f"{b.name}{kind}" for b in known for kind in (*machine.KINDS, ASKED_FOR_AVX2)]
    chosen = {_title(b.name, options): b for b in known if not options.only or b.name in options.only}
    measured: dict[str, dict] = {}

    def results() -> dict[str, dict]:
        both = kept | measured
        return {title: both[title] for title in titles if title in both}

    try:
        with interrupts.remembered() as pressed:
            here = _here()
            for title, benchmark in chosen.items():
                if pressed:
                    raise KeyboardInterrupt
                print(f"{benchmark.name} …", file=sys.stderr, flush=True)
                measured[title] = _measured(benchmark, options.quick, here)
                _write(results(), options.out)
    except KeyboardInterrupt:
        if measured:
            _write(results(), options.out)  # Ctrl-C may have come between the two files.
        done = ", ".join(measured) or "no new results"
        left = ", ".join(benchmark.name for title, benchmark in chosen.items() if title not in measured)
        print(f"interrupted: {path} keeps {done}; not run: {left or 'none'}", file=sys.stderr)
        return 130
    print(table.markdown(results(), measured), end="")
    return 0


def _here() -> dict:
    """This machine, as it is told beside every result."""
    products = machine.matrix_products()
    who = {"processor": machine.processor(), "commit": machine.commit()}
    return who | {"matrix_products": products, "versions": machine.versions()}


def _measured(benchmark: Benchmark, quick: bool, here: dict) -> dict:
    best = max(here["matrix_products"].values())
    return {"quick": quick, "machine": here, "rows": [as_json(row, best) for row in benchmark.measure(quick)]}


def _write(results: dict[str, dict], out: Path) -> None:
    files.write_text(out / "results.json", json.dumps(results, indent=1) + "\n")
    files.write_text(out / "RESULTS.md", table.page(results))


def _title(name: str, options: Options) -> str:
    asked = options.isa == "avx2" and not machine.lacks_avx512()
    return f"{name}{ASKED_FOR_AVX2 if asked else machine.kind()}"


def main() -> int:
    """The command line."""
    options = tyro.cli(Options, prog="python -m benchmarks.run", description=Options.__doc__)
    if options.isa == "avx2" and any(value not in os.environ.get(name, "") for name, value in AVX2.items()):
        # numpy is loaded by now, and has chosen its instructions: begin anew.
        flags = " ".join(filter(None, (os.environ.get("XLA_FLAGS"), AVX2["XLA_FLAGS"])))
        command = [sys.executable, "-m", "benchmarks.run", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | AVX2 | {"XLA_FLAGS": flags})
    return run(options, benchmarks())


if __name__ == "__main__":
    raise SystemExit(main())
