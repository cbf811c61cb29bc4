"""The query with the widest lead, as a program that jax can trace: for draws over a million random problems."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

MOST_PIVOTS = 200
"""Far more than the dozens that random problems take; a problem that needs more is left unsolved."""


def widest_lead(gaps: Float[Array, "s d"]) -> Float[Array, " d"]:
    """The x with every |x_i| <= 1 whose least product with the rows of `gaps` is largest; traceable.

    Rows are (key to be selected - other key). If the least product is positive, x selects the key. The dual is
    solved, min sum_i |(lambda gaps)_i| over mixtures lambda of the rows. The simplex method solves it on d + 1
    equations (Dantzig's rule), and x is read off the reduced costs. Where 0 is a mixture of the rows, the least
    product of every x is at most 0, also that of the x returned.

    In float32 a lead of less than about 1e-5 of the gaps is lost in rounding. `query_for_subset` is exact, works on
    the host and uses the 2-norm.

    Args:
        gaps: the key to be selected minus another key, one row for each other key.

    Example:
        To select e1 against 0 and e2: the gaps are e1 and e1 - e2. With entries of at most 1, x = (1, -1) leads by
        1 and by 2, and (1, 0) by 1 and by 1: the least lead is 1.

        >>> gaps = jnp.array([[1.0, 0.0], [1.0, -1.0]])
        >>> print(jnp.min(gaps @ widest_lead(gaps)))
        1.0

    Source: Dantzig 1963, "Linear programming and extensions", chapters 5 and 6.
    """
    n, d = gaps.shape
    # Columns: the n mixture weights, one slack per coordinate, the right-hand side; its negative slack is
    # minus the column, and is kept beside it so that either can enter.
    equations = jnp.concatenate([gaps.T, jnp.eye(d, dtype=gaps.dtype), -jnp.eye(d, dtype=gaps.dtype)], axis=1)
    total = jnp.concatenate([jnp.ones(n, gaps.dtype), jnp.zeros(2 * d, gaps.dtype)])
    # Start at the first row alone: its weight is 1, and one slack per coordinate takes up what is left.
    left = -gaps[0]
    body = jnp.concatenate([equations - gaps[0][:, None] * total[None, :], left[:, None]], axis=1)
    body = jnp.where(left < 0, -1, 1).astype(gaps.dtype)[:, None] * body
    last = jnp.concatenate([total, jnp.ones(1, gaps.dtype)])
    cost = jnp.concatenate([jnp.zeros(n, gaps.dtype), jnp.ones(2 * d, gaps.dtype), jnp.zeros(1, gaps.dtype)])
    reduced = cost - jnp.sum(body, axis=0)
    tableau = jnp.concatenate([body, last[None, :], reduced[None, :]])
    # Rounding of a reduced cost: sums of d + 1 products of the size of the largest gap.
    tolerance = 8 * (d + 1) * jnp.finfo(gaps.dtype).eps * jnp.maximum(jnp.max(jnp.abs(gaps)), 1)

    def unfinished(state: tuple[Array, Array]) -> Array:
        pivots, tableau = state
        return (jnp.min(tableau[-1, :-1]) < -tolerance) & (pivots < MOST_PIVOTS)

    def pivot(state: tuple[Array, Array]) -> tuple[Array, Array]:
        pivots, tableau = state
        column = tableau[:, jnp.argmin(tableau[-1, :-1])]
        rises = column[:-1] > tolerance
        ratios = jnp.where(rises, tableau[:-1, -1] / jnp.where(rises, column[:-1], 1), jnp.inf)
        leaving = jnp.argmin(ratios)
        row = tableau[leaving] / column[leaving]
        elsewhere = jnp.where(jnp.arange(d + 2) == leaving, 0, column)
        # One multiply-subtract over the table; the pivot's own row is replaced.
        swept = tableau - elsewhere[:, None] * row[None, :]
        return pivots + 1, swept.at[leaving].set(row)

    _, tableau = jax.lax.while_loop(unfinished, pivot, (jnp.int32(0), tableau))
    # The reduced cost of slack i is 1 - y_i, and x = -y.
    return tableau[-1, n : n + d] - 1


def query_for_first(keys: Float[Array, "s d"], size: int) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """A query under which the first one or two keys tie and lead the others, and its lead; traceable.

    The lead is not positive where there is no such query.

    Args:
        keys: one row each.
        size: how many of the first keys are to lead, 1 or 2.

    Raises:
        ValueError: if `size` is neither 1 nor 2.

    Example:
        The first of e1, e2 and 0 leads by 1. The first two tie, and both lead 0 by 1.

        >>> import numpy as np
        >>> query, lead = query_for_first(jnp.eye(3, 2), 1)
        >>> print(lead)
        1.0
        >>> query, lead = query_for_first(jnp.eye(3, 2), 2)
        >>> print(np.asarray(query).round(3), np.asarray(lead).round(3))
        [1. 1.] 1.0
    """
    if size not in (1, 2):
        raise ValueError(f"size must be 1 or 2, not {size}: for larger subsets there is query_for_subset")
    gaps = keys[:1] - keys[size:]
    if size == 1:
        query = widest_lead(gaps)
        return query, jnp.min(gaps @ query)
    along = keys[1] - keys[0]
    along = along / jnp.linalg.norm(along)
    # A query that scores both keys alike has no part along their difference, so that part of the gaps is removed.
    gaps = gaps - (gaps @ along)[:, None] * along[None, :]
    query = widest_lead(gaps)
    query = query - jnp.dot(query, along) * along
    return query, jnp.min(gaps @ query)
