"""Shapes are checked, promotion is strict, Hypothesis draws the same cases in every run.

`ATTNLAB_EXPLORE=1` draws new ones: whoever changes an operator runs that, nobody else meets a failure that
the next run does not repeat.
"""

import os

import hypothesis
import jax
import jaxtyping
import pytest

# Only tests pay for checking every shape at every call; the hook must come before the package is imported.
jaxtyping.install_import_hook("attnlab_theory", "beartype.beartype")

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_enable_x64", os.environ.get("ATTNLAB_X64") == "1")

hypothesis.settings.register_profile("repeat", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True)
hypothesis.settings.load_profile("explore" if os.environ.get("ATTNLAB_EXPLORE") == "1" else "repeat")


@pytest.fixture
def unchecked_shapes():
    """Calls as a user makes them, without the hook: what the package itself says of a wrong shape."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
