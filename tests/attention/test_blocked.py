"""Blocked attention is plain attention: values, gradients, memory, and what it refuses."""

import contextlib
import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from attnlab_theory.attention import attention, blocked, blocked_attention, causal_mask
from tests.strategies import arrays, scales
from tests.tolerances import attention_slope_atol, blocked_atol, blocked_gradient_atol

FLOAT = jax.dtypes.canonicalize_dtype(float)
D, V, BLOCK, PEAK, SCALE = 3, 2, 4, 2.0, 0.5
PIECE = 3  # does not divide the block: a tile on the diagonal is met in pieces of 3 queries and 1
# Ragged and whole numbers of blocks; fewer queries than a block; more queries than keys and the reverse.
SHAPES = [(10, 10, True), (8, 8, True), (3, 3, True), (10, 7, False), (8, 4, False), (3, 9, False)]
IN_ONE_TILE = pytest.mark.parametrize("whole_rows", [True, False], ids=["rows", "tiles"])


@contextlib.contextmanager
def keys_in_one_tile(whole_rows: bool):
    """Short inputs by the way of long ones, or by their own."""
    with pytest.MonkeyPatch.context() as patch:
        for longest in ("WHOLE_ROWS", "CAUSAL_WHOLE_ROWS"):
            patch.setattr(blocked, longest, 2048 if whole_rows else 0)
        patch.setattr(blocked, "PIECE", PIECE)
        yield


