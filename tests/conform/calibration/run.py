"""What the calibration asks, and what it answers, as plain values."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.kinds import KINDS
from attnlab_theory.conform.suite import suite_class
from attnlab_theory.museum.bugs import BUGS
from tests.conform import wrong
from tests.conform.calibration import alarms, judging, museum, mutants, page, suites, ways
from tests.mutants.changes import Change

Say = Callable[[str], None]

JAX = {"framework": "jax"}


def planted(say: Say = print, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The bugs of `tests/conform/wrong.py`, by the suite and by ONNX's vectors."""
    found = []
    for bug, kind in wrong.BUGS.items():
        if names and bug not in names:
            continue
        wrong.calls.clear()
        by, line = judging.by_suite(wrong.MADE[kind](bug), kind, {})
        wrong.calls.clear()
        onnx = judging.by_vectors(with_everything(bug), {})
        found.append({"bug": bug, "kind": kind, "by": by, "line": line, "onnx": onnx})
        say(f"{bug}: {by or 'not found'}; ONNX: {onnx or 'not found'}")
    return found


def with_everything(bug: str) -> Callable[..., Any]:
    """A planted bug with all arguments that a vector may ask for, and zeros where a row sees nothing."""

    def target(q, k, v, mask=None, is_causal=False, scale=None, softcap=None, bias=None, window=None):
        with np.errstate(all="ignore"):
            options = {"causal": is_causal, "scale": scale, "softcap": softcap, "bias": bias, "window": window}
            return np.nan_to_num(wrong.whole(q, k, v, mask, bug=bug, **options))

    return target


