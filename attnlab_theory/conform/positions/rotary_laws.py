"""What rotary positions promise: the right numbers, wherever a row stands, and however it is handed over."""

from collections.abc import Callable, Mapping

from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.positions import rotary_together as together
from attnlab_theory.conform.positions import rotary_ways as ways
from attnlab_theory.conform.positions.calling import Shown, drawn
from attnlab_theory.conform.positions.rotary_judging import Rotation
from attnlab_theory.conform.positions.rotary_ways import Case
from attnlab_theory.conform.positions.rotary_widths import widths
from attnlab_theory.conform.precision import told
from attnlab_theory.conform.suite import CALL, NOTHING, Said, Wrong, failed, refused, refuses

LARGE = (300, 1023, 2047, 4095, 16383, 131071)
"""Positions of long texts."""

LENGTHS = (2, 3, 15, 16, 17, 33, 63, 64, 65, 129)
"""Odd ones, and those beside the edges of blocks."""

COMPILED = (2, 17, 65)
"""The lengths that a jax target is given."""


def turning(suite: Rotation) -> Said:
    """Channels turn in pairs, alike in all batch elements and heads."""
    if suite.why:
        case = ways.fitted(Case((0, 1, 2), 1, 1, 1), suite.way)
        shape = tuple(ways.shape_of(case, suite.way.layout, 1))
        unit = drawn(f"np.eye({case.width})[0] + np.zeros({shape})", case.kind)
        answer = suite.ask(case, given=[unit, unit])
        return failed(suite.why, counterexample=Shown(answer.call, None, (), 0.0))
    return Said(Verdict.HOLDS, f"{suite.reading.turning // 2} pairs of {suite.way.width} channels")


def rotation(suite: Rotation) -> Said:
    """Every number is that of the rotation, at positions in and out of order."""
    cases = [Case(seed=seed) for seed in range(3)]
    return suite.all_of([*cases, *(Case(together.scattered(suite), seed=seed) for seed in range(3, 6))])


def position_0(suite: Rotation) -> Said:
    """Nothing turns at position 0."""
    if suite.way.shift:
        return Said(Verdict.CONVENTION, f"row 0 stands at {suite.way.shift:g}")
    if suite.way.scale != 1:
        return Said(Verdict.CONVENTION, f"vectors are multiplied by {suite.way.scale:.4g}")
    return suite.all_of([Case((0,), seed=seed) for seed in range(2)])


