"""Equal programs are compiled once: what counts as equal, and what is kept."""

import jax
import numpy as np
import pytest

from tests import programs


@pytest.fixture
def compiled(monkeypatch):
    """The programs that XLA has compiled since; none is known at first."""
    seen = []

    def compile_and_note(*given, compile=programs._compile):
        seen.append(compile(*given))
        return seen[-1]

    monkeypatch.setattr(programs, "_compiled", {})
    monkeypatch.setattr(programs, "_compile", compile_and_note)
    return seen


def plus(number):
    return jax.jit(lambda x: x + number)


X = np.ones(3, np.float32)


def test_an_equal_program_is_compiled_once_whatever_function_it_came_from(compiled):
    assert [plus(np.float32(2))(X).tolist() for _ in range(3)] == [[3, 3, 3]] * 3
    assert len(compiled) == 1


def test_a_program_with_another_constant_shape_or_option_is_another(compiled):
    assert plus(np.float32(2))(X).tolist() == [3, 3, 3]
    assert plus(np.float32(5))(X).tolist() == [6, 6, 6]
    assert plus(np.float32(2))(X[:2]).tolist() == [3, 3]
    with_options = jax.jit(lambda x: x + np.float32(2), compiler_options={"xla_backend_optimization_level": 1})
    assert with_options(X).tolist() == [3, 3, 3]
    assert len(compiled) == 4


def test_a_program_that_calls_python_calls_its_own_function(compiled):
    def calling(number):
        return jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(x) + np.float32(number), x, x))

    assert [calling(number)(X).tolist() for number in (2, 5)] == [[3, 3, 3], [6, 6, 6]]
    assert programs._compiled == {}
    assert len(compiled) == 2


def test_what_is_forgotten_is_compiled_again(compiled):
    plus(np.float32(2))(X)
    programs.forget()
    plus(np.float32(2))(X)
    assert len(compiled) == 2
