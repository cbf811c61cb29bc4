"""What holds of attention by random features: laws, each with its error rate."""

import itertools
from collections.abc import Callable, Mapping

import numpy as np

from attnlab_theory.conform.finding import NOT_FINITE, WROTE, Trouble, Verdict
from attnlab_theory.conform.laws.attending import COUNTS, Approximation
from attnlab_theory.conform.laws.dice import ALPHA, agrees, seeded
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said, Wrong, failed
from attnlab_theory.stats import student

DRAWS = 200
"""Draws for each number of features."""

TOKENS = (6, 134)
"""Few, and so many that sums which are carried on through chunks of 64 are seen."""

TAILS = 3.6
"""The fourth moment of errors over the square of the second, above which their means are not taken for normal.

Where the errors of 200 draws are normal it is 3, and rarely 3.5. Features whose variance is infinite have more.
Their means are nearly never near what they estimate, for draws that are seldom seen make it.
"""

BOUND = student("a mean of quotients of sums over features")


def _errors(
    target: Approximation, given: tuple[np.ndarray, ...], count: int | None, *, causal: bool = False
) -> np.ndarray | Trouble | Wrong:
    """Errors of draws, [draws b h t e]; what is wrong, if there are none."""
    right, found = target.exact(given, causal=causal), []
    for seed in range(DRAWS):
        answer = target.ask(given, 5000 + seed, count=count, causal=causal)
        if answer.trouble:
            return answer.trouble
        found.append(answer.output - right)
    errors = np.stack(found)
    return errors if np.isfinite(errors).all() else Wrong("the output is no number", NOT_FINITE)


def tails(errors: np.ndarray) -> float:
    """The fourth moment of errors [draws b h t e] over the square of the second, in the mean over all outputs."""
    squares = (errors - errors.mean(0)) ** 2
    second = squares.mean(0)
    # A query that sees one key gives its value in every draw: what scatters there is rounding.
    counted = second > 1e-6 * second.max()
    return float(((squares**2).mean(0)[counted] / second[counted] ** 2).mean()) if counted.any() else 0.0


def _alarms(heaviest: float) -> str:
    """How often a right program fails, in words."""
    if heaviest > TAILS:
        return "how often a right program fails is not known, for few draws make most of what outputs scatter"
    return f"false alarms about {ALPHA:g}"


