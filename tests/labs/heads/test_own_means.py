"""The excess along own means: what 200 synthetic heads of each kind have, and why nothing is judged by it."""

import enum
import functools
import re
from pathlib import Path
from typing import assert_never

import numpy as np
import pytest

from attnlab_theory.labs.heads.fitting import AWAY, PLACES, Baselines, Fit, Moments
from attnlab_theory.labs.heads.own_means import OwnMeans, chances, deviations
from attnlab_theory.labs.heads.plan import Plan
from tests.labs.heads.synthetic import ERROR_RATE, FALSE_ALARM, families, missing, wrong_at_most

LAYERS = 200
"""As many as docs/mathematics/heads.md counts."""
LIMIT = wrong_at_most(LAYERS, ERROR_RATE, FALSE_ALARM)

TYPES, D, C, GROUPS = 10, 6, 24, 10
COUNTS = np.linspace(150, 60, TYPES).astype(int)
"""Keys of each type in either half, most frequent first."""

FALLING = 1 / np.sqrt(1 + np.arange(D))
"""Deviations along the axes of a shared spectrum."""


class Kind(enum.StrEnum):
    """How the keys of a synthetic head lie around the means of their types."""

    SPECTRUM = "shared spectrum"
    COMMON = "common stretch"
    """All types vary along the means of all types."""
    UNRELATED = "a covariance for each type"
    """It knows nothing of its mean."""
    RELATED = "related types"
    """Types of a family have similar means and similar covariances, which know nothing of each other."""
    NORMED = "layer norm, isotropic noise"
    """The noise is that of the vectors before the norm, and the head's matrix comes after it."""
    FALLING = "layer norm, noise of a falling spectrum"
    """Most of the noise lies in few directions, which the length depends on and the head's means do not."""
    LENGTH = "noisy length"
    """The homework's law, with s = 1/20 in place of 1/2."""


def halves(kind, rng):
    """Keys of the fitting and of the judging half, [layers n d] of each type."""
    means = rng.normal(size=(LAYERS, TYPES, D))
    sizes = rng.uniform(0.5, 1.5, (LAYERS, TYPES, 1, 1))

    def wishart(*shape):
        roots = rng.normal(size=(*shape, 3 * D, D)) / np.sqrt(3 * D)
        return np.swapaxes(roots, -1, -2) @ roots

    match kind:
        case Kind.NORMED | Kind.FALLING:
            return _normed(rng, np.full(C, 0.5) if kind == Kind.NORMED else 2 / (1 + np.arange(C)) ** 1.5)
        case Kind.SPECTRUM:
            means, covariances = means * FALLING, sizes * np.diag(0.3 * FALLING**2)
        case Kind.COMMON:
            shared = np.swapaxes(means, 1, 2) @ means / TYPES
            covariances = sizes * (0.8 * np.eye(D) + 0.5 * shared)[:, None]
        case Kind.UNRELATED:
            covariances = 0.3 * sizes * wishart(LAYERS, TYPES)
        case Kind.RELATED:
            family = np.arange(TYPES) % 3
            means = 0.95 * means[:, family] + 0.3 * rng.normal(size=means.shape)
            covariances = 0.3 * sizes * wishart(LAYERS, 3)[:, family]
        case Kind.LENGTH:
            away = means - np.mean(means, axis=1, keepdims=True)
            covariances = 0.8 * np.eye(D) + 0.05 * away[..., None] * away[..., None, :]
        case _:
            assert_never(kind)
    roots = np.linalg.cholesky(covariances)

    def drawn():
        noise = [rng.normal(size=(LAYERS, n, D)) for n in COUNTS]
        return [means[:, w, None] + x @ np.swapaxes(roots[:, w], 1, 2) for w, x in enumerate(noise)]

    return drawn(), drawn()


def _normed(rng, spectrum):
    """Noise around means, then a layer norm without a gain, then a matrix of the head."""
    means = rng.normal(size=(LAYERS, TYPES, C))
    matrix = rng.normal(size=(LAYERS, C, D)) / np.sqrt(C)

    def drawn():
        found = []
        for w, n in enumerate(COUNTS):
            x = means[:, w, None] + spectrum * rng.normal(size=(LAYERS, n, C))
            x = x - np.mean(x, axis=2, keepdims=True)
            found.append(x / np.sqrt(np.mean(x**2, axis=2, keepdims=True)) @ matrix)
        return found

    return drawn(), drawn()


