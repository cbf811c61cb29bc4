"""How a target wants to be called: one search over conventions, scored by how far answers are from what is right.

What is declared is not searched. What is found is a record, and each field of it may be declared.
"""

import copy
import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.calls import NOTHING, Answer, Kept, call
from attnlab_theory.conform.case import Case, Recipe, compiled, storage, word
from attnlab_theory.conform.finding import Fault, Finding, Trouble, Verdict, misshapen
from attnlab_theory.conform.kind import Kind, Stage
from attnlab_theory.conform.operands import OPERANDS, STANDS, Bound, laid, ordered, spread
from attnlab_theory.conform.recording import Recording

MOST_NUMBERS = 1 << 22
"""Answers of more numbers are not asked for."""

MOST_WRITTEN = 8
"""Whole numbers of an array that are told."""

MOST_TRIALS = 500
"""After so many trial calls the best of what was answered is taken."""

ELSEWHERE = ("MemoryError", "OSError", "TimeoutError")
"""Errors that say nothing of how a target is called: such a trial call is made once more."""

MOST_HUNG = 2
"""After so many trial calls that hung no other one is made."""

PLACES, FEW_PLACES = 132, 20
"""So many tokens a new cache is made for at least, and where each shape is compiled."""

HIDES = {"always": True, "never": False}
"""What a flag is that a target does not take."""

UNKNOWN_TYPES = (("bfloat16", "numpy"), ("float64", "jax"))
"""The types that a framework does not have."""


