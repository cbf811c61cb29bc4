"""Derived tolerances, one named function each. A literal rtol in a test is a review question."""

import math

import numpy as np
import scipy.stats


def softmax_rtol(peak_score: float, n: int, dtype=np.float32) -> float:
    """Relative error of one softmax weight over n scores bounded by peak_score.

    A score has the absolute rounding eps * peak, and exp turns that into a relative error. Numerator and
    normaliser both have it (2x), and so have both sides of a comparison (2x). The sum of n terms adds n * eps.
    """
    eps = float(np.finfo(dtype).eps)
    return eps * (4 * peak_score + 2 * n + 4)


def moment_atol(n: int) -> float:
    """Absolute error of a moment of softmax weights over n keys, by the rules of theory/noisy_keys/moments.py.

    A node's e^{pw} exp(-e^w) carries relative rounding eps * (|pw| + e^w), and is below rounding itself
    unless |w| < 40: 80 eps. n such factors are multiplied, the sum's total is at most one. Truncation
    (e^-40) and the trapezoid rule (e^{-pi^2 / 0.25}) are below rounding.
    """
    return 80 * (n + 1) * float(np.finfo(np.float64).eps)


def grid_moment_atol() -> float:
    """Absolute error of the brute-force grids over the noise that check theory/noisy_keys/moments.py.

    A weight is analytic in one normal g for |Im g| < pi / s, where s <= 3 is the score's deviation. So the
    trapezoid rule of step 0.2 errs by e^{-2 pi (pi/3) / 0.2} < 6e-15. The noise beyond 8 deviations holds 2e-15
    for each of three normals. Rounding of a weighted mean of numbers below one adds 1e-15.
    """
    return 1e-14


def host_sum_atol(n: int) -> float:
    """Absolute error of a mean of n numbers of at most one, each good to 8 eps, in float64."""
    return (n + 8) * float(np.finfo(np.float64).eps)


def rotation_atol(peak: float, peak_position: float, base: float = 10000.0, dtype=np.float32) -> float:
    """Absolute error of one coordinate of a rotated row whose coordinates are at most `peak` in size.

    The frequency base**e has the relative error eps * (ln base / 2 + 4): that of the rounded exponent, |e| <= 1,
    and of the power itself. So an angle of at most peak_position is wrong by eps * (ln base / 2 + 5) *
    peak_position. A coordinate moves by that times the length of its pair, sqrt(2) * peak. Two products, a sum,
    and a rounded sine and cosine add 4 eps of it.
    """
    eps = float(np.finfo(dtype).eps)
    return eps * np.sqrt(2) * peak * ((np.log(base) / 2 + 5) * peak_position + 4)


def weights_rtol(d: int, n: int, peak_score: float, dtype=np.float32) -> float:
    """Relative error of one attention weight, where scale * sum_j |q_j k_j| <= peak_score.

    A score is a sum of d products, then scaled, and its distance from the row's maximum is rounded once
    more: (d + 2) * eps * peak_score, which is what `softmax_rtol` takes for the rounding of a score.
    """
    return softmax_rtol((d + 2) * peak_score, n, dtype)


def attention_atol(d: int, n: int, peak_score: float, peak_value: float, dtype=np.float32) -> float:
    """Absolute error of an output of attention, where |v| <= peak_value.

    The weights sum to one, so their relative error is that of the mean of |v|; the n-term sum adds n * eps.
    Weights below the smallest normal number are flushed to zero: at most n of them.
    """
    info = np.finfo(dtype)
    return peak_value * (weights_rtol(d, n, peak_score, dtype) + n * float(info.eps + info.tiny))


def attention_slope_atol(d: int, n: int, peak_score: float, peak_value: float, step: float) -> float:
    """Absolute error of a central difference of attention in float64, along a direction that moves no score
    faster than peak_score and no value faster than peak_value.

    Scores are linear along a direction in q or in k, and the third derivative of a mean under softmax is a
    fourth joint cumulant: at most 64 * peak_value * peak_score**3, of which step**2 / 6 is left. Rounding
    of the two outputs is divided by the step. The output is linear in v: rounding only.
    """
    truncation = 64 * peak_value * peak_score**3 * step**2 / 6
    # Scores may be off their own peak by the step's worth: a factor of two covers it.
    return truncation + 2 * attention_atol(d, n, peak_score, peak_value, np.float64) / step


