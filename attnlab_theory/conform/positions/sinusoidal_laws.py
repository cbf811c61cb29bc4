"""What sinusoidal positions promise: the right numbers, and what rows say together."""

from collections.abc import Callable, Mapping

import numpy as np

from attnlab_theory.conform.finding import ANOTHER_ANSWER, NOT_FINITE, Verdict
from attnlab_theory.conform.positions import tolerances
from attnlab_theory.conform.positions.calling import Shown, largest, off
from attnlab_theory.conform.positions.frequencies import formula
from attnlab_theory.conform.positions.rotary_ways import firsts
from attnlab_theory.conform.positions.sinusoidal_judging import Sinusoids
from attnlab_theory.conform.precision import told
from attnlab_theory.conform.suite import NOTHING, Said, failed, refused, refuses

Law = Callable[[Sinusoids], Said]

FAR = (1023, 4095, 20000)
"""The last rows of long tables; positions that are handed over go on to 131071."""

ROWS = 300
"""Rows of a long table that are compared, the last among them."""


def waves(suite: Sinusoids) -> Said:
    """Columns are sines and cosines of one angle, in pairs."""
    if suite.why:
        return failed(suite.why, counterexample=Shown(suite.ask(range(3)).call, None, (), 0.0))
    return Said(Verdict.HOLDS, f"{suite.width // 2} pairs")


def table(suite: Sinusoids) -> Said:
    """Every number is that of the formula."""
    cases = [(range(n),) for n in (1, 5, 17, 64) if n <= suite.longest()]
    said = suite.all_of(cases)
    if said.verdict is Verdict.FAILS and not said.trouble and suite.gives == "float64":
        suite.narrow = "float32"
        again = suite.all_of(cases)
        if again.verdict is Verdict.HOLDS:
            return Said(Verdict.CONVENTION, told(said.ratio), said.tried)
        suite.narrow = ""
        return again if again.trouble else said
    return said


def position_0(suite: Sinusoids) -> Said:
    """Row 0 has sines of 0 and cosines of 1."""
    if suite.shift:
        return Said(Verdict.CONVENTION, f"row 0 stands at {suite.shift:g}")
    return suite.all_of([((0,),)])


def relative(suite: Sinusoids) -> Said:
    """To move by a distance is to turn each pair by an angle that no position changes."""
    rows, worst = tuple(range(min(64, suite.longest()))), 0.0
    answer = suite.ask(rows)
    if answer.trouble:
        return failed(suite.trouble(answer))
    sines, cosines = suite.split(answer.table)
    _, most = suite.exact(rows, suite.width)
    first, _ = firsts(suite.pairs, suite.width)
    frequencies, _ = suite.frequencies(suite.width)
    for k in (each for each in (1, 5, 40) if each < len(rows)):
        c, s = np.cos(k * frequencies), np.sin(k * frequencies)
        turned = sines[:-k] * c + cosines[:-k] * s
        bound = most[:-k, first] * (np.abs(c) + np.abs(s)) + most[k:, first]
        ratio, place = largest(sines[k:], turned, bound)
        worst = max(worst, ratio)
        if ratio > 1:
            got, by = sines[k:][place], turned[place]
            said = f"{got:.7g} at position {place[0] + k}, and {by:.7g} by turning row {place[0]}"
            return Said(Verdict.FAILS, f"pair {place[1]}: {said}{off(ratio)}", ratio=ratio)
    return Said(Verdict.HOLDS, f"by 1, 5 and 40: largest error {worst:.2g} of its tolerance", 3, ratio=worst)


