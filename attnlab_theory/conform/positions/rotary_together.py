"""What several answers of a rotation say together: norms, relativity, composition, prefixes, and what stays."""

import numpy as np

from attnlab_theory.conform.finding import ANOTHER_ANSWER, Verdict
from attnlab_theory.conform.positions import rotary_ways as ways
from attnlab_theory.conform.positions import tolerances
from attnlab_theory.conform.positions.calling import Given, Shown, drawn, largest, off
from attnlab_theory.conform.positions.frequencies import SHORT, power
from attnlab_theory.conform.positions.rotary_judging import Rotation
from attnlab_theory.conform.positions.rotary_ways import Case
from attnlab_theory.conform.suite import NOTHING, Said, Wrong, failed, refuses

SCATTERED = (3, 0, 11, 5, 5, 40, 1)
"""Positions in no order, one of them twice."""

LONG = 256
"""Up to here no length may change a frequency: models are trained on more."""


def norms(suite: Rotation) -> Said:
    """The norm of each pair stays, and so does each channel that does not turn, to the last bit."""
    case = ways.fitted(Case(scattered(suite), seed=8), suite.way)
    answer = suite.ask(case)
    if answer.trouble:
        return failed(suite.trouble(answer))
    n = suite.turning(case.width)
    first, second = ways.firsts(suite.way.pairs, n)
    for part, given in enumerate(answer.outputs):
        role = ("q", "k")[part] if "x" not in suite.names else "x"
        x = ways.inward(answer.call.array(role), suite.way.layout)
        before, after = (np.hypot(y[..., first], y[..., second]) for y in (x, given))
        most = tolerances.of_rotation(2 * ways.sizes(x, suite.way.pairs, n), 8 * 2.0**-24, case.kind)
        ratio, place = largest(after, before * suite.way.scale, most)
        if ratio > 1:
            said = f"a pair of length {before[place]:.7g} becomes one of {after[place]:.7g}{off(ratio)}"
            return failed(suite.wrong(said, answer.call), ratio=ratio)
        if not np.array_equal(given[..., n:], x[..., n:]):
            return failed(suite.wrong(f"channels from {n} on do not turn, and change", answer.call))
    return Said(Verdict.HOLDS, "of pairs; channels that do not turn stay as they are")


def relativity(suite: Rotation) -> Said:
    """The score of a query at m and a key at n depends on m - n only."""
    if suite.way.told == "table":
        return NOTHING
    starts = (0, 1, 50, 1000) if suite.way.told == "positions" else (0,)
    size = 9 if suite.way.told == "positions" else 65
    worst, tried = 0.0, 0
    scores: list[tuple[np.ndarray, np.ndarray]] = []
    for start in starts:
        case = Case(tuple(range(start, start + size)), 1, 1, 1)
        found = _scores(suite, ways.fitted(case, suite.way))
        if isinstance(found, Wrong):
            if not scores:
                return failed(found)
            break
        scores.append(found)
    for (one, most), (other, more) in zip([scores[0]] * len(scores), scores, strict=True):
        for k in range(1 - size, size):
            a, b = one.diagonal(k), other.diagonal(k)
            # All along a diagonal against the first of the first.
            ratio, place = largest(b, np.full_like(b, a[0]), more.diagonal(k) + most.diagonal(k)[0])
            worst, tried = max(worst, ratio), tried + 1
            if ratio > 1:
                said = f"{-k} apart: the score is {a[0]:.7g} at one place and {b[place]:.7g} at another{off(ratio)}"
                return Said(
                    Verdict.FAILS, f"{said}; {size} positions from each of {[*starts]} on", tried, ratio=ratio
                )
    return Said(Verdict.HOLDS, f"largest error {worst:.2g} of its tolerance", tried, ratio=worst)


def _scores(suite: Rotation, case: Case) -> tuple[np.ndarray, np.ndarray] | Wrong:
    """All scores of one query and one key, [t t], and how far they may be off; or what went wrong."""
    code = "np.random.default_rng({seed}).standard_normal({width}) + np.zeros({shape})"
    shape = tuple(ways.shape_of(case, suite.way.layout, 1))
    given = [drawn(code.format(seed=s, width=case.width, shape=shape), case.kind) for s in (21, 22)]
    if "k" in suite.names:
        answers = [suite.ask(case, given=given)]
    else:
        answers = [suite.ask(case, given=[each]) for each in given]
    if troubled := [each for each in answers if each.trouble]:
        return suite.trouble(troubled[0])
    q, k = (x[0, 0] for a in answers for x in a.outputs)
    n, rows = suite.turning(case.width), ways.rows_of(case)[0] + suite.way.shift
    angles = tolerances.of_same_angles(rows, suite.frequencies(case.width)[0], tolerances.angle_kind(case.kind))
    errors = []
    for each in given:
        x = ways.inward(each.array, suite.way.layout)[0, 0]
        error = tolerances.of_rotation(ways.sizes(x, suite.way.pairs, n) * suite.way.scale, angles, case.kind)
        errors.append(ways.spread(error, suite.way.pairs, n, case.width))
    of_q, of_k = errors
    return q @ k.T, of_q @ np.abs(k).T + np.abs(q) @ of_k.T + of_q @ of_k.T


