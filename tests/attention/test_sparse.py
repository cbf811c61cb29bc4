"""Sliding windows and BigBird are dense attention under their masks, without the matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import (
    attention,
    bigbird_attention,
    bigbird_links,
    bigbird_mask,
    linked_mask,
    sliding_window_attention,
    sparse,
)
from attnlab_theory.seeds import key_for
from tests.tolerances import attention_atol, blocked_gradient_atol

FLOAT = jnp.zeros(()).dtype
D, V, SCALE = 3, 2, 0.5
N, LAYOUT = 24, {"block": 2, "window": 3, "global_blocks": 1}
BOTH = pytest.mark.parametrize("causal", [False, True])


def inputs(n: int, seed: int = 0):
    """Queries, keys, values, cotangent: uniform between -1 and 1."""
    rng = np.random.default_rng(seed)
    return [jnp.asarray(rng.uniform(-1, 1, shape), FLOAT) for shape in [(n, D), (n, D), (n, V), (n, V)]]


def assert_is_dense_under(mask, mix, n: int):
    """Outputs and gradients of `mix(q, k, v)` are those of attention under the mask."""
    *x, cotangent = inputs(n)

    @jax.jit
    def outputs_and_gradients():
        pairs = [jax.vjp(f, *x) for f in (mix, lambda *x: attention(*x, mask, scale=SCALE))]
        return [(output, *pull(cotangent)) for output, pull in pairs]

    (found, *gradients), (expected, *dense_gradients) = outputs_and_gradients()
    assert np.abs(found - expected).max() <= 2 * attention_atol(D, n, SCALE * D, 1.0, FLOAT)
    atol = blocked_gradient_atol(n, n, D, V, 1, scale=SCALE, peak=1.0, dtype=FLOAT)
    for ours, theirs in zip(gradients, dense_gradients, strict=True):
        assert np.abs(ours - theirs).max() <= atol


LINKS = {
    "drawn": lambda causal: bigbird_links(key_for(0, "links"), N, random_blocks=2, causal=causal, **LAYOUT),
    # To itself, to a neighbour, to a global block, twice to the same, ahead, and to nothing.
    "coinciding": lambda causal: jnp.asarray([[i, (i + 1) % 12, 0, 7, 7, -1] for i in range(12)], jnp.int32),
    "none": lambda causal: jnp.zeros((12, 0), jnp.int32),
}


@pytest.mark.slow("two of six members stay inside", but=2)
@BOTH
@pytest.mark.parametrize("links", LINKS)
def test_bigbird_is_dense_attention_under_its_mask(links, causal):
    """Compiles BigBird, dense attention and both gradients for each layout of links."""
    links = LINKS[links](causal)
    mask = linked_mask(links, N, causal=causal, **LAYOUT)
    assert_is_dense_under(mask, lambda *x: bigbird_attention(*x, links, scale=SCALE, causal=causal, **LAYOUT), N)


@BOTH
def test_a_wide_window_and_two_global_blocks_are_those_of_the_mask(causal):
    """Compiles BigBird, dense attention and both gradients."""
    layout = {"block": 2, "window": 5, "global_blocks": 2}
    links = jnp.zeros((12, 0), jnp.int32)
    mask = mask_by_the_definition(np.asarray(links), N, causal=causal, **layout)
    assert_is_dense_under(
        jnp.asarray(mask), lambda *x: bigbird_attention(*x, links, scale=SCALE, causal=causal, **layout), N
    )


def test_links_may_be_of_any_integer_type():
    """Compiles BigBird for each type of links."""
    q, k, v, _ = inputs(N)
    mixed = [
        bigbird_attention(q, k, v, LINKS["drawn"](True).astype(kind), scale=SCALE, causal=True, **LAYOUT)
        for kind in (jnp.int32, jnp.int8)
    ]
    assert np.array_equal(*mixed)


@BOTH
def test_a_layout_that_sees_everything_is_plain_attention(causal):
    whole = {"block": 2, "window": 1, "global_blocks": 12}
    links = jnp.zeros((12, 0), jnp.int32)
    mask = jnp.tril(jnp.ones((N, N), bool)) if causal else None
    assert_is_dense_under(mask, lambda *x: bigbird_attention(*x, links, scale=SCALE, causal=causal, **whole), N)


def mask_by_the_definition(links, n, *, block, window, global_blocks, causal):
    """Pair after pair."""
    mask = np.zeros((n, n), bool)
    for t in range(n):
        for s in range(n):
            row, column = t // block, s // block
            near = abs(row - column) <= window // 2
            hub = row < global_blocks or column < global_blocks
            mask[t, s] = (near or hub or column in links[row]) and not (causal and s > t)
    return mask


@BOTH
@pytest.mark.parametrize("window", [1, 3, 5])
def test_mask_is_window_global_and_random(window, causal):
    key, everything = key_for(0, "mask"), LAYOUT | {"window": window, "causal": causal}
    links = np.asarray(bigbird_links(key, N, random_blocks=2, **everything))
    mask = bigbird_mask(key, N, random_blocks=2, **everything)
    assert np.array_equal(mask, mask_by_the_definition(links, N, **everything))


@BOTH
def test_links_are_distinct_and_seen_by_nothing_else(causal):
    links = np.asarray(bigbird_links(key_for(0, "many"), 64, random_blocks=5, causal=causal, **LAYOUT))
    assert links.shape == (32, 5)
    for row, chosen in enumerate(links):
        chosen = chosen[chosen >= 0]
        free = [c for c in range(1, row if causal else 32) if abs(c - row) > 1] if row else []
        assert len(set(chosen)) == len(chosen) == min(5, len(free))
        assert set(chosen) <= set(free)


def test_links_follow_from_the_key_and_reach_everywhere():
    drawn = [np.asarray(bigbird_links(key_for(0, str(i)), 64, random_blocks=3, **LAYOUT)) for i in (0, 0, 1)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    # 93 links among at most 31 columns: a column is missed with probability below 31 exp(-3) per draw.
    many = np.concatenate(
        [np.asarray(bigbird_links(key_for(1, str(i)), 64, random_blocks=3, **LAYOUT)).ravel() for i in range(16)]
    )
    assert set(many) - {-1} == set(range(1, 32))


@pytest.mark.slow("two of seven members stay inside", but=2)
@pytest.mark.parametrize(
    ("n", "window", "causal"),
    [(11, 5, False), (11, 5, True), (11, 4, True), (11, 1, False), (11, 1, True), (1, 3, False), (11, 31, False)],
)
def test_sliding_window_is_dense_attention_under_a_band(n, window, causal, monkeypatch):
    """Blocks of four and a ragged end; windows of one, and wider than the sequence."""
    monkeypatch.setattr(sparse, "SLIDING_BLOCK", 4)
    t, s = np.ogrid[:n, :n]
    band = (s <= t) & (t - s < window) if causal else abs(t - s) <= window // 2
    assert_is_dense_under(
        jnp.asarray(band), lambda *x: sliding_window_attention(*x, scale=SCALE, window=window, causal=causal), n
    )


@pytest.mark.parametrize("global_blocks", [0, 1])
def test_a_single_position_sees_itself(global_blocks):
    """Compiles BigBird, its links and its mask for a sequence of one."""
    alone = {"block": 1, "window": 1, "global_blocks": global_blocks}
    assert bigbird_mask(key_for(0, "alone"), 1, random_blocks=0, **alone).tolist() == [[True]]
    q, v = jnp.ones((1, 2)), jnp.asarray([[3.0, 5.0]])
    links = bigbird_links(key_for(0, "alone"), 1, random_blocks=0, **alone)
    np.testing.assert_array_equal(bigbird_attention(q, q, v, links, scale=1.0, **alone), v)


def bigbird_of(n: int):
    layout = {"block": 64, "window": 3, "global_blocks": 1}
    links = bigbird_links(key_for(0, "memory"), n, random_blocks=2, **layout)
    return lambda q, k, v: bigbird_attention(q, k, v, links, scale=SCALE, **layout)


def sliding_of(n: int):
    return lambda q, k, v: sliding_window_attention(q, k, v, scale=SCALE, window=65)


@pytest.mark.parametrize("mix_of", [bigbird_of, sliding_of])
def test_memory_of_the_gradient_is_linear_in_the_length(mix_of):
    """At four times the length four times the memory, and far less than the matrix takes."""

    def used(n):
        x = jax.ShapeDtypeStruct((n, 16), FLOAT)
        mix = mix_of(n)
        compiled = jax.jit(lambda q, k, v, d_o: jax.vjp(mix, q, k, v)[1](d_o)).lower(x, x, x, x).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert used(16384) <= min(4.5 * used(4096), 16384**2 * FLOAT.itemsize / 8)


Q, K, VALUES, _ = inputs(N)
NO_LINKS = jnp.zeros((12, 0), jnp.int32)


@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_input_to_bigbird_is_refused(subtests):
    for change, message in [
        ({"block": 5}, "24 positions are not a whole number of blocks of 5"),
        ({"block": 0}, "block must be positive, not 0"),
        ({"window": 2}, "a window of blocks must be odd, not 2"),
        ({"window": -1}, "window must be positive, not -1"),
        ({"global_blocks": 13}, "global_blocks must lie between 0 and the 12 blocks there are, not 13"),
        ({"global_blocks": 0.5}, "global_blocks must be a whole number, not 0.5"),
        ({"global_blocks": -1}, "global_blocks must lie between 0"),
        ({"links": NO_LINKS[:11]}, "links must have a row for each of the 12 blocks, not 11"),
        ({"links": jnp.full((12, 1), 12)}, "block numbers below 12, or -1 for none, not 12"),
        ({"links": jnp.zeros((12, 1), FLOAT)}, "links must hold block numbers"),
        ({"k": K[:22]}, "positions must agree"),
        ({"scale": 0.0}, "scale must be positive"),
        ({"v": VALUES.at[4, 1].set(jnp.nan)}, "v must be finite"),
    ]:
        with subtests.test(message):
            given = {"q": Q, "k": K, "v": VALUES, "links": NO_LINKS, "scale": 1.0} | LAYOUT | change
            with pytest.raises(ValueError, match=message):
                bigbird_attention(**given)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("n", [24.0, True, "24"])
def test_a_number_of_positions_that_is_not_whole_is_refused(n):
    with pytest.raises(ValueError, match=f"positions must be a whole number, not {n!r}"):
        bigbird_mask(key_for(0, "mask"), n, random_blocks=1, **LAYOUT)


@pytest.mark.parametrize("random_blocks", [-1, 13])
def test_more_links_than_blocks_are_refused(random_blocks):
    with pytest.raises(ValueError, match=f"random_blocks must lie between 0 and the 12 .* not {random_blocks}"):
        bigbird_mask(key_for(0, "mask"), N, random_blocks=random_blocks, **LAYOUT)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": 0}, "window must be positive, not 0"),
        ({"window": 4}, "a window in both directions must be odd, not 4"),
        ({"window": 2.5}, "window must be a whole number, not 2.5"),
        ({"k": K[:5]}, "positions must agree"),
        ({"q": Q.at[0, 0].set(jnp.inf)}, "q must be finite"),
    ],
)
def test_bad_input_to_a_sliding_window_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        sliding_window_attention(**({"q": Q, "k": K, "v": VALUES, "scale": 1.0, "window": 3} | change))
