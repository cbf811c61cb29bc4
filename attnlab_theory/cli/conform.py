"""attnlab conform: somebody's attention, judged by what it promises."""

import dataclasses
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Fenced
    from attnlab_theory.conform.suite import Row, Suite

Kinds = Literal["softmax", "causal", "multi-head", "grouped-query", "sliding-window", "softcap", "bias"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Conform:
    """Judge anybody's attention by what it promises: numpy or jax (torch is untried).

    The target is called as f(q, k, v). Further arguments are found by their names: mask, causal, scale, softcap,
    window, bias. Without --as, the command prints how the target wants to be called, and the line to type next.

    Each row holds, fails, or states a convention. No target fails for its conventions. The exit code is 0 if
    nothing fails, 1 if something does, and 2 if the target cannot be called.
    """

    target: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]")] = None
    """FILE.py::FUNCTION or PACKAGE.MODULE:FUNCTION. A class is called without arguments, and its instance judged.
    """
    kind: Annotated[Kinds | None, tyro.conf.arg(name="as")] = None
    """What the target promises. Only that is judged."""
    layout: Literal["bhtd", "bthd", "htd", "thd", "btd", "td"] | None = None
    """The order of the axes: b batch, h heads, t tokens, d channels."""
    mask: Literal["bool-keep", "bool-drop", "additive", "none"] | None = None
    """What a mask means: True keeps, True drops, or numbers that are added."""
    framework: Literal["numpy", "torch", "jax"] | None = None
    """Whose arrays the target takes."""
    scale: str | None = None
    """The scale of the scores: rsqrt is 1/sqrt(width), one is 1, inverse is 1/width; or a number."""
    window: int | None = None
    """The window of a target that has no argument for it."""
    softcap: float | None = None
    """The cap of a target that has no argument for it."""
    accumulate: Literal["float64", "float32", "float16", "bfloat16"] | None = None
    """The type in which the target adds up. By default that of its arrays."""
    call_seconds: float = 5.0
    """Seconds that one call may take; at least 30 if it may be compiled."""
    json: bool = False
    """Print one JSON value and nothing else."""
    junit: Path | None = None
    """Write the rows into this file, as JUnit's XML."""
    template: Literal["numpy", "torch", "jax"] | None = None
    """Print an adapter to fill in, and nothing else."""

    def run(self) -> int:
        """Judge the target, or print its profile or the adapter."""
        from attnlab_theory import files
        from attnlab_theory.conform.callers import Fenced
        from attnlab_theory.conform.report import TEMPLATES

        if self.template is not None:
            if self.target is not None:
                raise ValueError("--template stands alone: attnlab conform --template numpy > adapter.py")
            print(TEMPLATES[self.template], end="")
            return 0
        if self.target is None:
            raise ValueError("attnlab conform needs a TARGET: FILE.py::FUNCTION or PACKAGE.MODULE:FUNCTION")
        if not 0 < self.call_seconds <= 100:
            raise ValueError(f"--call-seconds is between 0 and 100, not {self.call_seconds:g}")
        declared = self._declared()
        if self.junit is not None:
            files.refuse_unwritable(self.junit)
        begun = time.monotonic()
        with Fenced(self.target, seconds=self.call_seconds) as caller:
            return self._judged(caller, declared, begun)

    def _declared(self) -> dict[str, Any]:
        """What the options say about the target."""
        from attnlab_theory.conform.conventions import SCALES

        if self.scale is not None and self.scale not in SCALES:
            try:
                good = 0 < float(self.scale) < 1e6
            except ValueError:
                good = False
            if not good:
                raise ValueError(f"--scale is {', '.join(SCALES)} or a positive number, not {self.scale!r:.40}")
        if self.window is not None and self.window < 1:
            raise ValueError(f"--window is at least 1, not {self.window}")
        if self.softcap is not None and not self.softcap > 0:
            raise ValueError(f"--softcap is positive, not {self.softcap:g}")
        known = {
            "layout": self.layout,
            "mask": self.mask,
            "framework": self.framework,
            "scale": self.scale,
            "fixed_window": self.window,
            "fixed_softcap": self.softcap,
        }
        return {name: value for name, value in known.items() if value is not None}

    def _judged(self, caller: "Fenced", declared: dict[str, Any], begun: float) -> int:
        from attnlab_theory import files
        from attnlab_theory.conform import report
        from attnlab_theory.conform.suite import Suite

        if self.kind is None:
            return self._profiled(caller, declared)
        suite = Suite(caller, self.kind, declared, self.accumulate)
        if not self.json:
            print(f"{self.target} as {self.kind}: {suite.kind.promise}\n")
            print("\n".join(report.profile_lines(suite)), "\n", sep="")
        rows = []
        for row in suite.rows():
            rows.append(row)
            if not self.json:
                print(report.line_of(row), flush=True)
        code = int(any(row.verdict == "fails" for row in rows))
        seconds = time.monotonic() - begun
        if self.junit is not None:
            files.write_text(self.junit, report.as_junit(rows, str(self.target), self.kind))
        if self.json:
            shown = report.as_json(suite, rows, str(self.target), self.kind, code, seconds)
            shown["snippet"] = self._snippet(suite, rows)
            print(json.dumps(shown, indent=1))
            return code
        for note in report.notes(suite):
            print(f"note: {note}")
        if shown := self._snippet(suite, rows):
            print("\nThe smallest counterexample, which needs the target and numpy:\n")
            print("\n".join(f"    {line}" for line in shown))
        print(f"\n{report.summary(suite, rows, seconds)}")
        return code

    def _snippet(self, suite: "Suite", rows: "list[Row]") -> list[str]:
        """A snippet of the counterexample with the fewest numbers."""
        from attnlab_theory.conform import report
        from attnlab_theory.conform.callers import place_of
        from attnlab_theory.conform.cases import arrays

        found = [row for row in rows if row.case is not None and row.outcome is not None]
        if not found:
            return []

        def numbers(row: "Row") -> int:
            assert row.case is not None
            return sum(x.size for x in arrays(row.case) if x is not None)

        row = min(found, key=numbers)
        assert row.case is not None
        assert row.outcome is not None
        return report.snippet(place_of(str(self.target)), suite.judge.way, row.case, row.outcome)

    def _profiled(self, caller: "Fenced", declared: dict[str, Any]) -> int:
        """Print how the target wants to be called, and what it seems to be."""
        from attnlab_theory.conform import report
        from attnlab_theory.conform.suite import Suite

        suite = Suite(caller, "softmax", declared)
        kind = "causal" if suite.judge.way.causal == "always" else "softmax"
        if kind == "causal":
            suite = Suite(caller, "causal", declared)
        if self.json:
            print(json.dumps({"target": self.target, "kind": kind, "profile": dict(suite.profile.lines)}, indent=1))
            return 0
        print(f"{self.target} looks like {kind}: {suite.kind.promise}\n")
        print("\n".join(report.profile_lines(suite)))
        others = [role for role in suite.judge.way.names if role in ("window", "softcap", "bias")]
        more = (
            f" Then --as {', '.join({'window': 'sliding-window'}.get(each, each) for each in others)}."
            if others
            else ""
        )
        print(f"\nType next: attnlab conform {self.target} --as {kind}{more}")
        return 0