def inputs(t: int, s: int, seed: int = 0):
    """Queries, keys, values, cotangent: uniform between -1 and 1, in numpy's float64."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, shape) for shape in [(t, D), (s, D), (s, V), (t, V)]]


def plain(q, k, v, scale, causal: bool):
    return attention(q, k, v, causal_mask(q.shape[0]) if causal else None, scale=scale)


def tiles(s: int) -> int:
    return s // BLOCK + 1


def differentiated(attend):
    """`attend(q, k, v, scale)` as (q, k, v, cotangent, scale) -> (o, (gradients in q, k, v, scale)), compiled."""

    def run(q, k, v, cotangent, scale):
        o, pull = jax.vjp(attend, q, k, v, scale)
        return o, pull(cotangent)

    return jax.jit(run)


PLAIN = {causal: differentiated(functools.partial(plain, causal=causal)) for causal in (True, False)}
"""One program for each shape, whoever asks: operation by operation each would compile dozens."""


@functools.cache
def in_blocks(causal: bool, whole_rows: bool):
    """Blocked attention with its gradients, to be called where `keys_in_one_tile(whole_rows)`."""
    return differentiated(
        lambda q, k, v, scale: blocked_attention(q, k, v, scale=scale, block=BLOCK, causal=causal)
    )


def close(ours, theirs, atol: float) -> bool:
    return bool(np.abs(np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)).max(initial=0) <= atol)


@IN_ONE_TILE
@pytest.mark.parametrize("causal", [True, False])
def test_short_inputs_go_the_way_they_are_sent(causal, whole_rows):
    """What the tests below stand on: a tiled block of queries loops over its keys, another one never does."""
    q, k, v, _ = (jnp.asarray(x, FLOAT) for x in inputs(10, 10))
    with keys_in_one_tile(whole_rows):
        program = jax.make_jaxpr(lambda q: blocked_attention(q, k, v, scale=SCALE, block=BLOCK, causal=causal))(q)
    loops = len(re.findall(r"\b(?:scan|while)\[", str(program)))
    # The loop over blocks is unrolled under a causal mask in one tile; the last, ragged block has its own tiles.
    assert loops == {(True, True): 0, (True, False): 1, (False, True): 3, (False, False): 3}[whole_rows, causal]


@pytest.mark.slow("two of twelve members stay inside", but=2)
@IN_ONE_TILE
@pytest.mark.parametrize(("t", "s", "causal"), SHAPES)
def test_blocked_is_plain_attention(t, s, causal, whole_rows):
    """Compiles both ways to attend at each shape, and Hypothesis tries many cases."""
    nothing = jnp.zeros((t, V), FLOAT)

    @given(arrays(t, D, peak=PEAK), arrays(s, D, peak=PEAK), arrays(s, V, peak=PEAK), scales)
    def agrees(q, k, v, scale):
        with keys_in_one_tile(whole_rows):
            ours, _ = in_blocks(causal, whole_rows)(q, k, v, nothing, scale)
        theirs, _ = PLAIN[causal](q, k, v, nothing, scale)
        atol = blocked_atol(D, s, tiles(s), scale * D * PEAK**2, PEAK, FLOAT)
        assert ours.dtype == q.dtype
        assert close(ours, theirs, atol)

    agrees()


@pytest.mark.slow("two of twelve members stay inside", but=2)
@IN_ONE_TILE
@pytest.mark.parametrize(("t", "s", "causal"), SHAPES)
def test_blocked_gradient_is_plain_gradient(t, s, causal, whole_rows):
    @given(
        arrays(t, D, peak=PEAK), arrays(s, D, peak=PEAK), arrays(s, V, peak=PEAK), arrays(t, V, peak=PEAK), scales
    )
    def agrees(q, k, v, cotangent, scale):
        with keys_in_one_tile(whole_rows):
            _, (*found, _) = in_blocks(causal, whole_rows)(q, k, v, cotangent, scale)
        _, (*expected, _) = PLAIN[causal](q, k, v, cotangent, scale)
        atol = blocked_gradient_atol(t, s, D, V, tiles(s), scale=scale, peak=PEAK, dtype=FLOAT)
        assert all(close(a, b, atol) for a, b in zip(found, expected, strict=True))

    agrees()


@pytest.mark.slow("two of 16 members stay inside", but=2)
@IN_ONE_TILE
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("width", "columns", "scale"), [(1, 1, 1e5), (1, 3, 1e5), (2, 1, 1e5), (3, 3, 1e4)])
def test_where_one_key_has_all_the_weight_gradients_vanish_as_those_of_plain_attention(
    width, columns, scale, causal, whole_rows
):
    """The true gradients are far below any rounding of the scores' (1e4 to 1e5) or of the values' gradients."""
    rng = np.random.default_rng(width + columns)
    k, (v, w) = rng.standard_normal((10, width)), rng.standard_normal((2, 10, columns))
    # Each query is one of the keys, and as long as the longest: no other key has a larger product with it.
    k = np.sign(k) * np.arange(1, 11)[:, None] if width == 1 else k / np.linalg.norm(k, axis=1, keepdims=True)
    q, k, v, w = (jnp.asarray(x, FLOAT) for x in (k, k, v, w))

    with keys_in_one_tile(whole_rows):
        _, found = in_blocks(causal, whole_rows)(q, k, v, w, scale)
    # Not compiled: in one program XLA rounds a score otherwise than the maximum, and that is all the gradient.
    expected = jax.vjp(lambda *x: plain(*x, scale, causal), q, k, v)[1](w)
    for ours, theirs in zip(found[:2], expected[:2], strict=True):
        assert close(theirs, 0, 1e-12)
        assert close(ours, 0, 1e-12)
    # Sums of at most ten numbers, each of them one of w: exact but for their rounding.
    assert close(found[2], expected[2], 20 * float(jnp.finfo(FLOAT).eps) * float(jnp.sum(jnp.abs(w))))


@pytest.mark.slow("two of four members stay inside", but=2)
@IN_ONE_TILE
@pytest.mark.parametrize(("t", "s", "causal"), [(10, 10, True), (10, 7, False)])
def test_blocked_in_double_is_plain_to_double_precision(t, s, causal, whole_rows):
    with jax.enable_x64(True), keys_in_one_tile(whole_rows):
        q, k, v, cotangent = map(jnp.asarray, inputs(t, s))
        ours, (*found, d_scale) = in_blocks(causal, whole_rows)(q, k, v, cotangent, SCALE)
        theirs, (*expected, d_scale_plain) = PLAIN[causal](q, k, v, cotangent, SCALE)
        assert close(ours, theirs, blocked_atol(D, s, tiles(s), SCALE * D, 1.0, np.float64))
        atol = blocked_gradient_atol(t, s, D, V, tiles(s), scale=SCALE, peak=1.0, dtype=np.float64)
        assert all(close(a, b, atol) for a, b in zip(found, expected, strict=True))
        # The scale's gradient is the sum of q * (gradient in q) / scale over t * D numbers.
        assert close(d_scale, d_scale_plain, t * D * atol / SCALE)


@IN_ONE_TILE
@pytest.mark.parametrize("argument", [0, 1, 2])
@pytest.mark.parametrize(("t", "s", "causal"), [(10, 10, True), (10, 7, False)])
def test_blocked_gradient_is_the_slope(t, s, causal, argument, whole_rows):
    """Along a random direction in float64, against central differences."""
    with jax.enable_x64(True), keys_in_one_tile(whole_rows):
        *x, cotangent = map(jnp.asarray, inputs(t, s, argument))
        direction = jnp.asarray(np.random.default_rng(9).uniform(-1, 1, x[argument].shape))

        def along(step):
            moved = [y + step * direction if i == argument else y for i, y in enumerate(x)]
            return in_blocks(causal, whole_rows)(*moved, cotangent, SCALE)

        step = float(np.finfo(np.float64).eps) ** (1 / 3)
        slope = (along(step)[0] - along(-step)[0]) / (2 * step)
        found = jnp.sum(along(0.0)[1][argument] * direction)
        # Rescaling costs a tile's worth of rounding more than plain attention: less than twice as much.
        atol = 2 * t * V * attention_slope_atol(D, s, SCALE * D, 1.0, step)
        assert abs(float(found) - float(jnp.sum(cotangent * slope))) <= atol


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize(("t", "s", "causal", "block"), [(2100, 2100, True, 700), (40, 2100, False, 256)])
def test_long_inputs_agree_too(t, s, causal, block):
    """Beyond the length at which tiles take over, with a ragged end, unpatched. Causal blocks come in pieces."""
    assert s > blocked.WHOLE_ROWS
    assert block > blocked.PIECE or not causal
    q, k, v, cotangent = (jnp.asarray(x, FLOAT) for x in inputs(t, s))
    ours, pull = jax.vjp(lambda *x: blocked_attention(*x, scale=SCALE, block=block, causal=causal), q, k, v)
    theirs, pull_plain = jax.vjp(lambda *x: plain(*x, SCALE, causal), q, k, v)
    assert close(ours, theirs, blocked_atol(D, s, 9, SCALE * D, 1.0, FLOAT))
    atol = blocked_gradient_atol(t, s, D, V, 9, scale=SCALE, peak=1.0, dtype=FLOAT)
    assert all(close(a, b, atol) for a, b in zip(pull(cotangent), pull_plain(cotangent), strict=True))


@pytest.mark.parametrize(
    ("narrow", "causal", "whole_rows"),
    [(0, True, True), (1, False, False), (2, True, False)],
    ids=["q-causal-rows", "k-tiles", "v-causal-tiles"],
)
def test_one_array_of_a_narrower_type_is_attended_to_as_by_plain_attention(narrow, causal, whole_rows):
    """Values and gradients, each gradient in its own array's type; users' JAX promotes, strict tests do not."""
    *given_, cotangent = (jnp.asarray(x, FLOAT) for x in inputs(10, 10))
    given_[narrow] = given_[narrow].astype(jnp.bfloat16)
    with jax.numpy_dtype_promotion("standard"), keys_in_one_tile(whole_rows):
        ours, (*found, _) = in_blocks(causal, whole_rows)(*given_, cotangent, SCALE)
        theirs, (*expected, _) = PLAIN[causal](*given_, cotangent, SCALE)
    assert ours.dtype == theirs.dtype == FLOAT
    assert close(ours, theirs, blocked_atol(D, 10, tiles(10), SCALE * D, 1.0, FLOAT))
    assert [x.dtype for x in found] == [x.dtype for x in given_]
    atol = blocked_gradient_atol(10, 10, D, V, tiles(10), scale=SCALE, peak=1.0, dtype=FLOAT)
    for a, b in zip(found, expected, strict=True):
        # Both sides round their gradient in the narrow array to its type, half an eps each.
        rounded = float(jnp.finfo(a.dtype).eps) * float(jnp.abs(b).max())
        assert close(a, b, atol + rounded)


@pytest.mark.slow("four of six members stay inside", but=4)
@IN_ONE_TILE
@pytest.mark.parametrize("later", [1.0, -1e4, 1e30])
def test_blocked_never_looks_ahead(whole_rows, later):
    """Everything after position t is replaced: not one bit of rows 0..t moves."""
    q, k, v, _ = (jnp.asarray(x, FLOAT) for x in inputs(10, 10))
    with keys_in_one_tile(whole_rows):
        before = np.asarray(blocked_attention(q, k, v, scale=SCALE, block=BLOCK, causal=True))
        for t in range(9):
            replaced = [x.at[t + 1 :].set(later) for x in (q, k, v)]
            after = np.asarray(blocked_attention(*replaced, scale=SCALE, block=BLOCK, causal=True))
            assert after[: t + 1].tobytes() == before[: t + 1].tobytes()


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(("whole_rows", "causal"), [(True, True), (False, False), (False, True)])
def test_jit_and_nested_vmap_are_the_loop(whole_rows, causal):
    """Compiles the operator alone and mapped once and twice, and its gradients."""
    many = [jnp.stack([jnp.asarray(inputs(10, 10, seed)[i], FLOAT) for seed in range(4)]) for i in range(3)]
    q, k, v = (x.reshape(2, 2, *x.shape[1:]) for x in many)
    atol = blocked_atol(D, 10, tiles(10), SCALE * D, 1.0, FLOAT)

    def one(q, k, v):
        return blocked_attention(q, k, v, scale=SCALE, block=BLOCK, causal=causal)

    with keys_in_one_tile(whole_rows):
        together = jax.vmap(jax.vmap(one))(q, k, v)
        shared_keys = jax.vmap(one, in_axes=(0, None, None))(q[0], k[0, 0], v[0, 0])
        d_k = jax.grad(lambda k: jnp.sum(jax.vmap(one, in_axes=(0, None, None))(q[0], k, v[0, 0])))(k[0, 0])
        alone = [jax.grad(lambda k, i=i: jnp.sum(one(q[0, i], k, v[0, 0])))(k[0, 0]) for i in range(2)]
        assert close(jax.jit(one)(q[0, 0], k[0, 0], v[0, 0]), one(q[0, 0], k[0, 0], v[0, 0]), atol)
        for i in range(2):
            assert close(shared_keys[i], one(q[0, i], k[0, 0], v[0, 0]), atol)
            for j in range(2):
                assert close(together[i, j], one(q[i, j], k[i, j], v[i, j]), atol)
    assert close(
        d_k, alone[0] + alone[1], 2 * blocked_gradient_atol(10, 10, D, V, 3, scale=SCALE, peak=1.0, dtype=FLOAT)
    )


@pytest.mark.slow("two of 16 members stay inside", but=2)
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("t", "block"), [(2048, 128), (8192, 16), (8192, 128), (8192, 1024)])
def test_memory_is_that_of_a_few_blocks_of_rows(t, block, causal, backward):
    """Plain attention's weights take t * t numbers; here at most four blocks of rows exist at a time."""
    width = 4
    x = jax.ShapeDtypeStruct((t, width), FLOAT)

    def run(q, k, v):
        return blocked_attention(q, k, v, scale=SCALE, block=block, causal=causal)

    def gradients(q, k, v, d_o):
        return jax.vjp(run, q, k, v)[1](d_o)

    compiled = jax.jit(gradients).lower(x, x, x, x) if backward else jax.jit(run).lower(x, x, x)
    used = compiled.compile().memory_analysis().temp_size_in_bytes
    assert used <= (4 * t * block + 16 * t * width) * FLOAT.itemsize < t * t * FLOAT.itemsize


