"""Derivatives of softmax, of its partition function and entropy, and of every operator.

All are computed in float64, whatever the arrays of the case: a derivative by differences needs the digits.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention import attention_scores
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Attending, Scores
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.operators import OPERATORS, SOFTMAX, ZERO_AFTER_SOFTMAX, Operator
from attnlab_theory.identities.rounding import (
    epsilon,
    gap,
    host,
    peak,
    weight_rounding,
)

EPS = float(np.finfo(np.float64).eps)


def in_double(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, compiled, of its arguments in float64; its results as numpy arrays."""
    compiled = jax.jit(f)

    def evaluated(*arguments: Any) -> Any:
        with jax.enable_x64(True):
            wide = [jnp.asarray(a if a.dtype == bool else host(a)) for a in map(np.asarray, arguments)]
            return jax.tree.map(np.asarray, compiled(*wide))

    return evaluated


def _weights_of(operator: Operator) -> Callable[[Array, Array], Array]:
    """The operator's weights as a function of scores and strength: one query z, and the unit vectors as keys."""

    def weights(z: Array, beta: Array) -> Array:
        assert operator.weights is not None
        return operator.weights(z[None, :], jnp.eye(z.shape[0], dtype=z.dtype), None, scale=beta)[0]

    return weights


def _weight_rounding(case: Scores) -> float:
    """Relative error of a weight: scores are one product each, of which the largest is subtracted."""
    n = case.z.shape[0]
    return weight_rounding(EPS * (n / 2 + 3) * case.beta * peak(case.z), n, EPS)


def softmax_jacobian(operator: Operator) -> Identity[Scores]:
    """The Jacobian is the covariance of a one-hot vector drawn from the weights."""
    weights = _weights_of(operator)

    def at_one(scores: Array) -> Array:
        return weights(scores, jnp.ones((), scores.dtype))

    both = in_double(lambda scores: (at_one(scores), jax.jacfwd(at_one)(scores)))

    def residual(case: Scores) -> float:
        alpha, jacobian = both(host(case.z) * case.beta)
        covariance = np.diag(alpha) - np.outer(alpha, alpha)
        eigenvalues = np.linalg.eigvalsh((jacobian + jacobian.T) / 2)
        return max(
            gap(jacobian, covariance), gap(jacobian, jacobian.T), peak(jacobian.sum(axis=1)),
            -float(eigenvalues[0]), float(eigenvalues[-1]) - 0.5,
        )  # fmt: skip

    return Identity(
        family="softmax-jacobian",
        subject=operator.name,
        statement=r"The Jacobian of softmax is $\mathrm{diag}(\alpha) - \alpha\alpha^T$: symmetric, positive "
        r"semidefinite, with rows that sum to 0 and norm at most 1/2.",
        source="mathematics/identities.md#the-jacobian-of-softmax",
        cases=cases.scores,
        residual=residual,
        # Entries are two products of weights, at most 1, on either side; sums and eigenvalues see n of them.
        tolerance=lambda case: 4 * case.z.shape[0] * _weight_rounding(case),
    )


def log_partition_slope(operator: Operator, scores: Callable[..., Array] = attention_scores) -> Identity[Scores]:
    """The partition function generates the mean score."""
    weights = _weights_of(operator)

    def log_partition(beta: Array, z: Array) -> Array:
        keys = jnp.eye(z.shape[0], dtype=z.dtype)
        return jax.nn.logsumexp(scores(z[None, :], keys, scale=beta)[0])

    both = in_double(lambda z, beta: (jax.grad(log_partition)(beta, z), weights(z, beta) @ z))
    return Identity(
        family="log-partition-slope",
        subject=operator.name,
        statement=r"$d \log Z / d\beta = E_\alpha[z]$ for $\alpha$ = softmax$(\beta z)$.",
        source="mathematics/identities.md#slopes-in-the-strength-of-the-query",
        cases=cases.scores,
        residual=lambda case: gap(*both(host(case.z), np.float64(case.beta))),
        # Two sums of n products of weights and scores.
        tolerance=lambda case: 4 * peak(case.z) * (_weight_rounding(case) + EPS * case.z.shape[0]),
    )


def entropy_slope(operator: Operator) -> Identity[Scores]:
    """A stronger query never has a more even answer."""
    weights = _weights_of(operator)

    def entropy(beta: Array, z: Array) -> Array:
        return jnp.sum(jax.scipy.special.entr(weights(z, beta)))

    both = in_double(lambda z, beta: (jax.grad(entropy)(beta, z), weights(z, beta)))

    def residual(case: Scores) -> float:
        slope, alpha = both(host(case.z), np.float64(case.beta))
        z = host(case.z)
        variance = alpha @ (z - alpha @ z) ** 2
        return max(gap(slope, -case.beta * variance), float(slope))

    def tolerance(case: Scores) -> float:
        """The slope is a sum of -(1 + log alpha_i) alpha_i (z_i - E z), where |log alpha| <= 2 beta |z| + log n."""
        spread, n = 2 * peak(case.z), case.z.shape[0]
        largest = spread * (case.beta * spread + np.log(n) + 2)
        return 8 * float(largest + case.beta * spread**2) * (_weight_rounding(case) + EPS * n)

    return Identity(
        family="entropy-slope",
        subject=operator.name,
        statement=r"$dH/d\beta = -\beta \mathrm{Var}_\alpha(z) \le 0$: entropy never rises with $\beta$.",
        source="mathematics/identities.md#slopes-in-the-strength-of-the-query",
        cases=cases.scores,
        residual=residual,
        tolerance=tolerance,
    )


