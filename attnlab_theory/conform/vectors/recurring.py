"""ONNX's vectors of LinearAttention, asked of a recurrence of queries, keys and values.

Trial calls of two tokens read how a target differs from that of ONNX. They find its scale and which way round its
state is. They tell whether its decay is a logarithm, and whether it corrects by the delta rule. What it has no
argument for, or does otherwise by design, cannot be said.
"""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from attnlab_theory.conform.calling import Answer, raw, read
from attnlab_theory.conform.case import Case, word
from attnlab_theory.conform.finding import Trouble
from attnlab_theory.conform.kinds.recurrence import DECAYS, RECURRENCE
from attnlab_theory.conform.operands import ordered
from attnlab_theory.conform.report import searched
from attnlab_theory.conform.suite import Row
from attnlab_theory.conform.vectors.judging import Compared, Judge, rounds
from attnlab_theory.conform.vectors.reading import Vector
from attnlab_theory.conform.vectors.recurrences import WIDTH, Question, exact, question, tolerance
from attnlab_theory.conform.vectors.saying import Unsayable

SCALES = ("scale", "sm_scale", "softmax_scale", "scaling")


APART = (0, 7)
"""Keys of which no rule lets the second take away what the first has written."""


def _trial(
    v: tuple[float, ...], *, keys: tuple[int, ...] = (0, 0), query: float = 1.0, **more: np.ndarray | float
) -> Question:
    """A question whose queries are the first unit vector, and keys unit vectors; values fill their rows."""
    unit = np.zeros((1, 1, len(v), WIDTH), np.float32)
    unit[..., 0] = 1
    k = np.zeros_like(unit) + np.eye(WIDTH, dtype=np.float32)[list(keys[: len(v)])]
    rows = np.zeros_like(unit) + np.array(v, np.float32)[:, None]
    filled = {
        name: np.full((1, 1, len(v), 1), x, np.float32) if isinstance(x, float) else x for name, x in more.items()
    }
    # Where no scale can be handed over, nothing reads this one.
    asked = Question(unit * np.float32(query), k, rows, None, None, None, 1.0, rows, rows)
    return asked._replace(**filled)


