"""Calibrate conform: `python -m tests.conform.calibration` asks wrong and right code, and writes what it found.

Parts are planted, museum, mutants, right (of the softmax family) and suites (right code of the other kinds); all if
none is named. Each is written as soon as it is known. Mutants and right code are not asked again: remove the record
to begin from nothing. `page` writes the page, and asks nothing.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.conform.calibration import PARTS, RECORD

ROOT = Path(__file__).parents[3]
SEEDS = 100


def main(words: list[str]) -> int:
    """Run the parts, and write the record and the page."""
    if wrong := set(words) - {*PARTS, "page"}:
        print(f"there is no part {sorted(wrong)[0]}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    # Thousands of small programs: compiled in haste, as by the tests.
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")
    from tests.conform.calibration import mutants, page, run

    path = ROOT / RECORD
    path.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}

    def keep(part: str, rows: list[dict[str, Any]]) -> None:
        found[part] = rows
        kept = {name: found[name] for name in PARTS if name in found}
        path.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")

    def of_mutants() -> list[dict[str, Any]]:
        known, ask = found.get("mutants", ()), "page" not in words
        return run.of_mutants(mutants.changes(), known=known, keep=lambda rows: keep("mutants", rows), ask=ask)

    work = {
        "planted": run.planted,
        "museum": run.of_museum,
        "mutants": of_mutants,
        "right": lambda: run.of_right(SEEDS, known=found.get("right", ())),
        "suites": lambda: run.of_suites(
            SEEDS, known=found.get("suites", ()), keep=lambda rows: keep("suites", rows)
        ),
    }
    for part in words or PARTS:
        if part != "page":
            keep(part, work[part]())
        elif "mutants" in found:
            keep("mutants", of_mutants())
    page.write(ROOT)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
