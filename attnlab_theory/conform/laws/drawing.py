"""Attention with dropout as it is called, and what one call drops."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.asking import (
    ADAPTER,
    SEEDS,
    Answer,
    Asker,
    named,
    parameters_of,
    refuse_unknown,
    shapes,
)  # fmt: skip
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import Trouble
from attnlab_theory.conform.kinds.softmax.declaration import SOFTMAX
from attnlab_theory.conform.kinds.softmax.reference import Attended, Problem, attend
from attnlab_theory.conform.laws.dice import Dice, dice_of

ROLES: Mapping[str, tuple[str, ...]] = {
    "rate": (
        "p", "rate", "dropout_p", "dropout", "dropout_rate", "p_dropout", "dropout_prob", "attn_dropout",
        "drop_rate", "attention_dropout", "dropout_probability",
    ),
    "training": ("training", "train", "is_training"),
    "evaluating": ("deterministic", "inference", "evaluation"),
    "shared": ("broadcast_dropout",),
    "seed": SEEDS,
}  # fmt: skip
"""What parameters are for, by their names."""

Given = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Queries, keys and values, [b h t d]."""

ARRAYS = (("q", "bhtd"), ("k", "bgsd"), ("v", "bgse"))


def arrays(case: Case) -> Given:
    """Those of a case."""
    made = case.operands()
    return made["q"], made["k"], made["v"]


OF_ANY = ("bhtd", "bthd", "btd", "td")


class Drops(NamedTuple):
    """What one call drops, seen with equal scores and v = [I I]."""

    trouble: Trouble | None
    weights: np.ndarray
    """[b h t s], by the first half of the channels."""
    alike: bool
    """Whether the second half shows the same weights."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Drawing:
    """One target with dropout, and how it is called."""

    asker: Asker
    names: Mapping[str, str]
    same_width: bool
    """Whether values must be as wide as keys."""
    scale: str = "rsqrt"
    dice: Dice

    def ask(self, given: Given, rate: float, seed: int, *, training: bool = True, kind: str = "float32") -> Answer:
        """Make one call."""
        plain: dict[str, Any] = {self.names["rate"]: rate}
        if "training" in self.names:
            plain[self.names["training"]] = training
        if "evaluating" in self.names:
            plain[self.names["evaluating"]] = not training
        return self.asker.ask(*given, plain=plain, random=self.dice.thrown(seed), kind=kind)

    def fitted(self, **spec: Any) -> Case:
        """A case with the axes that the target has."""
        layout, case = self.asker.layout, SOFTMAX.case(spec)
        heads = case["heads"] if "h" in layout else 1
        own = {"batch": case["batch"] if "b" in layout else 1, "heads": heads, "groups": heads}
        own |= {"value_width": case["width"]} if self.same_width else {}
        return dataclasses.replace(case.replaced(**own), arrays=ARRAYS)

    def problem(self, given: Given) -> Problem:
        """What softmax attention makes of queries, keys and values."""
        q, k, v = given
        return Problem(
            q, k, v, scales.factor(self.scale, q.shape[-1]), np.ones((1, 1, q.shape[2], k.shape[2]), bool)
        )

    def plain(self, given: Given) -> Attended:
        """Softmax attention, exactly."""
        return attend(self.problem(given))

    def drops(self, rate: float, seed: int, n: int = 32, batch: int = 2, heads: int = 2) -> Drops:
        """What a call drops: all scores are 1, and v is the unit matrix twice."""
        case = self.fitted(length=n, batch=batch, heads=heads, width=2 * n if self.same_width else 4)
        size, width = case.shape("bht"), case["width"]
        level = np.float32((1 / (scales.factor(self.scale, width) * width)) ** 0.5)
        same = np.full((*size, width), level, np.float32)
        v = np.zeros((*size, 2 * n), np.float32) + np.concatenate([np.eye(n)] * 2, -1).astype(np.float32)
        answer = self.ask((same, same.copy(), v), rate, seed)
        if answer.trouble:
            return Drops(answer.trouble, np.zeros((0, 0, 0, 0)), alike=False)
        first, second = answer.output[..., :n], answer.output[..., n:]
        return Drops(None, first, alike=bool(np.allclose(first, second, rtol=1e-4, atol=1e-7, equal_nan=True)))


def drawing_of(caller: Caller, declared: Mapping[str, Any]) -> Drawing:
    """How a target is called: that in which a rate of 0 is nearest to softmax attention.

    Args:
        caller: of the target.
        declared: its layout, framework and scale, where they are known.

    Raises:
        ValueError: if it can be called in no way, or has no argument for a rate.
    """
    rest, required = parameters_of(caller, 3)
    about = caller.about()
    names = named(rest, ROLES)
    if about["parameters"] is None:
        # A function written in C shows no parameters: it is called as torch's scaled_dot_product_attention.
        names = {"rate": "dropout_p"}
    refuse_unknown(caller, required, names)
    if "rate" not in names:
        raise ValueError(f"{caller.name} has no argument for a rate, such as p or dropout_p; {ADAPTER}")
    frameworks = (declared["framework"],) if "framework" in declared else (*about["uses"], "numpy")
    layouts = (declared["layout"],) if "layout" in declared else OF_ANY
    known = (declared["scale"],) if "scale" in declared else ("rsqrt", "one")
    best: tuple[float, Drawing] | None = None
    said: list[str] = []
    for framework, same, layout in itertools.product(frameworks, (False, True), layouts):
        drawing = Drawing(asker=Asker(caller, framework, layout), names=names, same_width=same, dice=Dice())
        given = arrays(drawing.fitted(heads=3))
        # With a rate of 0 many do not look at their source of randomness.
        dice, answer = dice_of(
            [*names.values()], framework, functools.partial(_thrown, drawing=drawing, given=given, rate=0.5)
        )
        if answer.trouble:
            said.append(f"{shapes(given, layout)}: {answer.trouble}")
            continue
        answer = _thrown(dice, drawing, given, 0.0)
        for scale in known:
            trial = dataclasses.replace(drawing, dice=dice, scale=scale)
            error = float(np.nan_to_num(np.abs(answer.output - trial.plain(given).output), nan=1e30).max())
            if best is None or error < best[0]:
                best = error, trial
        if best is not None and best[0] < 1e-3:
            return best[1]
    if best is None:
        raise ValueError(
            f"{caller.name} answered no trial call. {'; '.join(dict.fromkeys(said[:2]))}. "
            f"Say --layout or --framework, or {ADAPTER}"
        )
    return best[1]


def _thrown(dice: Dice, drawing: Drawing, given: Given, rate: float) -> Answer:
    """A call with a source of randomness."""
    return dataclasses.replace(drawing, dice=dice).ask(given, rate, 0)