def of_museum(say: Say = print, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The bugs of the museum."""
    found = []
    for bug in BUGS:
        if names and bug.name not in names:
            continue
        one: dict[str, Any] = {"bug": bug.name, "kind": "", "by": "", "line": "", "onnx": "", "why": ""}
        one |= {"beside": False, "right": ""}
        box = museum.BOXES.get(bug.name) or museum.CONVENTIONS.get(bug.name)
        if box is None:
            one["why"] = museum.REASONS[bug.name]
        else:
            one["kind"], one["beside"], one["right"] = box.kind, box.right is not None, box.accused()
            if KINDS[box.kind].suite.startswith("kinds.softmax"):
                # What hides the future by itself has no flag, and is asked those vectors that want that.
                always = {"causal": "always", "alignment": "end"} if box.kind == "causal" else {}
                one["onnx"] = judging.by_vectors(box.target, {**box.known, **always})
            if bug.name in museum.BOXES:
                one["by"], one["line"] = box.found()
            else:
                line, said = museum.TOLD[bug.name]
                heard = judging.told(box.target, box.kind, box.known, line)
                assert said in heard, heard
                one["why"] = f"a convention, which is told: {line}: {heard}"
        found.append(one)
        say(f"{bug.name}: {one['by'] or one['why'] or 'not found'}; ONNX: {one['onnx'] or 'not found'}")
    return found


class Right(NamedTuple):
    """What a way to call ours gives without a change."""

    look: list[np.ndarray]
    said: dict[str, str]
    """Lines that tell of its conventions."""


def of_mutants(
    changes: Sequence[Change],
    say: Say = print,
    known: Sequence[dict[str, Any]] = (),
    keep: Callable[[list[dict[str, Any]]], None] = lambda found: None,
    ask: bool = True,
) -> list[dict[str, Any]]:
    """Changes of our operators.

    Args:
        changes: what is asked.
        say: told a line for each.
        known: what an earlier run found, and is not asked again.
        keep: given all that is known after each.
        ask: whether those that are not known are asked.
    """
    before = {_key(each): each for each in known if each["why"] != NOT_ASKED}
    right: dict[str, list[Right]] = {}
    found: list[dict[str, Any]] = []
    asked: set[tuple[Any, ...]] = set()
    for change in changes:
        name, inside = mutants.stem(change), mutants.function(change)
        one = {"file": change.file, "line": change.line, "start": change.start, "change": change.change}
        one |= {"function": inside, "by": "", "told": "", "onnx": "", "moved": 0.0}
        one["why"] = NO_KIND if name == "sparse" and inside in mutants.OF_BIGBIRD else "" if ask else NOT_ASKED
        if _key(one) in before or one["why"]:
            found.append(before.get(_key(one), one))
            asked.add(_key(one))
            continue
        if name not in right:
            with mutants.small_blocks(name):
                right[name] = [_right(way) for way in mutants.WAYS[name]]
        with mutants.small_blocks(name), mutants.mutated(change) as is_there:
            if is_there:
                _ask(one, name, right[name])
            else:
                one["why"] = "the function does not live on after its module is imported"
        found.append(one)
        asked.add(_key(one))
        keep([*found, *(each for key, each in before.items() if key not in asked)])
        say(f"{name}:{change.line} {change.change[:50]}: {one['by'] or one['why']}; ONNX: {one['onnx'] or '-'}")
    return found


NOT_ASKED = "**not asked**: the run was stopped before"
NO_KIND = "only BigBird uses the function, and no kind promises what it computes"


def _key(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["file"], one["start"], one["change"]


NEAR = 1e-5
"""What moves outputs of the size of one by no more is rounding, in float32 and with room for half precision."""


def _ask(one: dict[str, Any], name: str, right: Sequence[Right]) -> None:
    moved = [_moved(each.look, way.look(way)) for way, each in zip(mutants.WAYS[name], right, strict=True)]
    one["moved"] = max(each.most for each in moved)
    if one["moved"] == 0:
        one["why"] = "no output moved"
        return
    for way, each, by_so_much in zip(mutants.WAYS[name], right, moved, strict=True):
        if not by_so_much.most:
            continue
        by, said = _judged(way)
        if by:
            one["by"] = f"{way.kind}: {by}"
            break
        lines = each.said
        if not one["told"]:
            one["told"] = next((line for line in {**lines, **said} if said.get(line) != lines.get(line)), "")
    if name in ways.ASKED:
        asked, layout = ways.ASKED[name]
        one["onnx"] = judging.by_vectors(asked, {**JAX, "layout": layout})
    if one["by"]:
        return
    if one["told"]:
        one["why"] = f"a convention, which is told: {one['told']}"
    elif one["moved"] < NEAR:
        one["why"] = "outputs moved by rounding only"
    elif all(each.refusals for each in moved if each.most):
        one["why"] = "only which inputs are refused changes: here those in which a NaN or an infinity is seen"
    else:
        one["why"] = mutants.UNSEEN.get((one["function"], one["change"]), "")


def _right(way: ways.Ours) -> Right:
    by, said = _judged(way)
    assert not by, (way, by)  # Ours is right, or nothing that is found of a change means anything.
    return Right(way.look(way), said)


TELLING = ("hidden keys", "blind rows", "hidden NaN")
"""Rows that tell of conventions, whatever their verdict."""


def _judged(way: ways.Ours) -> tuple[str, dict[str, str]]:
    """The first identity that a way to call ours fails, and the lines that tell of its conventions."""
    try:
        suite = suite_class(way.kind)(Direct(way.target), way.kind, way.known)
    except ValueError:
        return "a trial call", {}
    for name, _ in getattr(suite, "failures", ()):
        return name, {}
    said = dict(suite.profile)
    for row in suite.rows(way.identities):
        if row.verdict == "fails":
            return row.name, {}
        if row.verdict == "convention" or row.name in TELLING:
            said[row.name] = row.line
    return "", said


class Moved(NamedTuple):
    """How two looks differ."""

    most: float
    """The largest difference; `page.NO_NUMBER` where shapes or NaN differ."""
    refusals: bool
    """Whether all that differs is that one of the two refuses a call."""


def _moved(right: list[np.ndarray], found: list[np.ndarray]) -> Moved:
    if len(right) != len(found):
        return Moved(page.NO_NUMBER, False)
    most, answers = 0.0, 0
    for one, other in zip(right, found, strict=True):
        if one.shape == other.shape and np.array_equal(np.isnan(one), np.isnan(other)):
            apart = float(np.abs(np.nan_to_num(one) - np.nan_to_num(other)).max(initial=0.0))
            most, answers = max(most, apart), answers + (apart > 0)
        else:
            most, answers = page.NO_NUMBER, answers + (one.size > 0 and other.size > 0)
    return Moved(most, most > 0 and not answers)


def of_right(
    seeds: int, say: Say = print, names: Sequence[str] = (), known: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Right code at every type. What was asked before with as many seeds, and not accused, is not asked again."""
    before = {(each["code"], each["type"]): each for each in known if each["seeds"] == seeds and not each["alarms"]}
    found = []
    for each in alarms.all_right():
        if names and each.name not in names:
            continue
        for kind in alarms.TYPES[each.framework]:
            found.append(before.get((each.name, kind)) or alarms.asked(each, kind, seeds))
            say(f"{each.name}, {kind}: {found[-1]['alarms']} alarms, largest {found[-1]['largest']:.2g}")
    return found


def of_suites(
    draws: int,
    say: Say = print,
    kinds: Collection[str] = (),
    known: Sequence[dict[str, Any]] = (),
    keep: Callable[[list[dict[str, Any]]], None] = lambda found: None,
) -> list[dict[str, Any]]:
    """Right code of the other kinds. What was asked before, with as many draws and no alarm, is not asked again."""
    before = {(each["kind"], each["code"]): each for each in known if not each["alarms"]}
    found: list[dict[str, Any]] = []
    for each in suites.all_right():
        if kinds and each.kind not in kinds:
            continue
        wanted, one = suites.draws_of(each, draws), before.get((each.kind, each.name))
        if one is None or one["draws"] != wanted:
            one = suites.asked(each, wanted)
            say(f"{each.kind}, {each.name}: {one['alarms']} alarms in {one['asked']}; {one['first'] or 'none'}")
        found.append(one)
        keep(found)
    return found