@pytest.mark.slow("the memory of one member without a gradient stays inside")
def test_backward_keeps_no_copy_of_the_keys_of_all_members():
    """One zeroed array, and what a single member needs: a second array of this size is not there."""
    members, t, width = 64, 64, 16
    x = jax.ShapeDtypeStruct((members, t, width), FLOAT)
    heads = jax.vmap(lambda q, k, v: blocked_attention(q, k, v, scale=SCALE, block=BLOCK, causal=True))
    compiled = jax.jit(lambda q, k, v, d_o: jax.vjp(heads, q, k, v)[1](d_o)).lower(x, x, x, x).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 2 * members * t * width * FLOAT.itemsize


@IN_ONE_TILE
def test_traced_infinite_key_gives_nan_to_the_rows_that_see_it(whole_rows):
    q, k, v, cotangent = (jnp.asarray(x, FLOAT) for x in inputs(10, 10))
    bad = k.at[6, 1].set(-np.inf)

    def run(q, k):
        return blocked_attention(q, k, v, scale=SCALE, block=BLOCK, causal=True)

    with keys_in_one_tile(whole_rows):
        ours, d_q = jax.jit(lambda q, k: (run(q, k), jax.vjp(run, q, k)[1](cotangent)[0]))(q, bad)
        assert np.isnan(ours[6:]).all()
        assert np.isnan(d_q[6:]).all()
        assert np.isfinite(ours[:6]).all()


