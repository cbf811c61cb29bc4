"""Attention in linear time: weights that are inner products of features.

The output of a query is a ratio, sum_s (phi_t . phi_s) v_s over sum_s (phi_t . phi_s). Summing over s first costs
O(m v) for each position instead of O(s). Under a causal mask the sums are prefix sums, carried from one chunk of
positions to the next. Inside a chunk the weights are formed as they are defined.

In the ratio, one factor per query cancels, and so does one factor common to all its keys; a factor per key does
not. Under a causal mask the largest log feature of all keys would let a later key push earlier ones below the
smallest number. There the factor is that of the keys seen so far, and grows along the sequence.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.attention.features import log_positive_features
from attnlab_theory.attention.hidden import lost_from_the_first, made_nan, without_infinities
from attnlab_theory.attention.precision import of_one_type
from attnlab_theory.axes import Scalar

CHUNK = 64
"""Positions per chunk: weights inside a chunk cost CHUNK * (m + v) for each position, prefix sums 2 m v. On two
cores 64 was a third faster than 128 at m = 256 and v = 64, and as fast as 32."""

EXACT = "use attention, which is exact at any size"
"""The advice of an error message if features are too far apart even after the shifts."""

LogFeatures = Callable[[Float[Array, "t d"], Float[Array, "m d"]], Float[Array, "t f"]]
"""(points, projection) -> logarithms of positive features."""


def linear_attention(
    phi_q: Float[Array, "t m"], phi_k: Float[Array, "s m"], v: Float[Array, "s v"], *, causal: bool = False
) -> Float[Array, "t v"]:
    """Attention with weights phi_q . phi_k, normalised to sum to one, in time O((t + s) m v).

    Nothing is added to the normaliser. With features of either sign (trigonometric ones) it may come out negative
    or nearly zero. Weights then lie outside [0, 1], and the result is returned as it is. Memory beyond inputs and
    outputs is O(m v), forward and backward; derivatives in reverse mode only. Over heads, `jax.lax.map` is faster
    than `jax.vmap` where the features are made inside: those of one head fit in the cache.

    Args:
        phi_q: features of the queries, one row per output position.
        phi_k: features of the keys, one row per source position.
        v: values, one row per source position.
        causal: position t sees positions 0..t only.

    Returns:
        One row per query. Under `jit`, where values cannot be read, a normaliser of zero and a sum that overflows
        give NaN.

    Raises:
        ValueError: if there are no features or no keys, shapes disagree, or `causal` is asked for and t and s
            differ. Or if an array is not finite, not of a floating type or has not two axes. Or if a normaliser is
            zero or overflows. Or if a sum of values overflows, which is taken before the division.

    Example:
        The first query shares features with the first key only, and so copies its value. The last one sees all keys
        and takes the mean of the values.

        >>> phi_q = jnp.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 1]])
        >>> v = jnp.array([[3.0, 0], [0, 3], [0, 0]])
        >>> print(linear_attention(phi_q, jnp.eye(3), v))
        [[3. 0.]
         [0. 3.]
         [1. 1.]]

    Source: Katharopoulos et al. 2020, "Transformers are RNNs", equations 5 and 9.
    """
    _refuse_inputs(phi_q, phi_k, v, causal)
    return _ratio(phi_q, phi_k, v, causal=causal, growth=None, remedy="use feature_attention")


def feature_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    projection: Float[Array, "m d"],
    log_features: LogFeatures = log_positive_features,
    *,
    scale: Scalar,
    causal: bool = False,
) -> Float[Array, "t v"]:
    """An estimate of softmax attention from random features, in time linear in t and s.

    Queries and keys are multiplied by sqrt(scale) each: d^(-1/4) where scale = 1/sqrt(d). Features are made in log
    space and shifted by `query_shift`, and by `key_shift` or (causal) `seen_key_shift`, which cancel in the ratio.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        v: values, one row per source position.
        projection: rows of law N(0, I), independent or coupled.
        log_features: gives the logarithms of positive features; `functools.partial` fixes a parameter.
        scale: inverse temperature, dimensionless.
        causal: position t sees positions 0..t only.

    Raises:
        ValueError: if `linear_attention` or the feature map refuses, or `scale` is not positive and finite.

    Example:
        A projection of 0 gives a feature of exp(-|k|^2/2) for each key, whatever the query. Keys of one length then
        get the same weight, and every output is the mean of the values.

        >>> x = jnp.array([[1.0, 0], [0, 1], [-1, 0]])
        >>> v = jnp.array([[3.0, 0], [0, 3], [0, 0]])
        >>> print(np.asarray(feature_attention(x, x, v, jnp.zeros((1, 2)), scale=1.0)).round(2))
        [[1. 1.]
         [1. 1.]
         [1. 1.]]

        More projections come nearer to softmax attention.

        >>> w = jax.random.normal(jax.random.key(0), (10_000, 2))
        >>> exact = jax.nn.softmax(x @ x.T) @ v
        >>> bool(jnp.max(jnp.abs(feature_attention(x, x, v, w, scale=1.0) - exact)) < 0.1)
        True

    Source: Choromanski et al. 2021, "Rethinking attention with performers", algorithm 1.
    """
    log_q, log_k = (log_features(x, projection) for x in share_scale(q, k, scale))
    _refuse_inputs(log_q, log_k, v, causal)
    phi_q = jnp.exp(log_q - query_shift(log_q)[:, None])
    if not causal:
        return _ratio(phi_q, jnp.exp(log_k - key_shift(log_k)), v, causal=False, growth=None, remedy=EXACT)
    growth = seen_key_shift(log_k)
    return _ratio(phi_q, jnp.exp(log_k - growth[:, None]), v, causal=True, growth=growth, remedy=EXACT)


def share_scale(q: Float[Array, "t d"], k: Float[Array, "s d"], scale: Scalar) -> tuple[Array, Array]:
    """Queries and keys multiplied by sqrt(scale) each.

    Args:
        q: queries.
        k: keys.
        scale: what their products are multiplied by; positive and finite.

    Raises:
        ValueError: if `scale` is not positive and finite, or an array is not of a floating type.

    Example:
        Both are doubled at scale 4, so that their product is multiplied by 4.

        >>> q, k = share_scale(jnp.eye(3, 2), jnp.ones((3, 2)), 4.0)
        >>> print(q)
        [[2. 0.]
         [0. 2.]
         [0. 0.]]
        >>> print(k)
        [[2. 2.]
         [2. 2.]
         [2. 2.]]
    """
    refuse.not_positive(scale=scale)
    refuse.non_finite(scale=scale)
    refuse.not_floating(q=q, k=k)
    q, k = jnp.asarray(q), jnp.asarray(k)
    root = jnp.sqrt(jnp.asarray(refuse.nan_unless_positive(scale), q.dtype))
    return root * q, root * k


def query_shift(log_phi_q: Float[Array, "t m"]) -> Float[Array, " t"]:
    """Each query's largest log feature. Subtracting it multiplies numerator and normaliser of its row alike.

    Args:
        log_phi_q: log features, one row per query.

    Example:
        The largest of each row.

        >>> print(query_shift(jnp.array([[1.0, 5.0], [2.0, 0.0], [-3.0, -4.0]])))
        [ 5.  2. -3.]
    """
    return lax.stop_gradient(jnp.max(log_phi_q, axis=1))


def key_shift(log_phi_k: Float[Array, "s m"]) -> Float[Array, ""]:
    """The largest log feature of all keys. Subtracting it multiplies numerators and normalisers alike.

    This is exact, but not for a causal mask: there a large later key could make earlier ones underflow.

    Args:
        log_phi_k: log features, one row per key.

    Example:
        The largest of all rows.

        >>> print(key_shift(jnp.array([[1.0, 5.0], [2.0, 0.0], [-3.0, -4.0]])))
        5.0
    """
    return lax.stop_gradient(jnp.max(log_phi_k))


def seen_key_shift(log_phi_k: Float[Array, "s m"]) -> Float[Array, " s"]:
    """The largest log feature of the keys up to each position.

    It differs from key to key, so that subtracting it changes the ratio, unless what is seen from position t is
    multiplied by exp(shift_s - shift_t): the growth of a causal product.

    Args:
        log_phi_k: log features, one row per key.

    Example:
        It never falls: the 5 of the second key stays the largest that has been seen.

        >>> print(seen_key_shift(jnp.array([[1.0, 0.0], [2.0, 5.0], [-3.0, -4.0]])))
        [1. 5. 5.]
    """
    return lax.stop_gradient(lax.cummax(jnp.max(log_phi_k, axis=1)))


def _ratio(phi_q: Array, phi_k: Array, v: Array, *, causal: bool, growth: Array | None, remedy: str) -> Array:
    # The normaliser is the output for a value of one.
    values, lost = jnp.pad(v, ((0, 0), (0, 1)), constant_values=1), None
    if causal:
        # A traced number that is not finite may be hidden from earlier rows, and must not reach them as zero times
        # NaN.
        if not (refuse.is_concrete(phi_k) and refuse.is_concrete(v)):
            lost = lost_from_the_first(phi_k, v)
            phi_k, values = without_infinities(phi_k), without_infinities(values)
            growth = None if growth is None else lax.cummax(jnp.where(jnp.isfinite(growth), growth, -jnp.inf))
        sums = _causal_product(*of_one_type(phi_q, phi_k, values, growth))
    else:
        sums = jnp.einsum("tm,vm->tv", phi_q, jnp.einsum("sv,sm->vm", values, phi_k))
    # A traced infinite sum becomes NaN: a finite sum divided by an infinite normaliser would be a plausible 0.
    sums = refuse.nan_unless_finite(sums)
    o, normaliser = sums[:, :-1], sums[:, -1]
    _refuse_normaliser(normaliser, remedy)
    _refuse_sums(o, v)
    o = o / normaliser[:, None]
    return o if lost is None else made_nan(o, lost)


@jax.custom_vjp
def _causal_product(q: Array, k: Array, v: Array, growth: Array | None) -> Array:
    """Row t is sum_{s <= t} (q_t . k_s) exp(growth_s - growth_t) v_s; growth never falls, None is constant."""
    t = q.shape[0]
    size = min(CHUNK, t)
    chunks = jax.tree.map(lambda x: _in_chunks(x, size), (q, k, v, growth))
    start = (jnp.zeros((v.shape[1], q.shape[1]), v.dtype), None if growth is None else growth[0])
    _, rows = lax.scan(_chunk_of_product, start, chunks)
    return rows.reshape(-1, v.shape[1])[:t]


def _chunk_of_product(carry: tuple, chunk: tuple) -> tuple:
    """The rows of one chunk; carried are the sum of v_s k_s^T exp(growth_s - last) so far, and last."""
    total, last = carry
    q, k, v, growth = chunk
    weights, fresh = jnp.einsum("tm,sm->ts", q, k), v
    before = jnp.einsum("tm,vm->tv", q, total)
    if growth is not None:
        weights = weights * jnp.exp(growth[None, :] - growth[:, None])
        before = before * jnp.exp(last - growth)[:, None]
        total = total * jnp.exp(last - growth[-1])
        last = growth[-1]
        fresh = v * jnp.exp(growth - last)[:, None]
    # `where`, not a product with zero: a later key may have made an infinity.
    weights = jnp.where(jnp.tri(weights.shape[0], dtype=bool), weights, 0)
    rows = before + jnp.einsum("ts,sv->tv", weights, v)
    return (total + jnp.einsum("sv,sm->vm", fresh, k), last), rows


def _in_chunks(x: Array, size: int) -> Array:
    """Chunks of `size` positions, the end filled up with copies of the last position, which no earlier one sees."""
    missing = -x.shape[0] % size
    padded = jnp.concatenate([x, jnp.broadcast_to(x[-1:], (missing, *x.shape[1:]))]) if missing else x
    return padded.reshape(-1, size, *x.shape[1:])


def _product_and_inputs(q: Array, k: Array, v: Array, growth: Array | None):
    return _causal_product(q, k, v, growth), (q, k, v, growth)


def _pull_back(kept: tuple, d_rows: Array):
    """The gradients, by three more causal products: d_q sums over the past, d_k and d_v over the future. The future
    is the past of the reversed sequence.

    No state is stored for any position. Growth divides numerator and normaliser alike and cancels, so its gradient
    is set to zero.
    """
    q, k, v, growth = kept
    backwards = functools.partial(jax.tree.map, lambda x: x[::-1])
    future = None if growth is None else -growth
    d_q = _causal_product(d_rows, v, k, growth)
    d_k = backwards(_causal_product(*backwards((v, d_rows, q, future))))
    d_v = backwards(_causal_product(*backwards((k, q, d_rows, future))))
    return d_q, d_k, d_v, None if growth is None else jnp.zeros_like(growth)


_causal_product.defvjp(_product_and_inputs, _pull_back)


def _refuse_inputs(phi_q: Array, phi_k: Array, v: Array, causal: bool) -> None:
    refuse.wrong_rank(2, phi_q=phi_q, phi_k=phi_k, v=v)
    refuse.not_floating(phi_q=phi_q, phi_k=phi_k, v=v)
    refuse.different_axes("features", phi_q=phi_q.shape[1], phi_k=phi_k.shape[1])
    refuse.different_axes("source positions", phi_k=phi_k.shape[0], v=v.shape[0])
    if causal:
        refuse.different_axes("positions under a causal mask", phi_q=phi_q.shape[0], phi_k=phi_k.shape[0])
    if not phi_k.size:
        raise ValueError(
            f"linear attention needs at least one key and one feature, but phi_k has shape {phi_k.shape}"
        )
    refuse.non_finite(phi_q=phi_q, phi_k=phi_k, v=v)


def _refuse_normaliser(normaliser: Array, remedy: str) -> None:
    if not refuse.is_concrete(normaliser):
        return
    host = np.asarray(normaliser)
    wrong = np.flatnonzero(~np.isfinite(host) | (host == 0))
    if wrong.size:
        raise ValueError(
            f"the normaliser of query {wrong[0]} is {host[wrong[0]]}: its features and those of the keys are too "
            f"small or too large to be multiplied; {remedy}, or scale queries and keys down"
        )


def _refuse_sums(sums: Array, v: Array) -> None:
    if not refuse.is_concrete(sums):
        return
    wrong = np.flatnonzero(~np.all(np.isfinite(np.asarray(sums)), axis=1))
    if wrong.size:
        largest = float(np.max(np.abs(np.asarray(v, np.float64)))) if refuse.is_concrete(v) else np.inf
        raise ValueError(
            f"the values of query {wrong[0]} add up to more than {sums.dtype} holds: they are summed before they "
            f"are divided, and the largest is {largest:.3g}; scale v down and the outputs up"
        )
