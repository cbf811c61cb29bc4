"""The only judge: draws in rounds that double until the verdict is decided."""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from attnlab_theory import interrupts
from attnlab_theory.claims.claim import Claim, Finding, Findings, Rival, RivalFinding, Verdict
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import draws as streams
from attnlab_theory.stats.assumed_variance import VarianceState, variance_check
from attnlab_theory.stats.bounds import Bound, refuse_error_rate
from attnlab_theory.stats.interval import Interval
from attnlab_theory.stats.rounds import Round, rounds

P = TypeVar("P", bound=Setting)
D = TypeVar("D")


def judge(predicted: Interval, measured: Interval, resolution: float) -> Verdict:
    """Compare what was predicted with what was measured.

    Let `measured` miss the true expectation with probability at most e. Then a true claim is REFUTED with
    probability at most e. A claim that is off by more than `resolution` is SUPPORTED with probability at most e.
    For if `measured` holds the truth and supports the claim, the truth is within `resolution` of `predicted`.

    Args:
        predicted: where the claim says that the expectation lies.
        measured: a confidence interval for it.
        resolution: the widest measured interval that may count as support without lying inside.

    Example:
        The prediction is 1/2. A measured interval without 1/2 refutes it. An interval with 1/2 supports it if it is
        no wider than the resolution.

        >>> half = Interval.point(0.5)
        >>> judge(half, Interval(0.6, 0.7), resolution=0.1).value
        'REFUTED'
        >>> judge(half, Interval(0.46, 0.54), resolution=0.1).value
        'SUPPORTED'
        >>> judge(half, Interval(0.3, 0.7), resolution=0.1).value
        'INCONCLUSIVE'
    """
    if not measured.overlaps(predicted):
        return Verdict.REFUTED
    if predicted.contains(measured) or measured.width <= resolution:
        return Verdict.SUPPORTED
    return Verdict.INCONCLUSIVE


def check(
    claim: Claim[P],
    *,
    key: PRNGKeyArray,
    error_rate: float,
    max_draws: int,
    settings: Sequence[P] | None = None,
    experiment: str = "",
) -> Findings:
    """Judge a claim at its settings.

    Draws come in rounds that double. Round j spends error_rate / (j (j + 1)), and these shares add up to
    error_rate. So both guarantees hold although drawing stops as soon as the verdict is decided.

    Two things turn a verdict into INCONCLUSIVE: draws that vary more than the bound assumes, and draws that support
    the claim without refuting its rival.

    Args:
        claim: the claim to judge.
        key: the PRNG key of the stream: checks with the same key see the same random numbers.
        error_rate: how often a verdict may be wrong at each setting, between 0 and 1.
        max_draws: the most draws at each setting, fixed before the first one; at least one block of 8 chunks.
        settings: by default those of the claim.
        experiment: the name of the experiment, for the findings.

    Returns:
        One finding per setting, in order.

    Raises:
        ValueError: if a hypothesis does not hold. Or if the resolution is not positive, or wider than the whole
            range that the bound allows. Or if the prediction contains that whole range. Or if `max_draws` is less
            than a block. Or if a draw is not one finite real number, breaks the bound's assumption, calls out of
            its program or is no function of its key. Or if the type of the draws is too coarse to decide. Or if the
            resolution of an exact claim is finer than its rounding.

    Example:
        A coin with the chance 1/2. The first block, 8 chunks of 512 draws, already gives an interval narrower than
        the resolution, and 1/2 lies in it.

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
        ...     chunk=512,
        ... )
        >>> (found,) = check(fair, key=jax.random.key(0), error_rate=0.001, max_draws=2**14)
        >>> found.verdict.value, found.draws, found.measured.width < 0.1
        ('SUPPORTED', 4096, True)
    """
    judged = check_rivals(
        claim,
        [claim.predict] if claim.rival is None else [claim.predict, claim.rival.predict],
        key=key,
        error_rate=error_rate,
        max_draws=max_draws,
        settings=settings,
        experiment=experiment,
    )
    if claim.rival is None:
        return judged[0]
    at = claim.settings if settings is None else settings
    return Findings(
        _beside_its_rival(claim, setting, finding, claim.rival, found)
        for setting, finding, found in zip(at, *judged, strict=True)
    )