def prefix(suite: Sinusoids) -> Said:
    """A shorter table is the beginning of a longer one."""
    pairs = [(m, n) for m, n in ((1, 5), (5, 6), (17, 130), (130, 1030)) if n <= suite.longest()]
    for short, long in pairs:
        one, other = suite.ask(range(short)), suite.ask(range(long))
        if one.trouble or other.trouble:
            return failed(suite.trouble(one if one.trouble else other))
        rows = np.arange(short) + suite.shift
        same = tolerances.of_same_angles(rows, suite.frequencies(suite.width)[0], suite.narrow or suite.gives)
        most = np.full(one.table.shape, 2 * same.max())
        ratio, place = largest(other.table[:short], one.table, most)
        if ratio > 1:
            said = f"row {place[0]} has {one.table[place]:.7g} in a table of {short}"
            where = tuple({"t": place[0], "d": place[1]}.get(axis, 0) for axis in suite.axes)
            shown = Shown(other.call, None, where, 0.0, before=one.call)
            said = f"{said} and {other.table[place]:.7g} in one of {long}{off(ratio)}"
            return Said(Verdict.FAILS, said, counterexample=shown, ratio=ratio)
    return Said(Verdict.HOLDS, f"of up to {pairs[-1][1]} rows", len(pairs))


