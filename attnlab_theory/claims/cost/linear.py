"""What attention costs that is linear in the length, and from which length on it is cheaper.

See docs/mathematics/cost.md.
"""

import bisect
import enum
import functools
from typing import assert_never

import jax
import jax.numpy as jnp

from attnlab_theory.attention import attention, bigbird_attention, feature_attention, linformer_attention
from attnlab_theory.attention.linear import CHUNK
from attnlab_theory.claims.cost.counts import counted_claim, counted_foil, counted_rival, shape
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.setting import Setting
from attnlab_theory.counting import Cost, count
from attnlab_theory.theory.cost import layers
from attnlab_theory.theory.cost import linear as theory
from attnlab_theory.theory.cost.layers import FLOAT


class MixingKind(enum.StrEnum):
    """How tokens are mixed."""

    EXACT = "exact"
    FEATURES = "features"
    CAUSAL_FEATURES = "causal features"
    LINFORMER = "linformer"
    BIGBIRD = "bigbird"


class Mixing(Setting):
    """One way to mix t tokens of width d, with `size` features or sketched positions.

    For BigBird `size` is the length of a block. A row sees a window of three blocks, a global block and two random
    ones.
    """

    kind: MixingKind
    t: int
    d: int
    size: int


BIGBIRD = {"window": 3, "global_blocks": 1}
RANDOM_BLOCKS = 2


