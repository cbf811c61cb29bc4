"""A lab's verdicts: over training runs, all at one error rate together, and none from too few runs."""

import dataclasses
import math

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given

from attnlab_theory.claims import Beyond, Identity, Instead, Paired, Statement, Verdict
from attnlab_theory.claims.judging import judge
from attnlab_theory.labs import verdicts
from attnlab_theory.labs.estimates import Estimate, known, mean, over_generations, over_seeds, share
from attnlab_theory.labs.verdicts import Case, judged, runs_needed, verdicts_on
from attnlab_theory.stats import Interval, student

ANY = Interval(-math.inf, math.inf)
SHARES = Interval(0.0, 1.0)
NO_CONTROL = Identity("these tests are about the other rules")


def stated(values, predicted=ANY, *, name="it-gains", **more):
    estimate = over_seeds("gain", values, 0.05, within=ANY, seeds=len(values))
    return case(estimate, predicted, name=name, statement="It.", **more)


def case(estimate, predicted, *, name="c", statement="s", **more):
    told = {"name": name, "statement": statement, "source": "", "quantity": estimate.quantity}
    more = {"control": NO_CONTROL, **more}
    return Case(Statement(predicted=predicted, **told, **more), estimate, predicted)


def found(*cases):
    return judged(cases, experiment="lab")


@pytest.mark.parametrize(("asked_with", "asked"), [(4, True), (5, False), (12, False)])
def test_a_statement_that_these_runs_were_not_to_decide_is_not_asked(asked_with, asked):
    """It is refuted, takes no part of the error rate, and leaves the exit code alone."""
    first, second = (stated([1.0, 1.1, 1.05, 1.0], Interval.at_most(0.0), name=name) for name in ("it", "other"))
    statements = [first.stated, dataclasses.replace(second.stated, predicted=Interval.at_least(0.0))]
    few = verdicts_on(statements, [first.estimate], experiment="lab", asked_with={"it": asked_with})
    assert [each.claim for each in few.findings] == ["it"] * asked + ["other"]
    assert (few.family, few.as_expected) == (1 + asked, not asked)
    line = f"it: not asked with four seeds: {asked_with} may decide it."
    assert (line in few.sentences()) == (not asked)
    assert [each["needs"] for each in few.as_json().get("not_asked", ())] == [asked_with] * (not asked)


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.1]])
def test_too_few_runs_give_no_finding_and_leave_the_exit_code_alone(values):
    """Both would be refuted."""
    few = found(stated(values, Interval.at_most(0.0)))
    assert (few.findings, few.as_expected) == ((), True)
    (left,) = few.unjudged
    assert (left.claim, left.runs, left.needs) == ("it-gains", len(values), 3)
    assert few.as_json()["not_judged"] == [
        {
            "claim": "it-gains",
            "statement": "It.",
            "setting": {"seeds": len(values)},
            "runs": len(values),
            "needs": 3,
        }
    ]
    assert few.sentences()[-1].startswith("it-gains: not judged: needs 3 seeds, not ")
    assert not found(stated([1.0, 1.1, 1.05], Interval.at_most(0.0))).as_expected


def test_many_answers_of_one_model_give_no_finding():
    answers = share("accuracy", np.ones(500), 0.05)
    texts = over_generations("forward", [0.5, 0.51, 0.52, 0.53], 0.05, within=SHARES)
    for estimate in (answers, texts):
        (left,) = found(case(estimate, Interval.at_least(0.4))).unjudged
        assert (left.runs, left.needs) == (1, 3)


