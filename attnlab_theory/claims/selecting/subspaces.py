"""Extracting one summand from a sum of two (docs/mathematics/selecting.md)."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, Verdict, exact_claim
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.construct.subspaces import extractor, intersection_dimension
from attnlab_theory.sampling import principal_frames, subspace_pair
from attnlab_theory.stats import Interval, exact, known_variance
from attnlab_theory.theory.selecting import subspaces as theory

EPS = float(jnp.finfo(jnp.float32).eps)


class TwoSubspaces(Setting):
    """Subspaces of m and n dimensions in width d, their principal angles spread from `angle` to a right angle."""

    d: int
    m: int
    n: int
    angle: float


class NoisySum(Setting):
    """Subspaces of m and n dimensions in width d, and noise in the sum of two vectors. Their principal angles are
    spread from `angle` to a right angle.

    The noise has standard deviation `noise` in every coordinate. The matrix is blend times the exact extractor plus
    (1 - blend) times A A^T.
    """

    d: int
    m: int
    n: int
    angle: Traced[float]
    noise: Traced[float]
    blend: Traced[float]


class MeetingSubspaces(Setting):
    """Subspaces of m and n dimensions in width d with `common` dimensions in common. All other principal angles are
    NEAR."""

    d: int
    m: int
    n: int
    common: int


ANGLES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.2)
PAIRS = tuple(TwoSubspaces(d=12, m=3, n=4, angle=angle) for angle in ANGLES)
ORTHOGONAL = tuple(TwoSubspaces(d=d, m=m, n=n, angle=np.pi / 2) for d, m, n in ((12, 3, 4), (64, 30, 34)))
NEAR = 0.05
"""In radians, the principal angles between subspaces that meet, apart from their common dimensions."""
MEETINGS = tuple(MeetingSubspaces(d=12, m=4, n=5, common=common) for common in range(4))
NOISE_DRAWS = 64
"""Noise vectors per draw: a draw spends most of its time on the subspaces."""

# Subspaces are drawn outside any compiled loop. Compiled here, they cost one compilation per shape instead of one
# per operation.
_pair_of = jax.jit(subspace_pair, static_argnames=("d", "m", "n"))
_frames_of = jax.jit(principal_frames, static_argnames=("d", "m", "n"))


def ladder(m: int, n: int, angle: Scalar) -> Float[Array, " r"]:
    """min(m, n) principal angles from `angle` towards pi/2 in equal steps, the right angle itself left out."""
    count = min(m, n)
    return angle + (np.pi / 2 - angle) * jnp.asarray(np.arange(count) / count, float)


def _angles(setting: TwoSubspaces | NoisySum) -> np.ndarray:
    count = min(setting.m, setting.n)
    return setting.angle + (np.pi / 2 - setting.angle) * np.arange(count) / count


def _rounding(setting: TwoSubspaces | MeetingSubspaces, gain: float = 1.0) -> float:
    """Absolute rounding in float32 of a norm of M [A B], M of norm `gain`.

    Householder QR leaves a frame of k = m + n columns orthonormal to sqrt(k) k d eps (Higham 2002,
    theorem 19.4). The extractor inherits it times the condition of [A B], which is at most 2 * gain,
    times its own norm.
    """
    k = setting.m + setting.n
    return np.sqrt(k) * k * setting.d * EPS * 2 * gain**2


def _gain(setting: TwoSubspaces) -> float:
    return theory.extractor_norm(_angles(setting))


def _residual(matrix: Float[Array, "d d"], a: Float[Array, "m d"], b: Float[Array, "n d"]) -> Float[Array, ""]:
    """Frobenius norm of M [A B] - [A 0]: zero exactly if M (v_a + v_b) = v_a for all v_a and v_b."""
    wanted = jnp.concatenate([a, jnp.zeros_like(b)])
    return jnp.linalg.norm(jnp.concatenate([a, b]) @ matrix.T - wanted)


def _sample(key: PRNGKeyArray, setting: TwoSubspaces) -> tuple[Float[Array, "m d"], Float[Array, "n d"]]:
    angles = ladder(setting.m, setting.n, setting.angle)
    return _pair_of(key, d=setting.d, m=setting.m, n=setting.n, angles=angles)


def _projector_residual(key: PRNGKeyArray, setting: TwoSubspaces) -> Float[Array, ""]:
    a, b = _sample(key, setting)
    return _residual(a.T @ a, a, b)


def _extractor_residual(key: PRNGKeyArray, setting: TwoSubspaces) -> Float[Array, ""]:
    a, b = _sample(key, setting)
    return _residual(extractor(a, b), a, b)


def _extractor_gain(key: PRNGKeyArray, setting: TwoSubspaces) -> Float[Array, ""]:
    return jnp.linalg.norm(extractor(*_sample(key, setting)), ord=2)


def _projector_error(key: PRNGKeyArray, setting: TwoSubspaces) -> Float[Array, ""]:
    frames, in_a = jax.random.split(key)
    angles = ladder(setting.m, setting.n, setting.angle)
    a, b = _frames_of(frames, d=setting.d, m=setting.m, n=setting.n, angles=angles)
    v_a = jax.random.normal(in_a, (setting.m,)) @ a
    v_b = jnp.sum(b, axis=0) / np.sqrt(setting.n)
    return jnp.linalg.norm(a.T @ (a @ (v_a + v_b)) - v_a)


def _squared_error(key: PRNGKeyArray, setting: NoisySum) -> Float[Array, ""]:
    """Mean of ||M (v_a + v_b + e) - v_a||^2 over fresh v_a, v_b and e."""
    frames, vectors = jax.random.split(key)
    d, m, n = setting.d, setting.m, setting.n
    a, b = principal_frames(frames, d, m, n, angles=ladder(m, n, setting.angle))
    matrix = setting.blend * extractor(a, b) + (1 - setting.blend) * a.T @ a
    normals = jax.random.normal(vectors, (NOISE_DRAWS, m + n + d))
    v_a, v_b = normals[:, :m] @ a, normals[:, m : m + n] @ b / np.sqrt(n)
    received = v_a + v_b + setting.noise * normals[:, m + n :]
    return jnp.mean(jnp.sum((received @ matrix.T - v_a) ** 2, axis=1))


def _cost(setting: NoisySum) -> tuple[float, float]:
    mean, variance = theory.blend_noise(_angles(setting), setting.m, setting.n, setting.noise, setting.blend)
    return mean, variance / NOISE_DRAWS


def _meeting(key: PRNGKeyArray, setting: MeetingSubspaces, sampled: Callable) -> tuple[Array, Array]:
    angles = np.r_[np.zeros(setting.common), np.full(min(setting.m, setting.n) - setting.common, NEAR)]
    return sampled(key, d=setting.d, m=setting.m, n=setting.n, angles=jnp.asarray(angles, float))


def _common_dimension(key: PRNGKeyArray, setting: MeetingSubspaces) -> Float[Array, ""]:
    return jnp.asarray(intersection_dimension(*_meeting(key, setting, _pair_of)), float)


def _best_error_on_common_vector(key: PRNGKeyArray, setting: MeetingSubspaces) -> Float[Array, ""]:
    """Worst error on a common unit vector, over the formula's M, A A^T and random matrices around both."""
    frames, steps = jax.random.split(key)
    a, b = _meeting(frames, setting, _frames_of)
    return _best_error(a, b, jax.random.normal(steps, (64, setting.d, setting.d)))


