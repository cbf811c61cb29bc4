"""Attention by random features: how it is called, and what holds of it."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

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
from attnlab_theory.conform.attention.reference import Problem, attend
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.laws.dice import ALPHA, Dice, agrees, dice_of, seeded
from attnlab_theory.conform.suite import NOTHING, Said
from attnlab_theory.stats import student

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

DRAWS = 200
"""Draws for each number of features."""

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
        q, k, v = given
        n = q.shape[2]
        seen = np.tri(n, dtype=bool) if causal or self.causal else np.ones((n, n), bool)
        return attend(Problem(q, k, v, self.factor(q.shape[-1]), seen[None, None])).output

    def factor(self, width: int) -> float:
        """The scale of the scores."""
        return {"rsqrt": width**-0.5, "one": 1.0}.get(self.scale) or float(self.scale)

    def spread(self, given: tuple[np.ndarray, ...], count: int | None) -> float:
        """The largest relative standard deviation of a normaliser by independent features; 0.5 if it is not known.

        It is at most that of one weight, by either family of `kernels`.
        """
        if count is None:
            return 0.5
        q, k = (np.asarray(x, np.float64) * self.factor(x.shape[-1]) ** 0.5 for x in given[:2])
        near = ((q[..., :, None, :] + k[..., None, :, :]) ** 2).sum(-1).max()
        far = ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1).max()
        most = max(np.expm1(near), np.exp(far) * (1 + np.exp(-2 * far) / 2))
        return float(min((most / count) ** 0.5, 0.5))

    def lines(self) -> list[tuple[str, str]]:
        """How it is called, in words."""
        scale = {"rsqrt": "1/sqrt(width)", "one": "1"}.get(self.scale, self.scale)
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


def _errors(target: Approximation, count: int | None, *, causal: bool) -> np.ndarray | str:
    """Errors of draws, [draws b h t e]; what is wrong, in words, if there are none."""
    given = target.drawn()
    right, found = target.exact(given, causal=causal), []
    for seed in range(DRAWS):
        answer = target.ask(given, 5000 + seed, count=count, causal=causal)
        if answer.trouble:
            return answer.trouble
        found.append(answer.output - right)
    errors = np.stack(found)
    return errors if np.isfinite(errors).all() else "the output is no number"


def near(target: Approximation) -> Said:
    """The mean of draws is softmax attention, but for the bias of a quotient.

    The output is N / D, and N - o D has mean 0 for the right o. So |E out - o| is at most the root mean square of
    (N - o D) / D times the relative standard deviation of D, and twice that, for D is inside the first, too.
    """
    count = COUNTS[-1] if "count" in target.names else None
    given = target.drawn()
    bound, width, allowed = student("a mean of quotients of sums over features"), 0.0, 0.0
    for causal in (False, True) if "causal" in target.names else (False,):
        errors = _errors(target, count, causal=causal)
        if isinstance(errors, str):
            return Said("fails", errors)
        for place in np.ndindex(errors.shape[1:]):
            row = errors[(slice(None), *place)]
            interval = bound.interval(row, ALPHA / errors[0].size / 2)
            slack = 2 * float(np.sqrt((row**2).mean())) * target.spread(given, count) + 1e-5
            if not np.isfinite(interval.width):
                interval, slack = type(interval).point(float(row[0])), 1e-5
            width, allowed = max(width, interval.width), max(allowed, slack)
            if not agrees(interval, 0.0, slack):
                said = f"the mean of {DRAWS} draws is {row.mean():.3g} off softmax attention{', causal' * causal}"
                more = f"at [b h t e] = {[*place]}; {slack:.2g} would be the bias of a quotient"
                return Said("fails", f"{said}, {more}", DRAWS)
    return Said("holds", f"{width + allowed:.2g} would be seen; false alarms {ALPHA:g}", DRAWS)


def shrinks(target: Approximation) -> Said:
    """The mean square error falls with the number of features, as 1 / m."""
    if "count" not in target.names:
        return NOTHING
    squares = []
    for count in COUNTS:
        errors = _errors(target, count, causal=False)
        if isinstance(errors, str):
            return Said("fails", f"{count} features: {errors}")
        squares.append((errors**2).mean((1, 2, 3, 4)))
    bound = student("means of squares over all entries")
    first, *_, last = (bound.interval(row, ALPHA / 2) for row in squares)
    said = ", ".join(f"{count}: {row.mean() ** 0.5:.2g}" for count, row in zip(COUNTS, squares, strict=True))
    # From 16 to 256 features it falls by 16, or to the rounding.
    if last.low > max(first.high / 4, 1e-9):
        return Said("fails", f"errors by number of features are {said}: they do not fall", DRAWS * len(COUNTS))
    if last.high > max(first.low, 1e-9):
        return Said("not judged", f"errors by number of features are {said}: too few draws", DRAWS * len(COUNTS))
    return Said("holds", f"{said}; false alarms {ALPHA:g}", DRAWS * len(COUNTS))


def seeds(target: Approximation) -> Said:
    """The same seed gives the same bits, another seed others."""
    given = target.drawn()
    first, other = target.ask(given, 7), target.ask(given, 8)
    target.ask(target.drawn(9, 17), 3)
    return seeded(target.dice, first, target.ask(given, 7), other)


def constant(target: Approximation) -> Said:
    """Values of one give one by every seed, for numerator and normaliser share their features."""
    q, k, v = target.drawn()
    worst = 0.0
    for seed in range(20):
        answer = target.ask((q, k, np.ones_like(v)), seed)
        if answer.trouble:
            return Said("fails", answer.trouble)
        worst = max(worst, float(np.nan_to_num(np.abs(answer.output - 1), nan=np.inf).max()))
    if worst > 0.01:
        return Said("fails", f"values of one give an output that is {worst:.3g} off one", 20)
    return Said("holds", f"to {worst:.1g}", 20)


def future(target: Approximation) -> Said:
    """With one seed, outputs stay where keys and values that come later are replaced: times 4, then plus 1e3."""
    if not target.causal and "causal" not in target.names:
        return NOTHING
    tried = 0
    for n in (5, 17, 65):
        given = target.drawn(n, n)
        first = target.ask(given, 1, causal=True)
        for cut in (1, n // 2, n - 1):
            for factor, more in ((4, 0), (1, 1e3)):
                q, k, v = (x.copy() for x in given)
                k[:, :, cut:] = k[:, :, cut:] * factor + np.sign(more)
                v[:, :, cut:] = v[:, :, cut:] * factor + more
                other = target.ask((q, k, v), 1, causal=True)
                tried += 1
                if trouble := first.trouble or other.trouble:
                    return Said("fails", f"{n} tokens: {trouble}", tried)
                moved = np.nan_to_num(np.abs(other.output - first.output)[:, :, :cut], nan=np.inf).max()
                if moved > 1e-3:
                    return Said(
                        "fails", f"{n} tokens: outputs move by {moved:.3g} when tokens from {cut} on do", tried
                    )
    return Said("holds", "5, 17 and 65 tokens", tried)


def apart(target: Approximation) -> Said:
    """With one seed, batch elements and heads do not see each other."""
    given = target.drawn()
    first, tried = target.ask(given, 1), 0
    for axis, name in ((0, "batch element"), (1, "head")):
        if given[0].shape[axis] < 2:
            continue
        tried += 1
        other = [x.copy() for x in given]
        for x, factor in zip(other, (3, 3, 1e3), strict=True):
            x[(slice(None),) * axis + (-1,)] *= factor
        answer = target.ask(tuple(other), 1)
        if trouble := first.trouble or answer.trouble:
            return Said("fails", trouble, tried)
        moved = np.delete(np.abs(answer.output - first.output), -1, axis).max()
        if not moved < 1e-3:
            return Said("fails", f"another {name} moves by {moved:.3g} when one is replaced", tried)
    return Said("holds", "batch elements and heads", tried) if tried else NOTHING


def unchanged(target: Approximation) -> Said:
    """No call has written into what it was given."""
    if target.asker.changed:
        return Said("fails", f"a call writes into {target.asker.changed}", target.asker.calls)
    return Said("holds", f"in {target.asker.calls} calls", target.asker.calls)


LAWS: Mapping[str, Callable[[Approximation], Said]] = {
    "seeds": seeds,
    "constant values": constant,
    "future": future,
    "elements apart": apart,
    "approximates": near,
    "shrinks": shrinks,
    "inputs unchanged": unchanged,
}
"""Of attention that is made of random features."""