def composition(suite: Rotation) -> Said:
    """To turn by m and then by n is to turn by m + n."""
    if suite.way.told != "positions" or suite.way.shift or suite.way.scale != 1:
        return NOTHING
    tried = [(m, n) for m, n in ((1, 2), (17, 5), (200, 60)) if m + n <= reach(suite)]
    for m, n in tried:
        size = 5
        one, two, both = (ways.fitted(Case((p,) * size, 1, 1, 1, seed=5), suite.way) for p in (m, n, m + n))
        whole, first = suite.ask(both), suite.ask(one)
        if first.trouble or whole.trouble:
            return failed(suite.trouble(first if first.trouble else whole))
        most = 2 * np.sum([suite.exact(case, whole.call, 0, "float32")[1] for case in (one, two, both)], 0)
        given = [
            drawn(f"np.array({_laid(x, suite).tolist()})", "float32")._replace(array=_laid(x, suite))
            for x in first.outputs
        ]
        second = suite.ask(two, given=given)
        if second.trouble:
            return failed(suite.trouble(second))
        ratio, place = largest(second.outputs[0], whole.outputs[0], most + _partners(most, suite, both.width))
        if ratio > 1:
            said = f"{second.outputs[0][place]:.7g}, and {whole.outputs[0][place]:.7g} by {m + n} at once"
            return Said(Verdict.FAILS, f"turned by {m}, then by {n}: {said}{off(ratio)}", ratio=ratio)
    return Said(Verdict.HOLDS, f"by up to {tried[-1][0]} and {tried[-1][1]}", len(tried))


def _laid(x: np.ndarray, suite: Rotation) -> np.ndarray:
    return np.ascontiguousarray(ways.outward(x, suite.way.layout), np.float32)


def _partners(most: np.ndarray, suite: Rotation, width: int) -> np.ndarray:
    """The tolerance of the other channel of each pair: a turn mixes the two."""
    first, second = ways.firsts(suite.way.pairs, suite.turning(width))
    out = np.zeros_like(most)
    out[..., first], out[..., second] = most[..., second], most[..., first]
    return out


def prefix(suite: Rotation) -> Said:
    """What stands later changes nothing. Frequencies that change with long texts are told."""
    if suite.way.told == "table":
        return NOTHING
    by_position = suite.way.told == "positions"
    pairs = [((7, 3), (7, 3, last)) for last in (17, 130, 300, 5000, 40000)]
    if not by_position:
        pairs = [(tuple(range(n)), tuple(range(m))) for n, m in ((1, 5), (5, 6), (17, 130), (130, 1030))]
    tried = 0
    for short, long in pairs:
        if suite.framework == "jax" and len(long) > 130:
            break
        one, other = (ways.fitted(Case(p, 1, 1, 1, seed=2), suite.way) for p in (short, long))
        shape = tuple(ways.shape_of(other, suite.way.layout, 1))
        code = f"np.random.default_rng(2).standard_normal({shape})"
        axis = suite.way.layout.index("t")
        cut = f"[{', '.join([':'] * axis + [f':{len(short)}'])}]"
        first, second = (
            suite.ask(case, given=[drawn(code + part, "float32")] * 2) for case, part in ((one, cut), (other, ""))
        )
        if first.trouble:
            return failed(suite.trouble(first), tried=tried)
        if refuses(second.trouble):
            break
        if second.trouble:
            return failed(suite.trouble(second), tried=tried)
        tried += 1
        rows = ways.rows_of(one) + suite.way.shift
        n = suite.turning(one.width)
        frequencies = suite.frequencies(one.width)[0]
        angles = tolerances.of_same_angles(rows, frequencies, "float32")[:, None]
        x = ways.inward(first.call.array("x" if "x" in suite.names else "q"), suite.way.layout)
        most = 2 * tolerances.of_rotation(ways.sizes(x, suite.way.pairs, n) * suite.way.scale, angles, "float32")
        most = ways.spread(most, suite.way.pairs, n, one.width)
        ratio, place = largest(second.outputs[0][:, :, : len(short)], first.outputs[0], most)
        if ratio > 1:
            said = _grown(suite, short, long, ratio, place[2])
            axes = dict(zip("bhtd", place, strict=True))
            where = tuple(axes[each] for each in suite.way.layout)
            shown = Shown(second.call, 0 if "k" in suite.names else None, where, 0.0, before=first.call)
            return said._replace(counterexample=shown) if said.verdict is Verdict.FAILS else said
    return Said(Verdict.HOLDS, f"up to position {max(pairs[max(tried - 1, 0)][1])}", tried)