@jax.jit
def _best_error(
    a: Float[Array, "m d"], b: Float[Array, "n d"], steps: Float[Array, "tried d d"]
) -> Float[Array, ""]:
    formula = a.T @ jnp.linalg.pinv(jnp.concatenate([a, b]).T)[: a.shape[0]]
    steps = steps * jnp.linspace(0, 1, steps.shape[0])[:, None, None]
    common = a[:1]
    images = jnp.concatenate([formula[None] + steps, (a.T @ a)[None] + steps]) @ a[0]
    errors = jnp.maximum(jnp.linalg.norm(images - common, axis=1), jnp.linalg.norm(images, axis=1))
    return jnp.min(errors)


ROOM = at_least(m=1, n=1) | {"they fit": lambda s: s.m + s.n <= s.d}
APART = ROOM | {"0.01 <= angle <= math.pi / 2": lambda s: 0.01 <= s.angle <= np.pi / 2}
NOISY = at_least(noise=1e-3) | at_most(noise=1e3)
MEETING = ROOM | {
    "0 <= common <= m": lambda s: 0 <= s.common <= s.m,
    "common <= n": lambda s: s.common <= s.n,
}

PROJECTOR = exact_claim(
    name="orthogonal-extraction",
    statement=r"For orthonormal bases $A \perp B$, $M = AA^T$ gives $M(v_a + v_b) = v_a$ for all $v_a$, $v_b$.",
    source="mathematics/selecting.md#extracting-a-vector-from-a-sum; Ipsen and Meyer 1995; cs224n/1b.i",
    hypotheses=ROOM | {"A is orthogonal to B": lambda s: s.angle == np.pi / 2},
    predict=Interval.point(0.0),
    draw=_projector_residual,
    rounding=_rounding,
    settings=ORTHOGONAL,
    rival=Rival(
        statement="As much of $B$ gets through as at six degrees off a right angle.",
        source="the smallest error that would matter: a tenth of one vector",
        predict=Interval.at_least(0.1),
    ),
)