def large(suite: Sinusoids) -> Said:
    """The same numbers far away, within the rounding of an angle of that size."""
    last = ()
    if suite.told == "positions":
        last = tuple(((p, p // 3, p - 1, 0),) for p in (*FAR, 131071))
    else:
        last = tuple(((*range(0, p, p // ROWS), p),) for p in FAR)
    worst, tried = 0.0, 0
    for case in last:
        ratio, why, shown = suite.judge(*case)
        if why and refuses(why.trouble):
            before = max(last[tried - 1][0]) if tried else suite.longest() - 1
            return refused(why, f"refused beyond {before}: ", tried)
        if why:
            return failed(why, tried=tried + 1, counterexample=shown, ratio=ratio)
        worst, tried = max(worst, ratio), tried + 1
    said = f"up to position {max(last[-1][0])}: largest error {worst:.2g} of its tolerance"
    return Said(Verdict.HOLDS, said, tried, ratio=worst)


def in_any_order(suite: Sinusoids) -> Said:
    """Positions out of order, and one of them twice."""
    if suite.told != "positions":
        return NOTHING
    return suite.all_of([(tuple(min(p, suite.longest() - 1) for p in (3, 0, 11, 5, 5, 40, 1)),), ((6,),)])


def lengths(suite: Sinusoids) -> Said:
    """Lengths beside the edges of blocks."""
    sizes = (2, 17, 65) if suite.framework == "jax" else (2, 3, 15, 16, 63, 65, 127, 128, 129)
    return suite.all_of([(range(n),) for n in sizes if n <= suite.longest()])


def widths(suite: Sinusoids) -> Said:
    """Even widths, each with frequencies of its own."""
    if "width" not in suite.names and suite.told != "x":
        return Said(Verdict.CONVENTION, f"the width is {suite.width}")
    tried = [n for n in (2, 4, 6, 10, 64, 130) if not refuses(suite.ask(range(7), n).trouble)]
    if not tried:
        return Said(Verdict.CONVENTION, f"the width is {suite.width}; others are refused")
    if suite.fit.counted == "all but one":
        # One pair cannot fall from 1 to 1 / base.
        tried = [n for n in tried if n > 2]
    said = suite.all_of([(range(7), n) for n in tried])
    return (
        said
        if said.verdict is Verdict.FAILS
        else said._replace(line=f"{said.line}; widths {', '.join(map(str, tried))}")
    )


def odd_widths(suite: Sinusoids) -> Said:
    """What is made of an odd width is told."""
    if "width" not in suite.names and suite.told != "x":
        return NOTHING
    answer = suite.ask(range(9), 7)
    if answer.trouble:
        return refused(answer.trouble)
    if not np.isfinite(answer.table).all():
        return failed(suite.wrong("numbers that are not finite", answer.call, NOT_FINITE))
    even, _ = suite.exact(range(9), 6) if suite.fit.base else (np.full((9, 6), np.nan), None)
    if np.allclose(answer.table[:, :6], even, atol=2e-3) and not answer.table[:, 6].any():
        return Said(Verdict.CONVENTION, "a column of zeros after those of an even width")
    if suite.fit.base and suite.pairs == "interleaved":
        angles = np.arange(9)[:, None] * formula(suite.fit.base, 4, 3.5, suite.fit.factor) + 0.0
        both = np.stack((np.sin(angles), np.cos(angles))[:: 1 if suite.sine_first else -1], -1).reshape(9, 8)
        if np.allclose(answer.table, both[:, :7], atol=2e-3):
            return Said(Verdict.CONVENTION, "the last column is left out")
    return Said(Verdict.CONVENTION, "neither a column of zeros nor one left out")


def base(suite: Sinusoids) -> Said:
    """A base that is given is used."""
    if "base" not in suite.names or not suite.fit.base:
        return NOTHING
    return suite.all_of([(range(9), 0, value) for value in (500.0, 2e6)])


def added(suite: Sinusoids) -> Said:
    """Tokens are added, or not looked at."""
    if suite.told != "x":
        return NOTHING
    none, some = suite.ask(range(5)), suite.ask(range(5), filled=2.0)
    if trouble := none.trouble or some.trouble:
        return failed(trouble)
    apart = some.table - none.table
    if np.ptp(apart) > 1e-5:
        return Said(
            Verdict.FAILS,
            f"with tokens of 2 in place of 0 its numbers move by {apart.min():.4g} to {apart.max():.4g}",
        )
    times = float(apart.mean()) / 2
    return Said(
        Verdict.CONVENTION, "gives the table alone" if abs(times) < 1e-6 else f"tokens times {times:.4g} are added"
    )


def types(suite: Sinusoids) -> Said:
    """A narrow type that is asked first leaves no narrow table, and none that grows with a longer text."""
    if suite.told != "x":
        return NOTHING
    narrow = suite.narrow_kind
    longest = min(64, suite.longest())
    if suite.all_of([(range(longest),)]).verdict is Verdict.FAILS:
        return NOTHING  # It is wrong in any order, and other rows say so.
    with suite.anew() as is_new:
        for rows in (range(7), range(longest)):
            if refuses(suite.ask(rows, kind=narrow).trouble):
                return NOTHING
            said = suite.all_of([(range(7),), (rows,)])
            if said.verdict is Verdict.FAILS:
                return said._replace(line=f"after {narrow}: {said.line}", counterexample=None)
    order = f"{narrow} first, then float32" if is_new else f"float32 after {narrow}, of a target that was called"
    return Said(Verdict.HOLDS, f"{order}: {said.line}", 4, ratio=said.ratio)


def same_result(suite: Sinusoids) -> Said:
    """The same call gives the same bits, also after other calls."""
    first = suite.ask(range(6))
    for rows, width in ((range(6), 0), (range(40), 0), (range(6), 16), (range(3), 0)):
        suite.ask(rows, width)
        again = suite.ask(range(6))
        if troubled := [each for each in (first, again) if each.trouble]:
            return failed(suite.trouble(troubled[0]))
        if not np.array_equal(first.table, again.table):
            return failed(suite.wrong("the same call gives another answer", first.call, ANOTHER_ANSWER))
    return Said(Verdict.HOLDS, "also after another length and width", 4)


def unchanged(suite: Sinusoids) -> Said:
    """No call has written into what it was given."""
    if suite.told == "length":
        return NOTHING
    if suite.changed:
        return failed(suite.changed, tried=suite.calls)
    return Said(Verdict.HOLDS, f"in {suite.calls} calls", suite.calls)


def _judged(law: Law) -> Law:
    """A law that has nothing to try where no waves were found."""
    return lambda suite: NOTHING if suite.why else law(suite)


LAWS: Mapping[str, Law] = {
    "waves": waves,
    **{
        name: _judged(law)
        for name, law in {
            "table": table,
            "position 0": position_0,
            "relative rotation": relative,
            "prefix": prefix,
            "large positions": large,
            "any order": in_any_order,
            "lengths": lengths,
            "widths": widths,
            "odd widths": odd_widths,
            "base": base,
            "added": added,
            "types in turn": types,
            "same result": same_result,
        }.items()
    },
    "inputs unchanged": unchanged,
}
"""In the order in which they are tried."""
