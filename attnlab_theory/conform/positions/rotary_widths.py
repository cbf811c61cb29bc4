"""What a rotation makes of vectors of other widths: it turns them, refuses them, or has one table for all."""

import numpy as np

from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.positions import rotary_ways as ways
from attnlab_theory.conform.positions.calling import Shown
from attnlab_theory.conform.positions.rotary_judging import Rotation
from attnlab_theory.conform.positions.rotary_ways import Case
from attnlab_theory.conform.suite import Said, failed, refuses

NEAR = 1e-3
"""How far frequencies and numbers of one table may be apart, in parts of them."""


def widths(suite: Rotation) -> Said:
    """Other widths: who refuses them has one of its own. Of few channels, the share that turns may be no pair."""
    own = suite.way.width
    tried, refused, still = [], [], []
    for width in (32,) if suite.framework == "jax" else (2, 4, 6, 16, 24, 64, 128):
        if width == own:
            continue
        case = Case(width=width, seed=width, batch=1, heads=2, key_heads=2)
        probe = suite.probe(width)
        if not probe.trouble and not suite.turning(width):
            if width * suite.turning(own) >= ways.PAIR * own:
                said = suite.wrong(f"no channel of {width} turns", probe.call)
                return failed(said, counterexample=Shown(probe.call, None, (), 0.0))
            still.append(str(width))
        (refused if refuses(probe.trouble) else tried).append(case)
    more = f"; {suite.turning(own)} of {own} are no pair of {', '.join(still)}" if still else ""
    if refused and (pair := _spread(suite, tried)) is not None:
        tried.remove(pair)
        more += ", and one pair is spread over all of its own"
    if not tried:
        return Said(Verdict.CONVENTION, f"one width: {own}; {len(refused)} others are refused{more}")
    said = suite.all_of(tried)
    wrong = [each for each in tried if suite.judge(each).why] if said.verdict is Verdict.FAILS else []
    if wrong and not said.trouble and all(_again(suite, each) for each in wrong):
        numbers = ", ".join(str(each.width) for each in tried)
        line = f"one table, of {own} channels: vectors of {numbers} turn by its frequencies, again and again"
        return Said(Verdict.CONVENTION, line + more, len(tried))
    if said.verdict is Verdict.HOLDS and refused:
        others = ", ".join(str(case.width) for case in refused)
        return said._replace(line=f"{said.line}; {others} refused{more}")
    return said._replace(line=f"{said.line}{more}")


def _spread(suite: Rotation, tried: list[Case]) -> Case | None:
    """A single pair that comes back as wide as all that turn, where wider ones that are narrower than those do not.

    One column goes with every table.
    """
    turning = suite.turning(suite.way.width)
    narrow = [case for case in tried if case.width < turning]
    if [case.width for case in narrow] != [2]:
        return None
    case = ways.fitted(narrow[0], suite.way)
    shape = ways.shape_of(case._replace(width=turning), suite.way.layout, case.heads)
    trouble = suite.ask(case).trouble
    return narrow[0] if trouble and trouble.gave == tuple(shape) else None


def _again(suite: Rotation, case: Case) -> bool:
    """Whether the frequencies are those of the target's own width, from the first one on, again and again."""
    own = suite.way.width
    turning, width = suite.turning(own), case.width
    table, _ = suite.frequencies(own)
    pairs = suite.turning(width) // 2
    angles = suite.angles_at(1, width, 2 * pairs)
    if (
        angles is not None
        and pairs
        and np.allclose(angles, table[np.arange(pairs) % len(table)], rtol=NEAR, atol=1e-6)
    ):
        return True
    if width % own or turning != own:
        return False
    whole = suite.ask(ways.fitted(case, suite.way))
    if whole.trouble:
        return False
    # Blocks of its own width, each of which turns as if it stood alone.
    x = ways.inward(whole.call.array(next(role for role in whole.call.values if role in "qx")), suite.way.layout)
    rows = ways.rows_of(ways.fitted(case, suite.way)) + suite.way.shift
    cos, sin = (f(rows[..., None] * table) for f in (np.cos, np.sin))
    blocks = [ways.turned(x[..., at : at + own], cos, sin, suite.way, turning) for at in range(0, width, own)]
    return bool(np.allclose(whole.outputs[0], np.concatenate(blocks, -1), rtol=NEAR, atol=NEAR))
