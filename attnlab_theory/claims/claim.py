"""The one interface: a claim, and what was found."""

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import PRNGKeyArray

from attnlab_theory.axes import Scalar
from attnlab_theory.claims.setting import Setting, built
from attnlab_theory.stats.assumed_variance import VarianceCheck
from attnlab_theory.stats.bounds import Bound, exact
from attnlab_theory.stats.interval import Interval

P = TypeVar("P", bound=Setting)
T = TypeVar("T")

FACTOR = 4
"""The resolution of an exact claim is this many times its rounding: its measured interval is two wide."""


class Verdict(enum.StrEnum):
    """What the judge says of a claim at a setting.

    Example:
        A verdict is its own word, so a file may hold it.

        >>> Verdict("SUPPORTED") is Verdict.SUPPORTED, [verdict.value for verdict in Verdict]
        (True, ['SUPPORTED', 'REFUTED', 'INCONCLUSIVE'])
    """

    SUPPORTED = "SUPPORTED"
    REFUTED = "REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"


def _checks_itself(kind: type[T]) -> type[T]:
    """A dataclass whose values no type checker looks at at run time: its own messages name the claim."""
    kind.__init__.__annotations__.clear()
    return kind


@_checks_itself
@dataclasses.dataclass(frozen=True, kw_only=True)
class Rival(Generic[P]):
    """What would be believed instead of a claim. The draws that support the claim must refute it.

    Example:
        A fair coin, and who believes that it always shows heads.

        >>> heads = Rival(statement="The coin always shows heads.", source="a gambler", predict=Interval.point(1.0))
        >>> heads.predict
        Interval(low=1.0, high=1.0)
    """

    statement: str
    """What it says, in one sentence."""
    source: str
    """Who says so; or what is left out of the claim's prediction, or changed in it."""
    predict: Interval | Callable[[P], Interval]
    """What it says of the claim's expectation, at every setting of the claim."""


@_checks_itself
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Claim(Generic[P]):
    """E[draw] lies in the predicted interval at every setting at which the hypotheses hold.

    What does not depend on the setting is given as a value, the rest as a function of the setting. Draws of an
    `exact` claim are computed once, eagerly, at the plain setting; all others are compiled, with the setting's
    `Traced` fields as arguments.

    Raises:
        ValueError: if there is no setting, or one is not a `Setting` or not of the kind of the others.

    Example:
        A coin, and the chance of heads as its setting. The prediction is a function of the setting.

        >>> from attnlab_theory.stats import proportion
        >>> class Coin(Setting):
        ...     p: float
        >>> fair = Claim(
        ...     name="fair-coin",
        ...     statement="A coin shows heads with its chance p.",
        ...     source="the law of the coin",
        ...     predict=lambda setting: Interval.point(setting.p),
        ...     draw=lambda key, setting: jax.random.bernoulli(key, setting.p),
        ...     bound=proportion(),
        ...     resolution=0.1,
        ...     settings=(Coin(p=0.5),),
        ... )
        >>> fair.predicted_at(fair.at(p=0.25)), fair.resolution_at(fair.at(p=0.25))
        (Interval(low=0.25, high=0.25), 0.1)
        >>> fair.at(q=0.25)
        Traceback (most recent call last):
            ...
        ValueError: fair-coin: Coin has no field 'q'; the fields are p
    """

    name: str
    statement: str
    """LaTeX allowed; one sentence whose negation can be imagined."""
    source: str
    """Parts joined by "; ": a section of docs/mathematics, papers by their keys in docs/sources.md, homework
    questions by their ids in the answer sheet; a comma and free words may follow each."""
    hypotheses: Mapping[str, Callable[[P], bool]] = dataclasses.field(default_factory=dict)
    predict: Interval | Callable[[P], Interval]
    draw: Callable[[PRNGKeyArray, P], Scalar]
    bound: Bound | Callable[[P], Bound]
    resolution: float | Callable[[P], float]
    """The widest measured interval that may count as support."""
    settings: tuple[P, ...]
    rival: Rival[P] | None = None
    """What would be believed instead; a claim is SUPPORTED only where this is REFUTED on the same draws."""
    expect: Verdict = Verdict.SUPPORTED
    """REFUTED for a foil, a statement that the lab exists to knock down."""
    foil_of: "Claim[Any] | None" = None
    """What is right in the place of a foil."""
    stream: "str | Claim[Any]" = ""
    """Whose random keys are seen: another claim's, those of this name, or by default the claim's own."""
    chunk: int = 1024
    """Draws per device step."""

    def __post_init__(self) -> None:
        if not isinstance(self.settings, tuple) or not self.settings:
            raise ValueError(
                f"{self.name}: settings must be a tuple of at least one setting, not {self.settings!r}"
            )
        for setting in self.settings:
            if not isinstance(setting, Setting):
                raise ValueError(f"{self.name}: a setting must be an instance of a Setting, not {setting!r}")
            if type(setting) is not self.kind:
                kinds = f"{self.kind.__name__} and {type(setting).__name__}"
                raise ValueError(f"{self.name}: all settings of a claim are of one kind, not {kinds}")

    @property
    def kind(self) -> type[P]:
        """The class of its settings."""
        return type(self.settings[0])

    @property
    def stream_name(self) -> str:
        """What its random keys are derived from: claims of one stream see the same keys."""
        return self.stream.stream_name if isinstance(self.stream, Claim) else self.stream or self.name

    def at(self, **fields: Any) -> P:
        """A setting of this claim.

        Raises:
            ValueError: if a field is unknown, missing or does not hold its value; one line that names the claim
                and the field.
        """
        try:
            return built(self.kind, fields)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def predicted_at(self, setting: P) -> Interval:
        """What is predicted.

        Raises:
            ValueError: if that is not an `Interval`.
        """
        return self.interval(self.predict, setting)

    def interval(self, predict: Any, setting: P) -> Interval:
        """What any prediction of this claim's expectation says at a setting: an `Interval`, or a function to one.

        Raises:
            ValueError: if that is not an `Interval`.
        """
        predicted = predict(setting) if callable(predict) else predict
        if not isinstance(predicted, Interval):
            raise ValueError(
                f"{self.name}: predict must give an Interval, not {predicted!r}, at {setting}; an equality is "
                "Interval.point(x), a bound Interval.at_most(x)"
            )
        return predicted

    def bound_at(self, setting: P) -> Bound:
        """The bound of the measurement.

        Raises:
            ValueError: if that is not a `Bound`.
        """
        bound = self.bound if isinstance(self.bound, Bound) else self.bound(setting)
        if not isinstance(bound, Bound):
            raise ValueError(f"{self.name}: bound must give a Bound, not {bound!r}, at {setting}")
        return bound

    def resolution_at(self, setting: P) -> float:
        """The widest measured interval that may count as support.

        Raises:
            ValueError: if that is not a positive finite number.
        """
        resolution = self.resolution(setting) if callable(self.resolution) else self.resolution
        if not isinstance(resolution, int | float | np.floating) or not 0 < resolution < math.inf:
            raise ValueError(
                f"{self.name}: the resolution must be positive and finite, not {resolution!r}, at {setting}"
            )
        return float(resolution)