class Uncallable(Exception):
    """A target that can be called in no way, or whose answers no convention explains.

    Args:
        fact: why, by its key in `say.REFUSED`.
        troubles: of trial calls.
        about: the data of the fact.
    """

    def __init__(self, fact: str, troubles: Sequence[Trouble] = (), **about: Any) -> None:
        super().__init__(fact)
        self.fact, self.troubles, self.about = fact, troubles, about


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps:
    """How tokens follow each other, of a target with a cache."""

    method: str = ""
    """That takes a step; empty for the target itself."""
    begins: str = ""
    """The method that makes a new cache, or makes that of the target empty."""
    lengths: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Its parameters, by role."""
    whole: "Convention | None" = None
    """How all tokens at once are asked, where that is another function."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Convention:
    """How a target is called, and what its answers mean."""

    framework: str
    names: Mapping[str, str]
    """The parameter of each role."""
    always: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Plain arguments of every call, by parameters."""
    placed: tuple[str, ...] = ()
    """The roles that are handed over by place."""
    required: frozenset[str] = frozenset()
    """The roles that must be given."""
    quiet: frozenset[str] = frozenset()
    """Flags that are handed over only where they are true."""
    chosen: Mapping[str, Any]
    """The conventions of the kind, and the number of each role that no parameter takes."""
    idle: tuple[str, ...] = ()
    """Conventions of which no trial call can tell one value from another."""
    residual: float = 0.0
    """How far the trial call is from what is right, over the largest number."""
    calls: int = 0
    """How many trial calls it took."""
    part: int | None = None
    """Which of several arrays that come back is the answer."""
    diagnosed: str = ""
    """The identity whose failure says why nothing else can be judged."""
    told: Sequence[tuple[str, str, Mapping[str, Any]]] = ()
    """What was found on the way: a title, and a fact with its data."""
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Those of the parameters, as far as they are plain."""
    number: int = 0
    """That of the object, where the target is a class."""
    contradictions: Mapping[str, Finding] = dataclasses.field(default_factory=dict)
    """What trial calls showed to be wrong, by the identity that fails for it."""
    steps: Steps | None = None
    """How tokens follow each other, where that is more than a state that is handed on."""
    outputs: tuple[str, ...] = ()
    """Where the output is, in an object that is returned: the first of these names that it has."""

    @property
    def kept(self) -> list[str]:
        """The parameters of what an earlier call gave."""
        return [name for role, name in self.names.items() if OPERANDS[role].is_kept]

    @property
    def keeps(self) -> tuple[int | str, ...]:
        """Where that is, in what comes back; nowhere if it is changed in place."""
        return self.chosen.get("comes back", (1,)) if self.kept else ()

    @property
    def layout(self) -> str:
        """The order of the axes of arrays; empty where the target takes none."""
        return self.chosen.get("layout", "")

    def gives(self, axes: str) -> str:
        """The axes of an answer, as they come."""
        return ordered(axes, self.layout) if self.layout else self.chosen["axes"]

    def axes_of(self, role: str, case: Case | None = None) -> str:
        """The axes of an array, of which a case may have others."""
        name = f"{role} axes"
        return (case and case[name]) or self.chosen.get(name, OPERANDS[role].axes[0])

    @property
    def functions(self) -> dict[str, str]:
        """The parameters that get no array, but a function that is made of it, with their roles."""
        return {x: role for role, x in self.names.items() if self.chosen.get(role, "") in OPERANDS[role].functions}

    def fitted(self, kind: Kind, case: Case) -> Case | None:
        """A case that can be asked, with the target's own numbers and choices; None if it cannot."""
        own = {role: self.chosen[role] for role, _ in case.sizes if role in self.chosen}
        if self.layout:
            axes = {role: OPERANDS[role].axis for role, _ in case.sizes}
            lost = [role for role, x in axes.items() if x in "bhgt" and STANDS.get(x, x) not in self.layout]
            own |= {"groups": case["groups"] if case["shared"] else case["heads"]} if "groups" in axes else {}
            own |= {role: min(case[role], 1) for role in lost}
            multiple = self.chosen.get("multiple", 1)
            widths = {role: own.get(role, case[role]) for role in ("width", "value_width") if case[role]}
            own |= {role: -(-n // multiple) * multiple for role, n in widths.items()}
            own |= {"value_width": own["width"]} if self.chosen.get("same width") else {}
        # A length of 0 is that of the target.
        own |= {
            role: self.chosen[f"own {role}"] for role, n in case.sizes if not n and f"own {role}" in self.chosen
        }
        own |= {"type": self.chosen["type"]} if "type" in self.chosen and case["type"] is None else {}
        for role in kind.operands:
            if OPERANDS[role].is_flag and role in self.chosen:
                own[role] = HIDES.get(self.chosen[role], bool(case[role]))
                if case[role] not in (None, own[role], kind.usual.get(role)):
                    return None
            if OPERANDS[role].idle and role in self.required and case[role] is None:
                own[role] = OPERANDS[role].idle
            if OPERANDS[role].packs and role in self.names and (own.get(role) or case[role]):
                own["batch"] = 1
        # What is usual is not asked of who has no parameter for it.
        spare = {x for x in kind.operands if x not in self.names and not (OPERANDS[x].is_flag or OPERANDS[x].axis)}
        own |= {x: None for x, y in kind.usual.items() if x in spare and case[x] == y}
        case = self.with_arrays(kind, case.replaced(**own))
        unused = {role: None for role in kind.operands if OPERANDS[role].literal and role not in dict(case.arrays)}
        case = case.replaced(**unused)
        if not self._can_take(kind, case) or not kind.promised(case, self.chosen):
            return None
        if case["queries"] != case["keys"] and any(OPERANDS[role].is_square for role, _ in case.arrays):
            return None
        ends = {each for role in kind.operands for each in OPERANDS[role].instead}
        tied = {role for role in ends if role not in self.names}
        axes = self.gives(kind.axes)
        # Where all rows are one, it is that of a single query.
        single = any(case[role] == 1 and OPERANDS[role].axis not in axes for role in tied)
        fits = not tied or single or len({case[role] for role in ends}) == 1
        numbers = np.prod([n for n in case.shape(axes) if isinstance(n, int)])
        return case if fits and numbers <= MOST_NUMBERS else None

    def with_arrays(self, kind: Kind, case: Case) -> Case:
        """A case with the arrays that it hands over."""
        wanted = {role for name in self.names for role in (name, *OPERANDS[name].made_of)}
        roles = [role for role in kind.operands if role in wanted and OPERANDS[role].drawn]
        roles = [
            role for role in roles if isinstance(case[role], tuple) or (case[role] or "") in OPERANDS[role].drawn
        ]
        return dataclasses.replace(case, arrays=tuple((role, self.axes_of(role, case)) for role in roles))

    def _can_take(self, kind: Kind, case: Case) -> bool:
        """Whether a target has parameters for what a case hands over, and a framework for its type."""
        drawn = {role: OPERANDS[role].drawn for role in kind.operands}
        needed = {role for role, x in drawn.items() if "" not in x and case[role] is not None}
        needed -= {role for role in needed if OPERANDS[role].is_flag or OPERANDS[role].axis}
        needed |= {"state"} if len(case["parts"] or ()) > 1 and self.steps is None else set()
        # A word that draws nothing leaves the parameter away.
        free = {role for role, x in drawn.items() if x and isinstance(case[role], str) and case[role] not in x}
        own = [axes for role, axes in case.arrays if OPERANDS[role].has_own_order and len(axes) < 3] + ["h"] * any(
            axes == "h" for _, axes in case.arrays
        )
        lost = any({*axes} & {*"bh"} - {*self.layout} for axes in own)
        # Of one document none can tell an axis for the batch from one for tokens.
        lost |= "b" in self.layout and any(OPERANDS[role].packs for role in self.required)
        can = needed <= {*self.names} and free <= {*self.names} - self.required
        return can and (case.type, self.framework) not in UNKNOWN_TYPES and not lost

    def codes(self, case: Case, tokens: int = 0, continues: bool = False) -> dict[str, str]:
        """What each parameter gets, as Python in the names of a case. With parts, of the tokens from a to b.

        What is handed over of a state is none of these.
        """
        found, axes = {}, dict(case.arrays)
        for role, name in self.names.items():
            operand, state = OPERANDS[role], case["parts"] is not None
            if role in axes:
                code = self._laid(role, axes[role], case, cut=state)
                meaning = operand.meanings.get(self.chosen.get(operand.like or role, ""), "{x}")
                meaning = meaning.format(**{**case.lengths, "x": code, "kind": storage(case.type)})
                found[name] = meaning if axes[role] else f"float({code})"
            elif operand.is_source:
                continue
            elif operand.is_kept:
                found |= {name: "None"} if role in self.required and not continues else {}
            elif operand.told:
                if told := self.chosen.get(role):
                    found[name] = operand.told[told].format(batch=case.shape("b")[0], kind=storage(case.type))
            elif operand.is_flag and self.chosen.get("first only"):
                found[name] = "a == 0"
            elif operand.is_flag:
                if case[role] or role in self.required or (case[role] is not None and role not in self.quiet):
                    found[name] = repr(case[role])
            elif role == "shares":
                if case["groups"] != case["heads"] or role in self.required:
                    found[name] = repr(case["groups"] != case["heads"])
            elif role == "scale" and case[role] is None and role in self.required:
                found[name] = repr(scales.factor(self.chosen[role], case["width"]))
            elif case[role] is not None and not (operand.axis or operand.instead or operand.drawn):
                found[name] = repr(self._number(role, case))
            elif role == "returns":
                found |= {name: "True"} if state else {}
            elif operand.usual:
                usual = operand.usual.format(**case.lengths | {"t": tokens}) if role in self.required else None
                number = usual if case[role] is None else repr(case[role])
                found |= {name: number} if number is not None else {}
            elif operand.axis or operand.instead:
                # What stands for several lengths is the last.
                length = (operand.instead or (role,))[-1]
                found[name] = repr(case[length]) if case.arrays else length
        return found

    def taken(self, role: str, axes: str) -> str:
        """The axes of an array as it is handed over, in letters; of four axes in their own order - for none."""
        if OPERANDS[role].has_own_order and len(axes) == 4:
            wanted = self.chosen.get(f"{role} shape", axes.replace("1", "-"))
            wanted = axes if "b" in axes and not (axes[1] == "1" and wanted == "b-ts") else wanted
            lost = {axis for axis in "bh" if axis not in self.layout}
            return "".join("-" if place in lost else axis for place, axis in zip("bhts", wanted, strict=True))
        return axes if OPERANDS[role].has_own_order else ordered(axes, self.layout)

    def _laid(self, role: str, axes: str, case: Case, *, cut: bool) -> str:
        """The numpy of an array in the axes that are taken."""
        if OPERANDS[role].has_own_order and len(axes) == 4:
            return spread(word(role), axes, self.taken(role, axes), case.lengths)
        return laid(word(role), axes, self.layout, cut, OPERANDS[role].has_own_order)

    def _number(self, role: str, case: Case) -> Any:
        """A number as it is handed over: of a window maybe a pair."""
        paired = self.chosen.get(f"{role} pair")
        if not paired:
            return case[role]
        ahead = 0 if paired == "(w, 0)" else case[role]
        return case[role], ahead if case["ahead"] is None else case["ahead"]

    def random(self, case: Case) -> dict[str, list[Any]]:
        """The source of a draw, as `calls.call` has it; without a parameter it is what all share."""
        if case["draw"] is None:
            return {}
        name = self.names.get("source", "")
        return {name: [self.chosen["source"] if name else "int", case["draw"]]}

    def call(self, case: Case) -> str:
        """What is handed over, in words."""
        made = {"np": np, **case.operands(), "a": 0, "b": case["queries"]}
        codes = self.codes(case, case["queries"] or 0)
        values = {
            x: self.chosen[self.functions[x]] if x in self.functions else eval(compiled(y), made)
            for x, y in codes.items()
        }
        values |= {**self.always} | {
            name or "seed": f"{style} {seed}" for name, (style, seed) in self.random(case).items()
        }
        found = [
            f"{name} {[*x.shape]}"
            if isinstance(x, np.ndarray) and (x.dtype.kind != "i" or x.size > MOST_WRITTEN)
            else f"{name}={x.tolist() if isinstance(x, np.ndarray) else x}"
            for name, x in values.items()
        ]
        more = [str(case["values"])] * bool(case["values"]) + [str(case["memory"])] * bool(case["memory"])
        more += [f"in parts of {', '.join(map(str, case['parts'] or ()))}"] * bool(case["parts"]) + [*case.edits]
        found += [case.type] * case.is_typed
        return ", ".join(found) + f" ({'; '.join(more)})" * bool(more)


def ask(
    kind: Kind,
    caller: Caller,
    convention: Convention,
    case: Case,
    made: Mapping[str, Any] | None = None,
    more: Mapping[str, Any] = {},
) -> Answer:
    """Ask one case: by one call, or by one for each of its parts, which continues the state of the part before.

    Other arrays than those of the case may be `made`, and `more` is of the plan, as `harness.Host.call` has it.
    """
    parts, steps, found = case["parts"], convention.steps, convention
    if parts is None and steps is not None and steps.method:
        if steps.whole is None or convention.chosen.get("steps only"):
            case = case.replaced(parts=(case["queries"],))
            parts = case["parts"]
        else:
            found = dataclasses.replace(
                steps.whole, framework=found.framework, chosen={**found.chosen, "first only": False}
            )
    if parts and convention.chosen.get("flat"):
        parts = (1,) * sum(parts)
    thread = Thread(kind, caller, found, case, made, more)
    answers = list[Answer]()
    for size in parts or (None,):
        answers.append(thread.feed(size))
        if answers[-1].trouble:
            break
    done = [each.numbers for each in answers if not each.trouble]
    numbers = np.concatenate(done, kind.axes.index("t")) if len(done) > 1 else next(iter(done), NOTHING)
    changed = next((each.changed for each in answers if each.changed), ())
    narrow = {kind for each in answers for kind in each.narrow}
    return answers[-1]._replace(numbers=numbers, changed=changed, narrow=sorted(narrow))


class Thread:
    """A sequence that is fed to a cache, a few tokens at a time; note is told each answer."""

    def __init__(
        self,
        kind: Kind,
        caller: Caller,
        convention: Convention,
        case: Case,
        made: Mapping[str, Any] | None = None,
        more: Mapping[str, Any] = {},
        note: Callable[[Case, Answer], None] = lambda case, answer: None,
    ) -> None:
        self.kind, self.caller, self.convention, self.case = kind, caller, convention, case
        self.made = case.operands() if made is None else made
        self.more, self.note = more, note
        self.begin = 0
        self.state: Sequence[Kept] = ()
        self.places: list[int] = []
        """Where the numbers of the state lie: two of one place are one."""
        self.trouble: Trouble | None = None
        """Why nothing can be fed."""
        if convention.steps is not None and convention.steps.begins:
            self._begin(convention.steps)

    def _begin(self, steps: Steps) -> None:
        tokens, least = self.case.shape("t")[0], FEW_PLACES if self.convention.framework == "jax" else PLACES
        sizes = {"batch": self.case.shape("b")[0], "capacity": self.case["capacity"] or max(tokens, least)}
        plain = {name: sizes[role] for role, name in steps.lengths.items()}
        reply = self._call(method=steps.begins, plain=plain)
        said = ", ".join(f"{name}={n}" for name, n in plain.items())
        self.trouble = reply.trouble and reply.trouble.of(f"{steps.begins}({said})")
        self._goes_on(reply.kept if self.convention.kept else (), reply.one)

    def _call(self, *given: Kept, **more: Any) -> Any:
        more |= {"object": self.case["object"] or 0, "keep": [""], "reads": False}
        return call(self.caller, given, framework=self.convention.framework, **more)

    def _goes_on(self, state: Sequence[Kept], one: Sequence[int]) -> None:
        self.state = state
        self.places = [n if n >= 0 else each.number for each, n in zip(state, one, strict=False)]

    def feed(self, size: int | None, named: Mapping[str, np.ndarray] | None = None) -> Answer:
        """Feed so many tokens, or all of them without a cache, and what is handed over beside them."""
        answer, case = Answer(self.trouble), self.case
        if not answer.trouble:
            part = case if size is None else case.replaced(parts=(size,))
            answer = raw(
                self.caller,
                self.convention,
                part,
                self.begin,
                size,
                self.state,
                made=self.made,
                named=named,
                more=self.more,
            )
            answer = answer if answer.trouble else read(self.kind, self.convention, answer, part)
        if not answer.trouble and size is not None:
            self.begin += size
            if self.convention.keeps:
                self._goes_on(answer.kept, answer.one)
        self.note(case, answer)
        return answer

    def on(self, case: Case) -> "Thread":
        """The same cache, for the tokens of another case."""
        other = copy.copy(self)
        other.case, other.made = case, case.operands()
        return other

    def reorder(self, rows: Sequence[int], methods: Sequence[str]) -> None:
        """Put the rows of the cache in another order: by a method of the target, or by its arrays."""
        found: list[Kept] = []
        for kept in self.state or (None,):
            given = () if kept is None else (kept,)
            batch = self.case["batch"]
            reply = self._call(*given, method=next(iter(methods), ""), rows=[*rows], batch=batch)
            self.trouble = self.trouble or reply.trouble
            found += reply.kept
        self.state = found if self.state else ()


def raw(
    caller: Caller,
    convention: Convention,
    case: Case,
    begin: int = 0,
    size: int | None = None,
    state: Sequence[Kept] = (),
    *,
    made: Mapping[str, Any] | None = None,
    named: Mapping[str, np.ndarray] | None = None,
    more: Mapping[str, Any] = {},
) -> Answer:
    """Make one call, and leave the axes as they come."""
    tokens, steps = size or case["queries"] or 0, convention.steps
    made = {"np": np, **(case.operands() if made is None else made), "a": begin, "b": begin + tokens}
    codes = convention.codes(case, tokens, continues=len(state) > 0)
    values = {name: eval(compiled(x), made) for name, x in codes.items() if name not in convention.functions}
    places = [convention.names[role] for role in convention.placed]
    forms = {name: [word(role), codes[name]] for name, role in convention.functions.items() if name in codes}
    values |= {name: made[array] for name, (array, _) in forms.items()}
    arrays = {name: x for name, x in values.items() if isinstance(x, np.ndarray) and name not in places}
    arrays |= named or {}
    at = convention.layout.find("t") if convention.chosen.get("flat") and size else None
    if isinstance(caller, Recording):
        flat = "" if at is None else f".squeeze({at})"
        own = codes | {name: array for name, (array, _) in forms.items()} | dict.fromkeys(named or ())
        by_place = [codes[name] + flat for name in places]
        caller.recipe = Recipe(case, begin, begin + tokens, [*by_place, *map(own.get, arrays)])
    plan = {
        "keep": [*convention.keeps] if size is not None else [],
        "method": steps.method if steps else "",
        "part": [*convention.outputs],
        "object": case["object"] or convention.number,
        "forms": forms,
        "random": convention.random(case),
    }
    answer = call(
        caller,
        [values[name] if at is None else values[name].squeeze(at) for name in places],
        {**arrays, **dict(zip(convention.kept, state, strict=False))},
        framework=convention.framework,
        kind=case.type,
        strided=case["memory"] or "",
        plain={**convention.always, **{x: y for x, y in values.items() if x not in arrays and x not in places}},
        **plan | ({} if convention.part is None else {"of": convention.part}) | {**more},
    )
    if answer.trouble:
        return Answer(answer.trouble)
    came, changed = answer.numbers, [[*places, *arrays][i] for i in answer.changed]
    came = came if at is None or came.ndim == len(convention.layout) else np.expand_dims(came, at)
    return answer._replace(numbers=came, changed=changed)


def pulled(
    caller: Caller,
    convention: Convention,
    case: Case,
    whole: str,
    cotangent: np.ndarray,
    only: Collection[str] = (),
    made: Mapping[str, Any] | None = None,
) -> tuple[Trouble | None, dict[str, np.ndarray]]:
    """The gradients of sum(cotangent * answer) by arrays of numbers, or why there are none.

    Returns:
        By role, with the axes of its array in the case. Axes that are not handed over are of length one.
    """
    made, axes = case.operands() if made is None else made, dict(case.arrays)
    roles = [
        *convention.placed,
        *(role for role in convention.names if role in axes and role not in convention.placed),
    ]
    c = eval(laid("c", whole, convention.layout), {"c": cotangent})
    plan = {
        "tracked": [i for i, role in enumerate(roles) if role in only] or True,
        "gradients": True,
        "cotangent": np.ascontiguousarray(c).astype(made[word(roles[0])].dtype),
    }
    answer = raw(caller, convention, case, made=made, more=plan)
    if answer.trouble:
        return answer.trouble, {}
    codes = convention.codes(case)
    found, flat = dict[str, np.ndarray](), answer.numbers
    for role in roles:
        x = eval(codes[convention.names[role]], {**made, "np": np})
        if x.dtype.kind != "f" or (only and role not in only):
            continue
        part, flat = flat[: x.size].reshape(x.shape), flat[x.size :]
        letters = [axis for axis in convention.taken(role, axes[role]) if axis != "-"]
        if len(axes[role]) == 4:
            order = "bhts" if OPERANDS[role].has_own_order else axes[role]
            part = part.transpose([letters.index(axis) for axis in order if axis in letters])
            part = part[tuple(slice(None) if axis in letters else None for axis in order)]
        found[role] = part
    return None, found


def read(kind: Kind, convention: Convention, answer: Answer, case: Case) -> Answer:
    """An answer with all axes of its kind, in their order, as it came for a case."""
    roles = [role for role in kind.returns if role in convention.names]
    if not roles:
        return _read(answer, case, convention.gives(kind.axes), kind.axes)
    parts = []
    for role, numbers in zip(roles, (answer.numbers, answer.second), strict=False):
        if numbers is None:
            return Answer(Trouble(fault=Fault.FEWER, gave=(1,), wanted=(len(roles),)))
        whole = convention.axes_of(role, case)
        part = _read(answer._replace(numbers=numbers), case, ordered(whole, convention.layout), whole)
        if part.trouble:
            return part
        parts.append(part.numbers)
    return answer._replace(numbers=np.concatenate(parts, kind.axes.index("h")))


def _read(answer: Answer, case: Case, axes: str, whole: str) -> Answer:
    """The numbers of an answer with some axes, in the order of all of them."""
    numbers, shape = answer.numbers, case.shape(axes)
    free = {OPERANDS[role].axis for role, n in case.sizes if not n and OPERANDS[role].is_own}
    fits = all(
        isinstance(n, str) or n == x or axis in free for axis, n, x in zip(axes, shape, numbers.shape, strict=False)
    )
    if len(numbers.shape) != len(shape) or not fits:
        return Answer(misshapen(numbers.shape, shape))
    kept = [i for i, axis in enumerate(axes) if axis != "1"]
    numbers = numbers.reshape([numbers.shape[i] for i in kept])
    letters = [axes[i] for i in kept]
    order = [letters.index(axis) for axis in whole if axis in letters]
    numbers = numbers.transpose(order)
    return answer._replace(numbers=numbers[tuple(slice(None) if a in letters else None for a in whole)])


def counted(kind: Kind, case: Case, chosen: Mapping[str, Any], numbers: np.ndarray) -> np.ndarray:
    """An answer, each row of it counted from the entry from which it counts."""
    if kind.origin is None:
        return numbers
    origin = kind.origin(case, chosen)
    with np.errstate(invalid="ignore"):
        return numbers - numbers[..., np.arange(len(origin)), origin][..., None]


def residual(kind: Kind, case: Case, chosen: Mapping[str, Any], answer: Answer, made: Mapping[str, Any]) -> float:
    """How far an answer is from what is right, over the largest number."""
    assert kind.right is not None
    numbers = made if kind.numbers is None else kind.numbers(answer.numbers, case, chosen)
    right = kind.right(case, chosen, numbers).output
    judged = ~np.isnan(right)
    if not judged.any():
        return np.inf
    with np.errstate(invalid="ignore"):
        off = np.abs(counted(kind, case, chosen, answer.numbers) - right)[judged]
    return float(np.nan_to_num(off, nan=np.inf).max() / max(np.abs(right[judged]).max(), 1e-300))


def search(kind: Kind, caller: Caller, declared: Mapping[str, Any]) -> Convention:
    """The convention under which trial calls are nearest to what is right.

    Raises:
        Uncallable: if the target can be called in no way.
    """
    return _Search(kind, caller, declared).found()


class _Search:
    """A search of how a target is called."""

    def __init__(self, kind: Kind, caller: Caller, declared: Mapping[str, Any]) -> None:
        self.kind, self.caller, self.declared = kind, caller, declared
        self.refused: list[Trouble] = []
        """Troubles of trial calls."""

    def found(self) -> Convention:
        """The best convention of all stages."""
        kind, caller, declared = self.kind, self.caller, self.declared
        start = kind.binds(caller.about()) if kind.binds else self._bound()
        uses = dict.fromkeys((*caller.about()["uses"], "numpy", *caller.about().get("loaded", ())))
        frameworks = (declared["framework"],) if "framework" in declared else uses
        best: Convention | None = None
        for framework in frameworks:
            # Who imports nothing, and calls methods of tensors, answers no other framework.
            if best is not None and framework not in (*caller.about()["uses"], "numpy"):
                break
            trial = dataclasses.replace(start, framework=framework)
            best = _better(best, self._of_stage(trial, kind.stages[0]))
            if best is not None and best.residual < kind.near:
                break
        if best is None:
            learns = caller.about().get("learns", ())
            raise Uncallable("projects" if learns else "", [*dict.fromkeys(self.refused)], learns=learns)
        if best.residual > kind.near and kind.declare and kind.declare not in declared:
            value = str(best.chosen[kind.declare])
            raise Uncallable("unexplained", convention=kind.declare, value=value, residual=best.residual)
        best = dataclasses.replace(best, defaults=caller.about().get("defaults", {}))
        for stage in kind.stages[1:]:
            if stage.needs in best.names:
                best = self._with_more(best, stage)
        return best

    def _bound(self) -> Convention:
        """Which parameter is for what, before anything is called."""
        kind, declared, about = self.kind, self.declared, self.caller.about()
        parameters = about["parameters"]
        if not parameters and not (kind.placed and parameters is None):
            raise Uncallable("hidden" if parameters is None else "nothing")
        bound = Bound(parameters, kind.operands, kind.unnamed, kind.placed)
        bound.names |= kind.unseen if parameters is None else {}
        if any(role not in bound.names for role in kind.placed):
            by_name = [name for name, each, _ in parameters or () if each == "KEYWORD_ONLY"]
            takes = [name for name, each, _ in parameters or () if each != "VAR_KEYWORD" and name not in by_name]
            raise Uncallable("other inputs", takes=takes or ["nothing"], by_name=by_name)
        if missing := [role for role in kind.must if role not in bound.names]:
            raise Uncallable("lacks role", role=missing[0])
        if bound.unknown:
            raise Uncallable("unknown", parameter=bound.unknown[0])
        for role, other in kind.stands.items():
            if kind.usual.get(role) is not None and role not in bound.names and other in bound.names:
                bound.names[role] = bound.names.pop(other)
                bound.required |= {role} if other in bound.required else set()
        for role in bound.required & {*kind.operands}:
            if OPERANDS[role].must and kind.usual.get(role) is None:
                raise Uncallable("another kind", parameter=bound.names[role], role=role)
        for stage in kind.stages:
            for name, values in (*stage.forms.items(), *stage.choices.items()):
                if name == "pairs" and not callable(values) and declared.get(name, values[0]) not in values:
                    raise Uncallable("no value", convention=name, value=declared[name])
        defaults = about.get("defaults", {})
        off = {name: x for name, x in bound.off.items() if name not in defaults or bool(defaults[name]) != bool(x)}
        flags = {role: name for role, name in bound.names.items() if OPERANDS[role].is_flag}
        for role in [role for role in bound.names if OPERANDS[role].meanings and role in declared]:
            if declared[role] == "none":
                del bound.names[role]
            elif declared[role] not in OPERANDS[role].meanings:
                raise Uncallable("no value", convention=role, value=declared[role])
        return Convention(
            framework="",
            names=bound.names,
            placed=tuple(bound.placed),
            required=frozenset(bound.required),
            always=off,
            quiet=frozenset(
                role for role, name in flags.items() if defaults.get(name, None) is False and kind.is_quiet
            ),
            chosen={},
            part=kind.part,
        )

    def _with_more(self, found: Convention, stage: Stage) -> Convention:
        """A convention with those of a later stage. Where none explains its trial call, the role is not used."""
        self.refused = []
        more = self._of_stage(found, stage)
        if more is not None and more.residual <= self.kind.near:
            return dataclasses.replace(more, residual=found.residual, idle=(*found.idle, *more.idle))
        wrong = Finding(
            verdict=Verdict.FAILS,
            # Where a call was answered, that another way to call is refused says nothing.
            trouble=next(iter(self.refused), None) if more is None else None,
            fact="unexplained parameter",
            about={"parameter": found.names[stage.needs], "values": tuple(OPERANDS[stage.needs].meanings)},
        )
        names = {role: name for role, name in found.names.items() if role != stage.needs}
        return dataclasses.replace(
            found, names=names, contradictions={**found.contradictions, stage.identity: wrong}
        )

    def _of_stage(self, start: Convention, stage: Stage) -> Convention | None:
        """The best convention of one stage, from what is known before; None if no trial call was answered."""
        kind, declared, refused = self.kind, self.declared, self.refused
        forms, choices = self._values(start, stage)
        best, calls, answered = None, start.calls, set[tuple[Any, ...]]()
        trials = stage.trials(declared) if callable(stage.trials) else stage.trials
        for values in itertools.product(*forms.values(), trials):
            spec, values = values[-1], values[:-1]
            if best is not None and dict(zip(forms, values, strict=True)).get("multiple", 1) > 1:
                break
            # Another trial is made where one before it cannot be, or is refused.
            if values in answered:
                continue
            form, scores = dict(zip(forms, values, strict=True)), list[tuple[Mapping[str, Any], float]]()
            answers: dict[tuple[Any, ...], tuple[Answer, dict[str, Any]]] = {}
            found: Convention | None = None
            for picked in itertools.product(*choices.values()):
                chosen = {**start.chosen, **form, **dict(zip(choices, picked, strict=True))}
                trial = dataclasses.replace(start, chosen=chosen)
                case = trial.fitted(kind, kind.case(spec))
                if case is None:
                    continue
                called = (*case.lines(), *trial.codes(case, case["queries"] or 0).items())
                is_new = called not in answers
                if is_new:
                    made, calls = case.operands(), calls + 1
                    first = self._first(trial, case, made)
                    if first.trouble and first.trouble.error in ELSEWHERE:
                        first = self._first(trial, case, made)
                    answers[called] = first, made
                answer, made = answers[called]
                if not answer.trouble and trial.steps is None:
                    chosen, case = self._own(trial, answer, case)
                    trial = dataclasses.replace(trial, chosen=chosen)
                    answer = read(kind, trial, answer, case)
                if answer.trouble:
                    if is_new:
                        refused.append(answer.trouble.of(trial.call(case)))
                    if is_new and sum(each.costs for each in refused) >= MOST_HUNG:
                        raise Uncallable("", [*dict.fromkeys(refused)])
                    continue
                more = kind.known(answer.numbers, case, chosen) if kind.known else {}
                error = np.inf if "" in more.values() else self._score(trial, case, answer, made)
                # What is doubtful explains a call, and may be explained better.
                error = max(error, kind.near * more.pop("is doubtful", 0.0))
                scores.append((chosen, error))
                found = _better(found, dataclasses.replace(trial, chosen=chosen | more, residual=error))
            if found is not None:
                answered.add(values)
                # A score of few draws tells nearly equal values apart by none of them: what is judged by is said.
                idle = () if kind.score else _idle(choices, found.chosen, scores)
                found = dataclasses.replace(found, idle=idle)
            best = _better(best, found)
            if best is not None and (best.residual < kind.near or calls >= MOST_TRIALS):
                break
        return None if best is None else dataclasses.replace(best, calls=calls)

    def _first(self, trial: Convention, case: Case, made: dict[str, Any]) -> Answer:
        """The answer to a trial call, whose axes are not read yet where there is one call alone."""
        bare = raw(self.caller, trial, case, made=made) if trial.steps is None else None
        return bare or ask(self.kind, self.caller, trial, case, made)

    def _own(self, trial: Convention, answer: Answer, case: Case) -> tuple[dict[str, Any], Case]:
        """The lengths that a target has of its own, and the case with them, from the shape of an answer."""
        axes, shape = trial.gives(self.kind.axes), answer.numbers.shape
        given = "".join(axes for _, axes in case.arrays)
        own = {
            role: OPERANDS[role].axis
            for role in self.kind.operands
            if OPERANDS[role].is_own and role not in trial.names
        }
        found = {
            role: shape[axes.index(x)] for role, x in own.items() if x not in given and len(axes) == len(shape)
        }
        return {**trial.chosen, **found}, case.replaced(**found)

    def _values(self, start: Convention, stage: Stage) -> tuple[dict[str, Sequence[Any]], dict[str, Sequence[Any]]]:
        """The values of what changes the call, and of what changes the meaning of an answer."""
        kind, forms = self.kind, dict[str, Sequence[Any]]()
        # What must be given is handed over in each of its forms, though it says nothing.
        if stage is kind.stages[0]:
            for role in kind.operands:
                if role in start.required and OPERANDS[role].idle:
                    forms |= {role: (*OPERANDS[role].meanings,)} if OPERANDS[role].meanings else {}
                    forms |= {f"{role} shape": OPERANDS[role].shapes} if OPERANDS[role].shapes else {}
                elif kind.usual.get(role) and OPERANDS[role].shapes:
                    forms |= {f"{role} shape": OPERANDS[role].shapes}
        given = {name: x(start) if callable(x) else x for name, x in stage.forms.items()}
        unnamed = {*kind.operands} - {*start.names}
        known = {x: y for x, y in given.items() if x.removesuffix(" axes") not in unnamed}
        for role in [name for name in known if name in OPERANDS and OPERANDS[name].is_source]:
            known[role] = [style for style in known[role] if style in ("int", start.framework)]
        last = {"layout": known.pop("layout")} if "layout" in known and start.steps is None else {}
        forms = {**{x: y for x, y in known.items() if x not in forms}, **forms, **last}
        later = {each.needs for each in kind.stages if each.needs}
        for role in (stage.needs,) if stage.needs else [each for each in kind.operands if each not in later]:
            if role in start.names and len(OPERANDS[role].axes) > 1:
                forms.setdefault(f"{role} axes", OPERANDS[role].axes)
        if stage.needs and OPERANDS[stage.needs].meanings:
            only = OPERANDS[stage.needs].only
            known = [x for x in OPERANDS[stage.needs].meanings if only.get(x, start.framework) == start.framework]
            forms[stage.needs] = (*known,)
        choices = {
            name: ("asked",) if name in OPERANDS and OPERANDS[name].is_flag and name in start.names else x
            for name, x in stage.choices.items()
        }
        for name, value in self.declared.items():
            is_free = name != "layout" or name in kind.declares
            known = [] if is_free else [str(x) for x in {**forms, **choices}.get(name, ())]
            # A single one is where a search begins that goes on after it.
            if len(known) > 1 and isinstance(value, str) and value not in known:
                raise Uncallable("no choice", convention=name, value=value, choices=known)
        forms, choices = (
            {name: (self.declared[name],) if name in self.declared else x for name, x in each.items()}
            for each in (forms, choices)
        )
        return forms, choices

    def _score(self, trial: Convention, case: Case, answer: Answer, made: Mapping[str, Any]) -> float:
        kind = self.kind
        if kind.score is None:
            return residual(kind, case, trial.chosen, answer, made) if kind.right else 0.0
        return kind.score(lambda other: ask(kind, self.caller, trial, other), case, answer, trial.chosen)


def _better(one: Convention | None, other: Convention | None) -> Convention | None:
    """The nearer of two, the first where they are equal."""
    if one is None or other is None:
        return one or other
    return other if other.residual < one.residual else one


def _idle(
    choices: Iterable[str], chosen: Mapping[str, Any], scores: Sequence[tuple[Mapping[str, Any], float]]
) -> tuple[str, ...]:
    """The conventions whose values all have one score beside what is chosen."""
    found = []
    for name in choices:
        beside = [e for other, e in scores if all(chosen[key] == x for key, x in other.items() if key != name)]
        if len(beside) > 1 and len({*beside}) == 1:
            found.append(name)
    return tuple(found)