def _beside_its_rival(claim: Claim[P], setting: P, finding: Finding, rival: Rival[P], found: Finding) -> Finding:
    within = claim.bound_at(setting).range
    instead = RivalFinding(
        statement=rival.statement,
        source=rival.source,
        predicted=found.predicted,
        verdict=found.verdict,
        is_possible=within is None or within.overlaps(found.predicted),
    )
    verdict = finding.verdict
    if verdict == Verdict.SUPPORTED and instead.verdict != Verdict.REFUTED:
        verdict = Verdict.INCONCLUSIVE
    return dataclasses.replace(finding, verdict=verdict, rival=instead)


def check_rivals(
    claim: Claim[P],
    rivals: Sequence[Any],
    *,
    key: PRNGKeyArray,
    error_rate: float,
    max_draws: int,
    settings: Sequence[P] | None = None,
    experiment: str = "",
) -> list[Findings]:
    """Judge several predictions of one expectation on the very same draws.

    Whether a measured interval misses the expectation does not depend on any prediction. So both guarantees hold
    for all predictions at once. Drawing stops when every one of them is decided.

    Args:
        claim: the claim whose draws are used.
        rivals: the predictions to judge instead of the claim's own. Each is an `Interval`, or a function of the
            setting.
        key: the PRNG key of the stream: checks with the same key see the same random numbers.
        error_rate: how often a verdict may be wrong at each setting, between 0 and 1.
        max_draws: the most draws at each setting, fixed before the first one; at least one block of 8 chunks.
        settings: by default those of the claim.
        experiment: the name of the experiment, for the findings.

    Returns:
        One `Findings` for each prediction, in order.

    Raises:
        ValueError: if `check` would refuse the claim, a setting or the numbers.

    Example:
        Two predictions of one coin, judged on the same draws: 1/2, and 0.9.

        >>> import jax
        >>> from attnlab_theory.stats import proportion
        >>> class Coin(Setting):
        ...     p: float
        >>> fair = Claim(
        ...     name="fair-coin",
        ...     statement="A coin shows heads with its chance p.",
        ...     source="the law of the coin",
        ...     predict=Interval.point(0.5),
        ...     draw=lambda key, setting: jax.random.bernoulli(key, setting.p),
        ...     bound=proportion(),
        ...     resolution=0.1,
        ...     settings=(Coin(p=0.5),),
        ...     chunk=512,
        ... )
        >>> rivals = [fair.predict, Interval.point(0.9)]
        >>> judged = check_rivals(fair, rivals, key=jax.random.key(0), error_rate=0.001, max_draws=2**14)
        >>> [found.verdict.value for (found,) in judged]
        ['SUPPORTED', 'REFUTED']
    """
    settings = claim.settings if settings is None else tuple(_checked(claim, setting) for setting in settings)
    refuse_error_rate(error_rate)
    cases = [_case(claim, setting, rivals, experiment) for setting in settings]
    for indices in _groups(settings):
        group = [cases[i] for i in indices]
        if group[0].bound.is_exact:
            for case in group:
                _check_exact(claim, key, case)
        else:
            _check_rounds(claim, key, group, error_rate, max_draws)
    return [Findings(case.found[rival] for case in cases) for rival in range(len(rivals))]