@pytest.mark.parametrize("family", [1, 2, 7])
def test_the_error_rate_is_shared_out_over_the_statements_about_training(family):
    every = [stated([1.0, 1.1, 1.2, 0.9, number / 100]) for number in range(family)]
    whole = found(*every, counted(0.0), stated([1.0, 1.1]))
    assert (whole.family, whole.of_each, len(whole.unjudged)) == (family, 0.05 / family, 1)
    assert [f.error_rate for f in whole.findings] == [0.05 / family] * family + [0.0]
    assert whole.as_json()["verdicts"] == {
        "family": family,
        "error_rate_of_the_family": 0.05,
        "error_rate_of_each": 0.05 / family,
        "apart": [{"error_rate": 0.0, "verdicts": 1}],
    }
    for statement, finding in zip(every, whole.findings, strict=False):
        values = statement.estimate.values
        wanted = scipy.stats.t.interval(1 - 0.05 / family, 4, np.mean(values), scipy.stats.sem(values))
        assert (finding.measured.low, finding.measured.high) == pytest.approx(wanted)


def counted(value):
    number = Estimate(
        quantity="q",
        setting={},
        value=value,
        interval=Interval.point(value),
        draws=1,
        bound="counted",
        error_rate=0.0,
    )
    return case(number, Interval.at_most(0.0), name="counted", of_training=False)


def test_what_chance_gives_once_in_four_is_no_verdict():
    """Five runs have t = 2.87, so p = .045: alone that is a verdict, as one of four it is none."""
    spread = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    values = (2.87 * scipy.stats.sem(spread) + spread).tolist()
    alone, of_four = (found(*[stated(values, Interval.at_most(0.0))] * count) for count in (1, 4))
    assert {f.verdict for f in alone.findings} == {Verdict.REFUTED}
    assert {f.verdict for f in of_four.findings} == {Verdict.INCONCLUSIVE}


def test_a_statement_about_every_model_is_judged_by_one():
    above = mean("loss", np.array([-0.5, -0.6, -0.4]), student("sentences"), 1e-2)
    whole = found(case(above, Interval.at_least(0.0), of_training=False))
    (finding,) = whole.findings
    assert (finding.error_rate, finding.measured, whole.family) == (1e-2, above.interval, 0)
    assert whole.apart == {1e-2: 1}


def test_a_statement_may_need_more_runs_than_others():
    values = [1.0, 1.1, 1.2, 1.15]
    assert found(stated(values, least=4)).findings
    (left,) = found(stated(values, least=5)).unjudged
    assert (left.runs, left.needs) == (4, 5)


@given(error_rate=st.floats(1e-6, 0.5))
def test_the_least_number_of_runs_is_the_least_that_reaches_no_further(error_rate):
    def reach(runs):
        return scipy.stats.t.isf(error_rate / 2, runs - 1) / math.sqrt(runs)

    needed = runs_needed(error_rate)
    assert reach(needed) <= verdicts.REACH
    assert needed == verdicts.LEAST or reach(needed - 1) > verdicts.REACH


def test_a_larger_family_needs_more_runs():
    three = stated([1.0, 1.1, 1.2])
    assert runs_needed(0.05 / 15) == 3 < runs_needed(0.05 / 16) == 4
    assert len(found(*[three] * 15).findings) == 15
    (left, *_) = found(*[three] * 16).unjudged
    assert (left.runs, left.needs) == (3, 4)


def test_rates_that_are_none_are_refused():
    for rate in (0.0, 1.0):
        with pytest.raises(ValueError, match="must lie between 0 and 1"):
            runs_needed(rate)


@pytest.mark.parametrize("values", [[-1.0, 0.4, -0.9, 0.2, -0.8], [-1.0, -0.2, -0.9, -0.2, -0.8]])
def test_what_is_undecided_says_how_many_runs_would_decide(values):
    """Enough runs of this mean and spread decide, and one fewer do not: 18 here, or one more than there are."""
    below = Interval.at_most(0.0)
    whole = found(stated(values, below), stated([-3.0, -3.1, -2.9], below), stated(values, ANY))
    assert [f.verdict for f in whole.findings] == [Verdict.INCONCLUSIVE, Verdict.SUPPORTED, Verdict.SUPPORTED]
    (left,) = whole.undecided
    assert (left.claim, left.setting, left.runs) == ("it-gains", {"seeds": 5}, 5)
    assert left.decide is not None

    def alike(runs):
        spread = np.linspace(-1, 1, runs)
        return (np.mean(values) + spread / np.std(spread, ddof=1) * np.std(values, ddof=1)).tolist()

    for runs, verdict in ((left.decide - 1, Verdict.INCONCLUSIVE), (left.decide, Verdict.SUPPORTED)):
        judged_then = found(stated(alike(runs), below), stated([-3.0, -3.1, -2.9], below), stated(values, ANY))
        assert judged_then.findings[0].verdict == verdict
    assert whole.sentences()[-1] == (
        f"it-gains: INCONCLUSIVE: about {left.decide} training runs in all would decide with probability "
        f"{left.chance:.2g}, if runs are normal."
    )


