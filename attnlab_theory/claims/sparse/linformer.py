"""How far Linformer's sketch of attention errs, and what it does not promise (docs/mathematics/sparse.md)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, Verdict, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import gaussian_sketch
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.sparse import linformer as theory

EPS = float(np.finfo(np.float32).eps)


class Sketch(Setting):
    """n positions that look at themselves with strength beta, sketched to the first r of `rows` rows."""

    n: int
    rows: int
    r: Traced[int]
    beta: Traced[float]


@functools.partial(jax.jit, static_argnums=0)
def sharp_weights(n: int, beta: Scalar) -> Float[Array, "n n"]:
    """Attention of n orthonormal keys to themselves."""
    keys = jnp.eye(n)
    return attention_weights(keys, keys, scale=beta)


def _even(n: int) -> Float[Array, " n"]:
    """A unit vector that every row of P averages to the same number: |P w| = |w| = 1."""
    return jnp.full(n, n**-0.5)


def _shares(s: Sketch) -> Float[Array, " r"]:
    """Factors that keep the first r rows of a larger sketch, and give their products the variance 1/r."""
    return jnp.where(jnp.arange(float(s.rows)) < s.r, s.rows / jnp.asarray(s.r, float), 0)


def _product_error(key: PRNGKeyArray, s: Sketch) -> Float[Array, ""]:
    """|P R^T (R w) - P w|^2."""
    weights, sketch, w = sharp_weights(s.n, s.beta), gaussian_sketch(key, s.rows, s.n), _even(s.n)
    return jnp.sum((weights @ (sketch.T @ (_shares(s) * (sketch @ w))) - weights @ w) ** 2)


def _predicted_error(s: Sketch) -> float:
    return theory.product_error(s.r, 1.0, theory.sharp_matrix_square(s.n, s.beta), 1.0)


ROUNDING = 1.01
"""The draws, in float32, vary a little more than exact ones."""

SKETCHED = at_least(n=2) | more_than(beta=0) | at_most(beta=80) | {"0 < r <= rows": lambda s: 0 < s.r <= s.rows}

SKETCHED_PRODUCT = Claim(
    name="sketched-product",
    statement=r"Through a sketch of $r$ rows, $\mathbb{E}\|P R^T R w - P w\|^2 = "
    r"(\|P w\|^2 + \|P\|_F^2 \|w\|^2)/r$.",
    source="mathematics/sparse.md#a-sketched-product; Isserlis 1918; Wang et al. 2020; practical4/3g.1",
    hypotheses=SKETCHED,
    predict=lambda s: Interval.point(_predicted_error(s)),
    draw=_product_error,
    bound=lambda s: known_variance(ROUNDING * theory.sharp_product_variance(s.n, s.beta, s.r)),
    # The first term is |P w|^2 / r = 1 / r.
    resolution=lambda s: 0.45 / s.r,
    settings=tuple(Sketch(n=64, rows=64, r=r, beta=beta) for r in (4, 16, 64) for beta in (0.5, 2.0, 3.0)),
    chunk=256,
)

ONE_TERM = foil(
    SKETCHED_PRODUCT,
    name="sketched-product-by-one-term",
    statement=r"Through a sketch of $r$ rows, $\mathbb{E}\|P R^T R w - P w\|^2 = \|P\|_F^2 \|w\|^2/r$.",
    source="mathematics/sparse.md#a-sketched-product; Isserlis 1918, without the fourth moment's first term; "
    "practical4/3g.1",
    predict=lambda s: Interval.point(theory.sharp_matrix_square(s.n, s.beta) / s.r),
    stream=SKETCHED_PRODUCT,
)


def _matrix_error(key: PRNGKeyArray, s: Sketch) -> Float[Array, ""]:
    """|P R^T R - P|^2 / |P|^2."""
    weights, sketch = sharp_weights(s.n, s.beta), gaussian_sketch(key, s.rows, s.n)
    return jnp.sum((((weights @ sketch.T) * _shares(s)[None]) @ sketch - weights) ** 2) / jnp.sum(weights**2)


SKETCHED_MATRIX = Claim(
    name="sketched-matrix",
    statement=r"If $R$ has $r$ rows of independent $N(0, 1/r)$, $\mathbb{E}\|P R^T R - P\|_F^2 = "
    r"\frac{n+1}{r}\|P\|_F^2$. With $r \leq n$ rows the sketch of the whole matrix errs more than the zero matrix "
    "does.",
    source="mathematics/sparse.md#a-sketched-matrix; practical4/3g.1",
    hypotheses=SKETCHED,
    predict=lambda s: Interval.point(theory.matrix_error(s.n, s.r)),
    draw=_matrix_error,
    bound=lambda s: known_variance(ROUNDING * theory.sharp_matrix_variance(s.n, s.beta, s.r)),
    resolution=lambda s: 0.45 / s.r,
    settings=tuple(Sketch(n=8, rows=64, r=r, beta=beta) for r in (4, 8, 64) for beta in (1.0, 4.0)),
    rival=Rival[Sketch](
        statement=r"It is $n/r$ times $\|P\|_F^2$.",
        source="the fourth moment's first term left out",
        predict=lambda s: Interval.point(s.n / s.r),
    ),
    chunk=128,
)

MATRIX_IS_CLOSE = foil(
    SKETCHED_MATRIX,
    name="sketched-matrix-is-close",
    statement="With half as many rows as positions, the sketched matrix errs less than the zero matrix does.",
    source="mathematics/sparse.md#a-sketched-matrix; practical4/3g.1, the reading that a sketch approximates the "
    "attention matrix",
    predict=Interval.at_most(1.0),
    settings=tuple(Sketch(n=32, rows=64, r=16, beta=beta) for beta in (0.5, 2.0, 4.0, 8.0)),
    stream=SKETCHED_MATRIX,
)


def _rank_error(key: PRNGKeyArray, s: Sketch) -> float:
    del key
    values = np.linalg.svd(np.asarray(sharp_weights(s.n, s.beta), np.float64), compute_uv=False)
    return float(np.sum(values[s.r :] ** 2) / np.sum(values**2))


# A weight errs by a few eps, a singular value by n times that. Both enter squared.
RANK_ROUNDING = 32 * 8 * EPS

BEST_RANK = exact_claim(
    name="best-rank",
    statement=r"The best matrix of rank $r$ misses $P$ = softmax$(\beta I)$ by "
    r"$(n-r)\lambda^2/(1+(n-1)\lambda^2)$ of $\|P\|_F^2$, $\lambda = (e^\beta-1)/(e^\beta+n-1)$.",
    source="mathematics/sparse.md#the-best-matrix-of-a-rank; Eckart and Young 1936",
    hypotheses=more_than(beta=0) | at_most(beta=80) | {"0 < r < n": lambda s: 0 < s.r < s.n},
    predict=lambda s: Interval.point(theory.sharp_rank_error(s.n, s.beta, s.r)),
    draw=_rank_error,
    rounding=RANK_ROUNDING,
    settings=tuple(
        Sketch(n=n, rows=64, r=r, beta=4.0) for n, ranks in ((8, (1, 2, 4, 6, 7)), (32, (8, 16, 31))) for r in ranks
    ),
    rival=Rival[Sketch](
        statement=r"It misses $(n-r)/n$, as it does the identity.",
        source=r"the limit of a large beta, asked of beta = 4",
        predict=lambda s: Interval.point((s.n - s.r) / s.n),
    ),
)


class Spectrum(Setting):
    """n random queries and keys of width d, scores of at most `peak`, and the rank of polynomials of a degree."""

    n: int
    d: int
    degree: int
    rank: int
    peak: float


def _spectral_tail(key: PRNGKeyArray, s: Spectrum) -> float:
    """|P - Q| for the best Q of the rank. P is made of unit vectors that are drawn once for all ranks."""
    q, k = (_unit(part, s.n, s.d) for part in jax.random.split(key))
    values = np.linalg.svd(np.asarray(attention_weights(q, k, scale=s.peak), np.float64), compute_uv=False)
    return float(np.sqrt(np.sum(values[s.rank :] ** 2)))


@functools.partial(jax.jit, static_argnums=(1, 2))
def _unit(key: PRNGKeyArray, n: int, d: int) -> Float[Array, "n d"]:
    x = jax.random.normal(key, (n, d))
    return x / jnp.linalg.norm(x, axis=1, keepdims=True)


# There are n^2 weights of about 1/n. Each errs by a few eps times its score.
TAIL_ROUNDING = 32 * EPS

SPECTRUM = exact_claim(
    name="spectrum-tail",
    statement=r"With scores $|z| \leq M$ of width $d$, some $Q$ of rank $\binom{d+p}{p}$ is as close to $P$ as "
    r"$\|P - Q\|_F \leq e^M \sum_{j>p} M^j/j!$, whatever the length.",
    source="mathematics/sparse.md#bounded-scores-have-low-rank; Eckart and Young 1936, for the best $Q$; Wang et "
    "al. 2020, whose theorem 1 asserts low rank",
    hypotheses=at_least(n=2, d=1, degree=0)
    | {
        "rank < n": lambda s: s.rank < s.n,
        "the rank is the degree's": lambda s: s.rank == theory.rank_of_degree(s.d, s.degree),
    }
    | more_than(peak=0)
    | at_most(peak=40),
    predict=lambda s: Interval.at_most(theory.polynomial_error(s.peak, s.degree)),
    draw=_spectral_tail,
    rounding=TAIL_ROUNDING,
    settings=tuple(
        Spectrum(n=64, d=2, degree=degree, rank=theory.rank_of_degree(2, degree), peak=peak)
        for peak in (0.5, 2.0)
        for degree in range(1, 6)
    ),
    rival=Rival[Spectrum](
        statement=r"Attention over $n$ keys has full rank: $\|P - Q\|_F \geq \sqrt{(n-r)/n}$ at any rank $r$.",
        source="best-rank: a share of (n - r)/n of |P|^2 >= 1 is missed where attention is sharp",
        predict=lambda s: Interval.at_least(((s.n - s.rank) / s.n) ** 0.5),
    ),
)


class Promise(Sketch):
    """As many rows as the theorem asks for at accuracy epsilon."""

    epsilon: Traced[float]


PROMISED = theory.promised_rows(256, 0.7)

PROMISE = Claim(
    name="linformer-theorem",
    statement=r"$5\ln n/(\epsilon^2-\epsilon^3)$ rows are enough for $\mathbb{E}\|P R^T R w - P w\|^2 \leq "
    r"\epsilon^2 \|P w\|^2$.",
    source="mathematics/sparse.md#how-many-rows-the-theorem-asks-for; Wang et al. 2020, theorem 1, read as said "
    "of every $P$; Johnson and Lindenstrauss 1984, by which a row errs relative to $|p||w|$",
    hypotheses=SKETCHED
    | at_least(epsilon=0.1)
    | at_most(epsilon=0.9)
    | {"r as promised": lambda s: s.r == theory.promised_rows(s.n, s.epsilon)},
    predict=lambda s: Interval.at_most(s.epsilon**2),
    draw=_product_error,
    bound=lambda s: known_variance(ROUNDING * theory.sharp_product_variance(s.n, s.beta, s.r)),
    resolution=0.2,
    settings=(Promise(n=256, rows=PROMISED, r=PROMISED, beta=12.0, epsilon=0.7),),
    expect=Verdict.REFUTED,
    chunk=32,
)

CLAIMS = (SKETCHED_PRODUCT, ONE_TERM, SKETCHED_MATRIX, MATRIX_IS_CLOSE, BEST_RANK, SPECTRUM, PROMISE)