@dataclasses.dataclass(frozen=True)
class _Case(Generic[P]):
    """One setting of a claim: what is predicted of it, and what has been found so far."""

    claim: Claim[P]
    experiment: str
    setting: P
    bound: Bound
    resolution: float
    predicted: list[Interval]
    found: dict[int, Finding]

    @property
    def is_decided(self) -> bool:
        return len(self.found) == len(self.predicted)

    def judge(self, draws: np.ndarray, spent: float, kind: np.dtype, *, error_rate: float, last: bool) -> None:
        """Note a finding for every prediction that these draws decide, or for every prediction if these draws are
        the last.

        What rounding may have moved decides nothing: an interval is judged as if it were wider by that much.

        Args:
            spent: the share of the error rate that this look at the draws takes.
            kind: the type in which the draws were made.
            error_rate: the error rate of all looks together.

        Raises:
            ValueError: if rounding keeps a prediction from being decided.
        """
        measured, moved = self.bound.interval(draws, spent, kind), self.bound.rounding(draws, kind)
        within = Interval(measured.low - moved, measured.high + moved)
        verdicts = {
            rival: judge(predicted, within, self.resolution)
            for rival, predicted in enumerate(self.predicted)
            if rival not in self.found
        }
        if 2 * moved > self.resolution and (last or measured.width <= moved):
            for rival, verdict in verdicts.items():
                if verdict != judge(self.predicted[rival], measured, self.resolution):
                    said = streams.TooCoarse(draws, kind, moved, self.resolution)
                    raise ValueError(f"{self.claim.name} {said}, at {self.setting}")
        decided = {rival: v for rival, v in verdicts.items() if last or v != Verdict.INCONCLUSIVE}
        if not decided:
            return
        variance = variance_check(draws, self.bound.variance) if self.bound.variance else None
        strained = variance is not None and variance.state == VarianceState.STRAINED
        for rival, verdict in decided.items():
            self.found[rival] = Finding(
                experiment=self.experiment,
                claim=self.claim.name,
                statement=self.claim.statement,
                source=self.claim.source,
                setting=self.setting.as_json(),
                predicted=self.predicted[rival],
                measured=measured,
                draws=draws.size,
                error_rate=error_rate,
                resolution=self.resolution,
                bound=f"{self.bound.name}: {self.bound.assumption}",
                verdict=Verdict.INCONCLUSIVE if strained else verdict,
                expect=self.claim.expect,
                variance=variance,
                **self.claim.beside(self.setting),
            )


def _checked(claim: Claim[P], setting: Any) -> P:
    """The setting, built again from its fields: so every field holds a value of its type, even if somebody changed
    it."""
    if not isinstance(setting, claim.kind):
        raise ValueError(f"{claim.name}: a setting of this claim is a {claim.kind.__name__}, not {setting!r}")
    return claim.at(**setting.fields())


def _case(claim: Claim[P], setting: P, rivals: Sequence[Any], experiment: str) -> _Case[P]:
    interrupts.heed()
    for hypothesis, holds in claim.hypotheses.items():
        if not holds(setting):
            raise ValueError(f"{claim.name}: the hypothesis '{hypothesis}' does not hold at {setting}")
    resolution, bound = claim.resolution_at(setting), claim.bound_at(setting)
    # Each prediction is computed only once, because some need a numerical integral.
    predicted = [claim.interval(predict, setting) for predict in rivals]
    _refuse_idle(claim, setting, bound, resolution, predicted[0])
    return _Case(claim, experiment, setting, bound, resolution, predicted, {})


def _refuse_idle(claim: Claim[P], setting: P, bound: Bound, resolution: float, predicted: Interval) -> None:
    """Refuse a claim that its bound alone would support, whatever is drawn."""
    everything = bound.range or Interval(-math.inf, math.inf)
    if predicted.contains(everything):
        where = f": it contains all of [{everything.low:g}, {everything.high:g}] that the bound allows"
        raise ValueError(
            f"{claim.name}: the prediction [{predicted.low:g}, {predicted.high:g}] says nothing"
            f"{where if bound.range else ''}, at {setting}; predict a number, a narrower interval or a bound"
        )
    if resolution > everything.width:
        raise ValueError(
            f"{claim.name}: the resolution {resolution:g} is wider than [{everything.low:g}, {everything.high:g}], "
            f"all that the bound allows, at {setting}: any draws would support it; choose a smaller one"
        )


