"""Attention by random features, and how it is called."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

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
from attnlab_theory.conform.kinds.softmax.reference import Attended, Problem, attend
from attnlab_theory.conform.laws.dice import Dice, dice_of

ROLES: Mapping[str, tuple[str, ...]] = {
    "count": (
        "num_features", "n_features", "nb_features", "features", "m", "feature_count", "num_random_features",
    ),
    "causal": ("causal", "is_causal"),
    "seed": SEEDS,
}  # fmt: skip
"""What parameters are for, by their names."""

OF_ANY = ("bhtd", "bthd", "btd", "td")

COUNTS = (16, 64, 256)
"""Numbers of features that are asked for."""

SIZES = {"batch": 2, "heads": 3, "tokens": 6, "width": 4, "values": 3}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Approximation:
    """One target, and how it is called."""

    asker: Asker
    names: Mapping[str, str]
    dice: Dice
    scale: str = "rsqrt"
    causal: bool = False
    """Whether it hides the future without being asked."""

    def ask(
        self, given: tuple[np.ndarray, ...], seed: int, *, count: int | None = None, causal: bool = False
    ) -> Answer:
        """Make one call."""
        plain: dict[str, Any] = {}
        if "count" in self.names:
            plain[self.names["count"]] = count or COUNTS[-1]
        if "causal" in self.names:
            plain[self.names["causal"]] = causal
        return self.asker.ask(*given, plain=plain, random=self.dice.thrown(seed))

    def drawn(self, seed: int = 5, tokens: int = SIZES["tokens"]) -> tuple[np.ndarray, ...]:
        """q, k and v [b h t d]; queries and keys are short, so that a few features do."""
        r = np.random.default_rng(seed)
        batch = SIZES["batch"] if "b" in self.asker.layout else 1
        heads = SIZES["heads"] if "h" in self.asker.layout else 1
        size = (batch, heads, tokens)
        short = 0.8 if self.scale == "rsqrt" else 0.8 * SIZES["width"] ** -0.25
        q, k = (r.standard_normal((*size, SIZES["width"])) for _ in range(2))
        q, k = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (q, k))
        q, k = (short * r.uniform(0.3, 1, (*size, 1)) * x for x in (q, k))
        return tuple(x.astype(np.float32) for x in (q, k, r.standard_normal((*size, SIZES["values"]))))

    def exact(self, given: tuple[np.ndarray, ...], *, causal: bool = False) -> np.ndarray:
        """Softmax attention."""
        return self._attended(given, causal=causal).output

    def means(self, given: tuple[np.ndarray, ...], *, causal: bool = False) -> np.ndarray:
        """The mean of the values that each query sees, [b h t e]."""
        q, k, v = given
        return self._attended((np.zeros_like(q), k, v), causal=causal).output

    def _attended(self, given: tuple[np.ndarray, ...], *, causal: bool) -> Attended:
        q, k, v = given
        n = q.shape[2]
        seen = np.tri(n, dtype=bool) if causal or self.causal else np.ones((n, n), bool)
        return attend(Problem(q, k, v, self.factor(q.shape[-1]), seen[None, None]))

    def factor(self, width: int) -> float:
        """The scale of the scores."""
        return scales.factor(self.scale, width)

    def noise(self, given: tuple[np.ndarray, ...], *, causal: bool = False) -> np.ndarray:
        """The relative standard deviation of a normaliser, divided by the standard deviation of an output.

        By m independent features, estimates of the kernels K_i of one query and its keys have covariances, namely
        K_i K_j C_ij / m. C_ij is exp((q + k_i).(q + k_j)) - 1 by positive ones. It is cosh((q - k_i).(q - k_j)) - 1
        by pairs of sines and cosines. With weights w and values v the normaliser has the relative variance w C w.
        The output has w (v - o) C w (v - o), to first order. The larger quotient of the two families counts.

        Returns:
            [b h t e]; the same for any m.
        """
        q, k, v = (np.asarray(x, np.float64) for x in given)
        root = self.factor(q.shape[-1]) ** 0.5
        answer = self._attended(given, causal=causal)
        found = np.zeros(answer.output.shape)
        for at in np.ndindex(answer.output.shape[:2]):
            w, apart = answer.weights[at], v[at] - answer.output[at][:, None]
            for sign, covariance in ((1, np.expm1), (-1, lambda x: np.cosh(x) - 1)):
                points = root * (q[at][:, None] + sign * k[at])
                each = w[:, :, None] * w[:, None] * covariance(points @ points.swapaxes(1, 2))
                by_normaliser = each.sum((1, 2))[:, None]
                by_output = (apart * (each @ apart)).sum(1)
                found[at] = np.maximum(found[at], (by_normaliser / np.maximum(by_output, 1e-30)) ** 0.5)
        return found

    def lines(self) -> list[tuple[str, str]]:
        """How it is called, in words."""
        scale = scales.WORDS.get(self.scale, self.scale)
        hides = "always" if self.causal else f"by {self.names['causal']}" if "causal" in self.names else "no"
        return [
            ("scale", scale),
            ("hides the future", hides),
            ("number of features", self.names.get("count", "its own")),
        ]


def approximation_of(caller: Caller, declared: Mapping[str, Any]) -> Approximation:
    """How a target is called: that in which a mean of draws is nearest to softmax attention.

    Args:
        caller: of the target.
        declared: its layout, framework and scale, where they are known.

    Raises:
        ValueError: if it can be called in no way.
    """
    rest, required = parameters_of(caller, 3)
    names = named(rest, ROLES)
    refuse_unknown(caller, required, names)
    frameworks = (declared["framework"],) if "framework" in declared else (*caller.about()["uses"], "numpy")
    fits: list[tuple[float, Approximation]] = []
    said: list[str] = []
    for framework in frameworks:
        for layout in (declared["layout"],) if "layout" in declared else OF_ANY:
            trial = Approximation(asker=Asker(caller, framework, layout), names=names, dice=Dice())
            given = trial.drawn()
            dice, answer = dice_of([*names.values()], framework, functools.partial(_thrown, trial, given))
            if answer.trouble:
                said.append(f"{shapes(given, layout)}: {answer.trouble}")
                continue
            trial = dataclasses.replace(trial, dice=dice)
            mean = np.mean([trial.ask(given, seed).output for seed in range(20)], 0)
            for scale in (declared["scale"],) if "scale" in declared else ("rsqrt", "one"):
                for causal in (False,) if "causal" in names else (False, True):
                    each = dataclasses.replace(trial, scale=scale, causal=causal)
                    error = float(np.nan_to_num(np.abs(mean - each.exact(given)), nan=1e30).max())
                    fits.append((error, each))
    if not fits:
        raise ValueError(
            f"{caller.name} answered no trial call. {'; '.join(dict.fromkeys(said[:2]))}. "
            f"Say --layout or --framework, or {ADAPTER}"
        )
    # Several layouts may be as near, but for chance: the first is meant.
    least = min(error for error, _ in fits)
    return next(each for error, each in fits if error <= 3 * least)


def _thrown(trial: Approximation, given: tuple[np.ndarray, ...], dice: Dice) -> Answer:
    return dataclasses.replace(trial, dice=dice).ask(given, 0)