def test_what_no_number_of_runs_decides_says_so():
    near = stated([-1.0, 1.0, 0.01], Interval.at_most(0.0))
    apart = stated([-1.0, -2.0, -3.0], Interval.at_most(0.0))
    assert found(near).sentences()[-1] == "it-gains: INCONCLUSIVE: 100 training runs would not decide."
    both = found(near, apart)
    ((least, chance),) = {(each.decide, each.chance) for each in both.undecided} - {(None, None)}
    assert both.sentences()[-1] == (
        f"it-gains at 2 settings: INCONCLUSIVE: about {least} training runs in all would decide with probability "
        f"{chance:.2g}, if runs are normal; 100 training runs would not decide 1 of them."
    )


def test_an_interval_that_is_cut_at_one_end_plans_with_the_other():
    """Shares near 0: the spread is that of the seeds, and not what is left of it."""
    few = over_seeds("share", [0.0, 0.05, 0.0], 0.05, within=SHARES)
    (left,) = found(case(few, Interval.at_most(0.06))).undecided
    free = over_seeds("share", [0.0, 0.05, 0.0], 0.05, within=ANY)
    (same,) = found(case(free, Interval.at_most(0.06))).undecided
    assert left.decide is not None
    assert left.decide == same.decide
    assert left.decide > 3


VANILLA, ROPE = ([right / 60 for right in row] for row in ((58, 60, 50, 58, 59), (52, 57, 53, 60, 58)))
"""What five seeds of the knowledge lab recall of sixty persons each."""


@pytest.mark.parametrize(("values", "chance"), [(VANILLA, 0.77), (ROPE, 0.82)], ids=["vanilla", "rope"])
def test_a_plan_says_how_probably_so_many_runs_decide(values, chance):
    """Twelve verdicts share the error rate, as in the committed run. The sixth seed is drawn from the normal laws
    that five seeds leave possible, each run with all its numbers.
    """

    def decides(low, high):
        return (low >= 0.8) | (high < 0.8)

    accuracy = over_seeds("accuracy", values, 0.05, within=SHARES)
    rate, runs, count = 0.05 / 12, 6, 20_000
    assert verdicts.runs_that_decide(accuracy, decides, rate) == runs
    planned = verdicts.chance_to_decide(accuracy, decides, runs, rate)
    rng = np.random.default_rng(1)
    sigma = np.std(values, ddof=1) * np.sqrt(4 / rng.chisquare(4, count))
    sixth = rng.normal(rng.normal(np.mean(values), sigma / math.sqrt(5)), sigma)
    every = np.column_stack([np.tile(values, (count, 1)), sixth])
    low = np.mean(every, axis=1) - scipy.stats.t.isf(rate / 2, 5) * scipy.stats.sem(every, axis=1)
    assert planned == pytest.approx(np.mean(low >= 0.8), abs=4 * math.sqrt(1 / count + 1 / verdicts.PLANS) / 2)
    assert round(planned, 2) == chance


