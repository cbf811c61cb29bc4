"""What went wrong is told by values: no word of a stranger decides between a refusal, a failure and a hung call."""

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.finding import Fault, Trouble, Verdict, trouble_of
from attnlab_theory.conform.suite import Row, suite_class
from tests.conform.positions import right


class too_long(Exception):
    pass


def refuses_long(error):
    """Rotary positions that refuse long texts."""

    def target(x, positions):
        if np.max(positions, initial=0) > 3000:
            raise error
        return right.interleaved(x, positions)

    return target


@pytest.mark.parametrize("error", [too_long("beyond the table"), ValueError("Beyond the table"), IndexError()])
def test_an_exception_is_a_refusal_whatever_its_name_begins_with(error):
    suite = suite_class("rotary")(Direct(refuses_long(error)), "rotary")
    row = suite.row("large positions")
    assert row is not None
    assert row.trouble is not None
    assert (row.verdict, row.trouble.fault, row.trouble.error) == ("convention", "raised", type(error).__name__)


@pytest.mark.parametrize("words", ["not called: twice", "another answer", "took longer than 3 s", "writes into x"])
def test_words_of_a_stranger_are_no_verdict(words):
    suite = suite_class("rotary")(Direct(refuses_long(ValueError(words))), "rotary")
    row = suite.row("large positions")
    assert row is not None
    assert row.trouble is not None
    assert suite._as_far_as_called(row, 0) is row
    assert (row.verdict, row.trouble.costs, row.trouble.is_unsure) == ("convention", False, False)
    failed = Row(name="a", verdict=Verdict.FAILS, line=words, tried=1, trouble=row.trouble)
    assert suite._as_far_as_called(failed, 1) is failed


def test_the_call_of_a_failure_is_a_field_of_its_own():
    suite = suite_class("rotary")(Direct(lambda x, positions: 2 * right.interleaved(x, positions)), "rotary")
    rows = {row.name: row for row in suite.rows()}
    called = [row for row in rows.values() if row.case]
    assert called
    assert all(row.line.endswith(f"; the call: {row.case}") for row in called)


def test_the_far_side_reports_a_fault_and_its_data():
    def target(x):
        raise ValueError("no")

    caller = Direct(target)
    report, _ = caller.call(
        {"framework": "numpy", "kind": "float32", "strided": False, "names": [], "plain": {}}, []
    )
    found = trouble_of(report)
    assert found is not None
    assert (found.fault, found.error) == (Fault.RAISED, "TypeError")
    assert trouble_of({"trouble": found}) is found
    assert trouble_of({"trouble": ""}) is None
    assert trouble_of({"trouble": "ended the process (3)"}) == Trouble(
        fault=Fault.ENDED, message="ended the process (3)"
    )


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_has_words(fault):
    said = str(Trouble(fault=fault, error="ValueError", message="m", gave=(1,), wanted=(2, "e"), call="x [1]"))
    assert said.startswith("x [1]: ")
    assert len(said) > len("x [1]: ")
