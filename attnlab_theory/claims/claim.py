"""A claim, and a finding: what was found when a claim was judged."""

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
"""The resolution of an exact claim is this many times its rounding. Its measured interval is two roundings wide."""


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
    """Keep the run-time type checker away from this dataclass: its own error messages name the claim."""
    kind.__init__.__annotations__.clear()
    return kind


@_checks_itself
@dataclasses.dataclass(frozen=True, kw_only=True)
class Rival(Generic[P]):
    """What would be believed instead of a claim. The draws that support the claim must refute it.

    Example:
        The claim is that a coin is fair. The rival says that the coin always shows heads.

        >>> heads = Rival(statement="The coin always shows heads.", source="a gambler", predict=Interval.point(1.0))
        >>> heads.predict
        Interval(low=1.0, high=1.0)
    """

    statement: str
    """What the rival says, in one sentence."""
    source: str
    """Who says so, or what was left out of the claim's prediction or changed in it to get the rival's."""
    predict: Interval | Callable[[P], Interval]
    """What the rival predicts for the claim's expectation, at every setting of the claim."""


@_checks_itself
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Claim(Generic[P]):
    """E[draw] lies in the predicted interval at every setting at which the hypotheses hold.

    A prediction, bound or resolution is a value if it is the same at every setting, else a function of the setting.
    The draw of an `exact` claim is computed once, without compilation. All other draws are compiled, with the
    setting's `Traced` fields as arguments.

    Raises:
        ValueError: if there is no setting, if one is not a `Setting`, or if the settings are of different classes.

    Example:
        A coin, and the chance of heads as its setting. The prediction is a function of the setting.

        >>> import jax
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
    """One sentence that could be false. LaTeX is allowed."""
    source: str
    """Parts joined by "; ". Each part is a section of docs/mathematics, the key of a paper in docs/sources.md, or
    the id of a homework question in the answer sheet. A comma and free words may follow each part."""
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
    """The verdict that is expected: REFUTED for a foil."""
    foil_of: "Claim[Any] | None" = None
    """The right claim, if this claim is a foil of it."""
    stated: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The fields of the setting that the sentence names, such as beta=30, where other settings are judged too."""
    compared: tuple[str, Callable[[P], float]] | None = None
    """With what the sentence compares, and its number at a setting, where the prediction is a multiple of it."""
    stream: "str | Claim[Any]" = ""
    """Which random keys the draws use: those of another claim, those of this name, or by default the claim's own.
    """
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
        if self.stated and not any(map(self._states, self.settings)):
            raise ValueError(f"{self.name}: stated={dict(self.stated)} is none of its settings")

    @property
    def kind(self) -> type[P]:
        """The class of its settings."""
        return type(self.settings[0])

    @property
    def stream_name(self) -> str:
        """The name from which the random keys are derived: claims with the same stream name see the same keys."""
        return self.stream.stream_name if isinstance(self.stream, Claim) else self.stream or self.name

    def at(self, **fields: Any) -> P:
        """A setting of this claim.

        Raises:
            ValueError: if a field is unknown or missing, or its type cannot hold its value. The message names the
                claim and the field.
        """
        try:
            return built(self.kind, fields)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def predicted_at(self, setting: P) -> Interval:
        """The predicted interval at a setting.

        Raises:
            ValueError: if the prediction is not an `Interval`.
        """
        return self.interval(self.predict, setting)

    def interval(self, predict: Any, setting: P) -> Interval:
        """The interval of a prediction, which is an `Interval` or a function from the setting to one.

        Raises:
            ValueError: if the result is not an `Interval`.
        """
        predicted = predict(setting) if callable(predict) else predict
        if not isinstance(predicted, Interval):
            raise ValueError(
                f"{self.name}: predict must give an Interval, not {predicted!r}, at {setting}; an equality is "
                "Interval.point(x), a bound Interval.at_most(x)"
            )
        return predicted

    def _states(self, setting: P) -> bool:
        told, missing = setting.as_json(), object()
        return bool(self.stated) and all(told.get(name, missing) == value for name, value in self.stated.items())

    def beside(self, setting: P) -> dict[str, Any]:
        """What a finding at a setting says beside its numbers: `stated` and `compared`."""
        compared = None if self.compared is None else (self.compared[0], float(self.compared[1](setting)))
        return {"stated": self._states(setting), "compared": compared}

    def bound_at(self, setting: P) -> Bound:
        """The bound on the draws at a setting.

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
        draw: a function of a PRNG key, which it may ignore, and the setting. It returns the number.
        rounding: a derived bound on the absolute error of the computation. The measured interval is the number plus
            or minus this bound; the resolution is `FACTOR` times the bound.
        settings: at which the claim is judged; at least one.
        rival: what would be believed instead.
        expect: the verdict that is expected; REFUTED for a claim that is wrong on purpose.
        stream: the claim, or the name, whose random keys the draw uses.

    Example:
        The area of a square is computed without chance, with a rounding of an eighth at most. The resolution is
        four times the rounding.

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
        claim: the right claim.
        name: the foil's own name.
        statement: the wrong statement.
        source: who says so, or what was left out of the claim.
        changed: new values for fields of the claim, among them `predict`, `draw` or `settings`. `expect` cannot be
            given: it is always REFUTED.

    Raises:
        ValueError: if neither `predict`, `draw` nor `settings` is changed, or a field cannot be changed.

    Example:
        A foil keeps every field of its claim that is not given here. Its verdict is expected to be REFUTED.

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
    """The rival of a claim, judged on the draws of the claim."""

    statement: str
    source: str
    predicted: Interval
    verdict: Verdict
    is_possible: bool = True
    """Whether the bound allows any number that the rival predicts. If not, no draws could support the rival."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ControlFinding:
    """How a measured number compares with that of a control, such as an untrained model."""

    what: str
    """The control. If there are several, the strongest."""
    number: Interval | None
    """How far the measured number is beyond the control's; None if nobody measured it. If `is_difference` is false,
    the control's own number."""
    is_difference: bool
    verdict: Verdict
    """REFUTED if the control does as well or better, INCONCLUSIVE if nobody knows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One claim at one setting, judged. The fields are those of the result files.

    Example:
        Figures are drawn from findings. `times` gives a finding in another unit.

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
    """The variance that the bound assumes, and the variance of the draws. None if the bound assumes no variance."""
    rival: RivalFinding | None = None
    """What the same draws say of the claim's rival; None if the claim has no rival."""
    control: ControlFinding | None = None
    """How far the number of a lab is beyond a control; None for an identity, and for claims."""
    stated: bool = False
    """Whether the sentence of a claim names this setting, and not all of its settings."""
    compared: tuple[str, float] | None = None
    """With what the sentence of a claim compares, and the number that theory gives for it."""

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one. For a conjecture every verdict is."""
        return self.expect is None or self.verdict == self.expect

    def times(self, factor: float) -> "Finding":
        """This finding in another unit, for a figure: its numbers are multiplied by a positive factor."""
        predicted, measured = (Interval(factor * i.low, factor * i.high) for i in (self.predicted, self.measured))
        compared = self.compared and (self.compared[0], factor * self.compared[1])
        return dataclasses.replace(self, predicted=predicted, measured=measured, compared=compared)


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
