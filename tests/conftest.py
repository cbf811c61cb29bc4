"""Shapes are checked, promotion is strict, and Hypothesis draws the same cases in every run. XLA compiles in haste
and equal programs once. No worker holds more than 1.5 GB, and a slow test says what stays in `make test`.

`ATTNLAB_EXPLORE=1` draws new cases, five times as many, and compiles as users do: whoever changes an operator runs
that, nobody else meets a failure that the next run does not repeat. `ATTNLAB_X64=1` is the second pass of
`make slow`, in float64.
"""

import os
import signal
from pathlib import Path

import hypothesis
import jax
import jaxtyping
import pytest

from attnlab_theory import compilation
from tests import programs
from tests.circles import EXPLORING, Circles
from tests.memory import FULL, SOONER, Memory
from tests.shapes import check_shapes
from tests.slowest import Durations

# A shell that starts the tests in the background has them ignore Ctrl-C, and some of them press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

WIDE = os.environ.get("ATTNLAB_X64") == "1"

# Thousands of small programs, each run a few times: compiled without optimisation they take a fifth of the time.
# The lab compiles so too, and what either has compiled is kept for both.
# XLA reads this when jax first computes; processes that tests start inherit it, and flags already set win.
if not EXPLORING:
    compilation.compile_in_haste()
    # No test reads where in the source an operation of a program comes from.
    jax.config.update("jax_traceback_in_locations_limit", 0)

# Only tests pay for checking every shape at every call; the hook must come before the package is imported.
check_shapes("attnlab_theory")

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_enable_x64", WIDE)
compilation.keep_programs()
jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
jax.config.update(
    "jax_persistent_cache_min_compile_time_secs", float(os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"])
)
programs.compile_once()

hypothesis.settings.register_profile("repeat", derandomize=True, max_examples=20, deadline=None, print_blob=True)
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True)
hypothesis.settings.load_profile("explore" if EXPLORING else "repeat")


def pytest_configure(config: pytest.Config) -> None:
    memory = Memory(FULL if config.getoption("markexpr") == "not slow" else SOONER)
    config.pluginmanager.register(memory)
    config.pluginmanager.register(Circles())
    # Neither for its workers, which hand it their reports, nor for processes that tests start.
    if durations := os.environ.pop("ATTNLAB_DURATIONS", ""):
        config.pluginmanager.register(Durations(Path(durations), memory))


@pytest.fixture(scope="session", autouse=True)
def nobodys_settings(tmp_path_factory):
    """No test reads or makes the key of whoever runs the tests; processes that tests start do neither."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("settings"))


@pytest.fixture
def unchecked_shapes():
    """Calls as a user makes them, without the hook: what the package itself says of a wrong shape."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