def hidden_score_slope(operator: Operator) -> Identity[Attending]:
    """How a hidden key is felt through the normaliser when the mask comes after the softmax."""

    def output(z: Array, v: Array, mask: Array) -> Array:
        return operator.mix(z, jnp.eye(z.shape[1], dtype=z.dtype), v, mask, scale=jnp.ones((), z.dtype))

    def parts(z: Array, v: Array, mask: Array) -> tuple[Array, Array, Array]:
        everything = jax.nn.softmax(z, axis=1)
        return output(z, v, mask), everything, jax.jacfwd(output)(z, v, mask)

    evaluated = in_double(parts)

    def residual(case: Attending) -> float:
        scores = host(case.q) @ host(case.k).T * float(case.scale)
        out, alpha, jacobian = evaluated(scores, case.v, np.asarray(case.mask))
        rows = np.arange(len(scores))
        slope = jacobian[rows, :, rows, :].transpose(0, 2, 1)  # [t s v]: row t by its own scores
        hidden = ~np.asarray(case.mask)
        return gap(slope[hidden], (-alpha[:, :, None] * out[:, None, :])[hidden])

    def tolerance(case: Attending) -> float:
        """Products of a weight and an output, each within a weight's relative error; scores are good to eps."""
        n = case.k.shape[0]
        bound = float(case.scale) * n * peak(case.q) * peak(case.k)
        return 4 * peak(case.v) * (weight_rounding(EPS * (n + 3) * bound, n, EPS) + EPS * n)

    return Identity(
        family="hidden-score-slope",
        subject=operator.name,
        statement=r"Masked after the softmax, a hidden score moves the output by $-\alpha_{ts} o_t$.",
        source="mathematics/identities.md#hidden-keys-are-absent",
        cases=cases.attending,
        residual=residual,
        tolerance=tolerance,
    )


STEP = 2.0**-17
"""The step of the differences. The error of truncation grows as its square, that of rounding as its inverse."""


def gradients(operator: Operator) -> Identity[Attending]:
    """Reverse-mode derivatives by every coordinate of q, k and v, against central differences."""

    def outputs(joined: Array, mask: Array, scale: Array) -> Array:
        # q and k have four columns, v has three.
        q, k, v = joined[:, :4], joined[:, 4:8], joined[:, 8:]
        return operator.mix(q, k, v, mask if operator.masked else None, scale=scale)

    def weighted(joined: Array, mask: Array, scale: Array) -> Array:
        # The sum is weighted so that no derivative cancels another.
        out = outputs(joined, mask, scale)
        return jnp.sum(out * jnp.cos(1.0 + jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape))

    def parts(joined: Array, mask: Array, scale: Array) -> tuple[Array, Array, Array, Array]:
        directions = jnp.eye(joined.size, dtype=joined.dtype).reshape(joined.size, *joined.shape)

        def difference(step: float) -> Array:
            ahead = jax.vmap(lambda e: weighted(joined + step * e, mask, scale))(directions)
            behind = jax.vmap(lambda e: weighted(joined - step * e, mask, scale))(directions)
            return (ahead - behind) / (2 * step)

        gradient = jax.grad(weighted)(joined, mask, scale).reshape(-1)
        count = jnp.asarray(jax.eval_shape(outputs, joined, mask, scale).size)
        return gradient, difference(STEP), difference(2 * STEP), count

    evaluated = in_double(parts)

    def all_of(case: Attending) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        joined = np.concatenate([host(case.q), host(case.k), host(case.v)], axis=1)
        return evaluated(joined, np.asarray(case.mask), np.float64(case.scale))

    def tolerance(case: Attending) -> float:
        """The error of truncation is read off the data. That of rounding is two sums of outputs over two steps.

        A central difference of step h errs by c h^2, and one of step 2h by four times that. So the two differ by
        three times the error of the first. Terms of order h^4 are far below. The rounding of the gradient itself is
        STEP times smaller than that of a difference, and the factor 2 covers it.
        """
        _, fine, coarse, count = all_of(case)
        wide = dataclasses.replace(case, **{name: jnp.abs(getattr(case, name)) + 2 * STEP for name in "qkv"})
        # The rounding in the case's own dtype, in units of float64.
        rounding = int(count) * operator.rounding(wide) * EPS / epsilon(case.q)
        return gap(fine, coarse) + 2 * rounding / STEP

    return Identity(
        family="gradients",
        subject=operator.name,
        statement="Gradients by q, k and v equal central differences in float64.",
        source="mathematics/identities.md#gradients",
        cases=cases.attending,
        residual=lambda case: gap(*all_of(case)[:2]),
        tolerance=tolerance,
    )


IDENTITIES = (
    softmax_jacobian(SOFTMAX),
    log_partition_slope(SOFTMAX),
    entropy_slope(SOFTMAX),
    hidden_score_slope(ZERO_AFTER_SOFTMAX),
    *map(gradients, OPERATORS),
)
