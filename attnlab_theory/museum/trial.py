"""Does a check catch a bug? It does so by a counterexample, by the verdict REFUTED, or by draws whose variance is
too large.
"""

import collections
import concurrent.futures
import dataclasses
import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import jax

from attnlab_theory.claims import Claim, Finding, Verdict, check
from attnlab_theory.identities import Identity
from attnlab_theory.museum.bug import Bug
from attnlab_theory.plurals import several
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import VarianceState

CASES = 12
"""Random cases that an identity gets to catch a bug."""

ERROR_RATE = 1e-9
"""The probability with which a claim may refute right code. The test of the variance has 1e-6."""

MAX_DRAWS = 2**17


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """What one check says of one bug."""

    bug: str
    check: str
    """The identity's or the claim's name."""
    column: str
    """The identity's family; the claim's name."""
    statement: str
    source: str
    caught: bool
    observed: float
    """The residual of an identity, or the measured mean of a claim."""
    allowed: float
    """The tolerance of an identity in that case, or the end of a claim's prediction that is nearest."""
    deviation: float
    """How far the result is from right: the residual, or the distance of the measured mean from the prediction."""
    margin: float
    """How far it may be: the tolerance, or half the width of the measured interval."""
    cases: int
    """Cases tried, the counterexample included; draws of a claim."""
    says: str
    """The verdict and its number, in words."""


def evidence_of(bug: Bug, *, cases: int = CASES, per_family: int | None = None) -> tuple[Evidence, ...]:
    """Try the checks that should catch a bug.

    Args:
        bug: to be caught.
        cases: the most that an identity may try. It stops at the first counterexample.
        per_family: how many identities of one family to try, beginning with the first. None for all.
    """
    tried: collections.Counter[str] = collections.Counter()
    found = []
    for check_ in bug.checks:
        column = check_.name if isinstance(check_, Claim) else check_.family
        tried[column] += 1
        if per_family is None or tried[column] <= per_family:
            found.append(_by_claim(bug, check_) if isinstance(check_, Claim) else _by_identity(bug, check_, cases))
    return tuple(found)


def survivors(found: Iterable[Evidence]) -> list[str]:
    """The bugs that no check caught, in order."""
    return _never((evidence.bug, evidence.caught) for evidence in found)


def idle_families(found: Iterable[Evidence]) -> list[str]:
    """The families of identities, and the claims, that caught no bug, in order."""
    return _never((evidence.column, evidence.caught) for evidence in found)


def idle_checks(found: Iterable[Evidence]) -> list[str]:
    """The identities and claims that caught no bug, in order."""
    return _never((evidence.check, evidence.caught) for evidence in found)


def _never(seen: Iterable[tuple[str, bool]]) -> list[str]:
    """The names that never stand beside True, in the order of their first appearance."""
    ever: dict[str, bool] = {}
    for name, was in seen:
        ever[name] = ever.get(name, False) or was
    return [name for name, was in ever.items() if not was]


def kill_matrix(
    bugs: Iterable[Bug],
    *,
    cases: int = CASES,
    per_family: int | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[Evidence, ...]:
    """Try every bug with the checks that should catch it.

    Args:
        bugs: to be caught.
        cases: the most that an identity may try.
        per_family: how many identities of one family to try, beginning with the first. None for all.
        say: called with a line after every bug.
    """
    found: list[Evidence] = []
    work = functools.partial(evidence_of, cases=cases, per_family=per_family)
    # Most of the time goes into compiling, which leaves the interpreter free: two at once are faster.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        # No variable keeps the results: an error in `say` frees them, which cancels the bugs that have not begun.
        for evidence in pool.map(work, bugs):
            caught = sum(e.caught for e in evidence)
            say(f"{evidence[0].bug}: caught by {caught} of {len(evidence)}")
            found.extend(evidence)
    return tuple(found)


def _by_identity(bug: Bug, identity: Identity[Any], cases: int) -> Evidence:
    worst, tried = (-math.inf, 0.0, 1.0), 0
    for part in jax.random.split(key_for(0, "museum", bug.name, identity.name), cases):
        tried += 1
        case = identity.cases(part)
        residual, tolerance = identity.residual(case), identity.tolerance(case)
        excess = math.inf if math.isnan(residual) else residual - tolerance
        worst = max(worst, (excess, residual, tolerance), key=lambda seen: seen[0])
        if not residual <= tolerance:
            break
    _, residual, tolerance = worst
    caught = not residual <= tolerance
    return Evidence(
        bug=bug.name,
        check=identity.name,
        column=identity.family,
        statement=identity.statement,
        source=identity.source,
        caught=caught,
        observed=residual,
        allowed=tolerance,
        # A tolerance may be negative, where something is asserted to be possible: the scale is then its size.
        deviation=residual - tolerance if tolerance < 0 else residual,
        margin=abs(tolerance),
        cases=tried,
        says=f"off by {residual:.3g}, allowed {tolerance:.2g}, in case {tried}"
        if caught
        else f"holds in {several(tried, 'case')}",
    )


def _by_claim(bug: Bug, claim: Claim[Any]) -> Evidence:
    found = check(claim, key=key_for(0, "museum", claim.name), error_rate=ERROR_RATE, max_draws=MAX_DRAWS)
    guilty = [finding for finding in found if finding.verdict == Verdict.REFUTED or _is_strained(finding)]
    finding = (guilty or list(found))[0]
    low, high = finding.predicted.low, finding.predicted.high
    nearest = min((low, high), key=lambda end: abs(end - finding.measured.centre))
    return Evidence(
        bug=bug.name,
        check=claim.name,
        column=claim.name,
        statement=claim.statement,
        source=claim.source,
        caught=bool(guilty),
        observed=finding.measured.centre,
        allowed=nearest,
        deviation=abs(finding.measured.centre - nearest),
        margin=finding.measured.width / 2,
        cases=finding.draws,
        says=f"{finding.verdict}: predicted {nearest:.4g}, measured {finding.measured.low:.4g} to "
        f"{finding.measured.high:.4g} in {several(finding.draws, 'draw')}"
        + (", which vary more than right code's" if _is_strained(finding) else ""),
    )


def _is_strained(finding: Finding) -> bool:
    return finding.variance is not None and finding.variance.state == VarianceState.STRAINED