def large(suite: Rotation) -> Said:
    """The same numbers far away, within the rounding of an angle of that size."""
    if suite.way.told == "rows":
        if suite.framework == "jax":
            return NOTHING
        lengths = (512, 2048, 4096)
        cases = [Case(tuple(range(t)), 1, 1, 1, seed=t) for t in lengths]
    else:
        cases = [Case((p, p // 3, 0, p - 1, 7), 1, seed=p) for p in LARGE]
    together.prefix(suite)
    worst, tried, last = 0.0, 0, 0
    for case in cases:
        if suite.grows_from and max(case.positions) > suite.grows_from:
            break
        outcome = suite.judge(case)
        if outcome.why:
            last = last or together.reach(suite)
            if refuses(outcome.why.trouble) and (tried or last < LARGE[0]):
                return refused(outcome.why, f"refused beyond {last}: ", tried)
            return failed(outcome.why, tried=tried + 1, counterexample=outcome.shown, ratio=outcome.ratio)
        worst, tried, last = max(worst, outcome.ratio), tried + 1, max(case.positions)
    if not tried:
        return NOTHING
    return Said(Verdict.HOLDS, f"up to {last}: largest error {worst:.2g} of its tolerance", tried, ratio=worst)


def one_token(suite: Rotation) -> Said:
    """One row, one batch element, one head."""
    return suite.all_of([Case((p,), 1, 1, 1, seed=p) for p in (0, 1, 9)] + [Case((4,), seed=1)])


def lengths(suite: Rotation) -> Said:
    """Odd lengths, and those beside the edges of blocks."""
    sizes = COMPILED if suite.framework == "jax" else LENGTHS
    if suite.way.told == "positions":
        sizes = [t for t in sizes if t - 1 <= together.reach(suite)]
    return suite.all_of([Case(tuple(range(t)), 1, 2, 2, seed=t) for t in sizes])


def by_row(suite: Rotation) -> Said:
    """Batch elements that stand at other positions."""
    if suite.way.told != "positions" or "b" not in suite.way.layout:
        return NOTHING
    outcome = suite.judge(Case(own_rows=True, seed=3))
    trouble = outcome.why and outcome.why.trouble
    if refuses(trouble) and not suite.way.by_row:
        return refused(trouble, "positions [b t] are refused: ")
    said = suite.all_of([Case(own_rows=True, seed=3), Case((4,), own_rows=True, seed=3)])
    return said if said.verdict is Verdict.FAILS else said._replace(line=f"positions [b t]: {said.line}")


def base(suite: Rotation) -> Said:
    """A base that is given is used."""
    if "base" not in suite.names or not suite.fit.base or suite.way.told == "table":
        return NOTHING
    return suite.all_of([Case(base=value, seed=4) for value in (500.0, 2e6)])


def offset(suite: Rotation) -> Said:
    """Rows stand at the offset that is given, and after it."""
    if "offset" not in suite.names or suite.way.told != "rows":
        return NOTHING
    rows = (tuple(range(7)), (0,))
    return suite.all_of([Case(each, offset=value, seed=4) for value in (1, 16, 100) for each in rows])


def values(suite: Rotation) -> Said:
    """Zeros, numbers of 1e4, and those below the smallest normal number."""
    return suite.all_of([Case(factor=factor, seed=6) for factor in (0.0, 1e4, 1e30, 1e-40)])


def fewer_keys(suite: Rotation) -> Said:
    """Keys may have fewer heads than queries."""
    if "k" not in suite.names or "h" not in suite.way.layout:
        return NOTHING
    outcome = suite.judge(Case(heads=4, key_heads=2, seed=9))
    if outcome.why and refuses(outcome.why.trouble):
        trouble = outcome.why.trouble
        return refused(trouble)
    if outcome.why:
        return failed(outcome.why, counterexample=outcome.shown, ratio=outcome.ratio)
    return Said(Verdict.HOLDS, f"4 heads of queries, 2 of keys: largest error {outcome.ratio:.2g} of its tolerance")


def strided(suite: Rotation) -> Said:
    """Arrays that are rows of larger ones."""
    return suite.all_of([Case(strided=True, seed=seed) for seed in (1, 2)])


def kind(name: str) -> Callable[[Rotation], Said]:
    """The law of a type."""

    def law(suite: Rotation) -> Said:
        if (name, suite.framework) in (("bfloat16", "numpy"), ("float64", "jax")):
            return NOTHING
        far = tuple(min(p, together.reach(suite)) for p in (300, 0, 257, 2049, 4001, 1, 2))
        cases = [Case(kind=name, seed=1)]
        if suite.way.told != "rows":
            cases.append(Case(far, kind=name, seed=2))
        elif suite.framework != "jax":
            cases.append(Case(tuple(range(300)), 1, 1, 1, kind=name, seed=2))
        said = suite.all_of(cases)
        if said.verdict is not Verdict.FAILS:
            return said
        if said.failures == len(cases) and refuses(said.trouble):
            return refused(Wrong(f"{said.trouble}; {CALL}{said.case}", said.trouble, said.case), tried=said.tried)
        if name != "float64" or said.trouble:
            return said
        again = suite.all_of(cases, "float32")
        if again.verdict is Verdict.HOLDS:
            return Said(Verdict.CONVENTION, told(said.ratio), said.tried)
        return again if again.trouble else said

    return law


def types(suite: Rotation) -> Said:
    """A narrow type that is asked first leaves no narrow table, and none that grows with a longer text."""
    narrow = suite.narrow_kind
    near, far = tuple(range(7)), (300, 0, 257, 1, 2)
    far = tuple(range(300)) if suite.way.told == "rows" else tuple(min(p, together.reach(suite)) for p in far)
    if suite.framework == "jax" and suite.way.told == "rows":
        far = near
    cases = [Case(rows, 1, 1, 1, seed=seed) for seed, rows in enumerate((near, far))]
    if suite.all_of(cases).verdict is Verdict.FAILS:
        return NOTHING  # It is wrong in any order, and other rows say so.
    with suite.anew() as is_new:
        for rows in (near, far):
            if refuses(suite.ask(ways.fitted(Case(rows, 1, 1, 1, kind=narrow), suite.way)).trouble):
                return NOTHING
            said = suite.all_of([Case(near, 1, 1, 1, seed=1), Case(rows, 1, 1, 1, seed=2)])
            if said.verdict is Verdict.FAILS:
                # A snippet makes the calls again: one of them alone shows nothing.
                return said._replace(line=f"after {narrow}: {said.line}", counterexample=None)
    order = f"{narrow} first, then float32" if is_new else f"float32 after {narrow}, of a target that was called"
    return Said(Verdict.HOLDS, f"{order}: {said.line}", 4, ratio=said.ratio)


def _judged(law: Callable[[Rotation], Said]) -> Callable[[Rotation], Said]:
    """A law that has nothing to try where channels turn in no known way."""
    return lambda suite: NOTHING if suite.why else law(suite)


LAWS: Mapping[str, Callable[[Rotation], Said]] = {
    "turning": turning,
    **{
        name: _judged(law)
        for name, law in {
            "rotation": rotation,
            "position 0": position_0,
            "norms": together.norms,
            "relativity": together.relativity,
            "composition": together.composition,
            "prefix": together.prefix,
            "large positions": large,
            "one token": one_token,
            "lengths": lengths,
            "widths": widths,
            "positions by row": by_row,
            "base": base,
            "offset": offset,
            "values": values,
            "fewer key heads": fewer_keys,
            "non-contiguous": strided,
            "float64": kind("float64"),
            "float16": kind("float16"),
            "bfloat16": kind("bfloat16"),
            "types in turn": types,
            "elements apart": together.apart,
            "same result": together.same_result,
        }.items()
    },
    "inputs unchanged": together.unchanged,
}
"""In the order in which they are tried."""
