"""Processes that judge find what one process finds, and fail in its words."""

import os
import signal

import pytest

from attnlab_theory.experiment import findings_of, judge_of, run
from attnlab_theory.judges import judges
from tests.toy_experiments import loaded, names, options

QUICK = {"seed": 0, "budget": "quick"}


@pytest.fixture(scope="module")
def judge():
    with judges(1, judge_of(loaded)) as (only,):
        yield only


@pytest.mark.slow("a mistake that a process tells with its traceback stays inside")
def test_a_process_finds_what_this_one_finds(judge):
    """The fixture starts a process, which imports jax before it judges."""
    coins = loaded()["coins"]
    assert findings_of(coins, judge=judge, **QUICK) == findings_of(coins, **QUICK)


@pytest.mark.slow("a mistake that a process tells with its traceback stays inside")
def test_what_a_claim_is_refused_for_is_said_in_the_same_words_and_the_process_goes_on(judge):
    broken = loaded()["broken"]
    with pytest.raises(ValueError, match="resolution must be positive") as here:
        findings_of(broken, **QUICK)
    with pytest.raises(ValueError, match="resolution must be positive") as there:
        findings_of(broken, judge=judge, **QUICK)
    assert str(here.value) == str(there.value)
    assert judge.findings_of("coins", 0, QUICK)


def test_a_mistake_in_a_claim_brings_its_traceback_along(judge):
    """The fixture starts a process, which imports jax before it judges."""
    with pytest.raises(ZeroDivisionError) as raised:
        judge.findings_of("mistaken", 0, QUICK)
    assert "toy_experiments.py" in raised.value.__notes__[0]


@pytest.mark.slow("a mistake that a process tells with its traceback stays inside")
def test_runs_by_processes_write_the_same_bytes_in_the_order_asked_for(tmp_path, monkeypatch, capsys):
    """Starts two processes, each of which imports jax, and judges everything once more without them."""
    monkeypatch.setattr("attnlab_theory.judges.can_share", lambda experiments: 2)
    chosen = [loaded()[name] for name in ("more", "coins")]
    assert run(chosen, options(tmp_path / "apart", json=True), load=loaded) == 0
    apart = capsys.readouterr().out
    assert run(chosen, options(tmp_path / "here", json=True)) == 0
    assert apart.split('"run"')[0] == capsys.readouterr().out.split('"run"')[0]
    for path in (tmp_path / "here").glob("*.json"):
        assert path.name.endswith(".run.json") or path.read_bytes() == (tmp_path / "apart" / path.name).read_bytes()
    assert names(tmp_path / "here") == names(tmp_path / "apart")


def test_a_process_that_is_killed_is_said_in_one_line():
    with judges(1, judge_of(loaded)) as (only,):
        os.kill(only._process.pid or 0, signal.SIGKILL)
        with pytest.raises(ValueError, match="the process that judged it was killed"):
            only.findings_of("coins", 0, QUICK)
