"""What holds of attention whose weights are dropped: laws, each with its error rate."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from attnlab_theory.conform.finding import NOT_FINITE, WROTE, Trouble, Verdict
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.laws.dice import ALPHA, agrees, seeded
from attnlab_theory.conform.laws.drawing import Drawing, Drops, arrays
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said, failed, refused
from attnlab_theory.stats import bounded, proportion

RATES = (0.1, 0.3, 0.5, 0.9)

DRAWS = 12
"""Calls whose drops are counted, for each rate."""

MEANS = 400
"""Calls whose mean is compared with softmax attention."""

COPIES = 8
"""Batch elements of each, all alike."""


@dataclasses.dataclass
class Dropping:
    """A target with dropout, and where it drops."""

    drawing: Drawing
    where: str = ""
    """after: weights are dropped and the others raised; before: those that are left sum to one."""
    largest: float = 0.0

    def kept(self, rate: float, seed: int, n: int = 32) -> np.ndarray | Trouble:
        """Which weights one call keeps, [b h t s]; the trouble, if there is no telling."""
        seen = self.drawing.drops(rate, seed, n)
        return seen.trouble or seen.weights > 0.25 / n


def _plain(dropping: Dropping, rate: float, *, training: bool) -> Said:
    """Nothing is dropped."""
    tried, worst = 0, 0.0
    sizes = [(5, None), (5, "very large"), (5, "offset"), (17, None), (65, None), (1, None)]
    # jax compiles a program for every length.
    for n, values in sizes[:4] if dropping.drawing.asker.framework == "jax" else sizes:
        given = arrays(dropping.drawing.fitted(length=n, values=values, seed=n))
        exact = dropping.drawing.plain(given)
        bound = tolerance(dropping.drawing.problem(given), exact, "float32")
        for seed in (0, 1):
            tried += 1
            answer = dropping.drawing.ask(given, rate, seed, training=training)
            if answer.trouble:
                return failed(answer.trouble, f"{n} tokens: ", tried)
            ratio = np.nan_to_num(np.abs(answer.output - exact.output), nan=np.inf) / bound.output
            worst = max(worst, float(np.where(bound.loose, 0.0, ratio).max()))
            if worst > 1:
                place = np.unravel_index(int(np.where(bound.loose, 0.0, ratio).argmax()), ratio.shape)
                saw(dropping.drawing.asker.caller, answer.output[place], exact.output[place], worst)
                said = f"{answer.output[place]:.7g} where softmax attention gives {exact.output[place]:.7g}"
                return Said(Verdict.FAILS, f"{n} tokens: {said}, {worst:,.3g} tolerances off", tried, ratio=worst)
    dropping.largest = max(dropping.largest, worst)
    return Said(Verdict.HOLDS, f"softmax attention; largest error {worst:.2g} of its tolerance", tried, ratio=worst)


def no_rate(dropping: Dropping) -> Said:
    """A rate of 0 is softmax attention."""
    return _plain(dropping, 0.0, training=True)


def evaluation(dropping: Dropping) -> Said:
    """Out of training nothing is dropped, whatever the rate."""
    if not {"training", "evaluating"} & set(dropping.drawing.names):
        return NOTHING
    return _plain(dropping, 0.5, training=False)


def weights(dropping: Dropping) -> Said:
    """A dropped weight is 0 for every channel of the values, and the others are alike."""
    n = 32
    for rate in RATES:
        seen = dropping.drawing.drops(rate, 3, n)
        if seen.trouble:
            return failed(seen.trouble, f"rate {rate:g}: ")
        if not np.isfinite(seen.weights).all():
            return Said(Verdict.FAILS, f"rate {rate:g}: the output is no number", trouble=NOT_FINITE)
        if not seen.alike:
            return Said(
                Verdict.FAILS,
                f"rate {rate:g}: two equal channels of values give other outputs: no weight is dropped",
            )
        if wrong := _levels(seen, n):
            return Said(Verdict.FAILS, f"rate {rate:g}: {wrong}")
        if not (seen.weights < 0.25 / n).any():
            return Said(Verdict.FAILS, f"rate {rate:g}: nothing is dropped")
    return Said(Verdict.HOLDS, "zeros, and the rest of each row alike", len(RATES))


def _levels(seen: Drops, n: int) -> str:
    """What is wrong with rows of equal scores that are neither 0 nor alike."""
    kept = seen.weights > 0.25 / n
    rest = np.abs(np.where(kept, 0.0, seen.weights)).max()
    if rest > 1e-6:
        return f"a dropped weight is {rest:.3g} and not 0"
    top = seen.weights.max(-1, keepdims=True)
    if (np.abs(np.where(kept, seen.weights - top, 0.0)) > 1e-4 * top).any():
        return "weights of equal scores that are kept are not alike"
    return ""


def factor(dropping: Dropping) -> Said:
    """What is kept is divided by 1 - rate; where rows sum to one instead, it is dropped before the softmax."""
    n, dropping.where = 32, "after"
    found: set[str] = set()
    for rate in RATES:
        seen = dropping.drawing.drops(rate, 5, n)
        if seen.trouble:
            return failed(seen.trouble, f"rate {rate:g}: ")
        kept = seen.weights > 0.25 / n
        some = kept.any(-1)
        sums = seen.weights.sum(-1)[some]
        if rate <= 0.5 and np.allclose(sums, 1, rtol=1e-4):
            found.add("before")
        elif "before" in found and np.allclose(sums, 1, rtol=1e-4):
            continue
        else:
            times = float(np.median(seen.weights[kept])) * n if kept.any() else 0.0
            if abs(times * (1 - rate) - 1) > 1e-4:
                right = 1 / (1 - rate)
                said = f"what is kept is multiplied by {times:.4g}, and 1 / (1 - rate) is {right:.4g}"
                return Said(Verdict.FAILS, f"rate {rate:g}: {said}", len(RATES))
            found.add("after")
    if len(found) > 1:
        return Said(Verdict.FAILS, "at some rates rows sum to one, at others they do not", len(RATES))
    if found == {"before"}:
        dropping.where = "before"
        return Said(
            Verdict.CONVENTION, "rows sum to one: dropped before the softmax, and the mean is another", len(RATES)
        )
    return Said(Verdict.HOLDS, "after the softmax: 1 / (1 - rate)", len(RATES))


def share(dropping: Dropping) -> Said:
    """The share of dropped weights is the rate, of all and of each key."""
    rates, n = (0.1, 0.5, 0.9), 66
    alpha = ALPHA / len(rates) / (n + 1)
    radius = 0.0
    for rate in rates:
        drawn = []
        for seed in range(DRAWS):
            kept = dropping.kept(rate, 100 + seed, n)
            if isinstance(kept, Trouble):
                return failed(kept, f"rate {rate:g}: ")
            # One mask for all heads is one draw.
            drawn.append(kept[:1, :1] if _shared(dropping) else kept)
        dropped = ~np.concatenate(drawn).reshape(-1, n)
        interval = proportion().interval(dropped.ravel().astype(float), alpha)
        radius = max(radius, interval.width)
        if not agrees(interval, rate):
            sure = f"[{interval.low:.4g}, {interval.high:.4g}]"
            said = f"the share dropped is {dropped.mean():.4g}, and {sure} with an error rate of {alpha:.1g}"
            return Said(Verdict.FAILS, f"rate {rate:g}: {said}", len(rates) * DRAWS)
        for key in range(n):
            interval = proportion().interval(dropped[:, key].astype(float), alpha)
            if not agrees(interval, rate):
                said = f"key {key} of {n} is dropped with the share {dropped[:, key].mean():.3g}"
                return Said(Verdict.FAILS, f"rate {rate:g}: {said}", len(rates) * DRAWS)
    said = f"a rate off by {radius:.2g} would be seen; false alarms {ALPHA:g}"
    return Said(Verdict.HOLDS, f"rates {', '.join(f'{rate:g}' for rate in rates)}; {said}", len(rates) * DRAWS)


def _shared(dropping: Dropping) -> bool:
    """Whether the target says by its arguments that one mask may serve all."""
    return "shared" in dropping.drawing.names


class Pair(NamedTuple):
    """Two parts of the masks, which are independent of each other."""

    name: str
    one: np.ndarray
    other: np.ndarray
    share: Literal["seeds", "one mask", "weights"] = "weights"
    """`one mask` where they may share one by the target's own word; `seeds` where no word lets them."""


