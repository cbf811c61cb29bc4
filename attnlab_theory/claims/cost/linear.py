"""What attention costs that is linear in the length, and from which length on it is cheaper (claims G.8, H.4)."""

import bisect
import dataclasses
import functools

import jax
import jax.numpy as jnp

from attnlab_theory.attention import attention, bigbird_attention, feature_attention, linformer_attention
from attnlab_theory.attention.linear import CHUNK
from attnlab_theory.claims.claim import Verdict
from attnlab_theory.claims.cost.counted import counted_claim, shape
from attnlab_theory.counting import Cost, count
from attnlab_theory.theory.cost import layers as theory


@dataclasses.dataclass(frozen=True)
class Mixer:
    """One way to mix t tokens of width d; `size` is its number of features, of sketched positions, or of keys seen.

    For BigBird `size` is a block, of which a row sees a window of three, one global and two random ones.
    """

    kind: str
    t: int
    d: int
    size: int


BIGBIRD = {"window": 3, "global_blocks": 1}
RANDOM_BLOCKS = 2


@functools.cache
def mixer_cost(mixer: Mixer) -> Cost:
    """What the walker counts on the way from q, k, v to the output."""
    t, d, size = mixer.t, mixer.d, mixer.size
    operator, further = {
        "exact": (attention, ()),
        "features": (feature_attention, [shape(size, d)]),
        "causal features": (functools.partial(feature_attention, causal=True), [shape(size, d)]),
        "linformer": (linformer_attention, [shape(size, t)] * 2),
        "bigbird": (
            functools.partial(bigbird_attention, block=size, **BIGBIRD),
            [jax.ShapeDtypeStruct((t // max(size, 1), RANDOM_BLOCKS), jnp.int32)],
        ),
    }[mixer.kind]
    return count(functools.partial(operator, scale=d**-0.5), *[shape(t, d)] * 3, *further)


def _predicted(mixer: Mixer) -> int:
    t, d, size = mixer.t, mixer.d, mixer.size
    if mixer.kind == "exact":
        return theory.mixing(t, d)
    if mixer.kind == "linformer":
        return theory.linformer_mixing(t, d, size)
    if mixer.kind == "bigbird":
        near = BIGBIRD["window"] + RANDOM_BLOCKS
        return theory.bigbird_mixing(t, d, block=size, near=near, global_blocks=BIGBIRD["global_blocks"])
    return theory.feature_mixing(t, d, size, chunk=CHUNK if mixer.kind == "causal features" else 0)


FEATURES = 256
SIZES = {"exact": 0, "features": FEATURES, "causal features": FEATURES, "linformer": 256, "bigbird": 64}
LENGTHS = tuple(2**i for i in range(8, 15))

OPERATIONS = counted_claim(
    "mixer-products",
    r"Mixing $T$ tokens of width $d$ costs $4T^2d$ exactly; $4Tm(2d + 1)$ by $m$ features, and $2TC(m + d + 1)$ "
    r"more under a causal mask in chunks of $C$; $8Tmd$ by Linformer; $4d(gbT + (T - gb)(g + w + r)b)$ by BigBird.",
    "claims G.8, H.4; practical4 3g, 3h",
    predict=_predicted,
    measure=lambda s: mixer_cost(s).matrix_products,
    settings=tuple(Mixer(kind, t, 64, size) for kind, size in SIZES.items() for t in LENGTHS),
)

TRAFFIC = counted_claim(
    "mixer-traffic",
    r"The products of exact attention move $8T^2 + 16Td$ bytes, those of $m$ features "
    r"$8T(2m + 2d + 1) + 8m(2d + 1)$.",
    "claims G.8",
    predict=lambda s: (
        theory.mixing_traffic(s.t, s.d) if s.kind == "exact" else theory.feature_traffic(s.t, s.d, s.size)
    ),
    measure=lambda s: mixer_cost(s).bytes,
    settings=tuple(Mixer(kind, t, 64, SIZES[kind]) for kind in ("exact", "features") for t in LENGTHS),
)


@dataclasses.dataclass(frozen=True)
class Crossing:
    """Where exact attention of width d begins to cost as much as a rival of the given size, in one field."""

    kind: str
    field: str
    d: int
    size: int


def _first_dearer(setting: Crossing) -> int:
    def dearer(t: int) -> bool:
        exact, rival = (
            getattr(mixer_cost(Mixer(kind, t, setting.d, setting.size)), setting.field)
            for kind in ("exact", setting.kind)
        )
        return exact >= rival

    return 1 + bisect.bisect_left(range(1, 8 * setting.size), True, key=dearer)


def _predicted_crossing(setting: Crossing) -> int:
    if setting.kind == "linformer":
        return theory.linformer_crossing(setting.size)
    if setting.field == "bytes":
        return theory.feature_traffic_crossing(setting.d, setting.size)
    return theory.feature_crossing(setting.d, setting.size)


CROSSINGS = (
    *(Crossing("features", "matrix_products", d, m) for d, m in ((64, 256), (64, 64), (16, 256))),
    *(Crossing("features", "bytes", d, m) for d, m in ((64, 256), (64, 64), (16, 256))),
    Crossing("linformer", "matrix_products", 64, 256),
)

CHEAPER = counted_claim(
    "exact-attention-becomes-dearer",
    r"Exact attention first costs as many operations as $m$ features at $T = 2m + m/d$, and as many as "
    r"Linformer at $2m$; it first moves as many bytes as $m$ features at the root of "
    r"$T^2 = (2m + 1)T + m(2d + 1)$.",
    "claims G.8, H.4",
    predict=_predicted_crossing,
    measure=_first_dearer,
    settings=CROSSINGS,
)

CHEAPER_AT_ONCE = counted_claim(
    "features-are-cheaper-when-fewer-than-tokens",
    r"Feature attention is cheaper than exact attention as soon as $T > m$.",
    "a foil: O(Tmd) against O(T^2 d), read with equal constants; features have to be made, of queries and of keys",
    predict=lambda s: s.size + 1,
    measure=_first_dearer,
    settings=CROSSINGS[:3],
    expect=Verdict.REFUTED,
)

CLAIMS = (OPERATIONS, TRAFFIC, CHEAPER, CHEAPER_AT_ONCE)