@pytest.mark.parametrize("wrong", [0.0, float("inf")])
def test_traced_bad_scale_gives_nan_forward_and_backward(wrong):
    q, k, v, _ = (jnp.asarray(x, FLOAT) for x in inputs(10, 10))

    def run(q, scale):
        return blocked_attention(q, k, v, scale=scale, block=BLOCK, causal=True)

    for whole_rows in (True, False):
        with keys_in_one_tile(whole_rows):
            # The first row of a causal mask sees one key: its output does not depend on any score.
            assert np.isnan(jax.jit(run)(q, wrong)).all()
            assert np.isnan(jax.jit(jax.grad(lambda q, scale: jnp.sum(run(q, scale))))(q, wrong)).all()


def test_no_queries_get_no_rows():
    q, k, v, _ = (jnp.asarray(x, FLOAT) for x in inputs(0, 5))
    for whole_rows in (True, False):
        with keys_in_one_tile(whole_rows):
            assert blocked_attention(q, k, v, scale=SCALE, block=BLOCK).shape == (0, V)


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_half_precision_is_summed_in_single(dtype, causal):
    """Compiles blocked attention of a thousand keys and its gradients for each narrow type."""
    q, k, v = jnp.zeros((1000, 4), dtype), jnp.zeros((1000, 4), dtype), jnp.full((1000, 1), 100, dtype)
    o, pull = jax.vjp(lambda *x: blocked_attention(*x, scale=SCALE, block=128, causal=causal), q, k, v)
    assert o.dtype == dtype
    assert np.all(np.asarray(o, np.float32) == 100)
    assert all(g.dtype == dtype and np.isfinite(np.asarray(g, np.float32)).all() for g in pull(o))


