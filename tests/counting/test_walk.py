"""The walker against costs that are known by hand."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from attnlab_theory.attention import attention, blocked_attention, multi_head_attention
from attnlab_theory.counting import Cost, count


def shape(*sizes):
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


PRODUCT = 2 * 8 * 5


def test_a_product_costs_two_operations_for_each_pair_that_meets():
    cost = count(lambda a, b: a @ b, shape(3, 5), shape(5, 7))
    assert cost == Cost(matrix_products=2 * 3 * 5 * 7, bytes=4 * (3 * 5 + 5 * 7 + 3 * 7), largest=4 * 3 * 7)


def test_batches_multiply():
    cost = count(functools.partial(jnp.einsum, "htd,hsd->hts"), shape(4, 3, 5), shape(4, 7, 5))
    assert cost.matrix_products == 2 * 4 * 3 * 7 * 5
    assert count(jax.vmap(jnp.matmul), shape(4, 3, 5), shape(4, 5, 7)).matrix_products == 2 * 4 * 3 * 5 * 7


def test_an_outer_product_contracts_nothing():
    assert count(functools.partial(jnp.einsum, "t,s->ts"), shape(3), shape(7)).matrix_products == 2 * 3 * 7


def test_a_convolution_counts_its_kernel_at_every_place():
    cost = count(lambda x, w: lax.conv(x, w, (1,), "VALID"), shape(2, 3, 10), shape(5, 3, 4))
    assert cost.matrix_products == 2 * (2 * 5 * 7) * (3 * 4)


@pytest.mark.parametrize(
    "loop",
    [
        lambda w, x: lax.scan(lambda h, _: (w @ h, None), x, None, length=6)[0],
        lambda w, x: lax.fori_loop(2, 8, lambda _, h: w @ h, x),
        lambda w, x: lax.scan(lambda h, _: lax.scan(lambda g, _: (w @ g, None), h, None, length=2), x, length=3)[0],
        lambda w, x: lax.map(lambda h: w @ h, jnp.broadcast_to(x, (6, 5))),
    ],
    ids=["scan", "fori_loop", "nested", "map"],
)
def test_a_loop_counts_its_body_as_often_as_it_runs(loop):
    assert count(loop, shape(5, 5), shape(5)).matrix_products == 6 * 2 * 5 * 5


def test_a_loop_that_never_runs_costs_nothing():
    cost = count(lambda w, x: lax.scan(lambda h, _: (w @ h, None), x, None, length=0)[0], shape(5, 5), shape(5))
    assert (cost.matrix_products, cost.bytes) == (0, 0)


def test_a_loop_of_unknown_length_is_refused():
    with pytest.raises(ValueError, match=r"while loop.*use lax.scan"):
        count(lambda w, x, n: lax.fori_loop(0, n, lambda _, h: w @ h, x), shape(5, 5), shape(5), 3)


def test_work_that_is_not_known_is_refused_by_name():
    with pytest.raises(ValueError, match="cannot count cholesky"):
        count(jnp.linalg.cholesky, shape(5, 5))


def product(w, x):
    return w @ x


def with_own_gradient(f):
    wrapped = jax.custom_vjp(f)
    wrapped.defvjp(lambda w, x: (f(w, x), None), lambda kept, slope: (slope, slope))
    return wrapped


def with_own_slope(f):
    wrapped = jax.custom_jvp(f)
    wrapped.defjvp(lambda point, slopes: (f(*point), f(*point)))
    return wrapped


@pytest.mark.parametrize(
    "wrap", [jax.jit, jax.checkpoint, with_own_gradient, with_own_slope, jax.custom_batching.sequential_vmap]
)
def test_what_is_wrapped_is_counted_once(wrap):
    assert count(wrap(product), shape(8, 5), shape(5)).matrix_products == PRODUCT


def test_members_that_run_one_after_the_other_are_all_counted():
    mapped = jax.vmap(jax.custom_batching.sequential_vmap(product))
    assert count(mapped, shape(3, 8, 5), shape(3, 5)).matrix_products == 3 * PRODUCT


def test_of_a_condition_the_dearest_branch_counts():
    def either(w, x):
        return lax.cond(x[0] > 0, lambda: w @ x, lambda: w @ (w.T @ (w @ x)))

    assert count(either, shape(8, 5), shape(5)).matrix_products == 3 * PRODUCT


def test_recomputation_in_a_gradient_counts():
    def loss(f, w, x):
        return jnp.sum(f(w, x) ** 2)

    def hidden(w, x):
        return jnp.tanh(w @ x)

    plain = count(jax.grad(functools.partial(loss, hidden)), shape(8, 5), shape(5))
    again = count(jax.grad(functools.partial(loss, jax.checkpoint(hidden))), shape(8, 5), shape(5))
    assert plain.matrix_products == 2 * PRODUCT
    assert again.matrix_products == 3 * PRODUCT


def test_elementwise_work_is_one_operation_per_element():
    # A maximum and its comparison with -inf, a difference, a power, a sum and a division.
    cost = count(lambda x: jax.nn.softmax(x, axis=-1), shape(4, 6))
    assert cost.elementwise == 4 * 6 + 4 + 3 * 4 * 6 + 4 * 6
    assert cost.matrix_products == cost.bytes == 0


def test_positions_and_moves_cost_nothing():
    assert count(lambda x: jnp.arange(4)[:, None] <= jnp.arange(4)[None, :], shape(1)).flops == 0
    assert count(lambda x: jnp.concatenate([x.T, x.T])[::-1], shape(4, 6)).flops == 0


def test_attention_costs_its_two_products():
    cost = count(functools.partial(attention, scale=1.0), shape(12, 8), shape(20, 8), shape(20, 6))
    assert cost.matrix_products == 2 * 12 * 20 * (8 + 6)
    assert cost.bytes == 4 * ((12 + 20) * 8 + 2 * 12 * 20 + 20 * 6 + 12 * 6)
    assert cost.largest == 4 * 12 * 20


@pytest.mark.parametrize("block", [4, 16, 5])
def test_blocked_attention_costs_the_same_products_in_smaller_arrays(block):
    ours = count(
        functools.partial(blocked_attention, scale=1.0, block=block), shape(64, 8), shape(64, 8), shape(64, 8)
    )
    assert ours.matrix_products == 4 * 64 * 64 * 8
    assert ours.largest == 4 * 64 * max(block, 8)


def test_heads_divide_the_width_and_not_the_work():
    costs = [
        count(functools.partial(multi_head_attention, scale=1.0), *[shape(heads, 12, 8 // heads)] * 3)
        for heads in (1, 4)
    ]
    assert costs[0].matrix_products == costs[1].matrix_products
    assert costs[1].largest == 4 * costs[0].largest


def test_costs_add_and_repeat():
    one = Cost(matrix_products=2, elementwise=3, bytes=5, largest=7)
    assert 3 * one + Cost(largest=9) == Cost(matrix_products=6, elementwise=9, bytes=15, largest=9)
    assert (one.flops, 0 * one) == (5, Cost())
    assert one.dearest(Cost(1, 9, 1, 1)) == Cost(2, 9, 5, 7)
