"""The only judge: draws in rounds that double until the verdict is decided."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from attnlab_theory.claims.claim import Claim, Finding, Findings, Verdict
from attnlab_theory.stats import draws as streams
from attnlab_theory.stats.bounds import Bound
from attnlab_theory.stats.interval import Interval

P = TypeVar("P")


def judge(predicted: Interval, measured: Interval, resolution: float) -> Verdict:
    """Compare what was predicted with what was measured.

    If `measured` misses the true expectation with probability at most e, then a true claim is REFUTED
    with probability at most e, and a claim that is off by more than `resolution` is SUPPORTED with
    probability at most e: support without missing would put the truth within `resolution` of `predicted`.
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

    Draws come in rounds that double; round j spends error_rate / (j (j + 1)) of the error rate, which
    sums to error_rate, so stopping as soon as the verdict is decided keeps both guarantees.

    Args:
        claim: what is asserted.
        key: of the claim's stream: checks with the same key see the same random numbers.
        error_rate: for each setting, between 0 and 1.
        max_draws: per setting, declared before looking; at least one block of the claim's chunks.
        settings: by default those of the claim.
        experiment: written into the findings.

    Returns:
        One finding per setting, in order.

    Raises:
        ValueError: if a hypothesis does not hold, the resolution is not positive, the draws are fewer than
            a block, a draw is not one finite number or breaks the bound's assumption, or the resolution of
            an exact claim is finer than its rounding.
    """
    (findings,) = check_rivals(
        claim,
        [claim.predict],
        key=key,
        error_rate=error_rate,
        max_draws=max_draws,
        settings=settings,
        experiment=experiment,
    )
    return findings


def check_rivals(
    claim: Claim[P],
    rivals: Sequence[Callable[[P], Interval]],
    *,
    key: PRNGKeyArray,
    error_rate: float,
    max_draws: int,
    settings: Sequence[P] | None = None,
    experiment: str = "",
) -> list[Findings]:
    """Judge several predictions of one expectation on the very same draws.

    A measured interval misses the expectation or it does not, whatever is predicted, so both guarantees
    hold for all the rivals at once. Drawing stops when every rival is decided.

    Args:
        rivals: predictions to judge in the place of the claim's own.

    Returns:
        One `Findings` per rival, in order.

    Args, raises: otherwise as `check`.
    """
    settings = claim.settings if settings is None else tuple(settings)
    if not 0 < error_rate < 1:
        raise ValueError(f"error_rate must lie between 0 and 1, not {error_rate}")
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

    def judge(self, measured: Interval, draws: int, error_rate: float, *, last: bool) -> None:
        """Note a finding for every rival that this measurement decides, or for every one if it is the last."""
        for rival, predicted in enumerate(self.predicted):
            verdict = judge(predicted, measured, self.resolution)
            if rival in self.found or (verdict == Verdict.INCONCLUSIVE and not last):
                continue
            self.found[rival] = Finding(
                experiment=self.experiment,
                claim=self.claim.name,
                statement=self.claim.statement,
                source=self.claim.source,
                setting=_fields(self.setting),
                predicted=predicted,
                measured=measured,
                draws=draws,
                error_rate=error_rate,
                resolution=self.resolution,
                bound=f"{self.bound.name}: {self.bound.assumption}",
                verdict=verdict,
                expect=self.claim.expect,
            )


def _case(claim: Claim[P], setting: P, rivals: Sequence[Callable[[P], Interval]], experiment: str) -> _Case[P]:
    for hypothesis, holds in claim.hypotheses.items():
        if not holds(setting):
            raise ValueError(f"{claim.name}: the hypothesis '{hypothesis}' does not hold at {setting}")
    resolution = claim.resolution(setting)
    if not 0 < resolution < math.inf:
        raise ValueError(
            f"{claim.name}: the resolution must be positive and finite, not {resolution}, at {setting}"
        )
    # Each is asked once: a prediction may cost a quadrature.
    return _Case(
        claim, experiment, setting, claim.bound(setting), resolution, [predict(setting) for predict in rivals], {}
    )


def _check_exact(claim: Claim[P], key: PRNGKeyArray, case: _Case[P]) -> None:
    # A draw made on the host in float64 stays so: nothing here passes through jax's default dtype.
    value = np.asarray(claim.draw(key, case.setting), dtype=np.float64)
    if value.shape:
        raise ValueError(f"{claim.name} drew an array of shape {value.shape}, not a number, at {case.setting}")
    _require_finite(claim, case.setting, value[None])
    measured = case.bound.interval(value[None], 0.0)
    if case.resolution < measured.width:
        raise ValueError(
            f"{claim.name}: the resolution {case.resolution} is finer than the rounding error allows, an interval "
            f"of width {measured.width}, at {case.setting}; four times the rounding always does"
        )
    case.judge(measured, 1, 0.0, last=True)


def _check_rounds(
    claim: Claim[P], key: PRNGKeyArray, cases: list[_Case[P]], error_rate: float, max_draws: int
) -> None:
    size = streams.CHUNKS_PER_BLOCK * claim.chunk
    if max_draws < size:
        raise ValueError(
            f"{claim.name}: max_draws is {max_draws}, but a block holds {size}: lower the claim's chunk"
        )
    block = _sampler(claim.draw, _static_part(cases[0].setting), claim.chunk)
    points = _stack([_traced_part(case.setting) for case in cases])
    drawn: list[list[np.ndarray]] = [[] for _ in cases]
    blocks = 0
    for round_ in itertools.count(1):
        for index in range(blocks, 2 ** (round_ - 1)):
            values = block(key, index, points)
            for i, case in enumerate(cases):
                if not case.is_decided:
                    _require_finite(claim, case.setting, values[:, i])
                    # A copy: a view would keep the whole block alive for as long as one setting needs it.
                    drawn[i].append(values[:, i].copy())
        blocks = 2 ** (round_ - 1)
        last = 2 * blocks * size > max_draws
        for i, case in enumerate(cases):
            if case.is_decided:
                continue
            measured = case.bound.interval(np.concatenate(drawn[i]), error_rate / (round_ * (round_ + 1)))
            case.judge(measured, blocks * size, error_rate, last=last)
            if case.is_decided:
                drawn[i].clear()
        if all(case.is_decided for case in cases):
            return


def with_fields(kind: type[P], fields: dict[str, Any]) -> P:
    """A setting built without __init__: the types of its fields speak of plain numbers, and these may be traced."""
    setting = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(setting, name, value)
    return setting


def _require_finite(claim: Claim[P], setting: P, draws: np.ndarray) -> None:
    if not np.all(np.isfinite(draws)):
        raise ValueError(f"{claim.name} drew {draws[~np.isfinite(draws)][0]} at {setting}")


def _fields(setting: Any) -> dict[str, Any]:
    return {field.name: getattr(setting, field.name) for field in dataclasses.fields(setting)}


def _traced_part(setting: Any) -> dict[str, float]:
    return {name: value for name, value in _fields(setting).items() if isinstance(value, float)}


def _static_part(setting: Any) -> tuple[type, tuple[tuple[str, Any], ...]]:
    return type(setting), tuple((n, v) for n, v in _fields(setting).items() if not isinstance(v, float))


def _groups(settings: Sequence[Any]) -> list[list[int]]:
    """Indices of the settings that differ in floats only, in order of first appearance."""
    groups: dict[Any, list[int]] = {}
    for i, setting in enumerate(settings):
        groups.setdefault(_static_part(setting), []).append(i)
    return list(groups.values())


def _stack(points: list[dict[str, float]]) -> dict[str, Array]:
    # Settings without a single float still need something to vmap over.
    numbered = [{"": float(i), **point} for i, point in enumerate(points)]
    return {name: jnp.asarray([point[name] for point in numbered]) for name in numbered[0]}


@functools.cache
def _sampler(draw: Callable, static: tuple[type, tuple[tuple[str, Any], ...]], chunk: int) -> streams.Block:
    kind, shape = static

    def at(key: PRNGKeyArray, traced: dict[str, Array]) -> Array:
        setting = with_fields(kind, {name: value for name, value in (*shape, *traced.items()) if name})
        value = jnp.asarray(draw(key, setting), dtype=jax.dtypes.canonicalize_dtype(float))
        if value.shape:
            raise ValueError(f"{kind.__qualname__}: a draw must be one number, not an array of shape {value.shape}")
        return value

    return streams.blocks_of(at, chunk)