def face_count_atol(n: int, size: int) -> float:
    """Absolute error of a mean number of faces with `size` vertices , theory/selecting/selectable_pairs.py.

    Each angle is a quadrature good to 1e-12 of itself, and so is a share, at most one: a sum of positive products
    of two angles with binomials. Its exponents, below 1e3, add 1e3 eps each. The count is binomial(n, size) shares.
    """
    return math.comb(n, size) * 4e-12


def entropy_programme_atol(n: int) -> float:
    """Absolute error of the most entropy of n weights, in theory/selecting/selection.py, in nats.

    Newton's method stops at a decrement of 1e-9, whose square is below eps. The start meets its constraints up to
    rounding, n eps. That moves the entropy by the multipliers of the constraints, below 1e3 in these tests.
    """
    return 1e3 * n * float(np.finfo(np.float64).eps)


def simplex_search_atol(slopes: int) -> float:
    """Absolute error of a maximum that Nelder-Mead finds when stopped at 1e-12 in value and in place.

    The simplex may stall where values differ by less than their rounding: a few times that, per slope.
    """
    return 10 * slopes * 1e-12


def margin_atol(keys: np.ndarray) -> float:
    """Absolute error of the margin of a unit query over these keys, in float64.

    Centring and a product of d terms round each score by (d + 2) eps times the largest entry, which may be a shift
    of all keys. The largest margin moves no further than its keys do. Both ends of a margin err, on both sides of
    a comparison. The projections that equalise scores add as much again.
    """
    return 16 * keys.size * float(np.finfo(np.float64).eps) * float(np.max(np.abs(keys), initial=1.0))


def best_weights_atol(n: int) -> float:
    """Absolute error of the weights at the end of Newton's method on a smooth convex function of n weights.

    It stops where the value no longer falls, within eps of its minimum. By Pinsker's inequality, that is within
    sqrt(eps) of the weights, times n for the rounding of the scores. One more full step squares that error.
    """
    return n * float(np.sqrt(np.finfo(np.float64).eps))


def simplex_atol(gaps: np.ndarray) -> float:
    """Absolute error of a lead found by the simplex method in float32, in construct/leads.py.

    It stops at reduced costs of 8 (d + 1) eps times the largest gap, and the weights of the mixture add up to one.
    Every pivot rounds the table once, and with small integers pivots are of order one. A hundred pivots cover it.
    """
    d = gaps.shape[1]
    return 100 * 8 * (d + 1) * float(np.finfo(np.float32).eps) * float(np.max(np.abs(gaps), initial=1))


def misses_allowed(trials: int, rate: float, false_alarm: float) -> int:
    """The most misses in independent trials, each missing with probability at most `rate`, that may pass.

    More of them happen with probability at most `false_alarm`: the binomial tail, inverted.
    """
    return int(scipy.stats.binom.isf(false_alarm, trials, rate))


def search_rtol() -> float:
    """Relative error of a least error found by L-BFGS with forward differences, and of queries kept to four digits.

    The search stops when a step gains less than 2e-9 of max(|f|, 1) = 1; the smallest error sought is 2e-4, so
    that a dozen such steps are 1e-4 of it. A query off by 5e-5 errs by a curvature of order one times 2.5e-9.
    """
    return 1e-3


def orthonormal_atol(n: int, d: int, dtype=np.float32) -> float:
    """Absolute error of an inner product of two rows made orthonormal by n Householder reflections in d dimensions.

    A reflection is an inner product of d terms and an update: it errs by at most (2 d + 4) eps in norm. n of
    them make Q differ from an exactly orthonormal matrix by n (2 d + 4) eps, and both rows pay.
    """
    return 2 * n * (2 * d + 4) * float(np.finfo(dtype).eps)


