r"""Rotary positions: pairs of channels turn by an angle in proportion to the position.

Axes: b batch, h heads of queries and then of keys, t tokens, d width.

Tolerance. y = x_1 cos a - x_2 sin a. The table is stored in the type of the vectors, each product and the sum are
rounded: 4 u (|x_1| + |x_2|) beside the error of the table, which `angles` derives. What does not turn is copied.
That norms stay, that scores depend on distances, and that turns add up, follows where every number is right.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform import angles
from attnlab_theory.conform.angles import PAIRS, Frequencies, channels
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.identities import RightAt, again, apart, explained, types_in_turn, untouched
from attnlab_theory.conform.judge import Judge, Pair
from attnlab_theory.conform.kind import Chosen, Kind, Law, Right, Spec, Stage
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.rounding import HALF_EPS, TINY

WIDTHS = (8, 64, 128, 32, 16)
"""Widths of trial calls: a target may have one of its own, and of few channels the share that turns may be none."""

PAIR = 2
"""Channels that turn together. One pair does not say which channels make pairs: a wider vector does."""

TRIAL, SHORT = (0, 1, 8, 64, 256), (0, 1, 2, 4, 6)
"""Positions of trial calls, near enough to the one before to count full turns; and those of a short table."""

LARGE = (300, 1023, 2047, 4095, 16383, 131071)
LENGTHS, COMPILED = (2, 3, 15, 16, 17, 33, 63, 64, 65, 129), (2, 17, 65)

LONG = 256
"""Up to here no length may change a frequency: models are trained on more."""

ONE = {"batch": 1, "heads": 1, "groups": 1}
VECTORS = ("x", "xk")


class Turn(NamedTuple):
    """What becomes of the vectors of a case."""

    first: np.ndarray
    """The first channel of each pair, [pairs]."""
    second: np.ndarray
    frequencies: Frequencies
    sign: int
    """1 where (a, b) becomes (a cos - b sin, a sin + b cos); -1 the other way round."""
    shift: float
    """The position of row 0."""
    scale: float
    """What all vectors are multiplied by."""


def at(*positions: int, **more: Any) -> dict[str, Any]:
    """A case in short of rows that stand at some positions."""
    return {"queries": len(positions), "positions": positions, **more}


def vectors(case: Case) -> np.ndarray:
    """What is handed over, [b h t d]."""
    made = case.operands()
    return np.concatenate([made[role] for role in VECTORS if role in made], 1).astype(np.float64)


def rows(case: Case) -> np.ndarray:
    """Where rows stand, [b t] or [1 t]: at what is handed over, or one after the other."""
    made = case.operands()
    return np.atleast_2d(made.get("positions", np.arange(*case.shape("t")) + (case["offset"] or 0)))


def moved(numbers: np.ndarray, case: Case) -> np.ndarray:
    """The channels of the queries that are not copied."""
    heads = slice(case["heads"])
    return np.flatnonzero((vectors(case)[:, heads] != numbers[:, heads]).any((0, 1, 2)))


def phases(numbers: np.ndarray, case: Case, pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """By which complex number each pair of channels of the queries is multiplied, [t pairs]."""
    both = (z[:, : case["heads"]] for z in (vectors(case), numbers))
    x, y = (z[..., pairs[0]] + 1j * z[..., pairs[1]] for z in both)
    return (y * x.conj()).sum((0, 1)) / (np.abs(x) ** 2).sum((0, 1))


def turn(numbers: np.ndarray, case: Case, chosen: Chosen) -> Turn | None:
    """What becomes of vectors, read off an answer; None where no channels turn, or not the first."""
    moving = moved(numbers, case)
    if not len(moving) or len(moving) % 2 or (moving != np.arange(len(moving))).any():
        return None
    pairs = channels(chosen["pairs"], len(moving))
    z = phases(numbers, case, pairs)
    sign = 1 if angles.wrapped(np.angle(z[1]) - np.angle(z[0]))[0] >= 0 else -1
    angle, scale = sign * np.angle(z), float(np.abs(z[0]).mean())
    found = angles.unwrapped(angle, rows(case)[0].astype(float))
    shift = float(np.round(angle[0, 0] / found.each[0], 3)) if found.each[0] else 0.0
    return Turn(*pairs, found, sign, shift, scale if abs(scale - 1) > 1e-2 else 1.0)


def read(numbers: np.ndarray, case: Case, chosen: Chosen) -> dict[str, Any]:
    """What a trial answer tells: how many channels turn, and how."""
    found = turn(numbers, case, chosen)
    if found is None:
        return {"turning": ""}
    more = {"turning": 2 * len(found.first), "direction": found.sign, "is doubtful": len(found.first) == 1}
    more |= {"scale of all": found.scale} if found.scale != 1 else {}
    return more | ({"row 0": found.shift} if found.shift or not is_told(case) else {})


def is_told(case: Case) -> bool:
    """Whether a target is told where rows stand."""
    return bool({"positions", "cos"} & {*dict(case.arrays)})


def right(case: Case, chosen: Chosen, made: Turn | None) -> Right:
    """Each pair of channels turned by its angle, [b h t d]."""
    x, arrays = vectors(case), case.operands()
    if made is None:
        return Right(x, lambda kind, _: np.zeros(x.shape))
    first, second, p = made.first, made.second, rows(case) + made.shift
    cos, sin = (f(p[:, None, :, None] * made.frequencies.each) for f in (np.cos, np.sin))
    if "cos" in arrays:
        cos, sin = (np.asarray(arrays[name], float)[:, : len(first)] for name in ("cos", "sin"))
    cos, sin = cos * made.scale, sin * made.scale * made.sign
    a, b, output = x[..., first], x[..., second], x.copy()
    output[..., first], output[..., second] = a * cos - b * sin, a * sin + b * cos

    def within(kind: str, _: str) -> np.ndarray:
        table = 0.0 if "cos" in arrays else angles.off(p, made.frequencies, kind)[:, None]
        most = np.zeros(x.shape)
        most[..., first] = most[..., second] = error((np.abs(a) + np.abs(b)) * made.scale, table, kind)
        return most

    return Right(output, within)


def error(size: np.ndarray, table: np.ndarray | float, kind: str) -> np.ndarray:
    """The largest error of a turned pair, from |x_1| + |x_2| and the error of its sine and cosine."""
    return size * (table + 4 * HALF_EPS[kind]) + 4 * TINY[kind] + 1e-320


def probe(judge: Judge, width: int, *beside: int) -> Case:
    """The case of vectors of ones, of some width; at the positions of the trial call, or at others."""
    places = beside or rows(judge.trial)[0].tolist()
    return judge.cases([at(*places, width=width, **dict.fromkeys(VECTORS, "ones"))])[0]


def turning(judge: Judge, width: int) -> int:
    """How many channels turn of vectors of some width: those of ones that do not stay one."""
    chosen, case = judge.convention.chosen, probe(judge, width)
    if width == chosen["own width"]:
        return chosen["turning"]
    answer = judge.remembered(case)
    moving = [] if answer.trouble else moved(answer.numbers, case)
    return min(2 * ((int(moving[-1]) + 2) // 2), width // 2 * 2) if len(moving) else 0


def own(judge: Judge, case: Case) -> Turn:
    """What becomes of the vectors of a case: by the formula where there is one, and else as ones were turned."""
    chosen, width = judge.convention.chosen, case["width"]
    pairs, sign, f = channels(chosen["pairs"], turning(judge, width)), chosen["direction"], None
    if (known := angles.known(chosen, len(pairs[0]), width, case["base"])) is not None:
        f = Frequencies(known)
    elif is_told(case) or "base" in chosen:
        ones = probe(judge, width)
        f = angles.unwrapped(
            sign * np.angle(phases(judge.remembered(ones).numbers, ones, pairs)), rows(ones)[0] * 1.0
        )
    assert f is not None
    return Turn(*pairs, f, sign, chosen.get("row 0", 0.0), chosen.get("scale of all", 1.0))


def base(judge: Judge) -> dict[str, Any]:
    """The base of the frequencies. Whoever does not stretch them has no reason to stretch vectors."""
    trial, chosen = judge.trial, judge.convention.chosen
    if not judge.explained or "cos" in judge.convention.names:
        return {}
    found = turn(judge.remembered(trial).numbers, trial, chosen)
    assert found is not None
    more = angles.fitted(found.frequencies, trial["width"], judge.declared.get("base"), ("turning", "whole"))
    return more | ({"scale of all": 1.0} if more["base"] and "scale of all" in chosen else {})


def growth(judge: Judge) -> int:
    """The position beyond which frequencies fall with the length of the text; 0 if they do not."""
    if "positions" not in judge.convention.names:
        return 0
    alone = probe(judge, 0, 1, 2, 4)
    usual, made = judge.remembered(alone), own(judge, alone)
    for last in (300, 5000, 40000):
        case = probe(judge, 0, 1, 2, 4, last)
        answer = judge.remembered(case)
        if usual.trouble or answer.trouble:
            return 0
        if np.abs(answer.numbers[:, :, :3] - usual.numbers).max() > 1e-4:
            one, two, four = np.angle(phases(answer.numbers, case, made[:2]))[:3] * made.sign
            is_straight = np.abs(np.sin([two - 2 * one, four - 4 * one])).max() < 1e-4
            is_slower = (one <= made.frequencies.each * (1 + 1e-4) + 1e-6).all()
            return (LONG if last > 300 else SHORT[-1]) if is_straight and is_slower else 0
    return 0


def reach(judge: Judge) -> int:
    """The largest position, of some, that is taken and turned as near ones are."""
    if "positions" not in judge.convention.names:
        return LARGE[3]
    found = grown = growth(judge)
    for p in () if grown else (SHORT[-1], 16, 40, 64, 128, 300, 2049, 4001):
        trouble = judge.remembered(judge.cases([at(p, 0)])[0]).trouble
        if trouble and trouble.refuses:
            break
        found = p
    return found


def near(judge: Judge, *positions: int, **more: Any) -> dict[str, Any]:
    """A case in short of rows at positions as far as they are taken; of as many tokens as the last says else."""
    if is_told(judge.trial):
        return at(*(min(p, reach(judge)) for p in positions), **more)
    return {**ONE, "queries": 7 if judge.compiles else positions[0], **more}


def pairs_turn(judge: Judge) -> Finding:
    """Channels turn in pairs, alike in all batch elements and heads."""
    found, case = explained(judge), judge.trial
    if judge.explained:
        about = {"pairs": judge.convention.chosen["turning"] // 2}
        return dataclasses.replace(found, fact="pairs", about=about)
    if not len(moved(judge.remembered(case).numbers, case)):
        return dataclasses.replace(found, fact="no channel turns", number=None)
    return dataclasses.replace(found, fact="other pairs" if "pairs" in judge.declared else found.fact)


def position_0(judge: Judge) -> Finding:
    """Nothing turns at position 0."""
    for name, usual in (("row 0", 0), ("scale of all", 1)):
        if (first := judge.convention.chosen.get(name, usual)) != usual:
            return Finding(verdict=Verdict.CONVENTION, fact="chosen", about={"convention": name, "first": first})
    return judge.values(judge.cases([at(0), at(0, seed=1)]))


def prefix(judge: Judge) -> Finding:
    """What stands later changes nothing. Frequencies that fall with long texts are told."""
    pairs = [(2, at(7, 3, last)) for last in (17, 130, 300, 5000, 40000)]
    if "cos" in judge.convention.names:
        return NOT_TRIED
    if not is_told(judge.trial):
        longer = ((1, 5), (5, 6), (17, 130), (130, 1030))
        pairs = [(n, {"queries": m}) for n, m in longer[: 3 if judge.compiles else None]]
    wholes = [(n, judge.cases([{**ONE, **spec, "seed": 2}])[0]) for n, spec in pairs]
    found = judge.same(
        (Pair(whole.replaced(parts=(n,)), whole, {"t": slice(n)}) for n, whole in wholes),
        lambda outcome: outcome.case["parts"] is None,
        tells=False,
    )
    last = rows(found.beside).max() if found.verdict is Verdict.FAILS and found.number and found.beside else 0
    if last > LONG and growth(judge):
        return Finding(verdict=Verdict.CONVENTION, fact="longer", about={"last": last})
    return found


def far(judge: Judge) -> Iterator[Spec]:
    """Positions of long texts."""
    if is_told(judge.trial):
        most = growth(judge) or LARGE[-1]
        yield from (at(p, p // 3, 0, p - 1, 7, batch=1, seed=p) for p in LARGE if p <= most)
    elif not judge.compiles:
        yield from ({**ONE, "queries": t, "seed": t} for t in (512, 2048, 4096))


def lengths(judge: Judge) -> Iterator[Spec]:
    """Odd ones, and those beside the edges of blocks."""
    for t in COMPILED if judge.compiles else LENGTHS:
        if "positions" not in judge.convention.names or t - 1 <= reach(judge):
            yield {"batch": 1, "heads": 2, "groups": 2, "queries": t, "seed": t}


def widths(judge: Judge) -> Finding:
    """Other widths: who refuses them, or turns them by the table of its own width again and again, is told."""
    chosen, cases, refused, still = judge.convention.chosen, dict[int, Case](), list[int](), list[int]()
    whole, count = chosen["own width"], chosen["turning"]
    for width in (32,) if judge.compiles else (2, 4, 6, 16, 24, 64, 128):
        case = probe(judge, width)
        trouble = judge.remembered(case).trouble
        if not trouble and not turning(judge, width):
            if width * count >= PAIR * whole:
                return Finding(verdict=Verdict.FAILS, case=case, fact="no channel turns", failures=1)
            still.append(width)
        if trouble and trouble.refuses:
            refused.append(width)
        elif width != whole:
            cases[width] = judge.cases([{"width": width, "seed": width, "batch": 1, "heads": 2, "groups": 2}])[0]
    trouble = judge.ask(cases[PAIR]).trouble if [n for n in cases if n < count] == [PAIR] and refused else None
    if trouble and trouble.gave[-1:] == (count,):
        # A single pair is spread over all that turn, for one column goes with every table.
        del cases[PAIR]
    about = {"own": whole, "others": (*refused,), "still": (*still,), "widths": (*cases,)}
    if not cases:
        return Finding(verdict=Verdict.CONVENTION, fact="one width", about=about)
    found = judge.values(cases.values())
    if found.verdict is not Verdict.FAILS:
        fact = "widths still" if still else "widths refused" if refused else "widths"
        return dataclasses.replace(found, fact=fact, about=about | {"ratio": found.ratio})
    wrong = [case for case in cases.values() if judge.judge(case).fails]
    if found.trouble is None and all(is_again(judge, case) for case in wrong):
        return Finding(verdict=Verdict.CONVENTION, fact="one table", about=about)
    return found


def is_again(judge: Judge, case: Case) -> bool:
    """Whether the frequencies are those of the target's own width again and again, over all pairs or by blocks."""
    usual, width, n = own(judge, judge.trial), case["width"], turning(judge, case["width"]) // 2
    table, count = usual.frequencies.each, len(usual.first)
    tries = [(*channels(judge.convention.chosen["pairs"], 2 * n), np.resize(table, n))] * bool(n)
    if width % (2 * count) == 0 and judge.convention.chosen["own width"] == 2 * count:
        begins = np.arange(0, width, 2 * count)[:, None]
        tries.append(((usual.first + begins).ravel(), (usual.second + begins).ravel(), np.tile(table, len(begins))))
    made = [usual._replace(first=a, second=b, frequencies=Frequencies(f)) for a, b, f in tries]
    return any(not judge.judge(case, each).fails for each in made)