def independent(dropping: Dropping) -> Said:
    """Heads, batch elements, queries, keys and seeds are dropped independently of each other."""
    rate, n, drawn = 0.3, 32, []
    for seed in range(DRAWS):
        kept = dropping.kept(rate, 300 + seed, n)
        if isinstance(kept, Trouble):
            return failed(kept)
        drawn.append(kept)
    masks = np.stack(drawn)
    pairs = (
        Pair("two seeds that follow each other", masks[::2], masks[1::2], "seeds"),
        Pair("two batch elements", masks[:, :1], masks[:, 1:2], "one mask"),
        Pair("two heads", masks[:, :, :1], masks[:, :, 1:2], "one mask"),
        Pair("two queries", masks[..., ::2, :], masks[..., 1::2, :]),
        Pair("two queries half of them apart", masks[..., : n // 2, :], masks[..., n // 2 :, :]),
        Pair("two keys", masks[..., ::2], masks[..., 1::2]),
        Pair("two keys half of them apart", masks[..., : n // 2], masks[..., n // 2 :]),
    )
    right, told, width = rate**2 + (1 - rate) ** 2, [], 0.0
    for name, one, other, share in pairs:
        if not other.size:
            continue
        if _shared(dropping) and share != "seeds":
            if share == "one mask":
                if np.array_equal(one, other):
                    told.append(name)
                continue
            one, other = one[:, :1, :1], other[:, :1, :1]
        interval = proportion().interval((one == other).ravel().astype(float), ALPHA / len(pairs))
        width = max(width, interval.width)
        if not agrees(interval, right):
            said = f"{name} agree in {np.mean(one == other):.3f} of their weights, where chance gives {right:.3f}"
            return Said(Verdict.FAILS, f"rate {rate:g}: {said}", DRAWS)
    if told:
        return Said(
            Verdict.CONVENTION,
            f"one mask for {' and '.join(told)}, as {dropping.drawing.names['shared']} says",
            DRAWS,
        )
    said = f"batch elements, heads, queries, keys, seeds; {width:.2g} would be seen; false alarms {ALPHA:g}"
    return Said(Verdict.HOLDS, said, DRAWS)


def mean(dropping: Dropping) -> Said:
    """The mean over many draws is softmax attention, where weights are large, too."""
    if dropping.where == "before":
        return NOTHING
    drawing, rate = dropping.drawing, 0.3
    given = arrays(drawing.fitted(queries=4, keys=6, batch=COPIES, seed=21))
    # Copies of one batch element are draws of one law.
    q, k, v = (np.broadcast_to(x[:1], x.shape).copy() for x in given)
    copies = q, k, v
    exact = drawing.plain(copies)
    slack = 2 * tolerance(drawing.problem(copies), exact, "float32").output[0] / (1 - rate)
    weights, size = np.asarray(exact.weights[0]), np.abs(np.asarray(v[0], np.float64))
    most = np.einsum("hts,hse->hte", weights, size) / (1 - rate) + slack
    drawn = []
    for seed in range(MEANS):
        answer = drawing.ask(copies, rate, 1000 + seed)
        if answer.trouble:
            return failed(answer.trouble, tried=seed)
        drawn.append(answer.output[:1] if _shared(dropping) else answer.output)
    outputs, right, width = np.concatenate(drawn), exact.output[0], 0.0
    if not np.isfinite(outputs).all():
        return Said(Verdict.FAILS, "the output is no number", MEANS, trouble=NOT_FINITE)
    for place in np.ndindex(right.shape):
        row = outputs[(slice(None), *place)]
        if np.abs(row).max() > most[place]:
            return Said(
                Verdict.FAILS,
                f"rate {rate:g}: an output of {row[np.abs(row).argmax()]:.4g} is no sum of weights",
                MEANS,
            )
        interval = bounded(-most[place], most[place]).interval(row, ALPHA / right.size)
        width = max(width, interval.width)
        if not agrees(interval, right[place], slack[place]):
            said = f"the mean of {row.size} draws is {row.mean():.4g}"
            more = f"and softmax attention gives {right[place]:.4g}, at [h t e] = {[*place]}"
            return Said(Verdict.FAILS, f"rate {rate:g}: {said}, {more}", MEANS)
    return Said(Verdict.HOLDS, f"of {len(outputs)} draws; {width:.2g} would be seen; false alarms {ALPHA:g}", MEANS)


def seeds(dropping: Dropping) -> Said:
    """The same seed drops the same weights, another seed others; also after other calls."""
    given = arrays(dropping.drawing.fitted(length=9, seed=4))
    first = dropping.drawing.ask(given, 0.5, 7)
    other = dropping.drawing.ask(given, 0.5, 8)
    dropping.drawing.drops(0.5, 9, 17)
    return seeded(dropping.drawing.dice, first, dropping.drawing.ask(given, 0.5, 7), other)


def everything(dropping: Dropping) -> Said:
    """What becomes of a rate of 1 is told."""
    answer = dropping.drawing.ask(arrays(dropping.drawing.fitted()), 1.0, 0)
    if answer.trouble:
        return refused(answer.trouble)
    if not np.isfinite(answer.output).all():
        return Said(Verdict.CONVENTION, "NaN or infinity")
    return Said(Verdict.CONVENTION, "zeros" if not answer.output.any() else "numbers other than 0")


def unchanged(dropping: Dropping) -> Said:
    """No call has written into what it was given."""
    asker = dropping.drawing.asker
    if asker.changed:
        return Said(Verdict.FAILS, f"a call writes into {asker.changed}", asker.calls, trouble=WROTE)
    return Said(Verdict.HOLDS, f"in {asker.calls} calls", asker.calls)


LAWS: Mapping[str, Callable[[Dropping], Said]] = {
    "rate 0": no_rate,
    "evaluation": evaluation,
    "weights": weights,
    "factor": factor,
    "seeds": seeds,
    "independent": independent,
    "share": share,
    "mean": mean,
    "rate 1": everything,
    "inputs unchanged": unchanged,
}
"""In the order in which they are tried: what is certain first."""