def test_values_without_columns_give_none():
    o, pull = jax.vjp(lambda q, k, v: blocked_attention(q, k, v, scale=SCALE, block=2), Q, K, VALUES[:, :0])
    assert o.shape == (4, 0)
    assert not any(g.any() for g in pull(o))


NAN = float("nan")
Q, K, VALUES, _ = (jnp.asarray(x, FLOAT) for x in inputs(4, 5))


@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_input_to_blocked_attention_is_refused(subtests):
    for changed, message in [
        ({"block": 0}, "block must be positive, not 0"),
        ({"block": -3}, "block must be positive, not -3"),
        ({"block": 2.5}, "block must be a whole number, not 2.5"),
        ({"causal": True}, "positions under a causal mask must agree: q has 4, k has 5"),
        ({"scale": 0.0}, "scale must be positive, not 0.0"),
        ({"scale": NAN}, "scale must be positive, not nan"),
        ({"scale": float("inf")}, "scale must be finite"),
        ({"q": Q[:, :2]}, "key width must agree: q has 2, k has 3"),
        ({"q": Q[0]}, "q must have 2 axes"),
        ({"k": K[0]}, "k must have 2 axes"),
        ({"v": VALUES[0]}, "v must have 2 axes"),
        ({"v": VALUES[:4]}, "source positions must agree: k has 5, v has 4"),
        ({"k": K[:0], "v": VALUES[:0]}, "at least one key"),
        ({"q": Q.at[1, 2].set(NAN)}, r"q must be finite, but holds nan at index \(1, 2\)"),
        ({"k": K.at[0, 0].set(NAN)}, "k must be finite"),
        ({"v": VALUES.at[4, 1].set(NAN)}, r"v must be finite, but holds nan at index \(4, 1\)"),
        ({"q": jnp.ones((4, D), int)}, "q must hold floating-point numbers"),
        ({"k": jnp.ones((5, D), int)}, "k must hold floating-point numbers"),
        ({"v": jnp.ones((5, V), int)}, "v must hold floating-point numbers"),
    ]:
        with subtests.test(message):
            given_ = {"q": Q, "k": K, "v": VALUES, "scale": SCALE, "block": BLOCK} | changed
            with pytest.raises(ValueError, match=message):
                blocked_attention(**given_)


def test_sums_of_values_that_overflow_are_refused_and_nan_under_jit():
    flat, v = jnp.ones((4, 2), jnp.float32), jnp.full((4, 1), 1e38, jnp.float32)
    with pytest.raises(ValueError, match="the values of query 0 add up to more than float32 holds"):
        blocked_attention(flat, flat, v, scale=1.0, block=2)
    assert np.isnan(jax.jit(lambda v: blocked_attention(flat, flat, v, scale=1.0, block=2))(v)).all()
