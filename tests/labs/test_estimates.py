"""Estimates over seeds: the t interval, cut to where such a number can lie."""

import contextlib
import dataclasses
import json
import math
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given

from attnlab_theory.labs import estimates, page
from attnlab_theory.labs.engine.record import stored
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.language.text import tables
from attnlab_theory.stats import Interval

SHARES = Interval(0.0, 1.0)


def test_the_mean_over_seeds_has_the_t_interval_of_the_seeds():
    values = [0.75, 0.5, 0.75]
    found = estimates.over_seeds("accuracy", values, 0.5, within=SHARES, model="big")
    wanted = scipy.stats.t.interval(0.5, 2, sum(values) / 3, scipy.stats.sem(values))
    assert (found.value, found.draws, found.setting) == (sum(values) / 3, 3, {"model": "big"})
    assert math.isclose(found.interval.low, wanted[0])


@pytest.mark.parametrize("within", [SHARES, Interval(-1.0, 1.0)])
def test_the_interval_is_cut_to_what_is_possible(within):
    found = estimates.over_seeds("accuracy", [0.75, 0.5, 0.75], 0.001, within=within)
    assert found.interval == within


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5]])
def test_one_seed_or_equal_seeds_say_nothing_of_others(values):
    assert estimates.over_seeds("accuracy", values, 0.05, within=SHARES).interval == SHARES


def test_estimates_come_back_from_json():
    found = estimates.over_seeds("accuracy", [0.25, 0.5], 0.05, within=Interval(-math.inf, math.inf), seed=3)
    assert Estimate.from_json(found.as_json()) == found


def test_a_missing_estimate_is_missed_loudly():
    found = Estimates([estimates.over_seeds("accuracy", [0.25], 0.05, within=SHARES, model="big")])
    assert found.of("accuracy", model="big") == found
    with pytest.raises(KeyError, match="no estimate of accuracy"):
        found.of("accuracy", model="small")


@given(st.lists(st.floats(-1, 2), min_size=3, max_size=6, unique=True), st.floats(1e-4, 0.4), st.floats(1e-5, 1.0))
def test_an_interval_over_seeds_at_another_rate_is_that_of_its_values(values, error_rate, part):
    """Also of a file of an older version, which has no values."""
    assume(max(values) - min(values) > 1e-3)
    found = estimates.over_seeds("accuracy", values, error_rate, within=Interval(-math.inf, math.inf))
    older = Estimate.from_json({n: v for n, v in found.as_json().items() if n not in ("values", "within")})
    assert (older.values, older.runs) == ((), len(values))
    wanted = scipy.stats.t.interval(1 - part * error_rate, len(values) - 1, found.value, scipy.stats.sem(values))
    for each in (found, older):
        interval = each.at(part * error_rate)
        assert (interval.low, interval.high) == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("values", [[0.97, 0.99, 0.92], [0.03, 0.01, 0.08]])
def test_an_interval_that_was_cut_is_stretched_where_it_was_not(values):
    found = estimates.over_seeds("accuracy", values, 0.05, within=SHARES)
    older = dataclasses.replace(found, values=())
    assert (found.interval.low == 0.0) != (found.interval.high == 1.0)
    interval, wanted = older.at(0.01), found.at(0.01)
    assert (interval.low, interval.high) == pytest.approx((wanted.low, wanted.high))


def test_what_is_no_number_of_a_run_has_no_other_interval():
    answers = estimates.share("accuracy", np.array([True, False]), 0.05)
    assert answers.runs == 1
    with pytest.raises(ValueError, match="accuracy is not a mean over training runs"):
        answers.at(0.01)


ESTIMATE = {
    "quantity": "loss",
    "setting": {"arm": "a"},
    "value": 1.0,
    "interval": [0.5, 1.5],
    "draws": 3,
    "bound": "b",
    "error_rate": 0.05,
}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([ESTIMATE, ESTIMATE], "it holds an estimate twice"),
        ([ESTIMATE | {"draws": -5}], "draws cannot be -5"),
        ([ESTIMATE | {"error_rate": -1}], "error_rate cannot be -1"),
        ([ESTIMATE | {"interval": [2.0, 1.0]}], "an interval cannot end at 1.0 and begin at 2.0"),
    ],
)
def test_estimates_that_no_run_writes_are_refused_by_name(tmp_path, rows, said):
    (tmp_path / "estimates.json").write_text(json.dumps(rows))
    with pytest.raises(ValueError, match=said):
        stored(tmp_path)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ('{"estimates": 3}', "it holds 2 estimates, and the run wrote 3"),
        ('{"estimates": [2]}', r"mixers\.run\.json is damaged"),
        ("[]", r"mixers\.run\.json is damaged"),
        ('{"estimates": 2}', ""),
        ('{"estimates": 1}', ""),
        ("{}", ""),
    ],
)
def test_estimates_that_were_cut_are_fewer_than_the_record_of_the_run_says(tmp_path, told, said):
    (tmp_path / "estimates.json").write_text(json.dumps([ESTIMATE, ESTIMATE | {"quantity": "b"}]))
    (tmp_path / "mixers.run.json").write_text(told)
    with pytest.raises(ValueError, match=said) if said else contextlib.nullcontext():
        assert len(stored(tmp_path)) == 2


def test_the_committed_records_say_how_many_estimates_there_are(subtests):
    places = [*(Path(__file__).parents[2] / "figures").glob("**/estimates.json")]
    for place in places:
        with subtests.test(str(place.parent)):
            for path in place.parent.glob("*.run.json"):
                assert json.loads(path.read_text())["estimates"] == len(json.loads(place.read_text()))
    assert len(places) > 20


def test_a_question_that_is_no_text_is_refused_by_name():
    with pytest.raises(ValueError, match="question in the record of a run cannot be 5"):
        page._each({"a": {"question": "why?"}, "b": {"question": 5}}, "question", " ")


@pytest.mark.parametrize("number", [-1, 2**31, True, "1", 0.5])
def test_a_token_has_a_number_from_zero_on(tmp_path, number):
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 0, "b": number}))
    with pytest.raises(ValueError, match="'b' has"):
        tables.numbered(tmp_path / "vocab.json")