@pytest.mark.parametrize(
    ("values", "rate", "times"), [(VANILLA, 0.05, 3.2), (VANILLA, 0.05 / 12, 16), (ROPE, 0.05 / 12, 5.0)]
)
def test_t_intervals_of_shares_near_one_miss_three_to_sixteen_times_too_often(values, rate, times):
    """Beta laws of the measured mean and spread, with other random numbers than those of the lab."""
    near = over_seeds("accuracy", values, 0.05, within=SHARES)
    mean, strength = np.mean(values), np.mean(values) * (1 - np.mean(values)) / np.var(values, ddof=1) - 1
    again = np.random.default_rng(1).beta(mean * strength, (1 - mean) * strength, (50_000, 5))
    reach = scipy.stats.t.isf(rate / 2, 4) * scipy.stats.sem(again, axis=1)
    missed = np.mean(np.abs(np.mean(again, axis=1) - mean) > reach)
    assert verdicts.miss_rate(near, rate) == pytest.approx(missed, rel=0.15)
    assert verdicts.miss_rate(near, rate) / rate == pytest.approx(times, rel=0.05)


def test_a_share_in_the_middle_is_missed_as_often_as_the_error_rate_says():
    middle = over_seeds("accuracy", [0.45, 0.5, 0.55, 0.48, 0.52], 0.05, within=SHARES)
    assert not verdicts.is_near_an_end(middle)
    assert verdicts.miss_rate(middle, 0.05) == pytest.approx(0.05, abs=0.005)


def test_verdicts_on_shares_near_an_end_say_how_often_their_intervals_miss():
    def shares(values):
        return case(over_seeds("accuracy", values, 0.05, within=SHARES), Interval.at_least(0.1))

    whole = found(shares(VANILLA), shares([0.45, 0.5, 0.55]), stated(VANILLA))
    (near,) = whole.near_ends
    assert near.missed == verdicts.miss_rate(shares(VANILLA).estimate, 0.05 / 3)
    assert whole.sentences()[1] == (
        "1 of them judges a share near 0 or 1, or a difference of shares. Such runs are not close to normal. If "
        "they follow a beta law of the measured mean and spread, an interval misses the mean with probability "
        f"{near.missed:.2g} at worst, in place of 0.017."
    )
    assert not found(shares([0.45, 0.5, 0.55]), stated(VANILLA)).near_ends


def test_shares_that_no_beta_law_spreads_as_far_as_are_all_or_nothing():
    """A quarter of three such runs are equal, and say nothing. The others have intervals that hold their mean."""
    torn = over_seeds("accuracy", [0.0, 1.0, 1.0], 0.05, within=SHARES)
    assert verdicts.is_near_an_end(torn)
    assert verdicts.miss_rate(torn, 0.05) == 0


@pytest.mark.parametrize("within", [ANY, Interval(0.0, math.inf)])
def test_numbers_without_a_finite_range_have_no_beta_law(within):
    free = over_seeds("loss", [1.0, 1.1, 1.2], 0.05, within=within)
    assert not verdicts.is_near_an_end(free)
    with pytest.raises(ValueError, match="loss has no runs in a finite range"):
        verdicts.miss_rate(free, 0.05)


def test_a_statement_is_about_its_quantity_where_its_setting_says():
    told = {"name": "c", "statement": "s", "source": "", "predicted": ANY, "control": NO_CONTROL}
    stated = Statement(quantity="gain", where={"arm": ("new", "newer"), "depth": 2}, **told)
    every = {
        True: [{"arm": "new", "depth": 2}, {"arm": "newer", "depth": 2, "seed": 1}],
        False: [{"arm": "old", "depth": 2}, {"arm": "new", "depth": 3}, {"arm": "new"}, {}],
    }
    for asked, settings in every.items():
        for setting in settings:
            assert stated.asks(counted(0.0).estimate) is False
            number = over_seeds("gain", [0.0, 1.0], 0.05, within=ANY, **setting)
            assert stated.asks(number) is asked, setting


def test_a_prediction_may_follow_from_all_numbers_or_say_nothing():
    def half_of_the_first(number, every):
        return None if number is every[0] else Interval.point(every[0].value / 2)

    told = {"name": "c", "statement": "s", "source": "", "quantity": "q", "of_training": False}
    told["control"] = NO_CONTROL
    numbers = [counted(4.0).estimate, counted(2.0).estimate]
    whole = verdicts.verdicts_on([Statement(predicted=half_of_the_first, **told)], numbers, experiment="lab")
    (finding,) = whole.findings
    assert (finding.predicted, finding.verdict) == (Interval.point(2.0), Verdict.SUPPORTED)


