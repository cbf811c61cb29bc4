"""attnlab conform: somebody's attention, judged by what it promises."""

import contextlib
import dataclasses
import itertools
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from attnlab_theory import exits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnlab_theory.conform.callers import Fenced, Local
    from attnlab_theory.conform.kinds.backward import Backward
    from attnlab_theory.conform.suite import Row, Suite

    Called = Fenced | Local

Kinds = Literal[
    "softmax", "causal", "multi-head", "grouped-query", "sliding-window", "softcap", "bias", "mixer", "decode",
    "model", "onnx", "linear", "sigmoid", "stick-breaking", "differential", "top-k", "paged", "latent", "recurrent",
    "rotary", "sinusoidal", "alibi", "dropout", "random-features",
]  # fmt: skip

WITH_GRADIENTS = ("softmax", "causal", "multi-head", "grouped-query", "sliding-window", "softcap", "bias")
"""The kinds whose gradients are known."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Conform:
    """Test whether an attention function does what it promises, in numpy, torch or jax.

    The target is called as f(q, k, v), a mixer as f(x), a model as f(ids), rotary positions as f(x, positions).
    Further arguments are found by their names: mask, causal, scale, softcap, window, bias, cache. Without --as it
    prints how the target wants to be called, and the line to type next.

    Each row of the result holds, fails, or reports a convention: a choice, such as the scale, that counts as no
    failure. The exit code is 0 if nothing fails and 1 if something does. It is 2 if the target cannot be called,
    or if calls of a row had no answer, because its process hung or ended.
    """

    target: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]")] = None
    """FILE.py::FUNCTION or PACKAGE.MODULE:FUNCTION. A class is first called without arguments."""
    kind: Annotated[Kinds | None, tyro.conf.arg(name="as")] = None
    """What the target promises. Only that is judged."""
    layout: Literal["bhtd", "bthd", "htd", "thd", "btd", "td", "tbd"] | None = None
    """The order of the axes: b batch, h heads, t tokens, d channels."""
    mask: Literal["bool-keep", "bool-drop", "additive", "ones-keep", "ones-drop", "none"] | None = None
    """What a mask means. bool-keep: True keeps a key. ones-drop: 1 drops it. additive: it is added to scores.
    none: the target takes none."""
    framework: Literal["numpy", "torch", "jax"] | None = None
    """Whose arrays the target takes."""
    scale: str | None = None
    """The scale of the scores: rsqrt is 1/sqrt(width), one is 1, inverse is 1/width; or a number."""
    window: int | None = None
    """The window of a target that has no argument for it."""
    softcap: float | None = None
    """The cap of a target that has no argument for it."""
    width: int | None = None
    """The width of the tokens of a mixer or decoder, if trying does not find it."""
    vocab: int | None = None
    """How many token ids a model has. By default as many as it has logits."""
    causal: bool = False
    """Judge a mixer as one that promises to hide the future, even if a trial shows that it does not."""
    features: Literal["elu", "relu", "exp", "identity", "softmax", "efficient"] | None = None
    """The feature map of linear attention: elu is elu(x) + 1. In efficient, keys get a softmax over tokens."""
    kernel: Literal["softmax", "gaussian"] | None = None
    """What random features estimate: exp(scale q.k), or exp(-scale |q - k|^2 / 2)."""
    base: float | None = None
    """The number whose powers are the frequencies of rotary and sinusoidal positions. By default it is guessed."""
    pairs: Literal["interleaved", "halves"] | None = None
    """Which channels turn together: 2i and 2i + 1, or i and i + half."""
    against: Annotated[str | None, tyro.conf.arg(metavar="FILE.py::FUNCTION")] = None
    """A second target for the same inputs. A row fails if the two answers differ."""
    backward: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """A function of the same file, f(dout, q, k, v, ...), that gives (dq, dk, dv) of softmax attention."""
    accumulate: Literal["float64", "float32", "float16", "bfloat16"] | None = None
    """The number format in which the target adds up. By default that of its arrays."""
    call_seconds: float = 5.0
    """Seconds that one call may take. Calls of torch and jax get at least 30: they may compile."""
    cases: int | None = None
    """The most cases to try of each property, for a first look."""
    strict: bool = False
    """Exit with 1 also if a parameter was never passed, or if half of the rows are not judged."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""
    json: bool = False
    """Print one JSON value and nothing else."""
    junit: Path | None = None
    """Write the rows into this file, as JUnit's XML."""
    badge: Path | None = None
    """Write a picture of the verdict into this SVG file, and print the line that shows it in a README."""
    in_process: bool = False
    """Call the target in this process, for cuda, Triton and mps: the fences hide accelerators."""
    export: Literal["npz", "onnx"] | None = None
    """Write our test cases and their right answers to the file or folder TARGET, and nothing else."""
    template: Literal["numpy", "torch", "jax"] | None = None
    """Print an adapter for the kind of --as, to fill in."""
    peers: bool = False
    """Judge the libraries that attnlab knows, or only TARGET, such as mlx (from a checkout)."""
    install: bool = False
    """With --peers: make the environments of the libraries first."""
    environments: Path | None = None
    """With --peers: the folder of the environments. By default one in the cache."""
    board: Path = Path("figures/conformance")
    """With --peers: the folder of the results, the page and the figure."""
    again: bool = False
    """With --peers: test again what has its result already."""

    def run(self) -> int:
        """Judge the target, or print its profile or the adapter."""
        from attnlab_theory import files
        from attnlab_theory.conform.callers import Fenced, Local, files_of
        from attnlab_theory.conform.frameworks import Unfit
        from attnlab_theory.conform.templates import template

        if self.peers:
            return self._board()
        if self.install or self.again or self.environments is not None:
            raise ValueError("--install, --again and --environments belong to attnlab conform --peers")
        if self.template is not None:
            if self.target is not None:
                raise ValueError("--template stands alone: attnlab conform --template numpy > adapter.py")
            print(template(self.template, self.kind or ""), end="")
            return 0
        if self.export is not None:
            return self._exported()
        if self.target is None:
            raise ValueError("attnlab conform needs a TARGET: FILE.py::FUNCTION or PACKAGE.MODULE:FUNCTION")
        if self.cases is not None:
            self._refuse_cases()
        if not 0 < self.call_seconds <= 100:
            raise ValueError(f"--call-seconds is between 0 and 100, not {self.call_seconds:g}")
        declared = self._declared()
        if self.badge is not None:
            self._refuse_badge()
        written = [path for path in (self.junit, self.badge) if path is not None]
        read = [path for target in (self.target, self.against) if target and written for path in files_of(target)]
        if self.junit is not None:
            files.refuse_unwritable(self.junit, *read, self.badge, form=files.Form.ROWS)
        if self.badge is not None:
            files.refuse_unwritable(self.badge, *read, form=files.Form.BADGE)
        if self.against is not None and self.kind is None:
            raise ValueError("--against needs --as KIND: what both targets promise")
        if self.backward is not None and self.kind not in WITH_GRADIENTS:
            raise ValueError(f"--backward needs --as of attention: {', '.join(WITH_GRADIENTS)}")
        begun = time.monotonic()
        with contextlib.ExitStack() as block:
            other = back = None
            try:
                judged = Local if self.in_process else Fenced
                caller = block.enter_context(judged(self.target, seconds=self.call_seconds))
                if self.against is not None:
                    other = block.enter_context(judged(self.against, seconds=self.call_seconds))
                if self.backward is not None:
                    back = block.enter_context(judged(self._beside(self.backward), seconds=self.call_seconds))
            except Unfit as error:
                # It ends with what prints an adapter.
                raise ValueError(f"{error} --as {self.kind or 'causal'}") from None
            return self._judged(caller, declared, begun, other, back)

    def _beside(self, name: str) -> str:
        """A function of the file, or of the module, of the target."""
        marks = "::" if "::" in str(self.target) else ":"
        return f"{str(self.target).rpartition(marks)[0]}{marks}{name}"

    def _refuse_badge(self) -> None:
        """Refuse --badge where there is no verdict on a whole kind."""
        if self.kind is None:
            raise ValueError("--badge needs --as KIND: it shows what became of that promise")
        if self.cases is not None:
            raise ValueError("--badge and --cases contradict each other: a badge speaks of all cases")
        if self.badge is not None and self.badge.suffix != ".svg":
            raise ValueError(f"--badge writes an SVG: name FILE.svg, not {self.badge}")

    def _refuse_cases(self) -> None:
        """Refuse --cases where it means nothing."""
        from attnlab_theory.conform.suite import suite_class

        if self.cases is not None and self.cases < 1:
            raise ValueError(f"--cases is at least 1, not {self.cases}")
        if self.kind is None:
            raise ValueError("--cases needs --as KIND")
        if not suite_class(self.kind).HAS_CASES:
            raise ValueError(f"--cases says nothing of --as {self.kind}: it is judged by laws, which have no cases")

    def _exported(self) -> int:
        """Write our vectors."""
        from attnlab_theory.conform.vectors import export

        if self.target is None or "::" in self.target or self.kind is not None:
            raise ValueError(f"--export stands alone, with a place: attnlab conform --export {self.export} vectors")
        write = {"npz": export.export_npz, "onnx": export.export_onnx}[str(self.export)]
        exits.say(f"Wrote {write(Path(self.target))}")
        return 0

    def _declared(self) -> dict[str, Any]:
        """What the options say about the target."""
        from attnlab_theory.conform.scales import NAMES

        if self.scale is not None and self.scale not in NAMES:
            try:
                good = 0 < float(self.scale) < 1e6
            except ValueError:
                good = False
            if not good:
                raise ValueError(f"--scale is {', '.join(NAMES)} or a positive number, not {self.scale!r:.40}")
        if self.window is not None and self.window < 1:
            raise ValueError(f"--window is at least 1, not {self.window}")
        if self.softcap is not None and not self.softcap > 0:
            raise ValueError(f"--softcap is positive, not {self.softcap:g}")
        for name, least in (("width", 1), ("vocab", 2)):
            if (given := getattr(self, name)) is not None and given < least:
                raise ValueError(f"--{name} is at least {least}, not {given}")
        if self.base is not None and not 1 < self.base < 1e15:
            raise ValueError(f"--base is above 1, not {self.base:g}")
        known = {
            "layout": self.layout,
            "mask": self.mask,
            "framework": self.framework,
            "scale": self.scale,
            "fixed_window": self.window,
            "fixed_softcap": self.softcap,
            "width": self.width,
            "vocabulary": self.vocab,
            "hides_future": self.causal or None,
            "features": self.features,
            "kernel": self.kernel,
            "base": self.base,
            "pairs": self.pairs,
        }
        found = {name: value for name, value in known.items() if value is not None}
        if self.kind is not None:
            from attnlab_theory.conform.suite import suite_class

            options = {"fixed_window": "window", "fixed_softcap": "softcap", "hides_future": "causal"}
            options |= {"vocabulary": "vocab"}
            for name in found.keys() - set(suite_class(self.kind).CONVENTIONS):
                raise ValueError(f"--{options.get(name, name)} says nothing of --as {self.kind}")
            if self.layout == "tbd" and self.kind not in ("mixer", "decode"):
                raise ValueError(f"--layout tbd says nothing of --as {self.kind}")
        return found

    def _judged(
        self,
        caller: "Called",
        declared: dict[str, Any],
        begun: float,
        other: "Called | None" = None,
        back: "Called | None" = None,
    ) -> int:
        from attnlab_theory import files
        from attnlab_theory.conform import badge, report

        if self.kind is None:
            return self._profiled(caller, declared)
        suite = self._suite(caller, declared, other)
        gradients = None
        if back is not None:
            from attnlab_theory.conform.declarations import DeclaredSuite
            from attnlab_theory.conform.kinds import backward

            assert isinstance(suite, DeclaredSuite)
            gradients = backward.Backward(suite.judge, back)
        rows, folded = self._rows(suite, gradients)
        unjudged = report.unjudged(rows)
        is_left_out = bool(suite.never_passed or unjudged)
        code = report.exit_code(rows, refused=self.strict and is_left_out)
        seconds = time.monotonic() - begun
        snippet = self._snippet(suite, gradients, rows)
        notes = [*report.notes_of(suite), *suite.kills(), *([caller.missing] if caller.missing else [])]
        if self.junit is not None:
            files.write_text(self.junit, report.as_junit(rows, str(self.target), self.kind))
        shows = ""
        if self.badge is not None:
            files.write_text(self.badge, badge.svg(self.kind, rows, code))
            shows = badge.line(self.badge.as_posix(), self.kind, rows, code)
        if self.json:
            shown = report.as_json(
                suite,
                rows,
                str(self.target),
                self.kind,
                code,
                seconds,
                lambda row: self._snippet(suite, gradients, [row]),
            )
            shown |= {"fences": [fence.name for fence in caller.absent]}
            shown |= {"snippet": snippet, "notes": [*notes, *[unjudged] * bool(unjudged)]}
            shown |= {"badge": shows} if shows else {}
            print(json.dumps(shown, indent=1))
            return code
        _print_end(folded, notes, snippet, [report.summary(suite, rows, seconds), *[unjudged] * bool(unjudged)])
        if shows:
            exits.say(f"\nFor a README:\n\n    {shows}")
        return code

    def _suite(self, caller: "Called", declared: dict[str, Any], other: "Called | None") -> "Suite":
        """The suite of the kind, which knows how the target wants to be called."""
        from attnlab_theory.conform import report
        from attnlab_theory.conform.suite import suite_class

        assert self.kind is not None
        judge = suite_class(self.kind)
        # A recurrence needs its other form before it can be judged at all.
        forms = {"against": other} if other is not None and "against" in judge.CONVENTIONS else {}
        suite = judge(caller, self.kind, declared | forms, self.accumulate)
        suite.most_cases = self.cases
        if other is not None and not forms:
            suite.against(other)
        if not self.json:
            exits.say(f"{self._named} as {self.kind}: {suite.kind.promise}\n")
            exits.say(*report.profile_lines(suite.profile), "")
        return suite

    def _rows(self, suite: "Suite", gradients: "Backward | None") -> tuple[list["Row"], list[str]]:
        """All rows, each printed as soon as it is known, and the names of those that only follow from a leak."""
        from attnlab_theory.conform import report

        rows, folded, width = [], [], max(17, *(len(name) for name in suite.IDENTITIES))
        for row in itertools.chain(report.leaks_first(suite), gradients.rows() if gradients else ()):
            rows.append(row)
            if report.follows(row, rows, suite):
                folded.append(row.name)
            elif not self.json:
                exits.say(report.line_of(row, width))
        return rows, folded

    def _snippet(self, suite: "Suite", gradients: "Backward | None", rows: "Sequence[Row]") -> list[str]:
        """Lines of Python that show a counterexample of some row; none if there is none."""
        from attnlab_theory.conform.callers import place_of

        places = [place_of(target) for target in (self.target, self.against) if target is not None]
        found = suite.snippet(places[0], rows) or suite.replay(places, rows)
        if not found and gradients is not None and self.backward is not None:
            found = gradients.snippet(place_of(self._beside(self.backward)), rows)
        return found

    @property
    def _named(self) -> str:
        return exits.visible(str(self.target), lines=False)

    def _board(self) -> int:
        """Judge other libraries, and write the board. A wheel does not have what judges them: print its board."""
        from attnlab_theory.conform.board import committed, is_checkout, text

        if any(given is not None for given in (self.kind, self.template, self.junit, self.badge)):
            raise ValueError(
                "--peers judges what the catalogue says: leave --as, --template, --junit and --badge away"
            )
        if is_checkout():
            from board import command

            return command.judged_and_written(
                self.target,
                self.board,
                self.environments,
                install=self.install,
                again=self.again,
                as_json=self.json,
            )
        given = {"--install": self.install, "--again": self.again, "--environments": self.environments}
        asked = [str(self.target)] * (self.target is not None) + [name for name, value in given.items() if value]
        if asked or self.board != Conform.board:
            raise ValueError(
                f"--peers {' '.join(asked or ['--board'])} needs a checkout of attnlab, whose folder board judges "
                "other libraries; attnlab conform --peers alone prints what was found"
            )
        print(json.dumps(committed(), indent=1) if self.json else text(committed()))
        return 0

    def _profiled(self, caller: "Called", declared: dict[str, Any]) -> int:
        """Print how the target wants to be called, and what it seems to be."""
        from attnlab_theory.conform import report
        from attnlab_theory.conform.advice import advised
        from attnlab_theory.conform.kinds import KINDS

        found = advised(caller, declared)
        if caller.killed:
            raise ValueError(f"{self.target}: its process was killed from outside ({caller.killed}); run it again")
        notes = [*found.notes, *([caller.missing] if caller.missing else [])]
        if self.json:
            shown = report.heading(str(self.target), found.kind, caller) | {"conventions": dict(found.profile)}
            shown |= {"fences": [fence.name for fence in caller.absent]}
            shown |= {"options": found.options.strip(), "notes": notes}
            told = [found.leak] * bool(found.leak) + [*found.contradictions]
            print(json.dumps(shown | {"contradictions": told}, indent=1))
            return 0
        seems = "is of no kind that is known"
        if found.kind:
            seems = f"looks like {found.kind}: {KINDS[found.kind].promise}"
        if found.leak:
            exits.say(f"{self._named}: {found.leak}\n")
        exits.say(f"{self._named} {seems}\n")
        exits.say("\n".join(report.profile_lines(found.profile)))
        for line in found.contradictions:
            exits.say(f"\nBut {line}: this contradicts {found.kind}.")
        for note in notes:
            exits.say(f"\nnote: {note}")
        if found.kind:
            exits.say(f"\nType next: attnlab conform {self._named} --as {found.kind}{found.options}")
        if found.more:
            exits.say(f"After that: --as {', '.join(found.more)}")
        return 0


def _print_end(
    folded: "Sequence[str]", notes: "Sequence[str]", snippet: "Sequence[str]", end: "Sequence[str]"
) -> None:
    """Print what follows the rows: those that were folded, notes, a counterexample, and the last lines."""
    from attnlab_theory import plurals

    if folded:
        words = plurals.several(len(folded), "more row"), plurals.agree(len(folded), "fails", "fail")
        print(f"\nThe leak may be why {' '.join(words)}: {', '.join(folded)}. --json shows each.\n")
    for note in notes:
        exits.say(f"note: {note}")
    if snippet:
        exits.say("\nThe smallest counterexample, which needs the target and numpy:\n")
        exits.say("\n".join(f"    {line}" for line in snippet))
    exits.say("")
    for line in end:
        exits.say(line)