def hashed_normal_atol() -> float:
    """Absolute error of a normal quantile |z| <= 6.4 from sampling/hashed_normals.py, always computed in float32.

    w = -ln(tail (2 - tail)) is wrong by 3 eps from its argument and by eps * w from the logarithm, at most
    25 eps: with d|z|/dw <= 0.5 that is 13 eps, less near zero, where 1 - tail is wrong by eps. The ratio of
    polynomials with positive terms adds 2 * 5 * 2 roundings at most, and its fit 1.2e-7 = eps, of |z|:
    21 * 6.4 eps / 2, since eps / 2 is what a rounding costs.
    """
    return (13 + 21 * 6.4 / 2) * float(np.finfo(np.float32).eps)


def chunked_mean_atol(chunk: int, peak: float) -> float:
    """Absolute error of a mean of numbers of size at most `peak`, summed in float32 within chunks.

    Each term of a chunk takes part in at most `chunk` roundings of sums of at most chunk * peak. On the other side
    of a comparison its own computation may be fused differently: 8 roundings. Chunks are summed in float64.
    """
    return (chunk + 8) * peak * float(np.finfo(np.float32).eps)


def linear_algebra_rtol(n: int, d: int, condition: float, dtype=np.float64) -> float:
    """Relative error of a norm of A [A B]^+, for n columns in d dimensions of the given condition.

    A backward stable factorisation perturbs the columns by sqrt(n) n d eps (Higham 2002, theorem 19.4); a
    pseudo-inverse moves by its condition times that, and again where it is multiplied or squared.
    """
    return 4 * math.sqrt(n) * n * d * float(np.finfo(dtype).eps) * condition


def extraction_atol(n: int, d: int, angle: float, dtype=np.float32) -> float:
    """Absolute error of M times a unit vector, M the extractor of n columns in d dimensions at a least angle.

    The norm of M is 1/sin(angle), the condition of [A B] at most twice that, and the sampled bases carry
    as much rounding as the factorisation.
    """
    return linear_algebra_rtol(n, d, 2 / math.sin(angle), dtype) / math.sin(angle)


def blocked_rtol(d: int, n: int, tiles: int, peak_score: float, dtype=np.float32) -> float:
    """Relative error of a weight made in `tiles` tiles, or made again from the logarithm of its normaliser.

    Every tile rescales by e^(m_old - m_new). The exponent is at most 2 * peak_score, and is rounded; the power has
    an error of its own (4 eps). The logarithm of the normaliser is at most peak_score + ln n in size.
    """
    eps = float(np.finfo(dtype).eps)
    return weights_rtol(d, n, peak_score, dtype) + eps * ((tiles + 1) * (2 * peak_score + 4) + np.log(n))


def blocked_atol(d: int, n: int, tiles: int, peak_score: float, peak_value: float, dtype=np.float32) -> float:
    """Absolute difference of blocked and plain attention: as `attention_atol`, paid by both."""
    info = np.finfo(dtype)
    return 2 * peak_value * (blocked_rtol(d, n, tiles, peak_score, dtype) + n * float(info.eps + info.tiny))


def blocked_gradient_atol(
    t: int, n: int, d: int, width: int, tiles: int, *, scale: float, peak: float, dtype=np.float32
) -> float:
    """Absolute difference of two ways to the gradient in q, k or v, all of them and the cotangent <= peak.

    Let r be a weight's relative error and B = width * peak**2, which bounds the gradient of a weight and its
    mean. That of a score is a * (g - mean), wrong by at most a * B * (3 r + (n + 2 width + 7) eps). A query's
    gradient sums n of them, each at most 2 a B, times scale * peak, and the weights a sum to one; a
    key's sums t of them with a <= 1; a value's sums a * cotangent over t. t times the largest covers all
    three, and the two sides pay twice.
    """
    eps = float(np.finfo(dtype).eps)
    r = blocked_rtol(d, n, tiles, scale * d * peak**2, dtype)
    largest = peak * max(scale * width * peak**2, 1)
    return 2 * t * largest * (3 * r + (3 * n + 2 * width + 2 * t + 11) * eps)


