"""Additive attention without its tensor is additive attention: values, gradients, memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import additive, additive_attention, additive_weights
from tests.tolerances import additive_atol

FLOAT = jnp.zeros(()).dtype
T, S, WIDTH = 7, 5, 4


def inputs(t: int, s: int, seed: int = 0):
    """q, k, v, w_q, w_k, w_out and a cotangent: uniform between -1 and 1."""
    rng = np.random.default_rng(seed)
    shapes = [(t, 3), (s, 2), (s, 2), (3, WIDTH), (2, WIDTH), (WIDTH,), (t, 2)]
    return [jnp.asarray(rng.uniform(-1, 1, shape), FLOAT) for shape in shapes]


def direct(q, k, v, w_q, w_k, w_out, mask=None):
    """The definition, with the whole tensor."""
    hidden = jnp.tanh((q @ w_q)[:, None, :] + (k @ w_k)[None, :, :])
    scores = jnp.einsum("tsm,m->ts", hidden, w_out)
    weights = jax.nn.softmax(scores if mask is None else jnp.where(mask, scores, -jnp.inf), axis=-1)
    return weights, weights @ v


MASK = jnp.asarray(np.random.default_rng(1).uniform(size=(T, S)) < 0.5).at[:, 0].set(True)


@pytest.fixture(params=[3, 128], ids=["three blocks", "one block"])
def block(request, monkeypatch):
    monkeypatch.setattr(additive, "BLOCK", request.param)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "masked"])
def test_additive_is_its_definition_gradients_included(mask):
    *x, cotangent = inputs(T, S)

    @jax.jit
    def both():
        pairs = [jax.vjp(f, *x) for f in (lambda *x: additive_attention(*x, mask), lambda *x: direct(*x, mask)[1])]
        return [(output, *pull(cotangent)) for output, pull in pairs]

    (found, *gradients), (expected, *direct_gradients) = both()
    assert np.abs(found - expected).max() <= additive_atol(S, 3, WIDTH, FLOAT)
    for ours, theirs in zip(gradients, direct_gradients, strict=True):
        # A coordinate of a gradient sums over pairs and hidden units numbers of at most two.
        assert np.abs(ours - theirs).max() <= 2 * T * S * WIDTH * additive_atol(S, 3, WIDTH, FLOAT)


@pytest.mark.usefixtures("block")
def test_additive_weights_are_their_definition():
    q, k, v, *w, _ = inputs(T, S)
    found = jax.jit(additive_weights)(q, k, *w, MASK)
    assert np.abs(found - direct(q, k, v, *w, MASK)[0]).max() <= additive_atol(S, 3, WIDTH, FLOAT)


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.parametrize("narrow", [("q", "w_q"), ("k", "w_k"), ("w_out",), ("v",)], ids="-".join)
def test_arrays_of_a_narrower_type_give_what_they_give_by_definition(narrow):
    """Queries and keys are each projected in their own type, and hidden units are summed in the common one."""
    names = ("q", "k", "v", "w_q", "w_k", "w_out")
    *wide, cotangent = inputs(T, S)
    x = [y.astype(jnp.bfloat16) if name in narrow else y for name, y in zip(names, wide, strict=True)]
    with jax.numpy_dtype_promotion("standard"):
        (found, pull), expected = jax.vjp(additive_attention, *x), direct(*x)
        weights = additive_weights(*(y for name, y in zip(names, x, strict=True) if name != "v"))
        scores = additive.additive_scores(x[0] @ x[3], x[1] @ x[4], x[5])
        gradients = pull(cotangent)
    assert [y.dtype for y in (found, weights)] == [y.dtype for y in expected[::-1]]
    assert [y.dtype for y in gradients] == [y.dtype for y in x]
    atol = additive_atol(S, 3, WIDTH, FLOAT)
    assert np.abs(found - expected[1]).max() <= atol
    assert np.abs(weights - expected[0]).max() <= atol
    assert np.abs(jax.nn.softmax(scores, axis=-1) - weights).max() <= atol


def test_additive_gradient_is_the_slope():
    """Along a random direction in all arguments at once, in float64."""
    with jax.enable_x64(True):
        *x, cotangent = (jnp.asarray(y, jnp.float64) for y in inputs(T, S))
        rng = np.random.default_rng(9)
        directions = [jnp.asarray(rng.uniform(-1, 1, y.shape)) for y in x]

        @jax.jit
        def along(step):
            moved = [y + step * direction for y, direction in zip(x, directions, strict=True)]
            return jnp.sum(cotangent * additive_attention(*moved))

        step = 2.0**-17
        slope = (along(step) - along(-step)) / (2 * step)
        coarse = (along(2 * step) - along(-2 * step)) / (4 * step)
        found = jax.grad(along)(0.0)
        rounding = T * 2 * additive_atol(S, 3, WIDTH, np.float64) / step
        # A central difference errs by c step^2: the coarse one differs from the fine by three times that.
        assert abs(float(found - slope)) <= abs(float(coarse - slope)) + rounding


def test_the_tensor_never_exists_in_the_gradient():
    t, width = 1024, 64
    shapes = [(t, 3), (t, 2), (t, 2), (3, width), (2, width), (width,)]
    given = [jax.ShapeDtypeStruct(shape, FLOAT) for shape in shapes]

    def gradients(*x):
        return jax.grad(lambda *x: jnp.sum(additive_attention(*x)), argnums=tuple(range(6)))(*x)

    compiled = jax.jit(gradients).lower(*given).compile()
    # A handful of arrays of a block of scores; the tensor would take t * t * width, the matrix t * t.
    assert (
        compiled.memory_analysis().temp_size_in_bytes <= (6 * additive.BLOCK * t + 8 * t * width) * FLOAT.itemsize
    )


Q, K, VALUES, W_Q, W_K, W_OUT, _ = inputs(T, S)


@pytest.mark.parametrize("wrong", [np.inf, -np.inf])
def test_a_traced_infinity_gives_nan(wrong):
    """tanh makes a one of it, and a plausible weight."""
    weights = jax.jit(additive_weights)
    assert np.isnan(weights(Q, K.at[0, 0].set(wrong), W_Q, W_K, W_OUT)).all()
    assert np.isnan(weights(Q.at[2, 0].set(wrong), K, W_Q, W_K, W_OUT)[2]).all()
    assert np.isfinite(weights(Q.at[2, 0].set(wrong), K, W_Q, W_K, W_OUT)[:2]).all()
    a, b = Q @ W_Q, K @ W_K
    assert np.isnan(jax.jit(additive.additive_scores)(a.at[1].set(wrong), b, W_OUT)[1]).all()
    assert np.isnan(jax.jit(additive.additive_scores)(a, b.at[1].set(wrong), W_OUT)[:, 1]).all()


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w_q": W_Q[:2]}, "query width must agree: q has 3, w_q has 2"),
        ({"w_k": W_K[:1]}, "key width must agree"),
        ({"w_out": W_OUT[:2]}, "hidden width must agree: w_q has 4, w_k has 4, w_out has 2"),
        (
            {"w_q": W_Q[:, :0], "w_k": W_K[:, :0], "w_out": W_OUT[:0]},
            r"at least one unit, but w_out has shape \(0,\)",
        ),
        ({"w_out": W_OUT[:, None]}, "w_out must have 1 axes"),
        ({"k": K[:0], "v": VALUES[:0]}, "at least one key"),
        ({"v": VALUES[:4]}, "source positions must agree"),
        ({"w_q": W_Q.at[0, 1].set(jnp.nan)}, r"w_q must be finite, but holds nan at index \(0, 1\)"),
        ({"mask": jnp.zeros((T, S), bool)}, "mask hides every key from query 0"),
        ({"mask": MASK.T}, r"mask must have shape \(7, 5\)"),
        ({"q": jnp.ones((T, 3), int)}, "q must hold floating-point numbers"),
    ],
)
def test_bad_input_to_additive_attention_is_refused(change, message):
    given = {"q": Q, "k": K, "v": VALUES, "w_q": W_Q, "w_k": W_K, "w_out": W_OUT} | change
    with pytest.raises(ValueError, match=message):
        additive_attention(**given)
    if "v" not in change:
        with pytest.raises(ValueError, match=message):
            additive_weights(**{name: x for name, x in given.items() if name != "v"})
