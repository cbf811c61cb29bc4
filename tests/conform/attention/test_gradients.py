"""Gradients: those of the reference are its slopes, and a stopped one of jax fails."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.kinds.softmax.reference import attend
from attnlab_theory.conform.kinds.softmax.slopes import slopes
from tests.conform.judging import asked
from tests.conform.judging import suite as suite_of


def of_jax(q, k, v, mask=None):
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) * jnp.asarray(q.shape[-1] ** -0.5, q.dtype)
    scores = scores if mask is None else jnp.where(mask, scores, -jnp.inf)
    return jax.nn.softmax(scores, axis=-1) @ v


def keys_stopped(q, k, v):
    return of_jax(q, jax.lax.stop_gradient(k), v)


def gradients_of(target, kind="softmax", **declared):
    return suite_of(Direct(target), kind, declared).row("gradients")


@pytest.mark.slow("that gradients of the reference are its slopes stays inside")
def test_right_gradients_of_jax_hold_and_a_stopped_one_fails():
    """Takes gradients of jax, which compiles them for every shape."""
    row = gradients_of(of_jax, layout="bhtd")
    # It fills by minus infinity, so that a row that sees nothing is NaN.
    assert row.verdict == "convention"
    assert row.line.endswith("a row that sees nothing is NaN, and so are gradients of other rows")
    row = gradients_of(keys_stopped, layout="bhtd")
    assert (row.verdict, row.line.startswith("the gradient of k is 0 where")) == ("fails", True)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"softcap": 1.5},
        {"bias": "normal"},
        {"bias": "normal", "bias axes": "bhts"},
        {"pair mask": "random"},
    ],
    ids=str,
)
def test_the_reference_gradient_is_the_slope_of_the_reference(more):
    spec = {"queries": 3, "keys": 4, "type": "float64", **more}
    _, given, problem = asked(spec)
    r = np.random.default_rng(1)
    c = r.standard_normal((2, 2, 3, 3))
    found = slopes(problem, attend(problem), c)
    for name in ("q", "k", "v", *(["bias"] if "bias" in more else [])):
        x = given[name]
        step = r.standard_normal(x.shape) * 1e-6
        ends = [(c * attend(asked(spec, {**given, name: x + sign * step})[-1]).output).sum() for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2 == pytest.approx((getattr(found, name) * step).sum(), rel=1e-6)
