"""Random features as they are called, and the kernel that they estimate."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

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
from attnlab_theory.conform.finding import Fault, Trouble
from attnlab_theory.conform.laws.dice import Dice, dice_of
from attnlab_theory.conform.laws.kernels import KERNELS, SCALES, scaled

ROLES: Mapping[str, tuple[str, ...]] = {
    "projection": (
        "projection", "projection_matrix", "projections", "omega", "omegas", "w", "proj", "random_matrix",
    ),
    "count": (
        "num_features", "n_features", "nb_features", "features", "m", "feature_count", "num_random_features",
        "n_components",
    ),
    "query": ("is_query", "query", "for_query"),
    "seed": SEEDS,
}  # fmt: skip
"""What parameters are for, by their names."""

OF_ANY = ("td", "btd", "bhtd", "bthd")

WIDTH = 4

PLACED = np.array(
    [
        [[0.7, 0.2, -0.1, 0.3], [0.6, -0.2, 0.1, 0.3]],
        [[0.5, -0.6, 0.2, 0.1], [-0.4, 0.5, 0.1, 0.2]],
        [[0.9, 0.0, 0.3, -0.2], [-0.7, 0.1, -0.2, 0.4]],
        [[0.1, 0.1, 0.0, 0.2], [0.3, 0.9, -0.1, 0.0]],
    ]
)
"""Pairs of a query and a key whose products have either sign, [pairs 2 d]. Kernels and scales tell them apart."""

ROWS = len(PLACED)

COUNT = 64
"""Features that are asked for where their number is an argument."""

TRIALS = 100
"""Draws by which the kernel is guessed; the laws draw others."""


class Estimates(NamedTuple):
    """What many draws estimate."""

    trouble: Trouble | None
    products: np.ndarray
    """Each feature of a query times that of its key, [draws pairs f]."""
    features: np.ndarray
    """The queries' features by the last draw, [pairs f]."""

    @property
    def sums(self) -> np.ndarray:
        """The estimates of the kernel, [draws pairs]."""
        return self.products.sum(-1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureDraw:
    """One map of rows to random features, and how it is called."""

    asker: Asker
    names: Mapping[str, str]
    dice: Dice
    turned: bool = False
    """Whether a projection is [d m], and not [m d]."""
    kernel: str = "softmax"
    scale: str = "one"

    def ask(self, x: np.ndarray, seed: int, *, query: bool = True, count: int | None = None) -> Answer:
        """The features of rows [n d], as [1 1 n f]."""
        plain: dict[str, Any] = {}
        arrays: dict[str, np.ndarray] = {}
        if "count" in self.names:
            plain[self.names["count"]] = count or COUNT
        if "query" in self.names:
            plain[self.names["query"]] = query
        if "projection" in self.names:
            drawn = np.random.default_rng(seed).standard_normal((count or COUNT, x.shape[-1])).astype(np.float32)
            arrays[self.names["projection"]] = drawn.T.copy() if self.turned else drawn
        random = {} if "projection" in self.names else self.dice.thrown(seed)
        given = x[None, None].astype(np.float32)
        return self.asker.ask(given, named=arrays, plain=plain, random=random, shape=(*given.shape[:-1], -1))

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Queries and keys [n d] of the pairs, scaled as the kernel has them."""
        return scaled(PLACED[:, 0], self.scale), scaled(PLACED[:, 1], self.scale)

    def same_at_zero(self, seed: int) -> bool:
        """Whether all features of a row of zeros are alike, as exp(w.x) is 1 there whatever w."""
        answer = self.ask(np.zeros((1, WIDTH)), seed)
        return not answer.trouble and bool(np.ptp(answer.output) <= 1e-3 * np.abs(answer.output).max())

    def estimates(self, seeds: range, count: int | None = None) -> Estimates:
        """Estimates of each pair by each seed."""
        found, features = [], np.zeros((0, 0))
        for seed in seeds:
            one = self.ask(PLACED[:, 0], seed, query=True, count=count)
            other = self.ask(PLACED[:, 1], seed, query=False, count=count)
            trouble = one.trouble or other.trouble
            if not trouble and one.output.shape != other.output.shape:
                trouble = Trouble(fault=Fault.UNEQUAL)
            if trouble:
                return Estimates(trouble, np.zeros((0, ROWS, 0)), features)
            features = one.output[0, 0]
            found.append(features * other.output[0, 0])
        return Estimates(None, np.array(found), features)


def mapping_of(caller: Caller, declared: Mapping[str, Any]) -> FeatureDraw:
    """How a target is called, and the kernel that its estimates are nearest to.

    Args:
        caller: of the target.
        declared: its framework, layout and scale, where they are known.

    Raises:
        ValueError: if it can be called in no way.
    """
    rest, required = parameters_of(caller, 1)
    names = named(rest, ROLES)
    refuse_unknown(caller, required, names)
    frameworks = (declared["framework"],) if "framework" in declared else (*caller.about()["uses"], "numpy")
    said: list[str] = []
    for framework in frameworks:
        for layout in (declared["layout"],) if "layout" in declared else OF_ANY:
            for turned in (False, True) if "projection" in names else (False,):
                plain = FeatureDraw(asker=Asker(caller, framework, layout), names=names, dice=Dice(), turned=turned)
                tried = _Throw(plain)
                dice, answer = dice_of([*names.values()], framework, tried)
                if not answer.trouble:
                    return _nearest(dataclasses.replace(plain, dice=dice), declared)
                said.append(f"x {shapes([PLACED[None, None, :, 0]], layout)[2:]}: {answer.trouble}")
    raise ValueError(
        f"{caller.name} answered no trial call. {'; '.join(dict.fromkeys(said[:2]))}. "
        f"Say --layout or --framework, or {ADAPTER}"
    )


@dataclasses.dataclass
class _Throw:
    plain: FeatureDraw

    def __call__(self, dice: Dice) -> Answer:
        return dataclasses.replace(self.plain, dice=dice).ask(PLACED[:, 0], 0)


def _nearest(mapping: FeatureDraw, declared: Mapping[str, Any]) -> FeatureDraw:
    """The kernel and the scale that the mean of a few estimates is nearest to."""
    drawn = mapping.estimates(range(TRIALS))
    if drawn.trouble:
        return mapping
    mean = drawn.sums.mean(0)
    best: tuple[float, FeatureDraw] | None = None
    for kernel in (declared["kernel"],) if "kernel" in declared else KERNELS:
        for scale in (declared["scale"],) if "scale" in declared else SCALES:
            trial = dataclasses.replace(mapping, kernel=kernel, scale=scale)
            with np.errstate(invalid="ignore", over="ignore"):
                error = float(np.nan_to_num(np.abs(mean - KERNELS[kernel](*trial.rows())), nan=1e30).max())
            if best is None or error < best[0]:
                best = error, trial
    assert best is not None
    return best[1]