class Recurring(Judge):
    """A recurrence, and the answers that ONNX expects."""

    OPERATORS = ("LinearAttention",)
    CONVENTIONS = ("framework", "layout")

    def open(self) -> None:
        """Guess how it is called, as `--as recurrent` does; then what its numbers mean."""
        known = {name: self.declared[name] for name in self.CONVENTIONS if name in self.declared}
        self.form, self.profile = searched(RECURRENCE, self.caller, known, "onnx")
        self.calls = self.form.calls
        parameters = [each[0] for each in self.caller.about()["parameters"] or ()]
        self.flag = next((name for name in parameters if name.lower() in SCALES), "")
        self.decays = next((role for role in DECAYS if role in self.form.names), "")
        self.logarithm, self.wide, self.turned = True, False, False
        self.why: dict[str, str] = {}
        """Why a part cannot be said: all, decay, beta, no beta, state."""
        self.scale = self._scaled()
        if "all" not in self.why:
            self._read_decay()
            self._read_beta()
            self._read_state()
            self._say()
        self.profile += [(f"not asked, {part}", why) for part, why in self.why.items()]

    def _say(self) -> None:
        """What was read, in words."""
        self.profile.append(("scale", self.flag or f"{self.scale:.6g}, always"))
        if "decay" not in self.why:
            meaning = "is a logarithm" if self.logarithm else "multiplies the state"
            self.profile.append(
                ("the decay", f"{meaning}, one for {'each channel' if self.wide else 'all channels'}")
            )
        if "state" not in self.why:
            layout = self.form.layout
            axes = [*(axis for axis in "bh" if axis in layout), *("ed" if self.turned else "de")]
            self.profile.append(("a state is", f"[{' '.join(axes)}]"))
        self.profile.append(("keys that heads share", "repeated for every head"))

    def _scaled(self) -> float:
        """The scale of the target, whose queries must come in linearly; that is 1 where one can be handed over."""
        one, more = (self._tried(_trial((3.0,), query=x)) for x in (3.0, 6.0))
        if one is None or more is None:
            self.why["all"] = "it answers no trial call of one token"
        elif not (np.ptp(one) < 1e-4 and np.allclose(more, 2 * one, rtol=1e-3) and one[0, 0] > 0):
            self.why["all"] = "its output is no multiple of the query: ONNX normalises nothing"
        elif self.flag and not np.allclose(one, 9, rtol=1e-3):
            self.why["all"] = f"its {self.flag} is no factor of the output"
        return 1.0 if one is None else float(one[0, 0]) / 9

    def _read_decay(self) -> None:
        """Whether a decay is a logarithm, and for each channel."""
        if not self.decays:
            self.why["decay"] = "it takes no decay"
            return
        if self.form.axes_of(self.decays) not in ("bht", "bhtd"):
            self.why["decay"] = "its decay is one for all tokens"
            return
        neutral = []
        for self.logarithm, x in ((True, -0.5), (False, np.log(0.5))):
            found, rest = (self._tried(_trial((2.0, 0.0), keys=APART, decay=float(each))) for each in (x, 0.0))
            if rest is not None and np.allclose(rest[:, 0] / self.scale, 2, rtol=1e-3):
                neutral.append(self.logarithm)
            if found is not None and np.allclose(found[:, 0] / self.scale, [2, 2 * np.exp(x)], rtol=1e-3):
                break
        else:
            self.why["decay"] = "its decay is no factor of the state before a token is added"
            self.logarithm = next(iter(neutral), True)
            return
        self.wide = self.form.axes_of(self.decays) == "bhtd"
        if not self.wide:
            numbers = -np.random.default_rng(0).random((1, 1, 2, 1), np.float32)
            one, wide = (
                self._tried(_trial((2.0, 1.0), keys=APART, decay=x), wide=x.shape[-1] > 1)
                for x in (numbers, np.repeat(numbers, WIDTH, -1))
            )
            self.wide = one is not None and wide is not None and np.allclose(one, wide, rtol=1e-4)

    def _read_beta(self) -> None:
        """Whether beta is the delta rule's, and whether nothing is corrected without."""
        if "beta" not in self.form.names:
            self.why["beta"] = "it takes no beta"
        elif self.form.axes_of("beta") not in ("bht", "bhtd"):
            self.why["beta"] = "its beta is one for all tokens"
        else:
            found = self._tried(_trial((1.0, 3.0), beta=0.5))
            if found is None or not np.allclose(found[:, 0] / self.scale, [0.5, 1.75], rtol=1e-3):
                self.why["beta"] = "its beta is not that of the delta rule"
        if "beta" not in self.required:
            found = self._tried(_trial((1.0, 3.0)))
            if found is None or not np.allclose(found[:, 0] / self.scale, [1, 4], rtol=1e-3):
                self.why["no beta"] = "without a beta it is no sum over the tokens"

    def _read_state(self) -> None:
        """Which way round a state is."""
        if "state" not in self.form.names:
            self.why["state"] = "it takes no state"
            return
        matrix = np.zeros((1, 1, WIDTH, WIDTH), np.float32)
        matrix[..., 0, 1] = 1
        found = []
        for turned in (False, True):
            self.turned = turned
            asked = _trial((0.0,), keys=(7,), state=matrix)
            found.append(self._tried(asked))
            if found[-1] is not None and np.allclose(found[-1][0] / self.scale, np.eye(WIDTH)[1], atol=1e-4):
                return
        self.turned = False
        # What is taken and changes nothing is left to the vectors, which it fails.
        if any(each is None or each.any() for each in found):
            self.why["state"] = "its state is no matrix of keys and values"

    @property
    def required(self) -> set[str]:
        """The roles that must be given."""
        return {*self.form.required}

    def _tried(self, asked: Question, *, wide: bool = False) -> np.ndarray | None:
        """The output of a trial question, [t e]; None if it is not answered."""
        if "beta" in self.required and asked.beta is None:
            asked = asked._replace(beta=np.ones((1, 1, asked.q.shape[2], 1), np.float32))
        output, _, trouble, _ = self._asked(asked, wide=wide)
        return None if trouble else output[0, 0]

    def judged(self, vector: Vector) -> Row:
        """Ask one vector."""
        asked = question(vector)
        self._refuse_unsayable(asked)
        kind = str(asked.q.dtype)
        more = ", ".join(name for name in ("decay", "beta", "state") if getattr(asked, name) is not None)
        axes = {x: ordered(y, self.form.layout) for x, y in self._case(asked).arrays[:3]}
        shapes = (f"{x} {[*self._case(asked).shape(y)]}" for x, y in axes.items())
        words = f"{', '.join(shapes)}{', ' * bool(more)}{more}, {kind}"
        output, state, trouble, answered = self._asked(asked, wide=self.wide)
        if trouble:
            return self.refused(vector, kind, trouble, words)
        right, one = exact(asked), rounds(kind, answered)
        most = tolerance(asked, right, one, self.accumulate)
        found = [Compared("", output, asked.output, most.output, vector)]
        if state is not None:
            found.append(Compared("state", state, asked.present, most.state, vector))
        return self.compared(vector, found, words)

    def _refuse_unsayable(self, asked: Question) -> None:
        """Refuse what the target has no argument for.

        Raises:
            Unsayable: if there is something.
        """
        parts = {"all": True, "no beta": asked.beta is None}
        parts |= {name: getattr(asked, name) is not None for name in ("decay", "beta", "state")}
        for name, used in parts.items():
            if used and name in self.why:
                raise Unsayable(self.why[name])
        if asked.beta is None and "beta" in self.required:
            raise Unsayable("it always takes a beta, and its rule then corrects")
        if asked.decay is not None and asked.decay.shape[-1] > 1 and not self.wide:
            raise Unsayable("its decay is one for all channels")
        if not self.flag and not np.isclose(self.scale, asked.factor, rtol=1e-4):
            raise Unsayable("it takes no scale")

    def _asked(self, asked: Question, *, wide: bool) -> tuple[np.ndarray, np.ndarray | None, Trouble | None, str]:
        """The output [b h t e] and the state [b h d e], if one came back; what went wrong; the type."""
        output, present = np.full(asked.v.shape, np.nan), np.full((*asked.q.shape[:2], WIDTH, WIDTH), np.nan)
        answered, whole = "", True
        for members, heads in self._parts(*asked.q.shape[:2]):
            cut = {name: x[members, heads] for name, x in asked._asdict().items() if isinstance(x, np.ndarray)}
            part = asked._replace(**cut)
            answer = self._made(part, wide=wide)
            if answer.trouble:
                return output, None, answer.trouble, ""
            answered = answer.kind
            output[members, heads] = answer.numbers
            second = None if "state" in self.why else answer.second
            if second is None or second.shape != self._of_state(present[members, heads]).shape:
                whole = False
            else:
                second = second.reshape(*part.q.shape[:2], WIDTH, WIDTH)
                present[members, heads] = second.swapaxes(2, 3) if self.turned else second
        return output, present if whole else None, None, answered

    def _parts(self, batch: int, heads: int) -> Iterator[tuple[slice, slice]]:
        """The calls, as few as the layout allows."""
        layout = self.form.layout
        members = [slice(0, batch)] if "b" in layout else [slice(i, i + 1) for i in range(batch)]
        return itertools.product(
            members, [slice(0, heads)] if "h" in layout else [slice(i, i + 1) for i in range(heads)]
        )

    def _case(self, asked: Question) -> Case:
        """The arrays of a call, without its state."""
        (b, h, t, d), e = asked.q.shape, asked.v.shape[-1]
        sizes = {"batch": b, "heads": h, "queries": t, "keys": t, "width": d, "value_width": e}
        case = self.form.with_arrays(RECURRENCE, RECURRENCE.case({**sizes, "type": str(asked.q.dtype)}))
        given = {"beta": asked.beta, self.decays: asked.decay}
        taken = [(x, y) for x, y in case.arrays if x in "qkv" or given.get(x) is not None or x in self.required]
        return dataclasses.replace(case, arrays=tuple(taken)).replaced(parts=(t,))

    def _made(self, part: Question, *, wide: bool) -> Answer:
        """One call."""
        case, form = self._case(part), self.form
        given = {"q": part.q, "k": part.k, "v": part.v}
        axes = {x: "bhtd" if wide and x == self.decays else y for x, y in case.arrays}
        case = dataclasses.replace(case, arrays=tuple(axes.items()))
        for role, x in ((self.decays, part.decay), ("beta", part.beta)):
            if role in axes:
                x = np.zeros((*part.q.shape[:3], 1)) if x is None else x
                x = np.exp(x) if role == self.decays and not self.logarithm else x
                x = np.broadcast_to(x, case.shape("bhtd")).astype(part.q.dtype)
                given[word(role)] = x[tuple(slice(None) if axis in axes[role] else 0 for axis in "bhtd")]
        state = {} if part.state is None else {form.names["state"]: self._of_state(part.state).astype(part.q.dtype)}
        if self.flag:
            form = dataclasses.replace(form, always={**form.always, self.flag: part.factor})
        self.calls += 1
        answer = raw(self.caller, form, case, made=given, named=state)
        return answer if answer.trouble else read(RECURRENCE, form, answer, case)

    def _of_state(self, x: np.ndarray) -> np.ndarray:
        """A state [b h d e] as the target has it: the layout says whether there are batch and heads."""
        x = x.swapaxes(2, 3) if self.turned else x
        return x[tuple(slice(None) if axis in self.form.layout else 0 for axis in "bh")]