def _check_exact(claim: Claim[P], key: PRNGKeyArray, case: _Case[P]) -> None:
    interrupts.heed()
    # A draw made on the host in float64 stays so: nothing here passes through jax's default dtype.
    drawn = np.asarray(claim.draw(key, case.setting))
    if drawn.dtype.kind in "cmMSU":
        raise ValueError(f"{claim.name} {streams.NotReal(drawn.dtype)}, at {case.setting}")
    value = drawn.astype(np.float64)
    if value.shape:
        raise ValueError(f"{claim.name} {streams.NotOneNumber(value.shape)}, at {case.setting}")
    _require_finite(claim, case.setting, value[None])
    width = case.bound.interval(value[None], 0.0).width
    if case.resolution < width:
        raise ValueError(
            f"{claim.name}: the resolution {case.resolution} is finer than the rounding error, which alone makes "
            f"an interval of width {width}, at {case.setting}; four times the rounding is enough"
        )
    case.judge(value[None], 0.0, drawn.dtype, error_rate=0.0, last=True)


def _check_rounds(
    claim: Claim[P], key: PRNGKeyArray, cases: list[_Case[P]], error_rate: float, max_draws: int
) -> None:
    size = streams.CHUNKS_PER_BLOCK * claim.chunk
    block = _sampler(claim.draw, claim.kind, cases[0].setting.static(), claim.chunk)
    points = _stack([case.setting.traced() for case in cases])
    drawn: list[list[np.ndarray]] = [[] for _ in cases]
    for round_ in _rounds(claim, size, max_draws):
        for index in round_.blocks:
            interrupts.heed()
            values = _draw(claim, cases[0].setting, functools.partial(block, key, index, points))
            for i, case in enumerate(cases):
                if not case.is_decided:
                    _require_finite(claim, case.setting, values[:, i])
                    # A copy: a view would keep the whole block alive for as long as one setting needs it.
                    drawn[i].append(values[:, i].copy())
        for i, case in enumerate(cases):
            if case.is_decided:
                continue
            interrupts.heed()
            row = np.concatenate(drawn[i])
            case.judge(row, round_.spends(error_rate), block.kind, error_rate=error_rate, last=round_.is_last)
            if case.is_decided:
                drawn[i].clear()
        _draw(claim, cases[0].setting, block.refuse_frozen)
        if all(case.is_decided for case in cases):
            return


def _rounds(claim: Claim[P], size: int, max_draws: int) -> Iterator[Round]:
    try:
        yield from rounds(size, max_draws)
    except ValueError as error:
        raise ValueError(f"{claim.name}: {error}") from None


def _draw(claim: Claim[P], setting: P, draw: Callable[[], D]) -> D:
    """Draw, or look at what is drawn; what is refused is told of the claim."""
    try:
        return draw()
    except (streams.NotOneNumber, streams.NotReal, streams.TooLarge) as error:
        raise ValueError(f"{claim.name} {error}, at {setting}") from None
    except streams.FrozenDraw as error:
        raise ValueError(f"{claim.name}: {error}") from None


def _require_finite(claim: Claim[P], setting: P, draws: np.ndarray) -> None:
    if not np.all(np.isfinite(draws)):
        raise ValueError(f"{claim.name} drew {draws[~np.isfinite(draws)][0]} at {setting}")


def _groups(settings: Sequence[Setting]) -> list[list[int]]:
    """Indices of the settings that differ in traced fields only, in order of first appearance."""
    groups: dict[Any, list[int]] = {}
    for i, setting in enumerate(settings):
        groups.setdefault(setting.static(), []).append(i)
    return list(groups.values())


def _stack(points: list[dict[str, float]]) -> dict[str, Array]:
    # Settings without a traced field still need something to vmap over.
    numbered = [{"": float(i), **point} for i, point in enumerate(points)]
    return {name: jnp.asarray([point[name] for point in numbered]) for name in numbered[0]}


@functools.cache
def _sampler(
    draw: Callable, kind: type[Setting], static: tuple[tuple[str, Any], ...], chunk: int
) -> streams.Blocks:
    @functools.wraps(draw)
    def at(key: PRNGKeyArray, traced: dict[str, Array]) -> Any:
        return draw(key, kind.with_traced({name: v for name, v in (*static, *traced.items()) if name}))

    return streams.Blocks(at, chunk)
