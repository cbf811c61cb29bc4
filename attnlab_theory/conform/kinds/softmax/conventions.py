"""What a target of attention takes, and what it means by that: found by trial calls in which all scores are alike.

There every row is a mean of the values that it sees, whatever the scale. What is promised by nobody is told and
left alone where it is refused; but who takes it must get it right.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.calling import Uncallable
from attnlab_theory.conform.finding import Trouble
from attnlab_theory.conform.identities import SHARED, is_polite, sharing
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kinds.softmax.laws import UNIT, unit
from attnlab_theory.conform.operands import OPERANDS

Chosen = dict[str, Any]

OF_HEADS, OF_ANY = ("bhtd", "bthd", "htd", "thd"), ("bhtd", "bthd", "btd", "td", "thd")

WINDOWS = ("w keys back, itself included", "w keys back and itself", "w keys to either side", "w/2 to either side")
"""What a window of w lets a query see."""

OPEN_WINDOWS = ("fewer than w keys to either side", "w keys back, itself included, and all that follow")
"""What else a parameter may mean, which is no kind of its own: the second hides the future beside a flag alone."""

PAIRS = ("", "(w, w)", "(w, 0)")
"""How a window of w is handed over: as a number, or as flash-attention has it, (left, right)."""

NEAR = 0.02
"""How far an answer may be from what a convention makes right: what is wrong with it is judged elsewhere."""

LONGEST = 132
"""Tokens of the longest trial call: a wider window hides nothing."""

MULTIPLES = (2, 4, 8, 16, 32, 64)
"""Numbers of which widths may have to be multiples."""

ALIKE = {"values": "zeros", "edits": ("v[:] = v[:1, :1]",)}
"""Equal scores, and the same values for all heads: which of them is read is judged elsewhere."""

OWN = ("v[:] = 1 + np.arange(v.shape[0] * v.shape[1]).reshape(*v.shape[:2], 1, 1)",)
"""Values that say to which head of which element they belong: so is every mean of them."""


def trials(wants: str, grouped: bool, declared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Trial calls: with more keys than queries, then with as many."""
    more: dict[str, Any] = {"values": "zeros", "edits": OWN, "heads": 4 if grouped else 3}
    more |= {"bias": "zeros"} if wants == "bias" else {}
    if wants != "window":
        # Not as many queries as heads: an answer with both axes exchanged would have the right shape.
        return [{"queries": 5, "keys": 7, **more}, {"length": 5, **more}]
    width = declared.get("fixed_window") or 3
    more |= {} if declared.get("fixed_window") else {"window": width}
    return [{"queries": 2 * width + 1, "keys": 2 * width + 3, **more}, {"length": 2 * width + 3, **more}]


def _off(judge: Judge, spec: Mapping[str, Any], **chosen: Any) -> float:
    """How far an answer is from what is right by some convention; infinite where there is none."""
    trouble, off = judge.tried({**ALIKE, **spec}, **chosen)
    return np.inf if trouble else off


def _first(
    judge: Judge, spec: Mapping[str, Any], options: Sequence[Chosen]
) -> tuple[Chosen | None, Trouble | None]:
    """The first convention that explains a call, or the first trouble."""
    troubles: list[Trouble] = []
    for option in options:
        trouble, off = judge.tried({**ALIKE, **spec}, **option)
        if trouble:
            troubles.append(trouble)
        elif off <= NEAR:
            return option, None
    return None, next(iter(troubles), None) if len(troubles) == len(options) else None


def diagnosis(judge: Judge) -> Chosen:
    """Rows whose weights sum to another number than one, as with a sink: nothing else can be judged."""
    if judge.explained:
        return {}
    _lay(judge)
    cases = judge.cases(judge.trials)
    one, three = (judge.ask(cases[-1].replaced(edits=(f"v[:] = {n}",))) for n in (1, 3))
    if one.trouble or three.trouble or not np.isfinite(one.numbers).all():
        return {}
    sums = one.numbers
    if np.allclose(three.numbers, 3 * sums, rtol=1e-3) and (sums > 0).all() and np.abs(sums - 1).max() > 0.01:
        # A sink takes weight away and gives none.
        fact = "sums below one" if sums.max() <= 1.01 else "sums"
        judge.contradict("visibility", fact, least=float(sums.min()), most=float(sums.max()))
        judge.rebind(diagnosed="visibility")
    return {}