def exact_claim(
    *,
    name: str,
    statement: str,
    source: str,
    hypotheses: Mapping[str, Callable[[P], bool]] | None = None,
    predict: Interval | Callable[[P], Interval],
    draw: Callable[[PRNGKeyArray, P], Scalar],
    rounding: float | Callable[[P], float],
    settings: tuple[P, ...],
    rival: Rival[P] | None = None,
    expect: Verdict = Verdict.SUPPORTED,
    stream: "str | Claim[Any]" = "",
) -> Claim[P]:
    """A claim about a number that is computed once, with no chance in it.

    Args:
        name: the claim's own name.
        statement: one sentence whose negation can be imagined; LaTeX allowed.
        source: a section of docs/mathematics, papers, homework questions, joined by "; " (see `Claim`).
        hypotheses: names of what is assumed, and whether it holds at a setting.
        predict: the predicted interval, or a function from the setting to it.
        draw: the number, from a PRNG key that it may ignore, and the setting.
        rounding: a derived bound on the absolute error of the computation. The measured interval is the number
            plus or minus it; the resolution is `FACTOR` times it.
        settings: where it is judged; at least one.
        rival: what would be believed instead.
        expect: REFUTED for what the lab exists to knock down.
        stream: the claim, or the name, whose random keys are seen.

    Example:
        The square of a side: no chance is in it, and the rounding is an eighth at most. The resolution is four
        times that.

        >>> class Square(Setting):
        ...     side: float
        >>> area = exact_claim(
        ...     name="area",
        ...     statement="A square has the area of its side times itself.",
        ...     source="geometry",
        ...     predict=lambda setting: Interval.point(setting.side**2),
        ...     draw=lambda key, setting: setting.side * setting.side,
        ...     rounding=0.125,
        ...     settings=(Square(side=3.0),),
        ... )
        >>> area.predicted_at(Square(side=3.0)), area.resolution_at(Square(side=3.0))
        (Interval(low=9.0, high=9.0), 0.5)
    """

    def at(setting: P) -> float:
        return rounding(setting) if callable(rounding) else rounding

    return Claim(
        name=name,
        statement=statement,
        source=source,
        hypotheses=hypotheses or {},
        predict=predict,
        draw=draw,
        bound=lambda setting: exact(at(setting)),
        resolution=lambda setting: FACTOR * at(setting),
        settings=settings,
        rival=rival,
        expect=expect,
        stream=stream,
    )


