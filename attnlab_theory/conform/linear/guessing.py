"""How a target of linear attention wants to be called, and which features it makes: found by calls, and said."""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.asking import ADAPTER, Answer, Asker, named, parameters_of, refuse_unknown, shapes
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Trouble
from attnlab_theory.conform.linear.cases import Case, arrays
from attnlab_theory.conform.linear.conventions import MASKS, ROLES, SCALES, Conventions
from attnlab_theory.conform.linear.reference import FEATURES, attend
from attnlab_theory.conform.precision import Arrays, narrower

OF_ANY = ("bhtd", "bthd", "btd", "td")

FLOORS = (0.0, 1e-6, 1e-4, 1e-3)
"""What may be added to features: Performer's kernels add 1e-3."""

FITS = 5e-3
"""An answer this near fits: the feature maps are further apart, and no eps that is a convention moves it more."""

LEVELS = {"float64": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7), "float32": (1e-1, 1e-2, 1e-3)}
"""Features of this size show what is added to the normaliser; smaller ones are lost in elu(x) + 1."""

MOST_EPS = 1e-3
"""What is added to a normaliser of normal queries and keys, and is a convention, is at most this."""


class Profile(NamedTuple):
    """How to call a target, what it means, and what contradicts itself."""

    way: Conventions
    lines: list[tuple[str, str]]
    failures: list[tuple[str, Trouble | str]]
    """By the name of an identity."""


def asked(asker: Asker, way: Conventions, case: Case, given: Any = None) -> Answer:
    """One case asked of a target; other arrays may be given than its own."""
    q, k, v, mask = arrays(case) if given is None else given
    return asker.ask(
        q, k, v,
        named=way.masks(mask), plain=way.plain(case), kind=case.kind, strided=case.strided,
        layout=way.layout, framework=way.framework,
    )  # fmt: skip


def guessed(caller: Caller, declared: Mapping[str, Any]) -> tuple[Asker, Profile]:
    """The profile of a target.

    Args:
        caller: of the target.
        declared: fields of `Conventions` that are known.

    Raises:
        ValueError: if it can be called in no way, or its features are none that are known.
    """
    rest, required = parameters_of(caller, 3)
    names = named(rest, ROLES)
    refuse_unknown(caller, required, names)
    asker = Asker(caller)
    way = _formed(asker, declared, names)
    asker.framework, asker.layout = way.framework, way.layout
    how = FEATURES[way.features]
    mark = " (declared)" if "features" in declared else " (guessed)"
    lines = [
        ("framework", way.framework),
        ("layout", " ".join(way.layout)),
        ("features", f"{way.features}: {how.formula}, {how.source}{mark}"),
        ("normaliser", "yes" if way.normaliser else "no"),
        ("scale of queries", scales.WORDS.get(way.scale, way.scale)),
    ]
    if way.floor:
        lines.append(("added to features", f"{way.floor:g}"))
    profile = Profile(way, lines, [])
    return asker, _shaped(asker, declared, _masked(asker, declared, _bounded(asker, profile)))


def _formed(asker: Asker, declared: Mapping[str, Any], names: dict[str, str]) -> Conventions:
    """The framework, the layout, the features, the scale and the normaliser: those that are nearest."""
    about = asker.caller.about()
    frameworks = (declared["framework"],) if "framework" in declared else (*about["uses"], "numpy")
    layouts = (declared["layout"],) if "layout" in declared else OF_ANY
    best: tuple[float, Conventions] | None = None
    said: list[str] = []
    for framework, same, layout in itertools.product(frameworks, (False, True), layouts):
        way = Conventions(
            framework=framework, layout=layout, same_width=same, names=names,
            causal="asked" if "causal" in names else "never",
        )  # fmt: skip
        case = way.fitted(Case(batch=2, heads=3, queries=5, keys=5, seed=4))
        answer = asked(asker, way, case)
        if answer.trouble:
            said.append(f"{layout}, {shapes(arrays(case)[:3], layout)}: {answer.trouble}")
            continue
        for trial in _candidates(way, declared):
            right = attend(trial.problem(*arrays(case), case)).output
            error = float(
                np.max(np.nan_to_num(np.abs(answer.output - right), nan=1e30)) / (1 + np.abs(right).max())
            )
            if best is None or error < best[0]:
                best = error, trial
        if best is not None and best[0] < FITS:
            return best[1]
    if best is None:
        raise ValueError(
            f"{asker.caller.name} answered no trial call. {'; '.join(dict.fromkeys(said[:2]))}. "
            f"Say --layout or --framework, or {ADAPTER}"
        )
    if "features" not in declared:
        raise ValueError(
            f"{asker.caller.name}: its features are none of {', '.join(FEATURES)}; the nearest, "
            f"{best[1].features}, is off by {best[0]:.2g} of the output. Say --features to judge it by one of them"
        )
    return best[1]