@functools.cache
def mixer_cost(mixer: Mixing) -> Cost:
    """The counted cost from q, k, v to the output."""
    t, d, size = mixer.t, mixer.d, mixer.size
    match mixer.kind:
        case MixingKind.EXACT:
            operator, further = attention, []
        case MixingKind.FEATURES:
            operator, further = feature_attention, [shape(size, d)]
        case MixingKind.CAUSAL_FEATURES:
            operator, further = functools.partial(feature_attention, causal=True), [shape(size, d)]
        case MixingKind.LINFORMER:
            operator, further = linformer_attention, [shape(size, t)] * 2
        case MixingKind.BIGBIRD:
            operator = functools.partial(bigbird_attention, block=size, **BIGBIRD)
            further = [jax.ShapeDtypeStruct((t // size, RANDOM_BLOCKS), jnp.int32)]
        case _:
            assert_never(mixer.kind)
    return count(functools.partial(operator, scale=d**-0.5), *[shape(t, d)] * 3, *further)


def _predicted(mixer: Mixing) -> int:
    t, d, size = mixer.t, mixer.d, mixer.size
    match mixer.kind:
        case MixingKind.EXACT:
            return layers.mixing(t, d)
        case MixingKind.FEATURES:
            return theory.feature_mixing(t, d, size)
        case MixingKind.CAUSAL_FEATURES:
            return theory.feature_mixing(t, d, size, chunk=CHUNK)
        case MixingKind.LINFORMER:
            return theory.linformer_mixing(t, d, size)
        case MixingKind.BIGBIRD:
            near = BIGBIRD["window"] + RANDOM_BLOCKS
            return theory.bigbird_mixing(t, d, block=size, near=near, global_blocks=BIGBIRD["global_blocks"])
        case _:
            assert_never(mixer.kind)


def _one_term_less(mixer: Mixing) -> int:
    t, d, size = mixer.t, mixer.d, mixer.size
    match mixer.kind:
        case MixingKind.EXACT:
            return layers.mixing(t, d) // 2
        case MixingKind.FEATURES:
            return theory.feature_mixing(t, d, size) - 4 * t * d * size
        case MixingKind.CAUSAL_FEATURES:
            return theory.feature_mixing(t, d, size)
        case MixingKind.LINFORMER:
            return theory.linformer_mixing(t, d, size) // 2
        case MixingKind.BIGBIRD:
            seen = BIGBIRD["window"] + RANDOM_BLOCKS + BIGBIRD["global_blocks"]
            return layers.mixing(t, d, sources=seen * size)
        case _:
            assert_never(mixer.kind)


def _size(kind: MixingKind) -> int:
    match kind:
        case MixingKind.EXACT:
            return 0
        case MixingKind.FEATURES | MixingKind.CAUSAL_FEATURES | MixingKind.LINFORMER:
            return 256
        case MixingKind.BIGBIRD:
            return 64
        case _:
            assert_never(kind)


LENGTHS = tuple(2**i for i in range(8, 15))


def _fits(mixer: Mixing) -> bool:
    """Whether blocks and chunks divide the tokens, and there is something to look at."""
    match mixer.kind:
        case MixingKind.EXACT:
            return True
        case MixingKind.FEATURES | MixingKind.LINFORMER:
            return mixer.size > 0
        case MixingKind.CAUSAL_FEATURES:
            return mixer.size > 0 and mixer.t % CHUNK == 0
        case MixingKind.BIGBIRD:
            seen = BIGBIRD["window"] + BIGBIRD["global_blocks"]
            return mixer.size > 0 and mixer.t % mixer.size == 0 and mixer.t // mixer.size >= seen
        case _:
            assert_never(mixer.kind)


FITS = at_least(t=1, d=1) | {"blocks and chunks fit": _fits}

OPERATIONS = counted_claim(
    name="mixer-products",
    statement=r"Mixing $T$ tokens of width $d$ costs $4T^2d$ exactly; $4Tm(2d + 1)$ by $m$ features, and "
    r"$2TC(m + d + 1)$ more under a causal mask in chunks of $C$; $8Tmd$ by Linformer; "
    r"$4d(gbT + (T - gb)(g + w + r)b)$ by BigBird.",
    source="mathematics/cost.md#mixing-in-linear-time; Choromanski et al. 2021; Katharopoulos et al. 2020, "
    "section 3; Wang et al. 2020; Zaheer et al. 2020, appendix D; practical4/3g.1; practical4/3g.2; "
    "practical4/3h.1",
    hypotheses=FITS,
    predict=_predicted,
    measure=lambda s: mixer_cost(s).matrix_products,
    settings=tuple(Mixing(kind=kind, t=t, d=64, size=_size(kind)) for kind in MixingKind for t in LENGTHS),
    rival=counted_rival(
        statement="Exact mixing costs no more than its scores do. Making features and sketches costs nothing, "
        "nor does a causal mask. A global block of BigBird costs no more than another block.",
        source="one term left out: the mean of the values; the making of features and sketches; the chunks' own "
        "weights; what global rows see",
        predict=_one_term_less,
    ),
)


def _predicted_traffic(mixer: Mixing) -> int:
    match mixer.kind:
        case MixingKind.EXACT:
            return theory.mixing_traffic(mixer.t, mixer.d)
        case MixingKind.FEATURES:
            return theory.feature_traffic(mixer.t, mixer.d, mixer.size)
        case MixingKind.CAUSAL_FEATURES | MixingKind.LINFORMER | MixingKind.BIGBIRD:
            raise ValueError(f"no formula tells the traffic of {mixer.kind}")
        case _:
            assert_never(mixer.kind)


def _one_touch_less(mixer: Mixing) -> int:
    if mixer.kind == MixingKind.EXACT:
        return theory.mixing_traffic(mixer.t, mixer.d) - FLOAT * mixer.t**2
    # In each of the two sums the column of ones makes t + m more numbers to read or write.
    return theory.feature_traffic(mixer.t, mixer.d, mixer.size) - FLOAT * 2 * (mixer.t + mixer.size)


TRAFFIC_KNOWN = (MixingKind.EXACT, MixingKind.FEATURES)

TRAFFIC = counted_claim(
    name="mixer-traffic",
    statement=r"The products of exact attention move $8T^2 + 16Td$ bytes, those of $m$ features "
    r"$8T(2m + 2d + 1) + 8m(2d + 1)$.",
    source="mathematics/cost.md#bytes-that-products-move; practical4/3h.1",
    hypotheses=FITS | {"exact attention, or features without a causal mask": lambda s: s.kind in TRAFFIC_KNOWN},
    predict=_predicted_traffic,
    measure=lambda s: mixer_cost(s).bytes,
    settings=tuple(Mixing(kind=kind, t=t, d=64, size=_size(kind)) for kind in TRAFFIC_KNOWN for t in LENGTHS),
    rival=counted_rival(
        statement="The weights of exact attention move once; features need no normalizer.",
        source="the second touch of the weights left out; the column of ones left out",
        predict=_one_touch_less,
    ),
)


class Counted(enum.StrEnum):
    """What is counted: a field of `Cost`."""

    MATRIX_PRODUCTS = "matrix_products"
    BYTES = "bytes"


class CostCrossing(Setting):
    """Where exact attention of width d begins to cost as much as another mixing of the given size, in one field."""

    kind: MixingKind
    field: Counted
    d: int
    size: int


def _counted(kind: MixingKind, t: int, setting: CostCrossing) -> int:
    cost = mixer_cost(Mixing(kind=kind, t=t, d=setting.d, size=setting.size))
    match setting.field:
        case Counted.MATRIX_PRODUCTS:
            return cost.matrix_products
        case Counted.BYTES:
            return cost.bytes
        case _:
            assert_never(setting.field)


def _first_dearer(setting: CostCrossing) -> int:
    def dearer(t: int) -> bool:
        exact, rival = (_counted(kind, t, setting) for kind in (MixingKind.EXACT, setting.kind))
        return exact >= rival

    return 1 + bisect.bisect_left(range(1, 8 * setting.size), True, key=dearer)


def _predicted_crossing(setting: CostCrossing) -> int:
    match setting.kind, setting.field:
        case MixingKind.FEATURES, Counted.MATRIX_PRODUCTS:
            return theory.feature_crossing(setting.d, setting.size)
        case MixingKind.FEATURES, Counted.BYTES:
            return theory.feature_traffic_crossing(setting.d, setting.size)
        case MixingKind.LINFORMER, Counted.MATRIX_PRODUCTS:
            return theory.linformer_crossing(setting.size)
        case kind, field:
            raise ValueError(f"no formula tells where exact attention and {kind} cost the same {field}")


CROSSING_KNOWN = (
    (MixingKind.FEATURES, Counted.MATRIX_PRODUCTS),
    (MixingKind.FEATURES, Counted.BYTES),
    (MixingKind.LINFORMER, Counted.MATRIX_PRODUCTS),
)

CHEAPER = counted_claim(
    name="exact-attention-becomes-dearer",
    statement=r"Exact attention first costs as many operations as $m$ features at $T = 2m + m/d$, and as many as "
    r"Linformer at $2m$; it first moves as many bytes as $m$ features at the root of "
    r"$T^2 = (2m + 1)T + m(2d + 1)$.",
    source="mathematics/cost.md#where-exact-attention-becomes-dearer; practical4/3g.1; practical4/3h.1",
    hypotheses=at_least(d=1, size=1)
    | {
        "features, or the operations of Linformer": lambda s: (s.kind, s.field) in CROSSING_KNOWN,
        "below eight times the size": lambda s: _predicted_crossing(s) < 8 * s.size,
    },
    predict=_predicted_crossing,
    measure=_first_dearer,
    settings=(
        *(
            CostCrossing(kind=MixingKind.FEATURES, field=field, d=d, size=m)
            for field in Counted
            for d, m in ((64, 256), (64, 64), (16, 256))
        ),
        CostCrossing(kind=MixingKind.LINFORMER, field=Counted.MATRIX_PRODUCTS, d=64, size=256),
    ),
)

CHEAPER_AT_ONCE = counted_foil(
    CHEAPER,
    name="features-are-cheaper-when-fewer-than-tokens",
    statement=r"Features and sketches are cheaper than exact attention as soon as $T > m$.",
    source="mathematics/cost.md#where-exact-attention-becomes-dearer; Choromanski et al. 2021, the orders read "
    "with equal constants; practical4/3g.1; practical4/3h.1",
    predict=lambda s: s.size + 1,
    settings=CHEAPER.settings,
)

CLAIMS = (OPERATIONS, TRAFFIC, CHEAPER, CHEAPER_AT_ONCE)
