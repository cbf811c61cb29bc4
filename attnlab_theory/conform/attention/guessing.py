"""How a target wants to be called: found by a few calls, and said. What the user declares is not guessed."""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.attention.asking import ask
from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.extras import added, flagged, sharing, spanned
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.masking import KEYS_MEAN, masked
from attnlab_theory.conform.attention.masks import MEANINGS, SHAPES
from attnlab_theory.conform.attention.padding import padded
from attnlab_theory.conform.attention.parameters import AT_REST, IDLE, by_name_only, order_of, required, roles
from attnlab_theory.conform.attention.probe import order_of_heads, probed
from attnlab_theory.conform.attention.profiles import Profile, contradicts
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.attention.refusals import projects, refuse_unsettled
from attnlab_theory.conform.attention.resting import rested
from attnlab_theory.conform.attention.widths import MULTIPLES, widened
from attnlab_theory.conform.attention.windows import pairs, windowed
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Fault
from attnlab_theory.conform.kinds import Kind

OF_HEADS = ("bhtd", "bthd", "htd", "thd")
OF_ANY = ("bhtd", "bthd", "btd", "td")

OFF = 0.01
"""How far a row of weights may sum to another number than one, for other reasons than that it is no softmax."""

MOST_HUNG = 2
"""After so many trial calls that take too long no other layout is tried."""

TRIALS = ((4, 6), (5, 5))
"""Queries and keys of a trial call. Other numbers than those of heads, so that no layout fits by chance."""


def guessed(caller: Caller, kind: Kind, declared: Mapping[str, Any]) -> Profile:
    """The profile of a target.

    Args:
        caller: of the target.
        kind: what it promises.
        declared: fields of `Conventions` that are known.

    Raises:
        ValueError: if it can be called in no way, with what was handed over, what came back, and the remedy.
    """
    about = caller.about()
    try:
        names = roles(about["parameters"])
        musts = required(about["parameters"], names, kind.wants)
    except ValueError as error:
        raise ValueError(f"{caller.name}: {error}") from None
    given = about.get("defaults", {})
    always = {name: x for name, x in AT_REST.items() if name in given and bool(given[name]) != bool(x)}
    if given.get(names.get("causal", "")) is True:
        # It hides the future unless it is told not to.
        always[names["causal"]] = False
    known = {
        "always": always,
        "by_name": (by_name := by_name_only(about["parameters"])),
        "operands": "qkv" if by_name else order_of(about["parameters"]),
        **declared,
        "names": names,
        "musts": musts,
    }
    profile = Profile(Conventions(**known), [], [])
    profile = _laid_out(caller, kind, declared, profile, about)
    lines = refuse_unsettled(caller, kind, profile.way, about)
    if profile.diagnosis:
        return profile
    profile = Profile(profile.way, [*profile.lines, *lines], profile.failures)
    way, lines = widened(caller, kind, profile.way)
    profile = Profile(way, [*profile.lines, *lines], profile.failures)
    way, lines = rested(caller, kind, profile.way, given)
    profile = Profile(way, [*profile.lines, *lines], profile.failures)
    profile = windowed(caller, kind, _causal(caller, kind, declared, profile))
    for learned in (flagged, sharing, spanned):
        profile = learned(caller, kind, profile)
    profile = _scaled(caller, kind, declared, masked(caller, kind, declared, profile))
    way, lines = padded(caller, kind, profile.way, profile.failures)
    return added(caller, kind, Profile(way, [*profile.lines, *lines], profile.failures))