EXTRACTOR = exact_claim(
    name="oblique-extraction",
    statement=r"If $[A\,B]$ has full column rank, $M = A([A\,B]^+)_{1..m}$ gives $M(v_a + v_b) = v_a$ exactly.",
    source="mathematics/selecting.md#extracting-a-vector-from-a-sum; Ipsen and Meyer 1995; cs224n/1b.i",
    hypotheses=APART,
    predict=Interval.point(0.0),
    draw=_extractor_residual,
    rounding=lambda s: _rounding(s, _gain(s)),
    settings=PAIRS,
    rival=Rival(
        statement="As much of $B$ gets through as through $AA^T$.",
        source="cs224n/1b.i, the projector without its condition",
        predict=lambda s: Interval.point(s.n**0.5 * theory.projector_error(_angles(s), s.n)),
    ),
)

EXTRACTOR_GAIN = exact_claim(
    name="extraction-gain",
    statement=r"The extracting matrix has norm $\|M\|_2 = 1/\sin\theta_{\min}$.",
    source="mathematics/selecting.md#extracting-a-vector-from-a-sum; Ipsen and Meyer 1995; cs224n/1b.i",
    hypotheses=APART,
    predict=lambda s: Interval.point(_gain(s)),
    draw=_extractor_gain,
    rounding=lambda s: _rounding(s, _gain(s)),
    settings=PAIRS,
    rival=Rival(
        statement=r"Its norm is that of $[A\,B]^+$: $1/\sqrt{1 - \cos\theta_{\min}}$.",
        source="the rows of the pseudo-inverse that belong to $B$ kept",
        predict=lambda s: Interval.point(1 / np.sqrt(1 - np.cos(s.angle))),
    ),
)

NOISES = (0.01, 0.03, 0.1, 0.3, 1.0)

EXTRACTOR_NOISE = Claim(
    name="extraction-noise",
    statement="If the sum has noise of variance $s^2$ in each coordinate, the exact extractor $M$ has mean "
    r"squared error $s^2 \|M\|_F^2$.",
    source="mathematics/selecting.md#extracting-a-vector-from-a-sum; Ipsen and Meyer 1995; cs224n/1b.i",
    hypotheses=APART | NOISY | {"the extractor alone": lambda s: s.blend == 1},
    predict=lambda s: Interval.point(_cost(s)[0]),
    draw=_squared_error,
    bound=lambda s: known_variance(_cost(s)[1]),
    resolution=lambda s: 0.05 * _cost(s)[0],
    settings=tuple(NoisySum(d=12, m=3, n=4, angle=0.2, noise=noise, blend=1.0) for noise in NOISES),
    rival=Rival(
        statement=r"The error is $s^2 \|M\|_2^2$.",
        source="the smallest angle alone",
        predict=lambda s: Interval.point(s.noise**2 * theory.extractor_norm(_angles(s)) ** 2),
    ),
    stream="noisy-extraction",
    chunk=128,
)