def routing_rtol(condition: float) -> float:
    """Relative error of the shortest W for four inputs of the given condition, in float64.

    W solves linear equations in the inputs on both sides, so their condition enters squared. Least squares on a
    set of active margins, no more than 12 in 16 dimensions, squares nothing more.
    """
    return linear_algebra_rtol(12, 16, condition**2)


def gaussian_quadrature_rtol(terms: int, peak_exponent: float) -> float:
    """Relative error of a Gauss-Hermite mean of an exponential of w, in float64, once its nodes suffice.

    Exponents of at most `peak_exponent` in size, wrong by 8 eps of it, in products of two features; nodes and
    weights (relative error 1e-13, numpy.polynomial's own) and a sum of `terms` positive terms.
    """
    eps = float(np.finfo(np.float64).eps)
    return 16 * eps * peak_exponent + terms * eps + 2e-13


def linear_attention_atol(m: int, n: int, peak_value: float, peak_log: float = 0.0, dtype=np.float32) -> float:
    """Absolute difference of two ways to a ratio of sums over n keys of products of m positive features.

    A product of features is a sum of m positive terms, a numerator and a normaliser sum n of them: (m + n + 2) eps
    each, on both sides. Where features carry a shift and take it off again, exponents of at most peak_log in
    size are rounded up to four times on each side.
    """
    eps = float(np.finfo(dtype).eps)
    return 4 * peak_value * eps * (m + n + 2 + 4 * peak_log)


def additive_atol(n: int, d: int, width: int, dtype=np.float32) -> float:
    """Absolute difference of two ways to additive attention over n keys, everything at most one in size.

    The input of a hidden unit sums two products of d terms, each at most d: (d + 1) d eps. tanh adds 4 eps, and is
    never steeper than one. A score sums `width` such units. With their own rounding that is at most width (d + 1 +
    width / 2) d eps. The weights have it twice, as in `softmax_rtol`. The mean of n values adds n eps, and both
    sides err.
    """
    eps = float(np.finfo(dtype).eps)
    score = width * ((d + 1) * d + 4 + width / 2) * eps
    return 2 * (2 * score + (2 * n + 4) * eps)


def feature_moment_rtol() -> float:
    """Relative error of moments of feature products, in theory/features/variance.py and the quadratures there.

    Exponents stay below 60 in size in these tests: 60 eps each. Sums and convolutions of at most 1,000 positive
    terms add as many eps. Log-gamma functions of up to 1e3 in size add as much again. Quadratures are good to
    1e-13.
    """
    return 1e-11


def model_atol(n: int, moved: float, dtype=np.float32) -> float:
    """Absolute difference of two ways to the same output of a network, whose longest inner product has n terms.

    Each computed product x . w is exact for weights that are off by at most n eps of themselves (Higham 2002,
    equation 3.4), and roundings between products are a few eps more: n + 8. `moved` is the largest change of the
    output, measured, when every weight moves by 2**-12 of itself with a random sign: far above rounding, and still
    first order. Both sides pay. Random signs are not the worst ones, but nor are n eps what roundings add up to.
    """
    return 2 * (n + 8) * float(np.finfo(dtype).eps) * 2**12 * moved


def log_probability_atol(n: int, logits: float, dtype=np.float32) -> float:
    """Absolute error of the log-probability of one of n tokens, whose logits are off by at most `logits`.

    A logarithm of a softmax moves by at most twice what its logits move by. Differences, exponentials, the n-term
    sum and its logarithm add n + 5 eps, in each of the two ways of computing it that are compared.
    """
    return 2 * logits + 2 * (n + 5) * float(np.finfo(dtype).eps)


def difference_atol(fine: float, coarse: float, rounding: float, step: float) -> float:
    """Absolute error of a central difference of a smooth function that is known to `rounding`.

    `fine` and `coarse` are the differences with this step and with twice this step. To leading order their errors
    are step**2 / 6 of the third derivative, and four times that. So a third of their distance is the first error.
    Twice that covers the next order.
    """
    return 2 / 3 * abs(coarse - fine) + rounding / step