def _laid_out(
    caller: Caller, kind: Kind, declared: Mapping[str, Any], profile: Profile, about: Mapping[str, Any]
) -> Profile:
    """The framework and the layout: those in which every row is a mean of its own head's values."""
    way, said = profile.way, []
    if kind.causal and "causal" in way.names:
        way = dataclasses.replace(way, causal="asked")
    # Who imports nothing, and calls methods of tensors, is asked with numpy first.
    frameworks = dict.fromkeys((*about["uses"], "numpy", *about.get("loaded", ())))
    frameworks = (declared["framework"],) if "framework" in declared else tuple(frameworks)
    layouts = (declared["layout"],) if "layout" in declared else OF_HEADS if kind.heads else OF_ANY
    by_shape: Conventions | None = None
    unlike_one: tuple[Conventions, np.ndarray] | None = None
    hung = 0
    for framework in frameworks:
        # A mask that must be there hides nothing, whichever of its meanings is right.
        means = [(way.mask_shape, way.mask)]
        if not way.mask and "mask" in way.musts:
            means = [*itertools.product(SHAPES, MEANINGS)]
        keys_mean = KEYS_MEAN if "padding" in way.musts else (way.padding,)
        wholes = (False, True) if kind.wants == "bias" else (way.whole_bias,)
        for multiple, paired, same, (shape, mask), padding, whole, (queries, keys) in itertools.product(
            (1, MULTIPLES[-1]), pairs(kind, way), (False, True), means, keys_mean, wholes, TRIALS
        ):
            if multiple > 1 and by_shape is not None:
                break
            for layout in layouts:
                if hung >= MOST_HUNG:
                    raise ValueError(f"{caller.name}: {hung} trial calls hung. {said[-1]}")
                trial = dataclasses.replace(
                    way, framework=framework, layout=layout, same_width=same, multiple=multiple, mask=mask
                )
                trial = dataclasses.replace(
                    trial, padding=padding, paired=paired, mask_shape=shape, whole_bias=whole
                )
                case = fitted(
                    Case(batch=2, heads=4 if kind.grouped else 3, queries=queries, keys=keys), kind, trial
                )
                seen = probed(caller, trial, case)
                sums = seen.sums(case)
                if sums is not None and (np.abs(sums - 1) > OFF).any():
                    unlike_one = unlike_one or (trial, sums)
                elif seen.is_attention and (order := order_of_heads(seen, case)) is not None:
                    trial = dataclasses.replace(trial, interleaved=order)
                    return _said_layout(kind, declared, profile, trial, about)
                if not seen.trouble:
                    by_shape = by_shape or trial
                else:
                    said.append(f"layout {layout}, q {_sizes(case, layout)}: {seen.trouble}")
                    hung += seen.trouble.fault is Fault.HUNG
    if unlike_one is not None:
        found = _said_layout(kind, declared, profile, unlike_one[0], about)
        least, most = (f"{each:.3g}" for each in (unlike_one[1].min(), unlike_one[1].max()))
        between = least if least == most else f"{least} to {most}"
        # A sink takes weight away and gives none.
        is_less = unlike_one[1].max() <= 1 + OFF
        why = "as with a sink (a key without a value) or a sigmoid" if is_less else "as with a sigmoid or dropout"
        line = f"with q = k = 0 rows sum to {between}, and not to one, {why}"
        found.failures.append(("visibility", line))
        return found._replace(diagnosis=line)
    if by_shape is not None:
        profile.failures.append(
            ("visibility", "with q = k = 0 a row is not the mean of the values of its own head, in any layout")
        )
        return _said_layout(kind, declared, profile, by_shape, about)
    if about.get("learns"):
        raise ValueError(projects(caller, about))
    first = "; ".join(dict.fromkeys(said[: 2 if len(layouts) > 1 else 1]))
    raise ValueError(
        f"{caller.name} answered no trial call. {first}. Say --layout or --framework, or write an adapter: "
        "attnlab conform --template numpy"
    )


def _said_layout(
    kind: Kind, declared: Mapping[str, Any], profile: Profile, way: Conventions, about: Mapping[str, Any]
) -> Profile:
    lines = [("framework", way.framework), ("layout", " ".join(way.layout) + _mark(declared, "layout"))]
    if kind.grouped:
        order = "h % groups (interleaved)" if way.interleaved else "h // (heads / groups) (neighbours share)"
        lines.append(("head h reads the keys", order))
    if way.operands != "qkv":
        lines.append(("called as", f"f({', '.join(way.operands)}), by the names of its parameters"))
    if used := [f"{name} ({role})" for role, name in way.names.items()]:
        lines.append(("arguments by name", ", ".join(used)))
    causal = way.names.get("causal")
    if off := [f"{name}={x}" for name, x in way.always.items() if name != causal]:
        lines.append(("dropout", f"off, by {', '.join(off)}"))
    if causal in way.always:
        lines.append((str(causal), "True by default, and False where nothing is hidden"))
    if idle := [f"{way.names[role]} ({IDLE[role]})" for role in way.names if role in way.musts]:
        lines.append(("must be given", f"{', '.join(idle)} where nothing is asked"))
    if about.get("mode"):
        lines.append(("mode", about["mode"]))
    return Profile(way, lines, profile.failures)