def fit_of(keys, rng):
    means = np.stack([np.mean(each, axis=1) for each in keys], axis=1)[:, None]
    around = [each - np.mean(each, axis=1, keepdims=True) for each in keys]
    covariances = np.stack([np.swapaxes(x, 1, 2) @ x / x.shape[1] for x in around], axis=1)[:, None]
    return Fit(
        plan=Plan(types=np.arange(TYPES), counts=COUNTS, fitting=(), judging=(), groups=GROUPS),
        means=means,
        covariances=covariances,
        weights=np.ones(means.shape[:3]),
        baselines=Baselines(*(np.ones((LAYERS, 1, n)) for n in (TYPES, PLACES, 2 * AWAY + 1))),
        queries=rng.normal(size=(LAYERS, 1, 32, D)),
        varies=np.ones((LAYERS, 1), bool),
    )


@functools.cache
def measured(kind):
    """Replicates of the numbers, and p of each layer, which is a family of its own."""
    rng = np.random.default_rng(list(Kind).index(kind))
    fitting, judging = halves(kind, rng)
    fit = fit_of(fitting, rng)
    found = OwnMeans(fit, GROUPS)
    for group in range(GROUPS):
        moments = Moments(LAYERS, 1, TYPES, D)
        for w, each in enumerate(judging):
            own = each[:, group::GROUPS] - fit.means[:, 0, w, None]
            moments.add(own[:, None], np.full(own.shape[1], w))
        found.add(group, moments)
    return found.replicates(), np.array([chances(each)[0] for each in found.relative()])


def beyond_chance(kind):
    """In how many layers means dealt anew have less of an excess at 5 %: above, below."""
    numbers, p = measured(kind)
    above = numbers.excess[0, :, 0] > 0
    return int(np.sum((p <= ERROR_RATE) & above)), int(np.sum((p <= ERROR_RATE) & ~above))


@pytest.mark.slow("what all types share along their means stays inside")
@pytest.mark.parametrize("kind", [Kind.SPECTRUM, Kind.COMMON, Kind.UNRELATED], ids=str)
def test_where_chance_dealt_the_means_no_excess_goes_beyond_it(kind):
    assert sum(beyond_chance(kind)) <= LIMIT


@pytest.mark.slow("what the page counts beyond chance in trained models stays inside")
def test_the_homeworks_law_has_an_excess_of_a_tenth_of_its_stretch_already():
    above, _ = beyond_chance(Kind.LENGTH)
    assert above >= LAYERS - LIMIT


@pytest.mark.slow("what the page counts beyond chance in trained models stays inside")
@pytest.mark.parametrize(("kind", "side"), [(Kind.NORMED, 1), (Kind.FALLING, 0)], ids=["below", "above"])
def test_a_layer_norm_alone_makes_an_excess_of_either_sign(kind, side):
    """So the null that chance dealt the means is false of layer-normalised vectors, and nothing is judged by it."""
    assert beyond_chance(kind)[side] >= LAYERS / 2


@pytest.mark.slow("what the page counts beyond chance in trained models stays inside")
def test_related_types_go_beyond_chance_to_both_sides():
    """Types of a family are no independent cases."""
    above, below = beyond_chance(Kind.RELATED)
    assert above + below > LIMIT


@pytest.mark.slow("what the page counts beyond chance in trained models stays inside")
def test_the_page_has_these_very_heads():
    """In the order of the kinds: how many of them lie above chance, and how many below."""
    page = (Path(__file__).parents[3] / "docs" / "mathematics" / "heads.md").read_text("utf-8")
    _, table = page.split("| synthetic heads |")
    rows = re.findall(r"^\| (.+) \| (\d+) \| (\d+) \|$", table.split("\n\n")[0], flags=re.MULTILINE)
    assert [(int(above), int(below)) for _, above, below in rows] == [*map(beyond_chance, Kind)]
    assert all(name.startswith(kind) for (name, *_), kind in zip(rows, Kind, strict=True))


@pytest.mark.slow("bands of means, against groups drawn anew, stay inside")
def test_intervals_of_the_excess_cover_none_where_all_types_vary_alike():
    assert missing(families(measured(Kind.SPECTRUM)[0].excess), 0.0) <= LIMIT


def test_what_all_types_share_along_their_means_is_in_the_plain_number_only():
    numbers, _ = measured(Kind.COMMON)
    assert np.min(numbers.plain[0]) > 0.05
    assert abs(np.mean(numbers.excess[0])) < 0.05


def test_a_head_whose_keys_do_not_vary_has_no_numbers_and_spoils_no_others():
    relative = 1 + np.random.default_rng(0).random((1, 2, TYPES, TYPES))
    alone = chances(relative[:, 1:])
    relative[0, 0] = np.nan
    found = chances(relative)
    assert np.isnan(found[0, 0])
    assert found[0, 1] == alone[0, 0]


def test_variances_that_are_infinite_are_unknown_and_no_warning():
    assert np.all(np.isnan(deviations(np.full((5, 5), np.inf))))