def foil(claim: Claim[P], *, name: str, statement: str, source: str, **changed: Any) -> Claim[P]:
    """The claim with something changed that makes it wrong: its verdict is expected to be REFUTED.

    Args:
        claim: what is right.
        name: the foil's own name.
        statement: the wrong statement.
        source: who says so, or what was left out.
        changed: fields of the claim that differ: at least one of `predict`, `draw` and `settings`. `expect` is no
            choice.

    Raises:
        ValueError: if none of these three differs, or a field cannot be changed.

    Example:
        A wrong variant of a claim keeps all of it but what is named. Its verdict is expected to be REFUTED.

        >>> class Square(Setting):
        ...     side: float
        >>> area = exact_claim(
        ...     name="area",
        ...     statement="A square has the area of its side times itself.",
        ...     source="geometry",
        ...     predict=lambda setting: Interval.point(setting.side**2),
        ...     draw=lambda key, setting: setting.side * setting.side,
        ...     rounding=0.125,
        ...     settings=(Square(side=3.0),),
        ... )
        >>> wrong = foil(
        ...     area,
        ...     name="area-is-the-edge",
        ...     statement="A square has the area of its four sides.",
        ...     source="nobody",
        ...     predict=lambda setting: Interval.point(4 * setting.side),
        ... )
        >>> wrong.predicted_at(Square(side=3.0)), wrong.expect.value, wrong.foil_of is area
        (Interval(low=12.0, high=12.0), 'REFUTED', True)
    """
    known = {field.name for field in dataclasses.fields(claim)} - {"expect", "rival", "foil_of"}
    for field in changed:
        if field not in known:
            raise ValueError(f"{name}: a foil cannot change {field!r}; the fields are {', '.join(sorted(known))}")
    if not {"predict", "draw", "settings"} & set(changed):
        raise ValueError(f"{name}: a foil of {claim.name} must differ from it in predict, draw or settings")
    said = {"name": name, "statement": statement, "source": source}
    return dataclasses.replace(claim, expect=Verdict.REFUTED, foil_of=claim, rival=None, **said, **changed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RivalFinding:
    """What would be believed instead, judged on the draws of the claim."""

    statement: str
    source: str
    predicted: Interval
    verdict: Verdict
    is_possible: bool = True
    """Whether the bound allows any of what it predicts. If not, no draws could support it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One claim at one setting, judged. The fields are those of the result files.

    Example:
        What a figure is drawn from. `times` gives it in another unit.

        >>> found = Finding(
        ...     experiment="coins", claim="fair-coin", statement="", source="", setting={"p": 0.5},
        ...     predicted=Interval.point(0.5), measured=Interval(0.25, 0.75), draws=16, error_rate=0.05,
        ...     resolution=0.1, bound="proportion", verdict=Verdict.INCONCLUSIVE, expect=Verdict.SUPPORTED,
        ... )
        >>> found.as_expected
        False
        >>> found.times(100.0).measured
        Interval(low=25.0, high=75.0)
    """

    experiment: str
    claim: str
    statement: str
    source: str
    setting: dict[str, Any]
    predicted: Interval
    measured: Interval
    draws: int
    error_rate: float
    resolution: float
    bound: str
    verdict: Verdict
    expect: Verdict | None
    """None for a conjecture, of which nobody knows what to expect."""
    variance: VarianceCheck | None = None
    """The variance that the bound assumes, beside that of the draws; None where it assumes none."""
    rival: RivalFinding | None = None
    """None where the claim names no rival of its own."""

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one the claim is kept for; any is, of a conjecture."""
        return self.expect is None or self.verdict == self.expect

    def times(self, factor: float) -> "Finding":
        """The same in another unit, for a figure: predicted and measured multiplied by a positive factor."""
        predicted, measured = (Interval(factor * i.low, factor * i.high) for i in (self.predicted, self.measured))
        return dataclasses.replace(self, predicted=predicted, measured=measured)


class Findings(tuple[Finding, ...]):
    """Findings in the order in which they were made; all that a figure is drawn from.

    Example:
        Two findings of one claim, at two settings.

        >>> def at(p):
        ...     return Finding(
        ...         experiment="coins", claim="coin", statement="", source="", setting={"p": p},
        ...         predicted=Interval.point(p), measured=Interval.around(p, 0.02), draws=4096, error_rate=0.05,
        ...         resolution=0.1, bound="proportion", verdict=Verdict.SUPPORTED, expect=Verdict.SUPPORTED,
        ...     )
        >>> found = Findings([at(0.25), at(0.5)])
        >>> found.values("p")
        [0.25, 0.5]
        >>> found.of("coin", p=0.5)[0].predicted
        Interval(low=0.5, high=0.5)
    """

    def of(self, claim: str, **setting: Any) -> "Findings":
        """The findings of one claim, at the settings whose fields have the given values.

        Raises:
            KeyError: if there is none: a figure must not silently lack a curve.
        """
        chosen = Findings(
            f for f in self if f.claim == claim and all(f.setting[name] == value for name, value in setting.items())
        )
        if not chosen:
            raise KeyError(f"no finding of {claim} at {setting}")
        return chosen

    def values(self, field: str) -> list[Any]:
        """One field of every setting, in order."""
        return [f.setting[field] for f in self]
