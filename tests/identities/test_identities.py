"""Hypothesis attacks every identity; every exhibit fails as it should; every identity kills a mutant."""

import collections
import dataclasses
import functools

import hypothesis
import jax
import pytest
from hypothesis import strategies as st

from attnlab_theory.identities import IDENTITIES, check_identity, dense, layers, mixers, table
from attnlab_theory.seeds import key_for
from tests.identities.mutants import MUTANTS
from tests.strategies import STRATEGIES

TRUE = [identity for identity in IDENTITIES if not identity.broken]
ABOUT_MIXERS = (*mixers.IDENTITIES, *dense.IDENTITIES, *layers.IDENTITIES)
ALONE = [identity for identity in TRUE if identity not in ABOUT_MIXERS]
KEPT_BY_MIXER = collections.defaultdict(list)
for identity in ABOUT_MIXERS:
    if not identity.broken:
        KEPT_BY_MIXER[identity.subject].append(identity)
CASES, FEW = 8, 1
"""Eight are drawn as the package draws them: enough to catch every mutant. Hypothesis draws more, and worse ones. A
case has shapes of its own, each of which is compiled: of what is true the inner circle tries one."""
HALF = hypothesis.settings(max_examples=hypothesis.settings.default.max_examples // 2)
"""Hypothesis tries half as many cases as elsewhere: of each, too, the shapes are compiled."""
EXHIBITS = [identity for identity in IDENTITIES if identity.broken]


@functools.cache
def drawn_once(draw):
    """A function that draws cases, which draws those of one key once."""
    known = {}

    def case(key):
        bits = jax.random.key_data(key).tobytes()
        if bits not in known:
            known[bits] = draw(key)
        return known[bits]

    return case


def tried(seed, identity, cases=CASES):
    """What must hold is tried on the same cases as all else of its kind: they take as long to draw as to judge.

    An exhibit has cases of its own: another one's need not show it.
    """
    key = key_for(seed, identity.name if identity.broken else identity.cases.__name__)
    return check_identity(dataclasses.replace(identity, cases=drawn_once(identity.cases)), key, cases=cases)


@pytest.mark.slow("another case of every identity stays inside")
@pytest.mark.parametrize("identity", ALONE, ids=lambda i: i.name)
@HALF
@hypothesis.given(data=st.data())
def test_no_case_is_a_counterexample(identity, data):
    """Hypothesis tries many cases of each identity."""
    case = data.draw(STRATEGIES[identity.cases])
    residual, tolerance = identity.residual(case), identity.tolerance(case)
    assert residual <= tolerance


@pytest.mark.slow("a random case of every identity stays inside")
@pytest.mark.parametrize("subject", KEPT_BY_MIXER)
@HALF
@hypothesis.given(data=st.data())
def test_no_case_is_a_counterexample_to_a_whole_mixer(subject, data):
    """All that a mixer keeps, on the same cases: they share its compilation."""
    identities = KEPT_BY_MIXER[subject]
    (strategy,) = {STRATEGIES[identity.cases] for identity in identities}
    case = data.draw(strategy)
    broken = [identity.name for identity in identities if not identity.holds(case)]
    assert not broken


@pytest.mark.parametrize("identity", IDENTITIES, ids=lambda i: i.name)
def test_one_random_case_comes_out_as_expected(identity):
    """Draws a random case for each identity, or several of an exhibit, and compiles its operators."""
    trial = tried(2, identity, CASES if identity.broken else FEW)
    assert trial.as_expected, trial


@pytest.mark.slow("one case of every identity stays inside")
@pytest.mark.parametrize("identity", TRUE, ids=lambda i: i.name)
def test_random_cases_come_out_as_expected(identity):
    """Draws more random cases for each identity, and compiles its operators."""
    trial = tried(2, identity)
    assert trial.as_expected, trial


@pytest.mark.slow("one mutant, and every family that can fail, stay inside")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_broken_operator_is_caught(mutant):
    """Compiles an operator that nobody else has."""
    assert not mutant.broken
    trial = tried(3, mutant)
    assert not trial.holds, trial


@pytest.mark.slow("one of 76 members stays inside", but=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_the_cases_of_hypothesis_catch_a_broken_operator_too(mutant):
    """As many of them as every run draws, and the same."""
    repeat = hypothesis.settings.get_profile("repeat")
    few = hypothesis.settings(
        repeat, max_examples=repeat.max_examples // 2, phases=[hypothesis.Phase.generate], database=None
    )

    def fails(case) -> bool:
        return not mutant.residual(case) <= mutant.tolerance(case)

    assert fails(hypothesis.find(STRATEGIES[mutant.cases], fails, settings=few))


def test_every_family_of_identities_can_fail():
    assert {identity.family for identity in TRUE} <= {mutant.family for mutant in MUTANTS}


def test_names_are_unique_and_exhibits_fail_what_others_pass():
    assert max(collections.Counter(identity.name for identity in IDENTITIES).values()) == 1
    for family, subjects in table().items():
        assert any(subjects.values()), f"{family} is true of nothing"
