"""Compiled programs can be dropped, and a run whose workers held too much fails."""

import types

import jax
import jax.numpy as jnp
import pytest
from jax._src.interpreters import mlir

from attnlab_theory.claims import judging
from attnlab_theory.claims.noisy_keys import moments
from attnlab_theory.theory.noisy_keys import one_head
from tests import memory


def session(**config):
    return types.SimpleNamespace(exitstatus=pytest.ExitCode.OK, config=types.SimpleNamespace(**config))


@pytest.fixture
def told():
    lines = []
    return types.SimpleNamespace(lines=lines, write_line=lambda line, **_: lines.append(line))


def test_dropping_forgets_programs_and_samplers_but_no_number_of_the_theory():
    program = jax.jit(lambda x: x + 1)
    program(jnp.zeros(()))
    judging._sampler(lambda key, setting: 0.0, moments.CLAIMS[0].kind, (), 1)
    numbers = [value for value in vars(one_head).values() if hasattr(value, "cache_info")]
    for value in numbers:
        value.cache_clear()
    one_head.one_head_error(4, 1.0, 0.5)
    known = [value.cache_info().currsize for value in numbers]
    assert (program._cache_size(), judging._sampler.cache_info().currsize > 0, any(known)) == (1, True, True)
    memory.drop_programs()
    assert (program._cache_size(), judging._sampler.cache_info().currsize) == (0, 0)
    assert [value.cache_info().currsize for value in numbers] == known


def test_programs_of_a_thread_are_lowered_in_one_context():
    def context(constant):
        return jax.jit(lambda x: x + constant).lower(jnp.zeros(())).compiler_ir().context

    assert context(1.0) == context(2.0)


def test_a_program_that_is_compiled_while_another_is_lowered_has_a_context_of_its_own():
    with mlir.make_ir_context() as outer:
        assert mlir.make_ir_context() != outer


@pytest.mark.parametrize("workers", [{"gw0": 1.4e9, "gw1": 1.2e9}, {"gw0": 1.4e9, "gw1": 1.6e9}])
def test_a_run_fails_if_a_worker_held_more_than_it_may(workers, told):
    run, watch = session(), memory.Memory()
    for name, peak in workers.items():
        node = types.SimpleNamespace(
            gateway=types.SimpleNamespace(id=name), workeroutput={"peak": (peak, f"a test of {name}")}
        )
        watch.pytest_testnodedown(node)
    watch.pytest_sessionfinish(run)
    watch.pytest_terminal_summary(told)
    beyond = max(workers.values()) > 1.5e9
    assert run.exitstatus == (pytest.ExitCode.TESTS_FAILED if beyond else pytest.ExitCode.OK)
    assert told.lines[0].startswith("peak memory: gw0 1.40 GB, gw1 ")
    assert ("more than 1.5 GB held: gw1 in a test of gw1;" in "".join(told.lines)) == beyond


def test_a_worker_hands_its_peak_to_the_process_that_started_it():
    run, watch = session(workeroutput={}), memory.Memory()
    watch.pytest_runtest_logfinish("the only test")
    watch.pytest_sessionfinish(run)
    peak, test = run.config.workeroutput["peak"]
    assert peak == pytest.approx(memory.held("VmHWM"), rel=0.01, nan_ok=True)
    assert test == ("the only test" if memory.STATUS.exists() else "")


def test_a_test_that_leaves_a_full_process_behind_has_its_programs_dropped(monkeypatch):
    program = jax.jit(lambda x: x + 1)
    program(jnp.zeros(()))
    watch = memory.Memory()
    monkeypatch.setattr(memory, "held", lambda field: memory.FULL - 1)
    watch.pytest_runtest_logfinish("a test")
    assert program._cache_size() == 1
    monkeypatch.setattr(memory, "held", lambda field: memory.FULL + 1)
    watch.pytest_runtest_logfinish("a test")
    assert program._cache_size() == 0