def _grown(suite: Rotation, short: tuple[int, ...], long: tuple[int, ...], ratio: float, row: int) -> Said:
    """Frequencies depend on the length: a convention for texts that are long, if each call is a rotation."""
    n, last = suite.turning(suite.way.width), max(long)
    at = f"position {short[row]} is turned otherwise when {last} stands in the same call{off(ratio)}"
    if last <= LONG or suite.way.told != "positions":
        found = None
    else:
        found = [suite.angles_at(p, suite.way.width, n, (last,)) for p in (1, 2, 4)]
    if found is None or any(each is None for each in found):
        return Said(Verdict.FAILS, at, ratio=ratio)
    one, two, four = (np.asarray(each) for each in found)
    straight = max(np.abs(two - 2 * one).max(), np.abs(np.sin(four - 4 * one)).max()) < 1e-4
    slower = bool((one <= suite.frequencies(suite.way.width)[0] * (1 + 1e-4) + 1e-6).all())
    if not straight or not slower:
        return Said(Verdict.FAILS, at, ratio=ratio)
    suite.grows_from = max(short) if last == 300 else LONG
    base = power(suite.fit._replace(base=0.0, read=one, error=np.full(len(one), 1e-6)))
    more = f" (base {base:,.5g} then)" if base else ""
    return Said(
        Verdict.CONVENTION, f"frequencies fall with long texts{more}: keys that a cache keeps no longer fit. {at}"
    )


def apart(suite: Rotation) -> Said:
    """Batch elements and heads do not see each other: the last is replaced by numbers of 1e3, and others stay."""
    case = ways.fitted(Case(batch=3, heads=3, seed=7), suite.way)
    tried = 0
    if not set("bh") & set(suite.way.layout):
        return NOTHING
    first = suite.ask(case)
    if first.trouble:
        return failed(suite.trouble(first))
    for axis, name in (("b", "batch element"), ("h", "head")):
        if axis not in suite.way.layout:
            continue
        tried += 1
        given = []
        for role in ("q", "k", "x"):
            if role in first.call.values:
                spoiled = first.call.array(role).copy()
                spoiled[(slice(None),) * suite.way.layout.index(axis) + (-1,)] = 1e3
                given.append(Given(spoiled, ""))
        answer = suite.ask(case, given=given)
        if answer.trouble:
            return failed(suite.trouble(answer), tried=tried)
        kept = (slice(None),) * "bhtd".index(axis) + (slice(0, -1),)
        if any(
            not np.allclose(a[kept], b[kept], rtol=1e-6, atol=1e-6)
            for a, b in zip(answer.outputs, first.outputs, strict=True)
        ):
            return Said(Verdict.FAILS, f"another {name} moves when the last one is replaced by 1e3", tried)
    return Said(Verdict.HOLDS, "batch elements and heads" if tried > 1 else "as far as there are several", tried)


def same_result(suite: Rotation) -> Said:
    """The same call gives the same bits, also after calls of another length, width and type."""
    case = ways.fitted(Case(seed=11), suite.way)
    first = suite.ask(case)
    between = (case, Case(tuple(range(23)), seed=5), Case(kind="float16"), Case(width=2 * suite.way.width))
    for other in between:
        suite.ask(ways.fitted(other, suite.way))
        again = suite.ask(case)
        if troubled := [each for each in (first, again) if each.trouble]:
            return failed(suite.trouble(troubled[0]))
        if any(not np.array_equal(a, b) for a, b in zip(first.outputs, again.outputs, strict=True)):
            line = "the same call gives another answer after other calls"
            return failed(suite.wrong(line, first.call, ANOTHER_ANSWER))
    return Said(Verdict.HOLDS, "also after another length, width and type", len(between))


def unchanged(suite: Rotation) -> Said:
    """No call has written into what it was given."""
    if suite.changed:
        return failed(suite.changed, tried=suite.calls)
    return Said(Verdict.HOLDS, f"in {suite.calls} calls", suite.calls)


def scattered(suite: Rotation) -> tuple[int, ...]:
    """Positions in no order, as far as they are taken."""
    return tuple(min(p, reach(suite)) for p in SCATTERED)


def reach(suite: Rotation) -> int:
    """The largest position, of some, that is taken and turned as near ones are."""
    if not suite.reached:
        prefix(suite)
        suite.reached = suite.grows_from or (4001 if suite.way.told == "table" else SHORT[-1])
        for p in () if suite.grows_from or suite.way.told != "positions" else (16, 40, 64, 128, 300, 2049, 4001):
            if refuses(suite.ask(ways.fitted(Case((p, 0)), suite.way)).trouble):
                break
            suite.reached = p
    return suite.reached