@pytest.mark.parametrize(
    ("expect", "as_expected"), [(Verdict.SUPPORTED, False), (None, True), (Verdict.REFUTED, True)]
)
def test_what_is_expected_of_a_statement_is_expected_of_its_finding(expect, as_expected):
    (finding,) = found(
        case(counted(1.0).estimate, Interval.at_most(0.0), of_training=False, expect=expect)
    ).findings
    assert (finding.expect, finding.verdict, finding.as_expected) == (expect, Verdict.REFUTED, as_expected)


UP, HALF = Interval.at_least(0.0), Interval.point(0.5)
SURE = [1.0, 1.1, 1.2]
NUMBERS = st.lists(st.floats(-2, 2), min_size=3, max_size=5)
ENDS = st.sampled_from([-math.inf, -1.0, -0.1, 0.0, 0.1, 1.0, math.inf])
PREDICTED = st.tuples(ENDS, ENDS).map(sorted).filter(lambda ends: ends[0] < ends[1]).map(lambda e: Interval(*e))


def beside(values, predicted, control, *others, **more):
    """The verdicts on a number over seeds, whose statement has a control, beside other numbers of the run."""
    told = {"name": "it-gains", "statement": "It.", "source": "", "quantity": "gain"}
    told |= {"expect": None, "control": control, **more}
    number = over_seeds("gain", values, 0.05, within=ANY, arm="new", seed=0)
    lab = verdicts.verdicts_on([Statement(predicted=predicted, **told)], [number, *others], experiment="lab")
    return lab, (lab.findings[0] if lab.findings else None)


@given(predicted=PREDICTED, level=st.floats(-2, 2), spread=st.floats(0.001, 1))
def test_no_statement_is_supported_that_its_control_passes(predicted, level, spread):
    """The control's number lies inside the prediction, the measured one may lie anywhere in it."""
    inside = predicted.low < level < predicted.high
    for by in (-1.5, -0.5, 0.0, 0.5, 1.5):
        values = [level + by + spread * x for x in (-0.1, 0.0, 0.1)]
        control = Instead("a guess", lambda *_: Interval.point(level))
        _, finding = beside(values, predicted, control, resolution=10.0)
        assert not (inside and finding.verdict == Verdict.SUPPORTED)
        if finding.measured.contains(Interval.point(level)):
            assert finding.verdict != Verdict.SUPPORTED


@given(values=NUMBERS, predicted=PREDICTED)
def test_a_control_that_differs_by_nothing_never_passes(values, predicted):
    """A prediction that depends on the number is not known at the declaration: it may have 0 inside."""
    _, finding = beside(values, lambda *_: predicted, Paired("the base"), resolution=10.0)
    if predicted.low < 0 < predicted.high or finding.measured.contains(Interval.point(0.0)):
        assert finding.verdict != Verdict.SUPPORTED


@given(values=NUMBERS, beyond=NUMBERS, above=st.sampled_from([-0.5, 0.0, 0.5]))
def test_no_verdict_is_better_than_that_on_the_control(values, beyond, above):
    """Judges each case that Hypothesis draws, and plans further seeds where it is left open."""
    other = over_seeds("lead", beyond, 0.05, within=ANY, arm="old")
    lab, finding = beside(values, UP, Beyond("a guess", "lead", {"arm": "old"}, above=above), other)
    at = other.at(lab.of_each)
    wanted = Verdict.SUPPORTED if at.low > above else Verdict.REFUTED if at.high < above else Verdict.INCONCLUSIVE
    assert finding.control.verdict == wanted
    assert (finding.control.number.low, finding.control.number.high) == (at.low - above, at.high - above)
    order = [Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.SUPPORTED]
    alone = judge(UP, finding.measured, 0.001)
    assert finding.verdict == min(alone, wanted, key=order.index)


