"""A recurrence in whole passes, in parts that follow each other and in chunks, and how far these are apart."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.asking import Answer
from attnlab_theory.conform.finding import NOT_FINITE, Trouble
from attnlab_theory.conform.linear.forms import Case, Form, arrays, part
from attnlab_theory.conform.linear.sensitivity import measured
from attnlab_theory.conform.precision import Answers, Arrays, Precision, narrower
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import Wrong

LENGTHS = (2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 130)
COMPILED = (5, 17, 65)


class Whole(NamedTuple):
    """A whole pass."""

    case: Case
    given: dict[str, np.ndarray]
    answer: Answer
    tolerance: float


class Bound(NamedTuple):
    """How far something is off."""

    ratio: float
    tolerance: float


class Split(NamedTuple):
    """A call that is another way to compute a whole pass, and does not agree with it."""

    case: Case
    sizes: Sequence[int] = ()
    """The lengths of parts that follow each other."""
    chunk: int | None = None


class Passes:
    """Passes of one target.

    Args:
        form: how it is called.
        other: another form of the same recurrence; None if there is none.
    """

    def __init__(self, form: Form, other: Form | None = None) -> None:
        self.form, self.other = form, other
        self.largest = 0.0
        """The largest error per tolerance of what was right."""
        self.split: Split | None = None
        """The last that did not agree."""
        self.precision = Precision()
        self._kept: dict[Case, Whole] = {}
        self._coarse: dict[Case, float] = {}
        self._narrow = False
        self.type, self.inside = self._types()

    def _types(self) -> tuple[str, str]:
        """The type that is handed over, and that in which it computes."""
        if self.form.asker.framework == "jax":
            return "float32", "float32"
        case = self.form.fitted(Case(length=5, seed=2))
        fine = {name: x * (1 + 1e-12) for name, x in arrays(case).items()}
        one = self.form.ask(fine, case)
        if one.trouble:
            return "float32", "float32"
        other = self.form.ask({name: x.astype(np.float32) for name, x in fine.items()}, case)
        return "float64", "float32" if np.array_equal(one.output, other.output) else "float64"

    @property
    def lengths(self) -> Sequence[int]:
        """Those that are tried."""
        return COMPILED if self.form.asker.framework == "jax" else LENGTHS

    def whole(self, length: int, **others: Any) -> Whole:
        """A whole pass, with its tolerance."""
        case = self.form.fitted(Case(**{"length": length, "kind": self.type, "seed": length, **others}))
        if case not in self._kept:
            given = arrays(case)
            answer = self.form.ask(given, case, keep="state" in self.form.names)
            kind = self.inside if case.kind == "float64" else case.kind
            bound = 0.0 if answer.trouble else measured(self.form, given, case, answer.output, kind)
            self._kept[case] = Whole(case, given, answer, bound)
        return self._kept[case]

    def tolerance(self, whole: Whole, off: float, times: float = 1.0) -> float:
        """By what a distance to a whole pass is judged: by `Precision.judged`.

        Args:
            whole: the pass.
            off: the largest distance.
            times: how much larger the numbers are than the outputs.
        """

        def judged(kind: str | None) -> Bound:
            bound = times * (self._of_float32(whole) if kind else whole.tolerance)
            return Bound(off / max(bound, 1e-300), max(bound, 1e-300))

        kind = self.inside if whole.case.kind == "float64" else whole.case.kind
        return self.precision.judged(kind, judged, lambda: self._computes_in_float32(whole)).tolerance

    def _of_float32(self, whole: Whole) -> float:
        if whole.case not in self._coarse:
            self._coarse[whole.case] = measured(self.form, whole.given, whole.case, whole.answer.output, "float32")
        return self._coarse[whole.case]

    def _computes_in_float32(self, whole: Whole) -> bool:
        """Whether some form of it computes float64 in float32; once that is known, nobody is asked again."""
        ways, given = self._ways(whole), [whole.given[name] for name in "qkv"]
        self._narrow = self._narrow or any(narrower(way, given) for way in ways)
        if not self._narrow:
            askers = [each.asker for each in (self.form, self.other) if each is not None]
            for asker in askers:
                asker.met = set()
            for way in ways:
                way(given)
            for asker in askers:
                self._narrow, asker.met = self._narrow or bool(asker.met), None
        return self._narrow

    def _ways(self, whole: Whole) -> list[Answers]:
        """The ways to one output, each as a function of q, k and v."""
        half = whole.case.length // 2

        def asked(form: Form, chunk: int | None = None) -> Answers:
            def answers(given: Arrays) -> np.ndarray | None:
                answer = form.ask(whole.given | dict(zip("qkv", given, strict=True)), whole.case, chunk=chunk)
                return None if answer.trouble else answer.output

            return answers

        def parted(given: Arrays) -> np.ndarray | None:
            other = whole._replace(given=whole.given | dict(zip("qkv", given, strict=True)))
            trouble, output, _ = self.parts(other, (half, whole.case.length - half))
            return None if trouble else output

        found = [asked(self.form)]
        found += [parted] * ("state" in self.form.names) + [asked(self.form, half)] * ("chunk" in self.form.names)
        return found + ([asked(self.other)] if self.other is not None else [])

    def parts(
        self, whole: Whole, sizes: Iterable[int], chunk: int | None = None
    ) -> tuple[Trouble | None, np.ndarray, np.ndarray | None]:
        """The tokens in parts, each from the state of the one before: trouble, outputs, and the last state."""
        begin, state, found, last = 0, None, [], None
        for size in sizes:
            given = part(whole.given, begin, begin + size)
            answer = self.form.ask(given, whole.case, state=state, keep=True, chunk=chunk)
            if answer.trouble:
                return answer.trouble.of(f"tokens {begin} to {begin + size - 1}"), np.zeros(0), None
            state, last = answer.kept[0], answer.second
            found.append(answer.output)
            begin += size
        return None, np.concatenate(found, 2), last

    def off(self, whole: Whole, output: np.ndarray) -> Wrong | None:
        """By how much an output is off that of the whole; None if it is not. It may be shorter."""
        right = whole.answer.output[:, :, : output.shape[2]]
        if not np.isfinite(whole.answer.output).all():
            return Wrong("the whole gives what is no number", NOT_FINITE)
        gap = np.nan_to_num(np.abs(output - right), nan=np.inf, posinf=np.inf)
        ratio = gap / self.tolerance(whole, float(gap.max(initial=0.0)))
        worst = float(ratio.max(initial=0.0))
        saw(self.form.asker.caller, output, right, ratio)
        if worst <= 1:
            self.largest = max(self.largest, worst)
            return None
        place = np.unravel_index(int(ratio.argmax()), ratio.shape)
        said = f"output {place[2]} of {whole.case.length} is {output[place]:.7g}"
        return Wrong(f"{said} where the whole gives {right[place]:.7g}, {worst:,.3g} tolerances off")

    def compared(
        self, whole: Whole, sizes: Sequence[int], chunk: int | None = None, parts: str = ""
    ) -> Wrong | None:
        """What is wrong with the tokens in parts. `parts` is how to call these."""
        if trouble := whole.answer.trouble:
            return Wrong(f"{whole.case.length} tokens: {trouble}", trouble)
        trouble, output, _ = self.parts(whole, sizes, chunk)
        parts = parts or f"in parts of {', '.join(map(str, sizes))}"
        if wrong := Wrong(str(trouble), trouble) if trouble else self.off(whole, output):
            self.split = Split(whole.case, sizes, chunk)
            return wrong._replace(line=f"{parts}: {wrong}")
        return None