def by_row(judge: Judge) -> Finding:
    """Batch elements that stand at other positions."""
    specs = [{"positions": "by row", "positions axes": "bt", "queries": n, "seed": 3} for n in (7, 1)]
    names = judge.convention.names
    if "positions" not in names or "cos" in names or "b" not in judge.convention.layout:
        return NOT_TRIED
    found = judge.values(judge.cases(specs), may_refuse_all=judge.convention.chosen["positions axes"] == "t")
    return dataclasses.replace(found, case=None) if found.verdict is Verdict.CONVENTION else found


def against(judge: Judge) -> Finding:
    """Another target, which has its own table, turns the same vectors at the same positions alike."""
    if judge.other is None:
        return NOT_TRIED
    specs = [{"seed": 0}, near(judge, 300, 0, 255, 1, 7, seed=1), near(judge, 4001, 2000, 31, seed=2)]
    return judge.same(Pair(case, case, of_other=True) for case in judge.cases(specs))


def of_type(kind: str) -> Law:
    """The law that every number is right in a type, near and far."""
    far = (300, 0, 257, 2049, 4001, 1, 2)
    return RightAt(
        lambda judge: [{"type": kind, "seed": 1}, near(judge, *far, type=kind, seed=2)], may_refuse_all=True
    )


ROTARY = Kind(
    operands=(
        "x",
        "xk",
        "groups",
        "positions",
        "cos",
        "sin",
        "base",
        "offset",
        "interleaved",
        "tokens",
        "channels",
    ),
    unnamed=("x",),
    gives="bhtd",
    returns=VECTORS,
    declares=("base",),
    usual={"batch": 2, "heads": 3, "groups": 3, "queries": 7},
    # An offset is for rows that are told nothing else.
    promised=lambda case, chosen: not case["offset"] or not is_told(case),
    near=0.2,
    stages=(
        Stage(
            forms={
                "own width": WIDTHS,
                "layout": ("bhtd", "bthd", "htd", "thd", "btd", "td"),
                "cos": (*OPERANDS["cos"].meanings,),
                # Tables have rows for the tokens of one text.
                "positions axes": lambda found: OPERANDS["positions"].axes[: 1 if "cos" in found.names else None],
            },
            choices={"pairs": PAIRS},
            trials=(at(*TRIAL), at(*SHORT)),
            identity="turning",
        ),
    ),
    numbers=turn,
    known=read,
    own=own,
    right=right,
    reads=(base,),
    laws={
        "turning": pairs_turn,
        "rotation": RightAt(
            lambda judge: [{"seed": i} if i < 3 else near(judge, 3, 0, 11, 5, 5, 40, 1, seed=i) for i in range(6)]
        ),
        "position 0": position_0,
        "prefix": prefix,
        "large positions": RightAt(far, may_refuse=True),
        "one token": RightAt([*(at(p, seed=p, **ONE) for p in (0, 1, 9)), at(4, seed=1)]),
        "lengths": RightAt(lengths),
        "widths": widths,
        "positions by row": by_row,
        "base": RightAt(
            lambda judge: [{"base": x, "seed": 4} for x in (500.0, 2e6) if judge.convention.chosen.get("base")]
        ),
        "offset": RightAt({"offset": p, "queries": t, "seed": 4} for p in (1, 16, 100) for t in (7, 1)),
        "values": RightAt({"seed": 6, **dict.fromkeys(VECTORS, x)} for x in ("0.0", "1e4", "1e30", "1e-40")),
        "fewer key heads": RightAt(
            lambda judge: [{"heads": 4, "groups": 2, "seed": 9}] * ("xk" in judge.convention.names),
            may_refuse_all=True,
        ),
        "non-contiguous": RightAt({"memory": "rows", "seed": seed} for seed in (1, 2)),
        "float64": of_type("float64"),
        "float16": of_type("float16"),
        "bfloat16": of_type("bfloat16"),
        "types in turn": lambda judge: types_in_turn(
            judge, {**ONE, "queries": 7}, near(judge, 300, 0, 257, 1, 2, seed=1)
        ),
        "against": against,
        "elements apart": apart({"batch": 3, "heads": 3, "groups": 3, "seed": 7}, VECTORS),
        "same result": lambda judge: again(
            {"seed": 11},
            [{"queries": 23}, {"type": "float16"}, {"width": 2 * judge.convention.chosen["own width"]}],
        )(judge),
        "inputs unchanged": untouched([]),
    },
)