@pytest.mark.parametrize("control", [None, "an untrained model", Identity(""), Paired(" "), Beyond("", "lead")])
def test_a_control_that_is_none_or_says_nothing_is_refused(control):
    with pytest.raises(ValueError, match=r"^it-gains: .*control"):
        stated([1.0], control=control)


@pytest.mark.parametrize(
    ("low", "high", "refused"), [(-1, 1, True), (-0.1, math.inf, True), (0, 1, False), (-1, 0, False)]
)
def test_a_prediction_with_room_for_no_difference_is_refused(low, high, refused):
    told = {"name": "c", "statement": "s", "source": "", "quantity": "q", "predicted": Interval(low, high)}
    if refused:
        with pytest.raises(ValueError, match="c: a difference of 0 from the base lies inside the prediction"):
            Statement(control=Paired("the base"), **told)
    Statement(control=Instead("a guess", Interval.point(0.0)), **told)


@pytest.mark.parametrize("of_training", [True, False])
def test_a_control_that_nobody_measured_leaves_a_statement_open(of_training):
    lab, finding = beside(SURE, UP, Beyond("a guess", "lead"), of_training=of_training)
    assert (finding.verdict, finding.control.number) == (Verdict.INCONCLUSIVE, None)
    assert [each.missing for each in lab.undecided] == ["a guess"]
    assert lab.sentences()[-1] == "it-gains: INCONCLUSIVE: nobody measured the control, a guess."
    unknown = Instead("a guess", lambda *_: None)
    assert beside(SURE, UP, unknown, of_training=of_training)[1].verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(0.5, Verdict.INCONCLUSIVE), (0.49, Verdict.REFUTED), (0.51, Verdict.SUPPORTED)],
)
def test_a_control_that_does_exactly_as_well_supports_nothing(value, verdict):
    lab, finding = beside(SURE, UP, Beyond("a guess", "lead", above=0.5), known("lead", value, 1, "counted"))
    assert (finding.verdict, lab.family) == (verdict, 1)


def test_several_controls_are_judged_by_the_strongest():
    leads = [known("lead", value, 1, "counted", control=name) for name, value in (("weak", 2.0), ("strong", -1.0))]
    _, finding = beside(SURE, UP, Beyond("one of them", "lead"), *leads)
    assert (finding.control.what, finding.verdict) == ("strong", Verdict.REFUTED)


def test_the_number_of_a_control_is_at_the_setting_of_the_statement():
    leads = [
        known("lead", value, 1, "c", arm=arm, seed=seed) for arm, seed, value in (("old", 0, 1.0), ("old", 1, -1.0))
    ]
    assert beside(SURE, UP, Beyond("a guess", "lead", {"arm": "old"}), *leads)[1].verdict == Verdict.SUPPORTED
    renamed = Beyond("a guess", "lead", lambda number: {"arm": "old", "seed": number.setting["seed"] + 1})
    assert beside(SURE, UP, renamed, *leads)[1].verdict == Verdict.REFUTED


def test_the_number_of_a_control_counts_once_in_the_family():
    lead = over_seeds("lead", SURE, 0.05, within=ANY)
    told = {"statement": "s", "source": "", "predicted": UP}
    by_lead = [Statement(name=n, quantity=n, control=Beyond("a guess", "lead"), **told) for n in ("one", "two")]
    numbers = [over_seeds(name, SURE, 0.05, within=ANY) for name in ("one", "two")]

    def family(*statements):
        lab = verdicts.verdicts_on(statements, [*numbers, lead], experiment="lab")
        assert {f.error_rate for f in lab.findings} == {0.05 / lab.family}
        return lab.family

    assert family(*by_lead) == 3
    # It is judged itself, and counts already.
    assert family(*by_lead, Statement(name="lead", quantity="lead", control=NO_CONTROL, **told)) == 3
    # About no training: only its control is.
    apart = dataclasses.replace(by_lead[0], of_training=False)
    lab = verdicts.verdicts_on([apart], [*numbers, lead], experiment="lab")
    assert (lab.family, lab.apart) == (1, {0.05: 1})
    assert lab.findings[0].control.number == lead.at(0.05)