def _lay(judge: Judge) -> None:
    """Take the layout by which a token moves others, where no answer is right: a wrong one may be less far off."""
    before = judge.convention.layout
    for layout in dict.fromkeys((before, *OF_ANY)) if "layout" not in judge.declared else ():
        judge.rebind(chosen={"layout": layout})
        cases = judge.cases([{"batch": 2, "length": 5, "seed": 1}])
        if not cases:
            continue
        one, other = (judge.ask(cases[0].replaced(edits=edits)) for edits in ((), ("v[..., 0, :] += 1",)))
        if not (one.trouble or other.trouble) and (one.numbers != other.numbers)[:, :, 1:].any():
            return
    judge.rebind(chosen={"layout": before})


def settled(judge: Judge) -> Chosen:
    """Refuse a module that projects. A call that fails is made again, and that it failed once is told."""
    case = judge.cases([{"length": 6, "width": 16, "value_width": 16}])[0]
    troubles = [judge.ask(case).trouble for _ in range(4)]
    if troubles[0] and (learns := judge.caller.about().get("learns")):
        raise Uncallable("projects", learns=learns)
    died = next(filter(None, troubles), None)
    if died and not judge.ask(case).trouble:
        judge.tell("the same call", "died once", {"trouble": died})
    return {}


def widths(judge: Judge) -> Chosen:
    """Widths are a convention only if all multiples of one number are taken, and those beside them are refused."""
    chosen = judge.convention.chosen
    for same in (False, True) if chosen["multiple"] > 1 or chosen["same width"] else (False,):

        def trouble(width: int, value_width: int, own: bool = same) -> Trouble | None:
            sizes = {"width": width, "value_width": value_width}
            return judge.tried(sizes, **{"same width": own, "multiple": 1})[0]

        found: Chosen = {"same width": same, "multiple": 1}
        if not any(trouble(*each) for each in ((4, 3), (1, 1), (7, 5))):
            break
        for n in MULTIPLES:
            beside = [trouble(n + 1, n + 1), trouble(2 * n + n // 2, 2 * n + n // 2)]
            if not trouble(n, 2 * n) and not trouble(3 * n, n) and all(map(is_polite, beside)):
                judge.tell("widths", "multiples", {"multiple": n, "why": beside[0]})
                return found | {"multiple": n}
    else:
        found = {"same width": chosen["same width"], "multiple": chosen["multiple"]}
    if found["same width"]:
        judge.tell("values", "same width")
    return found


def _uncapped(judge: Judge, always: Mapping[str, Any], _: Sequence[Any]) -> bool:
    """Whether the largest of scores of 1e4 takes the whole weight."""
    edits = ("q[:] = 0; k[:] = 0; q[..., 0] = 200; k[..., 0] = np.linspace(-200, 200, 6)", *UNIT)
    answer = judge.asked({"batch": 1, "length": 6, **unit(judge, 6), "edits": edits}, always)
    return not answer.trouble and bool((answer.numbers[..., :6].max(-1) > 0.9).all())


def _sees_far(judge: Judge, always: Mapping[str, Any], usual: Sequence[Any]) -> bool:
    """Whether the last query sees the first key, from further than the window reaches."""
    n = max(usual) + 3
    answer = judge.asked({"batch": 1, "length": n, "values": "zeros", **unit(judge, n), "edits": UNIT}, always)
    return not answer.trouble and bool((answer.numbers[:, :, -1, 0] > 0.5 / n).all())


def rests(judge: Judge) -> Chosen:
    """A cap or a window that is on by default is switched off where the kind does not judge it.

    What cannot be switched off stays as it is, and is a part of every call.
    """
    found = Chosen()
    for role, is_off, values in (("softcap", _uncapped, (None, 0.0)), ("window", _sees_far, (None, 0, -1, 1000))):
        name, fixed = judge.convention.names.get(role, ""), f"fixed_{role}"
        usual = default = judge.convention.defaults.get(name)
        usual = [*usual] if isinstance(usual, tuple | list) else [usual]
        on = [x for x in usual if isinstance(x, int | float) and not isinstance(x, bool)]
        on = [x for x in on if (x > 0 or (len(usual) > 1 and x == 0)) and (role == "softcap" or x < LONGEST)]
        is_judged = judge.wants(role) or judge.convention.chosen[fixed] is not None
        if not judge.declared.get("rests", True) or not on or is_judged:
            continue
        if is_off(judge, judge.convention.always, usual):
            continue
        for value in values if len(usual) == 1 else (None, (-1, -1), (1000, 1000)):
            if is_off(judge, always := {**judge.convention.always, name: value}, usual):
                judge.rebind(always=always)
                shown = [*value] if isinstance(value, tuple) else value
                judge.tell(name, "rests", {"usual": usual if len(usual) > 1 else default, "value": shown})
                break
        else:
            judge.tell(name, "never rests", {"usual": default})
            found |= {fixed: usual[0]} if len(usual) == 1 else {}
    return found


ENDS = ("end", "start")


def places(judge: Judge) -> Chosen:
    """What a query sees by its place, and how places stand to keys where there are more of these."""
    convention, declared = judge.convention, judge.declared
    options: list[Chosen] = [
        {"causal": causal, "window": window, "alignment": end}
        for causal in (("asked",) if "causal" in convention.names else ("never", "always"))
        for window in (WINDOWS if judge.wants("window") else ("",))
        for end in ([declared["alignment"]] if "alignment" in declared else ENDS)
        if causal == declared.get("causal", causal)
    ]
    few, square = ({**spec, **ALIKE} for spec in judge.trials if isinstance(spec, dict))
    is_square = declared.get("alignment") == "square"
    found, trouble = (None, None) if is_square else _first(judge, few, options)
    what = found["alignment"] if found else ""
    if found is None and (found := _first(judge, square, options)[0]) is not None:
        what = "refused" if trouble or is_square else "neither"
        found["alignment"] = declared.get("alignment", "square")
        if not trouble and not is_square:
            judge.contradict("visibility", "aligned in no way", queries=few["queries"], keys=few["keys"])
    is_known = found is not None
    found = found or min(options, key=lambda option: _off(judge, square, **option))
    hides = found["causal"] == "always" or (found["causal"] == "asked" and judge.kind.usual["causal"])
    if hides and not judge.wants("window"):
        name = convention.names.get("causal", "")
        judge.tell("hides the future", "by" if found["causal"] == "asked" else "always", {"name": name})
    if (hides or judge.wants("window")) and is_known:
        judge.tell("more keys than queries", "alignment", {"what": what})
    return found


def flag(judge: Judge) -> Chosen:
    """What a flag does that hides the future, where the kind does not promise that."""
    if judge.kind.usual["causal"] or "causal" not in judge.convention.names:
        return {}
    name = judge.convention.names["causal"]
    hides = {"causal": True, "length": 6}
    trouble, off = judge.tried({**ALIKE, **hides}, causal="asked")
    if trouble or off > NEAR:
        judge.rebind(without="causal")
        judge.tell(f"{name}=True", "refused" if trouble else "hides another thing", {"trouble": trouble})
        return {"causal": "always" if judge.convention.chosen["causal"] == "always" else "never"}
    ends = [{"alignment": end, "causal": "asked"} for end in ENDS]
    found, _ = _first(judge, {"causal": True, "queries": 3, "keys": 5}, ends)
    end = found["alignment"] if found else "square"
    if judge.convention.chosen["window"] and judge.convention.chosen["alignment"] != end:
        # Its window is aligned in another way.
        judge.rebind(without="causal")
        judge.tell(f"{name}=True", "aligned apart", {"one": end, "other": judge.convention.chosen["alignment"]})
        return {"causal": "never"}
    judge.tell(f"{name}=True", "hides the future", {"what": end if found else "as many"})
    return {"causal": "asked", "alignment": end}


def heads_of_keys(judge: Judge) -> Chosen:
    """Whether heads of queries may share keys, and in which order they do."""
    if not judge.kind.usual.get("shared"):
        return sharing(judge, {**ALIKE, **SHARED, "edits": OWN}, NEAR)
    order = judge.convention.chosen["interleaved"]
    judge.tell("head h reads the keys", "interleaved" if order else "neighbours")
    return {"shares": True}


def span(judge: Judge) -> Chosen:
    """What a window means, and what it means beside a flag."""
    chosen, names = judge.convention.chosen, judge.convention.names
    if judge.wants("window"):
        return _wanted_span(judge)
    if "window" not in names:
        return {}
    own = chosen["causal"] == "always"
    name, spec = names["window"], {"window": 3, "length": 9, "causal": own}
    beside = chosen["causal"] != "never"
    for pair, meaning in itertools.product(PAIRS, WINDOWS + OPEN_WINDOWS):
        option: Chosen = {"window": meaning, "window pair": pair}
        if _off(judge, spec, **option) > NEAR:
            continue
        few = {"window": 3, "queries": 7, "keys": 9, "causal": own}
        ends = [end for end in ENDS if _off(judge, few, **{**option, "alignment": end}) <= NEAR] or ["square"]
        # Beside a hidden future it must stand to the keys as that does.
        if not beside or chosen["alignment"] in ends:
            judge.tell(f"{name} = w", "window", {"meaning": meaning, "pair": pair})
            option |= {"alignment": chosen["alignment"] if chosen["alignment"] in ends else ends[0]}
            return option | _beside_flag(judge, option)
        break
    judge.leave("window")
    return {}


def _wanted_span(judge: Judge) -> Chosen:
    chosen, names = judge.convention.chosen, judge.convention.names
    width = chosen["fixed_window"] or 3
    about = {"meaning": chosen["window"], "pair": chosen["window pair"]}
    judge.tell(f"a window of w = {width}", "window", about)
    found: Chosen = {}
    if chosen["window pair"] == "(w, w)" and chosen["window"] == "w keys to either side":
        trouble, _ = judge.tried({**ALIKE, "window": width, "length": 9, "ahead": 0}, uneven=True)
        judge.tell("a window of (w, 0)", "refused" if trouble else "taken", {"trouble": trouble})
        found |= {"uneven": not trouble}
    return found | (_beside_flag(judge, chosen) if "causal" in names else {})


SIDED = ("w keys to either side", "w/2 to either side")
"""Windows of which a flag that hides the future may make another."""


def _beside_flag(judge: Judge, option: Mapping[str, Any]) -> Chosen:
    """What a window means where a flag hides the future."""
    if judge.convention.chosen["causal"] != "asked":
        return {}
    names, usual = judge.convention.names, option["window"]
    spec, own = {"window": 3, "length": 9, "causal": True}, {x: option[x] for x in ("window", "window pair")}
    options: list[Chosen] = [{**own, "causal_window": x} for x in dict.fromkeys((usual, *WINDOWS))]
    found, trouble = _first(judge, spec, options)
    beside = found["causal_window"] if found else ""
    if found and beside != usual and usual in SIDED:
        judge.tell(f"{names['window']} = w beside {names['causal']}", "window", {"meaning": beside, "pair": ""})
        return {"causal_window": beside}
    if beside != usual and not trouble:
        judge.contradict("pairs", "window beside flag", name=names["window"], flag=names["causal"])
    return {}


def scale(judge: Judge) -> Chosen:
    """The scale that it uses when none is given: that which is nearest at two widths."""
    chosen = judge.convention.chosen
    if "scale" in judge.declared:
        judge.tell("scale", "declared", {"what": str(chosen["scale"])})
        return {}
    width = chosen["multiple"] * -(-4 // chosen["multiple"])
    errors = dict[str, float]()
    for each, name in itertools.product((width, 4 * width), scales.NAMES):
        trouble, off = judge.tried({"width": each, "seed": 1}, scale=name)
        if trouble:
            return {}
        errors[name] = max(errors.get(name, 0.0), off)
    best = min(errors, key=errors.__getitem__)
    best = best if errors[best] < 1e-4 else "rsqrt"
    judge.tell("scale", "scale", {"what": scales.WORDS[best]})
    return {"scale": best}


KEYS_MEAN = ("bool-drop", "bool-keep", "ones-keep", "ones-drop")
"""What a mask of keys, [b s], may mean."""


def masks(judge: Judge) -> Chosen:
    """What a mask means, and which shape it must have."""
    convention, role = judge.convention, "pair mask"
    must = role in convention.required
    if role not in convention.names:
        return {}
    name, has_batch = convention.names[role], "b" in convention.layout
    meanings = [judge.declared[role]] if judge.declared.get(role) else [*OPERANDS[role].meanings]
    spec, taken, first = {role: "every second", "length": 6}, "", None
    shapes = OPERANDS[role].shapes if has_batch else OPERANDS[role].shapes[:1]
    for shape, meaning in itertools.product(shapes, meanings):
        if taken not in ("", shape):
            # It takes a mask of another shape, and does something else with it.
            break
        trouble, off = judge.tried({**ALIKE, **spec}, **{role: meaning, f"{role} shape": shape})
        if not trouble and off <= NEAR:
            return _masks_of(judge, meaning, shape)
        first, taken = first or trouble, taken if trouble else shape
    beside = {**ALIKE, **spec, "causal": False}
    options: list[Chosen] = [{role: x} for x in meanings]
    is_asked = convention.chosen["causal"] == "asked" and judge.kind.usual["causal"]
    if first and is_asked and not all(judge.tried(beside, **x)[0] for x in options):
        judge.tell(f"{name} and {convention.names['causal']}", "refused together", {"trouble": first})
        judge.rebind(without=role)
        return {}
    if has_batch and "mask" not in convention.names and not must:
        names = {("mask" if x == role else x): y for x, y in convention.names.items()}
        for meaning in KEYS_MEAN:
            of_keys = {**ALIKE, "batch": 3, "length": 8, "mask": "end"}
            trouble, off = judge.tried(of_keys, names=names, mask=meaning)
            # Code that indexes a mask by batch elements takes one of queries and keys, too, and does not follow it.
            if not trouble and (off <= NEAR or not taken):
                judge.rebind(names=names)
                return {"mask": meaning}
    if taken:
        judge.contradict("masks", "unlike", name=name)
    else:
        judge.contradict("masks", "", first and first.of(name))
    if not must:
        judge.rebind(without=role)
    return {}


def _masks_of(judge: Judge, meaning: str, shape: str) -> Chosen:
    convention, role = judge.convention, "pair mask"
    found: Chosen = {role: meaning, f"{role} shape": shape}
    about = {"meaning": meaning, "shape": shape, "is_declared": role in judge.declared}
    judge.tell(convention.names[role], "mask", about)
    by_head = {role: "every second", "length": 6, f"{role} axes": "bhts"}
    if {*convention.layout} & {*"bh"}:
        takes = shape != "b-ts" and not judge.tried({**ALIKE, **by_head}, by_head=True, **found)[0]
        judge.tell("a mask for each head", "taken" if takes else "not taken")
        found |= {"by_head": takes}
    each = {role: "element end", f"{role} axes": "b1ts", "batch": 3, "length": 8}
    if "b" in convention.layout:
        found |= {"by_element": not judge.tried({**ALIKE, **each}, by_element=True, **found)[0]}
    return found


def biases(judge: Judge) -> Chosen:
    """Which axes a bias must have, and whether each batch element may have its own."""
    if "bias" not in judge.convention.names or "b" not in judge.convention.layout:
        return {}
    plain, each = {"bias": "normal", "batch": 3, "length": 8}, {"bias axes": "bhts"}
    shape = judge.convention.chosen["bias shape"]
    if (
        not judge.wants("bias")
        and _off(judge, plain) > NEAR
        and _off(judge, plain, **{"bias shape": "bhts"}) <= NEAR
    ):
        shape = "bhts"
    takes = not judge.tried({**ALIKE, **plain, **each}, bias_by_element=True, **{"bias shape": shape})[0]
    judge.tell("a bias for each batch element", "taken" if takes else "not taken")
    return {"bias shape": shape, "bias_by_element": takes}


def padding(judge: Judge) -> Chosen:
    """What a mask of keys means, and numbers of keys that count."""
    found: Chosen = {}
    for role, word in (("mask", "end"), ("key lengths", "some")):
        name, identity = judge.convention.names.get(role), "padding by element"
        if name is None:
            continue
        must = role in judge.convention.required
        if "b" not in judge.convention.layout:
            judge.leave(role)
            continue
        meanings = {"mask": [{"mask": x} for x in KEYS_MEAN]}.get(role, [{}])
        known, trouble = _first(judge, {role: word, "batch": 3, "length": 8}, meanings)
        if known is not None:
            judge.tell(name, "padding" if role == "mask" else "lengths that count", known)
            found |= known
            continue
        beside, fact = judge.kind.usual["causal"] or judge.wants("window"), "refused" if trouble else "unlike it"
        if must and beside:
            raise Uncallable("" if trouble else "unknown", [trouble] if trouble else [], parameter=name)
        if not must:
            judge.rebind(without=role)
        if beside:
            judge.tell(name, "not judged beside", {"line": (fact, {}), "trouble": trouble})
        elif trouble:
            judge.contradict(identity, "", trouble.of(f"{name}: refused"))
        else:
            judge.contradict(identity, "unlike", name=name)
    return found


PACKED = tuple(
    dict.fromkeys(roles, "documents") for roles in (("segments",), ("ends",), ("query ends", "key ends"))
)
"""What says which document a token belongs to."""

ADDED = (
    *(("packed documents", each) for each in PACKED),
    ("sinks", {"sinks": "normal"}),
    ("slopes", {"slopes": "halves"}),
)
"""What else may be handed over, with the identity that judges it."""


def added(judge: Judge) -> Chosen:
    """Numbers of documents, sinks and slopes: taken as we know them, refused, or wrong."""
    for identity, spec in ADDED:
        role = next(iter(spec))
        name = judge.convention.names.get(role)
        if name is None or role in judge.convention.required:
            continue
        others = [{"layout": "thd"}] if OPERANDS[role].packs and "layout" not in judge.declared else []
        known, trouble = _first(judge, {**spec, "batch": 3, "length": 8}, [{}, *others])
        if known is not None and not known:
            judge.tell(name, role)
            continue
        for each in spec:
            judge.rebind(without=each)
        if known:
            # Batches and packed documents are two layouts of one target, and one of them is judged.
            judge.tell(name, "another layout", known)
        elif trouble:
            judge.tell(name, "not judged", {"trouble": trouble})
        else:
            judge.contradict(identity, "unlike what", name=name, line=(role, {}))
    return {}


WORDS = {
    "pair mask": "hides nothing",
    "causal": "False",
    "scale": "1/sqrt(width)",
    "shares": "False",
    "bias": "zeros",
    "mask": "hides nothing",
    "key lengths": "all keys",
    **dict.fromkeys(("segments", "ends", "query ends", "key ends"), "one document"),
    **dict.fromkeys(("longest", "longest keys"), "all tokens"),
    "sinks": "minus infinity",
    "slopes": "zeros",
}
"""What is handed over, of what must be, where a call asks nothing of it."""


def stated(judge: Judge) -> Chosen:
    """What can be told before anything else is asked."""
    convention, about = judge.convention, judge.caller.about()
    names, order = convention.names, convention.placed or tuple(x for x in convention.names if x in ("q", "k", "v"))
    if "".join(order) != "qkv" or not convention.placed:
        judge.tell("called as", "called as", {"order": order})
    if used := tuple(f"{name} ({role})" for role, name in names.items() if role not in ("q", "k", "v")):
        judge.tell("arguments by name", "listed", {"what": used})
    if convention.always:
        judge.tell("dropout", "off", {"what": tuple(f"{name}={x}" for name, x in convention.always.items())})
    causal = names.get("causal", "")
    if convention.defaults.get(causal) is True:
        judge.tell(causal, "true by default")
    if idle := tuple(f"{names[role]} ({WORDS[role]})" for role in names if role in convention.required & {*WORDS}):
        judge.tell("must be given", "idle", {"what": idle})
    if about.get("mode"):
        judge.tell("mode", "listed", {"what": about["mode"]})
    return {}


READS = (
    stated,
    diagnosis,
    settled,
    widths,
    rests,
    places,
    flag,
    heads_of_keys,
    span,
    scale,
    masks,
    biases,
    padding,
    added,
)
"""In the order in which they are asked: each knows what was found before."""