def _growing(given: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The same with keys that are longer from chunk to chunk, so that what is subtracted for stability changes."""
    q, k, v = given
    chunks = np.arange(k.shape[2])[::-1] // 64
    return q, k * (0.6**chunks).astype(k.dtype)[:, None], v


def near(target: Approximation) -> Said:
    """The mean of draws is softmax attention, but for the bias of a quotient.

    The output is N / D, and N - o D has mean 0 for the right o. So |E out - o| is at most the root mean square of
    (N - o D) / D times the relative standard deviation of D, and twice that, for D is inside the first, too. Both
    are had from the draws (`Approximation.noise`). This needs features of finite variance. The intervals are those
    of means that are close to normal, so the error rate is approximate: the fewer draws make most of the variance,
    the worse it holds.

    Outputs are compared one by one, and all together. Together they say how far they move from the mean of the
    values that a query sees, towards softmax attention. A wrong scale or another kernel shows there first. The row
    says how wrong a scale could be and pass. Where few draws make most of what outputs scatter, the variance may be
    infinite, and no mean is judged.
    """
    count = COUNTS[-1] if "count" in target.names else None
    flags = (False, True) if "causal" in target.names else (False,)
    width, unseen, calm, heaviest, unsure = 0.0, 0.0, True, 0.0, ""
    for tokens, causal in itertools.product(TOKENS, flags):
        given = _growing(target.drawn(tokens=tokens))
        errors = _errors(target, given, count, causal=causal)
        if not isinstance(errors, np.ndarray):
            return failed(errors, f"{tokens} tokens: ")
        call = f"{tokens} tokens{', causal' * causal}"
        noise, largest, heavy = errors.std(0), float(np.abs(given[2]).max()), tails(errors)
        heaviest = max(heaviest, heavy)
        if tokens == TOKENS[0]:
            calm = calm and noise.max() < largest / 10
        elif calm and noise.max() > largest:
            # More keys make the noise of a normaliser smaller, so that it comes no nearer to zero.
            said = f"outputs scatter by {noise.max():.2g}, where values are at most {largest:.2g} ({call})"
            return Said(Verdict.FAILS, f"{said}; with {TOKENS[0]} tokens they do not", DRAWS)
        slack = 2 * noise * np.minimum(noise * target.noise(given, causal=causal), 0.5) + 1e-5
        way = target.exact(given, causal=causal) - target.means(given, causal=causal)
        alpha = ALPHA / 2 / len(TOKENS) / len(flags)
        moved, room = _along(way, errors), float((slack * np.abs(way)).sum() / (way**2).sum())
        interval = BOUND.interval(moved, alpha)
        chance = interval.width / 2 + room
        # A mean that is off by this much is measured up to half a width nearer to the right one.
        unseen = max(unseen, interval.width / 2 + chance)
        if not agrees(interval, 0.0, room):
            said = f"the mean of {DRAWS} draws goes {1 + moved.mean():.0%} of the way from the mean of the values"
            said += f" to softmax attention ({call}; chance makes {chance:.0%})"
            if heavy <= TAILS:
                wrong = "the scale, the kernel, a sum or the law of the draws is wrong"
                return Said(Verdict.FAILS, f"{said}: {wrong}", DRAWS)
            unsure = unsure or said
        one_by_one = _entries(errors, slack, alpha)
        if isinstance(one_by_one, str):
            said = f"{one_by_one} would be the bias of a quotient; {call}"
            if heavy <= TAILS:
                return Said(Verdict.FAILS, said, DRAWS)
            unsure = unsure or said
        else:
            width = max(width, one_by_one)
    if unsure:
        said = f"{unsure}. Few draws make most of what outputs scatter: of infinite variance, right features do so"
        return Said(Verdict.NOT_JUDGED, said, DRAWS * len(TOKENS))
    if unseen > 1:
        said = f"outputs scatter so much that a scale which is wrong by {unseen:.0%} could pass"
        return Said(Verdict.NOT_JUDGED, said, DRAWS * len(TOKENS))
    said = f"{width:.2g} would be seen; a scale that is wrong by less than {unseen:.0%} could pass"
    return Said(Verdict.HOLDS, f"{said}; {_alarms(heaviest)}", DRAWS * len(TOKENS))


def _along(way: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """The part of each draw's errors [draws b h t e] that lies along a way [b h t e], in units of its length."""
    return (errors * way).sum((1, 2, 3, 4)) / (way**2).sum()


def _entries(errors: np.ndarray, slack: np.ndarray, alpha: float) -> float | str:
    """How large an error of one output would be seen; or that of one whose mean is not 0, in words."""
    mean, width = errors.mean(0), 0.0
    # The widest interval is that of the largest noise. Only where the mean is beyond the slack may one fail.
    widest = np.unravel_index(int(np.argmax(errors.std(0))), mean.shape)
    for place in (widest, *zip(*np.nonzero(np.abs(mean) > slack), strict=True)):
        row = errors[(slice(None), *place)]
        interval, most = BOUND.interval(row, alpha / mean.size), float(slack[place])
        if not np.isfinite(interval.width):
            interval, most = type(interval).point(float(row[0])), 1e-5
        width = max(width, interval.width + most)
        if not agrees(interval, 0.0, most):
            at = f"at [b h t e] = {[int(i) for i in place]}"
            return f"the mean of {DRAWS} draws is {row.mean():.3g} off softmax attention {at}; {most:.2g}"
    return width


def shrinks(target: Approximation) -> Said:
    """The mean square error falls with the number of features, as 1 / m."""
    if "count" not in target.names:
        return NOTHING
    squares, given, heaviest = [], target.drawn(), 0.0
    for count in COUNTS:
        errors = _errors(target, given, count)
        if not isinstance(errors, np.ndarray):
            return failed(errors, f"{count} features: ")
        squares.append((errors**2).mean((1, 2, 3, 4)))
        heaviest = max(heaviest, tails(errors))
    bound = student("means of squares over all entries")
    first, *_, last = (bound.interval(row, ALPHA / 2) for row in squares)
    said = ", ".join(f"{count}: {row.mean() ** 0.5:.2g}" for count, row in zip(COUNTS, squares, strict=True))
    # From 16 to 256 features it falls by 16, or to the rounding.
    if last.low > max(first.high / 4, 1e-9) and heaviest <= TAILS:
        return Said(
            Verdict.FAILS, f"errors by number of features are {said}: they do not fall", DRAWS * len(COUNTS)
        )
    if last.high > max(first.low, 1e-9):
        return Said(
            Verdict.NOT_JUDGED, f"errors by number of features are {said}: too few draws", DRAWS * len(COUNTS)
        )
    return Said(Verdict.HOLDS, f"{said}; {_alarms(heaviest)}", DRAWS * len(COUNTS))


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
            return failed(answer.trouble)
        worst = max(worst, float(np.nan_to_num(np.abs(answer.output - 1), nan=np.inf).max()))
    if worst > 0.01:
        return Said(Verdict.FAILS, f"values of one give an output that is {worst:.3g} off one", 20)
    return Said(Verdict.HOLDS, f"to {worst:.1g}", 20)


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
                    return failed(trouble, f"{n} tokens: ", tried)
                apart = np.nan_to_num(np.abs(other.output - first.output)[:, :, :cut], nan=np.inf)
                moved = apart.max()
                saw(target.asker.caller, other.output[:, :, :cut], first.output[:, :, :cut], apart / 1e-3)
                if moved > 1e-3:
                    return Said(
                        Verdict.FAILS,
                        f"{n} tokens: outputs move by {moved:.3g} when tokens from {cut} on do",
                        tried,
                    )
    return Said(Verdict.HOLDS, "5, 17 and 65 tokens", tried)


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
            return failed(trouble, tried=tried)
        new, old = (np.delete(each.output, -1, axis) for each in (answer, first))
        moved = np.abs(new - old).max()
        saw(target.asker.caller, new, old, np.abs(new - old) / 1e-3)
        if not moved < 1e-3:
            return Said(Verdict.FAILS, f"another {name} moves by {moved:.3g} when one is replaced", tried)
    return Said(Verdict.HOLDS, "batch elements and heads", tried) if tried else NOTHING


def unchanged(target: Approximation) -> Said:
    """No call has written into what it was given."""
    if target.asker.changed:
        line = f"a call writes into {target.asker.changed}"
        return Said(Verdict.FAILS, line, target.asker.calls, trouble=WROTE)
    return Said(Verdict.HOLDS, f"in {target.asker.calls} calls", target.asker.calls)


LAWS: Mapping[str, Callable[[Approximation], Said]] = {
    "seeds": seeds,
    "constant values": constant,
    "future": future,
    "elements apart": apart,
    "approximates": near,
    "shrinks": shrinks,
    "inputs unchanged": unchanged,
}
"""The laws of attention that is made of random features."""
