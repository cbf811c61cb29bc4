"""The only judge: draws in rounds that double until the verdict is decided."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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
        key: of the whole run; the claim's stream is folded in by the caller.
        error_rate: for each setting, between 0 and 1.
        max_draws: per setting, declared before looking.
        settings: by default those of the claim.
        experiment: written into the findings.

    Returns:
        One finding per setting, in order.

    Raises:
        ValueError: if a hypothesis does not hold, the resolution is not positive, a draw is not finite or
            breaks the bound's assumption, or the resolution of an exact claim is finer than its rounding.
    """
    settings = claim.settings if settings is None else tuple(settings)
    if not 0 < error_rate < 1:
        raise ValueError(f"error_rate must lie between 0 and 1, not {error_rate}")
    for setting in settings:
        for hypothesis, holds in claim.hypotheses.items():
            if not holds(setting):
                raise ValueError(f"{claim.name}: the hypothesis '{hypothesis}' does not hold at {setting}")
        if not claim.resolution(setting) > 0:
            raise ValueError(f"{claim.name}: the resolution must be positive at {setting}")
    finding = functools.partial(_finding, claim, experiment)
    found: dict[int, Finding] = {}
    for indices in _groups(settings):
        points = [settings[i] for i in indices]
        if claim.bound(points[0]).is_exact:
            judged = [_check_exact(claim, key, setting, finding) for setting in points]
        else:
            judged = _check_rounds(claim, key, points, error_rate, max_draws, finding)
        found.update(zip(indices, judged, strict=True))
    return Findings(found[i] for i in range(len(settings)))


def _finding(
    claim: Claim[P], experiment: str, setting: P, measured: Interval, bound: Bound, draws: int, error_rate: float
) -> Finding:
    predicted, resolution = claim.predict(setting), claim.resolution(setting)
    return Finding(
        experiment=experiment,
        claim=claim.name,
        statement=claim.statement,
        source=claim.source,
        setting=dataclasses.asdict(setting),  # pyright: ignore[reportArgumentType]
        predicted=predicted,
        measured=measured,
        draws=draws,
        error_rate=error_rate,
        resolution=resolution,
        bound=f"{bound.name}: {bound.assumption}",
        verdict=judge(predicted, measured, resolution),
        expect=claim.expect,
    )


def _check_exact(claim: Claim[P], key: PRNGKeyArray, setting: P, finding: Callable[..., Finding]) -> Finding:
    bound = claim.bound(setting)
    value = np.asarray([claim.draw(key, setting)], dtype=np.float64)
    _require_finite(claim, setting, value)
    measured = bound.interval(value, 0.0)
    if claim.resolution(setting) < measured.width:
        raise ValueError(f"{claim.name}: the resolution is finer than the rounding error at {setting}")
    return finding(setting, measured, bound, 1, 0.0)


def _check_rounds(
    claim: Claim[P],
    key: PRNGKeyArray,
    settings: list[P],
    error_rate: float,
    max_draws: int,
    finding: Callable[..., Finding],
) -> list[Finding]:
    block = _sampler(claim.draw, _static_part(settings[0]), claim.chunk)
    points = _stack([_traced_part(s) for s in settings])
    bounds = [claim.bound(s) for s in settings]
    drawn = np.empty((len(settings), 0))
    decided: dict[int, Finding] = {}
    for round_ in range(1, 64):
        first, last = 2 ** (round_ - 1) // 2, 2 ** (round_ - 1)
        fresh = [block(key, index, points).astype(np.float64) for index in range(first, last)]
        # One row per setting, contiguous: the bounds read it again and again.
        drawn = np.concatenate([drawn, np.concatenate(fresh).T], axis=1)
        n = drawn.shape[1]
        for i in set(range(len(settings))) - set(decided):
            _require_finite(claim, settings[i], drawn[i])
            measured = bounds[i].interval(drawn[i], error_rate / (round_ * (round_ + 1)))
            judged = finding(settings[i], measured, bounds[i], n, error_rate)
            if judged.verdict != Verdict.INCONCLUSIVE or 2 * n > max_draws:
                decided[i] = judged
        if len(decided) == len(settings):
            break
    return [decided[i] for i in range(len(settings))]


def _require_finite(claim: Claim[P], setting: P, draws: np.ndarray) -> None:
    if not np.all(np.isfinite(draws)):
        raise ValueError(f"{claim.name} drew {draws[~np.isfinite(draws)][0]} at {setting}")


def _traced_part(setting: Any) -> dict[str, float]:
    fields = {field.name: getattr(setting, field.name) for field in dataclasses.fields(setting)}
    return {name: value for name, value in fields.items() if isinstance(value, float)}


def _static_part(setting: Any) -> tuple[type, tuple[tuple[str, Any], ...]]:
    fields = {field.name: getattr(setting, field.name) for field in dataclasses.fields(setting)}
    return type(setting), tuple((n, v) for n, v in fields.items() if not isinstance(v, float))


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
        # Built without __init__: its fields' types speak of plain numbers, and these are tracers.
        setting = object.__new__(kind)
        for name, value in (*shape, *traced.items()):
            if name:
                object.__setattr__(setting, name, value)
        return jnp.asarray(draw(key, setting), dtype=jax.dtypes.canonicalize_dtype(float))

    return streams.blocks_of(at, chunk)