PROJECTOR_NOISE = dataclasses.replace(
    EXTRACTOR_NOISE,
    name="projector-noise",
    statement=r"With noise, $AA^T$ has mean squared error $\sum_i \cos^2\theta_i/n + s^2 m$ for $E\|v_b\|^2 = 1$.",
    source="mathematics/selecting.md#the-orthogonal-projector-without-orthogonality; cs224n/1b.i",
    hypotheses=APART | NOISY | {"the projector alone": lambda s: s.blend == 0},
    settings=tuple(NoisySum(d=12, m=3, n=4, angle=0.2, noise=noise, blend=0.0) for noise in NOISES),
    rival=Rival[NoisySum](
        statement=r"The error is $s^2 m$.",
        source="the bias left out",
        predict=lambda s: Interval.point(s.noise**2 * s.m),
    ),
)

PROJECTOR_ERROR = exact_claim(
    name="projector-error",
    statement=r"When $A$ is orthonormal but not orthogonal to $B$, $AA^T$ errs by exactly $\|A^T v_b\|$.",
    source="mathematics/selecting.md#the-orthogonal-projector-without-orthogonality; cs224n/1b.i",
    hypotheses=APART,
    predict=lambda s: Interval.point(theory.projector_error(_angles(s), s.n)),
    draw=_projector_error,
    rounding=_rounding,
    settings=PAIRS,
    rival=Rival(
        statement=r"$v_b$ lies along the $m$ principal vectors alone: $(\sum_i \cos^2\theta_i/m)^{1/2}$.",
        source="the part of $B$ beyond the principal vectors left out",
        predict=lambda s: Interval.point(theory.projector_error(_angles(s), s.m)),
    ),
)

PROJECTOR_FOIL = exact_claim(
    name="projector-always-extracts",
    statement=r"$AA^T$ extracts $v_a$ from $v_a + v_b$ whether or not $A \perp B$.",
    source="mathematics/selecting.md#the-orthogonal-projector-without-orthogonality; cs224n/1b.i, the answer "
    "without its condition",
    hypotheses=APART,
    predict=Interval.point(0.0),
    draw=_projector_error,
    rounding=_rounding,
    settings=PAIRS,
    expect=Verdict.REFUTED,
    stream="projector-error",
)

COMMON_DIMENSION = Claim(
    name="subspaces-that-meet",
    statement="Subspaces that meet are recognised, and the dimension of their intersection is named.",
    source="mathematics/selecting.md#subspaces-that-meet; cs224n/1b.i",
    hypotheses=MEETING,
    predict=lambda s: Interval.point(float(s.common)),
    draw=_common_dimension,
    bound=exact(0.0),
    resolution=0.25,
    settings=MEETINGS,
    rival=Rival(
        statement="Directions three degrees apart are common ones.",
        source="a tolerance that is too wide",
        predict=lambda s: Interval.point(float(min(s.m, s.n))),
    ),
)

COMMON_VECTOR = exact_claim(
    name="no-matrix-where-subspaces-meet",
    statement=r"On a common unit vector of $A$ and $B$ every matrix errs by at least $\frac12$.",
    source="mathematics/selecting.md#subspaces-that-meet; cs224n/1b.i",
    hypotheses=MEETING | {"they meet": lambda s: s.common > 0},
    predict=Interval.at_least(theory.common_vector_error()),
    draw=_best_error_on_common_vector,
    rounding=_rounding,
    settings=tuple(s for s in MEETINGS if s.common),
    rival=Rival(
        statement=r"Every matrix errs by at least $1/\sqrt2$.",
        source="the two errors taken for the legs of a right angle, not for parts of one line",
        predict=Interval.at_least(0.5**0.5),
    ),
)

CLAIMS = (
    PROJECTOR,
    EXTRACTOR,
    EXTRACTOR_GAIN,
    EXTRACTOR_NOISE,
    PROJECTOR_NOISE,
    PROJECTOR_ERROR,
    PROJECTOR_FOIL,
    COMMON_DIMENSION,
    COMMON_VECTOR,
)