def _candidates(way: Conventions, declared: Mapping[str, Any]) -> list[Conventions]:
    def known(name: str, others: Any) -> Any:
        return (declared[name],) if name in declared else others

    found = []
    for features, normaliser, scale, floor in itertools.product(
        known("features", FEATURES), known("normaliser", (True, False)), known("scale", SCALES), FLOORS
    ):
        for causal in (way.causal,) if way.causal == "asked" else ("never", "always"):
            if causal == "always" and features == "efficient":
                continue
            found.append(
                dataclasses.replace(
                    way, features=features, normaliser=normaliser, scale=scale, causal=causal, floor=floor
                )
            )
    # Where several are as near, the plainest is meant: min keeps the first.
    return sorted(found, key=lambda each: each.floor)


def _bounded(asker: Asker, profile: Profile) -> Profile:
    """What keeps the normaliser from 0: with values of one the output is D / (D + eps)."""
    way, lines = profile.way, list(profile.lines)
    level = FEATURES[way.features].level
    if not way.normaliser or level is None:
        return profile
    fine = way.fitted(Case(kind="float64"))
    trial = asked(asker, way, fine)

    def answers(given: Arrays) -> np.ndarray | None:
        answer = asked(asker, way, fine, (*given, None))
        return None if answer.trouble else answer.output

    kind = "float64" if trial.kind == "float64" and not narrower(answers, arrays(fine)[:3]) else "float32"
    seen: list[tuple[float, float]] = []
    for size in LEVELS[kind]:
        case = way.fitted(Case(batch=1, heads=1, queries=5, keys=5, kind=kind))
        q, k, v, _ = arrays(case)
        alike = np.full_like(q, level(size) / way.factor(case.width)), np.full_like(k, level(size)), np.ones_like(v)
        answer = asked(asker, way, case, (*alike, None))
        if answer.trouble:
            return profile
        exact = attend(dataclasses.replace(way, eps=0.0).problem(*alike, None, case)).normaliser
        seen += [(float(d), float(o)) for d, o in zip(exact[0, 0, :, 0], answer.output[0, 0, :, 0], strict=True)]
    sizes, outputs = (np.array(each) for each in zip(*seen, strict=True))
    noise = 1e-6 if kind == "float64" else 3e-3
    if not np.isfinite(outputs).all() or (np.abs(outputs - 1) < noise).all():
        way = dataclasses.replace(way, least=float(sizes.min()))
        return Profile(way, [*lines, ("added to the normaliser", "nothing that is seen")], profile.failures)
    off = np.abs(outputs - 1) >= noise
    for clamped, eps in (
        (False, sizes[off] * (1 / np.where(outputs[off] == 0, 1e-300, outputs[off]) - 1)),
        (True, sizes[off] / np.where(outputs[off] == 0, 1e-300, outputs[off])),
    ):
        one = float(f"{np.median(eps):.2g}")
        fits = sizes / np.maximum(sizes, one) if clamped else sizes / (sizes + one)
        if np.allclose(fits, outputs, rtol=5 * noise, atol=0) and 0 < one <= MOST_EPS:
            way = dataclasses.replace(way, eps=one, clamped=clamped)
            word = (
                ("the normaliser is at least", f"{one:g}") if clamped else ("added to the normaliser", f"{one:g}")
            )
            return Profile(way, [*lines, word], profile.failures)
    worst = int(np.argmax(np.abs(outputs - 1)))
    profile.failures.append(
        ("constant values", f"values of one give {outputs[worst]:.4g} where the normaliser is {sizes[worst]:.3g}, "
         f"and no eps up to {MOST_EPS:g} explains it")
    )  # fmt: skip
    return profile


def _masked(asker: Asker, declared: Mapping[str, Any], profile: Profile) -> Profile:
    """What a mask of keys means."""
    way, lines = profile.way, list(profile.lines)
    if "mask" not in way.names or declared.get("mask") == "none":
        return profile
    known = declared.get("mask")
    if known and known not in MASKS:
        raise ValueError(f"--mask {known} is no mask of keys; linear attention takes {', '.join(MASKS)} or none")
    case = way.fitted(Case(padded=True, seed=3))
    trouble = None
    for meaning in [known] if known else MASKS:
        trial = dataclasses.replace(way, mask=meaning)
        answer = asked(asker, trial, case)
        right = attend(trial.problem(*arrays(case), case)).output
        where = np.isfinite(right)
        if not answer.trouble and np.allclose(answer.output[where], right[where], rtol=1e-2, atol=1e-2):
            return Profile(trial, [*lines, (way.names["mask"], MASKS[meaning])], profile.failures)
        trouble = answer.trouble or trouble
    name, unlike = f"{way.names['mask']} [b s]", "outputs do not follow it, whether True keeps, True drops, 1 keeps"
    profile.failures.append(("padding", trouble.of(name) if trouble else f"{name}: {unlike} or 1 drops a key"))
    return profile


def _shaped(asker: Asker, declared: Mapping[str, Any], profile: Profile) -> Profile:
    """Whether it hides the future, and whether more keys than queries are taken."""
    way, lines = profile.way, list(profile.lines)
    del declared
    said = {"always": "always", "asked": f"by {way.names.get('causal')}", "never": "no"}[way.causal]
    lines.append(("hides the future", said))
    if way.causal != "always":
        answer = asked(asker, way, way.fitted(Case(queries=4, keys=7)))
        way = dataclasses.replace(way, square=bool(answer.trouble))
        lines.append(("more keys than queries", f"refused: {answer.trouble}" if way.square else "taken"))
    return Profile(way, lines, profile.failures)