def _causal(caller: Caller, kind: Kind, declared: Mapping[str, Any], profile: Profile) -> Profile:
    """Whether the future is hidden, and how rows stand to columns."""
    if kind.wants == "window":
        return profile
    way, lines = profile.way, list(profile.lines)
    case = fitted(Case(queries=6, keys=6), kind, way)
    seen = probed(caller, way, case)
    if seen.trouble:
        profile.failures.append(("visibility", seen.trouble.of("6 queries and 6 keys")))
        return profile
    shown = np.abs(seen.weights) > 0.01
    future = bool(np.triu(shown, 1).any())
    if not future and way.causal != "asked":
        way = dataclasses.replace(way, causal="always")
    if kind.causal and not seen.equals(np.tri(6, dtype=bool)):
        wrong = np.argwhere(shown != np.tri(6, dtype=bool))
        _, _, t, s = wrong[0] if len(wrong) else (0, 0, 5, 5)
        line = f"query {t} of 6 gives key {s} the weight {seen.weights[:, :, t, s].max():.2g}"
        contradicts(caller, profile, "visibility", line, seen, np.tri(6, dtype=bool))
    elif not (kind.causal or kind.heads or kind.wants) and not future:
        line = "no query sees what comes after it: judge it --as causal"
        contradicts(caller, profile, "visibility", line, seen, np.ones((6, 6), bool))
    if way.causal == "never":
        return Profile(way, lines, profile.failures)
    lines.append(("hides the future", f"by {way.names['causal']}" if way.causal == "asked" else "always"))
    found = declared.get("alignment") or _alignment(caller, kind, way, profile)
    way = dataclasses.replace(way, alignment="square" if found == "neither" else found)
    lines.append(("more keys than queries", f"{way.alignment}: {_MORE_KEYS[found]}"))
    return Profile(way, lines, profile.failures)


_MORE_KEYS = {
    "end": "last query sees the last key",
    "start": "query 0 sees key 0 only",
    "square": "refused",
    "neither": "neither of the two",
}


def _alignment(caller: Caller, kind: Kind, way: Conventions, profile: Profile) -> str:
    """How a causal mask is aligned, one of `_MORE_KEYS`."""
    case = fitted(Case(queries=3, keys=5), kind, way)
    seen = probed(caller, way, case)
    if seen.trouble:
        return "square"
    rights = {"end": np.tri(3, 5, 2, dtype=bool), "start": np.tri(3, 5, dtype=bool)}
    for name, right in rights.items():
        if seen.equals(right):
            return name
    sees = "; ".join(
        f"query {t} sees {np.flatnonzero(row > 0.01).tolist()}" for t, row in enumerate(seen.weights[0, 0])
    )
    line = f"3 queries see neither 1, 2, 3 nor 3, 4, 5 of 5 keys: {sees}"
    contradicts(caller, profile, "visibility", line, seen, *rights.values())
    return "neither"


def _scaled(caller: Caller, kind: Kind, declared: Mapping[str, Any], profile: Profile) -> Profile:
    """The scale that it uses when none is given: that which is nearest at two widths."""
    way, lines = profile.way, list(profile.lines)
    if "scale" in declared:
        return Profile(way, [*lines, ("scale", f"{way.scale} (declared)")], profile.failures)
    errors: dict[str, float] = {}
    for width in (way.wide(4), 4 * way.wide(4)):
        case = fitted(Case(queries=5, keys=5, width=width, seed=1), kind, way)
        answer = ask(caller, way, case)
        if answer.trouble:
            return profile
        for scale in scales.NAMES:
            right = attend(dataclasses.replace(way, scale=scale).problem(arrays(case), case)).output
            with np.errstate(invalid="ignore"):
                gap = np.abs(right - answer.output)
            error = float(gap[np.isfinite(gap)].max(initial=0.0))
            errors[scale] = max(errors.get(scale, 0.0), error)
    best = min(errors, key=lambda scale: errors[scale])
    if best != "rsqrt" and errors[best] < 1e-4:
        way = dataclasses.replace(way, scale=best)
    return Profile(way, [*lines, ("scale", scales.WORDS[way.scale])], profile.failures)


def _sizes(case: Case, layout: str) -> list[int]:
    sizes = {"b": case.batch, "h": case.heads, "t": case.queries, "d": case.width}
    return [sizes[axis] for axis in layout]


def _mark(declared: Mapping[str, Any], name: str) -> str:
    return " (declared)" if name in declared else " (guessed)"
