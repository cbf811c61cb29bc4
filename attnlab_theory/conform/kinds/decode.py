"""Layers with a cache: f(q, k, v, cache) -> (out, cache), f(x, cache), or an object with `step`.

Decoding token by token must give what the whole gives. How a step wants to be called is found out: whether the
cache comes back, whether it is told where its tokens stand, and what hides the future.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attnlab_theory.conform.calling import Convention, Steps, Uncallable
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.decoding import case_of, full, laws, looks_back, repeated, settle
from attnlab_theory.conform.finding import Finding, Verdict
from attnlab_theory.conform.harness import RESETS
from attnlab_theory.conform.identities import future, untouched
from attnlab_theory.conform.judge import NOT_TRIED, Judge, Pair
from attnlab_theory.conform.kind import Kind, Stage, law
from attnlab_theory.conform.kinds.mixer import LOUD, WIDTHS, mixes_tokens
from attnlab_theory.conform.operands import OPERANDS, Bound
from attnlab_theory.conform.rows import unequal
from attnlab_theory.conform.sensitivity import of_layers

CACHE = ("cache", "past keys", "past values")
STEP = (*CACHE, "returns", "causal", "step mask", "first place", "places")
"""The roles that a step may have parameters for, beside its inputs."""


def bound(about: Mapping[str, Any]) -> Convention:
    """How a step is called, by the names of its parameters."""
    methods = about.get("methods", {})
    method = "step" if "step" in methods else ""
    begins = next((each for each in ("init_cache", *RESETS) if each in methods), "")
    parameters = methods["step"] if method else about["parameters"]
    known = Bound(parameters, STEP)
    names, must = dict(known.names), known.unknown
    for lone in [each for each in CACHE[1:] if not {*CACHE[1:]} <= {*names}]:
        names.pop(lone, None)
    stands = [role for role in ("first place", "places") if role in names]
    if not {*CACHE, *stands} & {*names} and not begins:
        raise Uncallable("no cache")
    for role in stands[1:]:
        names.pop(role)
    free = [name for name, kind, _ in parameters or () if "POSITIONAL_" in kind and name not in names.values()]
    inputs = must if len(must) in (1, 3) else free[: 1 - len(must)]
    if not inputs:
        raise Uncallable("unknown", parameter=next(iter(must), "nothing"))
    placed = ("sequence",) if len(inputs) == 1 else ("q", "k", "v")
    inputs_by_role = dict(zip(placed, inputs, strict=True))
    flag = [name for name, *_ in about["parameters"] or () if name.lower() in OPERANDS["causal"].spellings]
    whole = Convention(
        framework="", names=inputs_by_role | dict(zip(["causal"], flag, strict=False)), placed=placed, chosen={}
    )
    # Without a cache that is handed over, and without a beginning, only their place tells what is new.
    is_told = {*stands} & known.required or not ({*CACHE} & {*names} or begins)
    return Convention(
        framework="",
        names=inputs_by_role | names,
        placed=placed,
        required=frozenset(known.required) - ({*CACHE} if begins else set()),
        chosen={
            "method": method,
            "begins": begins,
            "is told": bool(is_told),
            "has cache": True,
            "causal": "always",
        },
        steps=Steps(
            method=method,
            begins=begins,
            lengths=Bound(methods.get(begins), ("batch", "capacity")).names if begins else {},
            whole=whole if method and about["parameters"] is not None else None,
        ),
    )


def told(role: str) -> Callable[[Convention], Sequence[str]]:
    """How it may be told where tokens stand, where that must be."""
    return lambda found: (*OPERANDS[role].told,) if found.chosen["is told"] and role in found.names else ("",)


def comes_back(found: Convention) -> Sequence[tuple[int, ...]]:
    """Where the cache is in what comes back; nowhere where it is changed in place."""
    places = tuple(range(1, 1 + len(found.kept)))
    return (places, ()) if found.steps and found.steps.begins and places else (places,)


def looks(judge: Judge) -> dict[str, Any]:
    """Whether several tokens can be fed at once, and whether there are steps alone."""
    found, case = judge.convention, case_of(judge, 6, 0)
    # A call that raises once is made again, before a cache is said to take one token at a time.
    chunked = not found.chosen["flat"] and any(not judge.ask(case.replaced(parts=(3, 3))).trouble for _ in range(2))
    settle(judge, chunked=chunked)
    trouble = judge.ask(case).trouble
    # Every module of torch can be called, and says then if it has no `forward`.
    settle(judge, **{"steps only": trouble is not None and trouble.error == "NotImplementedError"})
    if not found.kept and not found.chosen["begins"] and not looks_back(judge):
        raise Uncallable("looks not back")
    return {}


def leaks(judge: Judge, *lengths: int) -> Finding:
    """Whether the pass over all tokens hides the future, of the lengths that are taken."""
    return future(lengths, tuple(n for n in lengths if n < 20), LOUD, batch=1)(judge)


def hides(judge: Judge) -> dict[str, Any]:
    """What a step must be told: a mask, a flag at the beginning only, and where its tokens stand."""
    names = judge.convention.names
    if "step mask" in names and "causal" not in names and leaks(judge, 6).verdict is not Verdict.HOLDS:
        wanted = judge.declared.get("mask", "")
        values = [x for x in OPERANDS["step mask"].told if not wanted or x.endswith(wanted)] or [""]
        for value in values:
            settle(judge, **{"step mask": value})
            if leaks(judge, 6).verdict is Verdict.HOLDS:
                break
        else:
            settle(judge, **{"step mask": values[0]})
    stands = next((role for role in ("first place", "places") if role in names), "")
    places = ["", *OPERANDS[stands].told] if stands and not judge.convention.chosen["is told"] else [None]
    ways = [(place, first) for place in places for first in ([False, True] if "causal" in names else [False])]
    for place, first in ways if len(ways) > 1 else ():
        settle(judge, **({stands: place} if place is not None else {}), **{"first only": first})
        whole = case_of(judge, 6, 2)
        if not judge.alike(Pair(whole.replaced(parts=(1,) * 6), whole)).fails:
            break
    else:
        if len(ways) > 1:
            settle(judge, **({stands: places[-1]} if stands else {}), **{"first only": False})
    return {"chunked": False} if judge.convention.chosen.get("first only") else {}


@law
def of_type(judge: Judge, kind: str) -> Finding:
    """The law that decoding in another type gives the whole in that type."""
    pairs = [
        Pair(case.replaced(parts=(1,) * 8), case) for case in judge.cases([{"length": 8, "seed": 1, "type": kind}])
    ]
    return judge.same(pairs, lambda outcome: outcome.case["parts"] is None)


@law
def fewer_heads(judge: Judge, heads: int, groups: int) -> Finding:
    """The law that heads that share keys read the same ones in steps, where the whole takes fewer heads of keys."""
    specs = [{"heads": heads, "groups": groups, "shared": True, "length": 6, "seed": seed} for seed in (1, 2)]
    # A layout without heads has none to share.
    cases = [case for case in judge.cases(specs) if case["groups"] < case["heads"] and "k" in dict(case.arrays)]
    pairs = [Pair(case.replaced(parts=(1,) * 6), case) for case in cases if not judge.remembered(case).trouble]
    return judge.same(pairs) if pairs else NOT_TRIED


def wider(case: Case) -> Sequence[str]:
    """Tokens of another width."""
    names = [role for role, _ in case.arrays]
    return [f"{name} = np.concatenate([{name}, {name}[..., :1]], -1)" for name in names]


def causality(judge: Judge) -> Finding:
    """No token of the pass over all of them moves when what comes after it is replaced."""
    return leaks(judge, 6, 12, 17, 65)


DECODE = Kind(
    operands=("sequence", "q", "k", "v", "groups", *STEP),
    gives="bhto",
    binds=bound,
    usual={"batch": 2, "heads": 2, "groups": 2, "length": 6},
    promised=lambda case, chosen: not case["trial"] or bool(chosen["method"]),
    stages=(
        Stage(
            forms={
                "layout": lambda found: ("bhtd", "bthd", "btd", "tbd", "td")[2 * ("sequence" in found.names) :],
                "same width": (True,),
                "width": WIDTHS,
                "comes back": comes_back,
                "first place": told("first place"),
                "places": told("places"),
                "flat": lambda found: (False, True) if found.chosen["method"] else (False,),
            },
            trials=({"length": 4, "parts": (1, 1, 1, 1), "trial": 1}, {"length": 4, "parts": (4,)}),
        ),
    ),
    score=mixes_tokens,
    reads=(looks, hides),
    declares=("mask",),
    tolerance=of_layers,
    refuses_lengths=True,
    laws={
        **laws((132, 20, 600), wider, "elements apart"),
        "full cache": full,
        "rows of other lengths": unequal,
        "causality": causality,
        "shared keys": fewer_heads(4, 2),
        "float64": of_type("float64"),
        "float16": of_type("float16"),
        "bfloat16": of_type("bfloat16"),
        "same result": repeated,
        "inputs unchanged": untouched([]),
    },
)