@pytest.mark.parametrize("of_training", [True, False])
def test_a_control_of_too_few_runs_gives_no_verdict(of_training):
    lead = over_seeds("lead", [1.0, 1.1], 0.05, within=ANY)
    lab, finding = beside(SURE, UP, Beyond("a guess", "lead"), lead, of_training=of_training)
    assert (finding, lab.apart) == (None, {})
    assert [(each.runs, each.needs) for each in lab.unjudged] == [(2, 3)]


def test_answers_of_one_model_say_nothing_of_a_control_in_training():
    lead = mean("lead", np.array([0.5, 0.51, 0.49]), student("sentences"), 1e-2)
    assert beside(SURE, UP, Beyond("a guess", "lead"), lead)[1].control.number is None
    assert beside(SURE, UP, Beyond("a guess", "lead"), lead, of_training=False)[1].verdict == Verdict.SUPPORTED


def test_the_plan_of_runs_covers_the_control():
    """The statement's own number decides at once, and that of its control needs more runs than its own would."""
    values = [1.0, -0.4, 0.9, -0.2, 0.8]
    lead = over_seeds("lead", values, 0.05, within=ANY)
    (alone,) = found(stated(values, UP), stated([3.0, 3.1, 2.9], UP)).undecided
    lab, finding = beside([3.0, 3.1, 2.9, 3.0, 3.1], UP, Beyond("a guess", "lead"), lead)
    (left,) = lab.undecided
    assert (finding.verdict, left.runs) == (Verdict.INCONCLUSIVE, 5)
    assert left.decide == alone.decide > 5
    assert left.chance == alone.chance
    assert lab.sentences()[-2:] == (
        "it-gains: INCONCLUSIVE: the control, a guess, may do as well.",
        f"it-gains: INCONCLUSIVE: about {left.decide} training runs in all would decide with probability "
        f"{left.chance:.2g}, if runs are normal.",
    )


def test_the_plan_of_runs_covers_a_control_with_a_number_of_its_own():
    """The resolution is so wide that the statement's own number decides. But its interval holds the control's."""
    lab, finding = beside([1.0, 0.2, 1.9, 0.2, 1.8], Interval.point(1.0), Instead("a guess", HALF), resolution=10.0)
    (left,) = lab.undecided
    assert (finding.verdict, finding.measured.contains(HALF)) == (Verdict.INCONCLUSIVE, True)
    assert left.decide > 5


CONTROLS = st.one_of(
    st.just(NO_CONTROL),
    st.just(Paired("a")),
    ENDS.filter(math.isfinite).map(lambda x: Instead("a", lambda *_: Interval.point(x))),
)


@given(values=NUMBERS, predicted=PREDICTED, control=CONTROLS, resolution=st.sampled_from([0.001, 0.5]))
def test_so_many_runs_of_the_same_mean_and_spread_decide_and_fewer_do_not(values, predicted, control, resolution):
    """What decides is said twice: of one interval by the judge, and of thousands at once by the plan."""
    assume(np.std(values) > 0.01)
    lab, _ = beside(values, lambda *_: predicted, control, resolution=resolution)

    def verdict(runs):
        rough = np.linspace(-1, 1, runs)
        again = np.mean(values) + np.std(values, ddof=1) / np.std(rough, ddof=1) * rough
        return beside(again.tolist(), lambda *_: predicted, control, resolution=resolution)[1].verdict

    for left in lab.undecided:
        assert left.decide is None or verdict(left.decide) != Verdict.INCONCLUSIVE
        for runs in {left.runs + 1, (left.decide or 101) - 1} - {left.runs, left.decide}:
            assert verdict(runs) == Verdict.INCONCLUSIVE
