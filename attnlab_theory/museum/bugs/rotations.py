"""Bugs in positions."""

import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import rotary, rotary_by_complex, sinusoidal
from attnlab_theory.identities import rotation
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import Bug

MOVES = np.arange(0.0, 401.0, 4.0)
"""How far the pair of a picture is moved, in tokens."""


def _half(x, positions, *, base=10000.0):
    return rotary(x, positions, base=base, layout="half")


FORMS = (("interleaved", rotary), ("half", _half), ("by complex numbers", rotary_by_complex))


def _scores(rotate_query, rotate_key) -> np.ndarray:
    """Score of one pair, three tokens apart, moved along the sequence."""
    q, k = exhibit.normal(11, 1, 8), exhibit.normal(12, 1, 8)

    def score(move: float) -> float:
        return float(jnp.sum(rotate_query(q, jnp.array([move + 3.0])) * rotate_key(k, jnp.array([move]))))

    return np.array([score(move) for move in MOVES])


def _moved_pair(rotate_query, rotate_key) -> exhibit.Exhibit:
    return exhibit.Exhibit(
        title="Score of one query and one key, three tokens apart, moved along the sequence",
        rows="score",
        columns="moved by (tokens)",
        right=_scores(rotary, rotary),
        wrong=_scores(rotate_query, rotate_key),
        over=MOVES,
    )


def query_interleaved(q, positions, *, base=10000.0):
    return rotary(q, positions, base=base, layout="interleaved")


def key_half(k, positions, *, base=10000.0):
    return rotary(k, positions, base=base, layout="half")


LAYOUTS = Bug(
    name="rotary-layouts-mixed",
    story="Code of one convention meets code or weights of the other: coordinates turn in pairs (2j, 2j+1) "
    "here and (j, j+d/2) there. With queries in one and keys in the other, the score depends on where "
    "the pair stands.",
    where="https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6",
    code=(query_interleaved, key_half),
    checks=(
        rotation.relative("q interleaved, k half", query_interleaved, key_half),
        rotation.kept_lengths("half", key_half),
    ),
    exhibit=lambda: _moved_pair(query_interleaved, key_half),
)


def sine_without_its_sign(x, positions, *, base=10000.0):
    right, back = rotary(x, positions, base=base), rotary(x, -positions, base=base)
    return right.at[:, 0::2].set(back[:, 0::2])


def sine_without_its_sign_half(x, positions, *, base=10000.0):
    right, back = _half(x, positions, base=base), _half(x, -positions, base=base)
    return jnp.concatenate(jnp.split(back, 2, axis=1)[:1] + jnp.split(right, 2, axis=1)[1:], axis=1)


def first_coordinate_without_its_sign(rotate):
    def wrong(x, positions, *, base=10000.0):
        right, back = (rotate(x, at, base=base) for at in (positions, -positions))
        return right.at[:, :1].set(back[:, :1])

    return wrong


def product_without_its_sign(x, positions, *, base=10000.0):
    right, back = (rotary_by_complex(x, at, base=base) for at in (positions, -positions))
    return right.at[:, 0::2].set(back[:, 0::2])


SIGN = Bug(
    name="rotation-without-its-minus",
    story="x cos + y sin in place of x cos - y sin: the matrix is no rotation, lengths grow and shrink.",
    where="https://github.com/NVIDIA/ngpt/issues/10",
    code=(sine_without_its_sign,),
    checks=(
        rotation.kept_lengths("interleaved", sine_without_its_sign),
        rotation.kept_lengths("half", sine_without_its_sign_half),
        rotation.kept_lengths("by complex numbers", product_without_its_sign),
        rotation.relative("interleaved", sine_without_its_sign),
        rotation.matrix_form("interleaved", sine_without_its_sign),
        *(
            law(name, first_coordinate_without_its_sign(rotate))
            for name, rotate in (rotation.STRETCHED, rotation.PARTIAL)
            for law in (rotation.kept_lengths, rotation.relative)
        ),
    ),
    exhibit=lambda: _moved_pair(sine_without_its_sign, sine_without_its_sign),
)


def positions_in_bfloat16(encode):
    def wrong(x, positions, *, base=10000.0):
        return encode(x, positions.astype(jnp.bfloat16).astype(jnp.float32), base=base)

    return wrong


def waves_in_bfloat16(positions, width, *, base=10000.0):
    return sinusoidal(positions.astype(jnp.bfloat16).astype(jnp.float32), width, base=base)


BFLOAT16 = Bug(
    name="positions-in-bfloat16",
    story="Positions are cast with the model to bfloat16, which cannot count beyond 256: tokens share positions, "
    "more of them the later they come. Each rotation is still a rotation.",
    where="https://github.com/huggingface/transformers/pull/29285",
    code=(positions_in_bfloat16,),
    checks=(
        *(rotation.relative(name, positions_in_bfloat16(form)) for name, form in FORMS),
        rotation.matrix_form("interleaved", positions_in_bfloat16(rotary)),
        rotation.matrix_form("by complex numbers", positions_in_bfloat16(rotary_by_complex)),
        rotation.same_up_to_order("half", positions_in_bfloat16(_half)),
        rotation.moved_waves("sinusoidal", waves_in_bfloat16),
        rotation.relative_waves("sinusoidal", waves_in_bfloat16),
        rotation.kept_lengths("interleaved", positions_in_bfloat16(rotary)),
    ),
    exhibit=lambda: _moved_pair(positions_in_bfloat16(rotary), positions_in_bfloat16(rotary)),
)


def a_frequency_for_every_column(positions, width, *, base=10000.0):
    frequencies = base ** (-jnp.arange(width) / width)
    angles = positions[:, None].astype(frequencies.dtype) * frequencies[None, :]
    return jnp.sin(angles).at[:, 1::2].set(jnp.cos(angles)[:, 1::2])


WAVES = Bug(
    name="sine-and-cosine-out-of-step",
    story="The cosine beside a sine has the next frequency, not the same one. The picture of the table looks the "
    "same; products of two rows no longer know the distance.",
    where="https://github.com/BrianPulfer/PapersReimplementations/issues/9",
    code=(a_frequency_for_every_column,),
    checks=(
        rotation.moved_waves("sinusoidal", a_frequency_for_every_column),
        rotation.relative_waves("sinusoidal", a_frequency_for_every_column),
    ),
    exhibit=lambda: _waves(a_frequency_for_every_column),
)


def _waves(wrong) -> exhibit.Exhibit:
    positions = jnp.arange(24.0)
    tables = [np.asarray(waves(positions, 16)) for waves in (sinusoidal, wrong)]
    return exhibit.Exhibit(
        title="Products of the position vectors of 24 tokens",
        rows="position",
        columns="position",
        right=tables[0] @ tables[0].T,
        wrong=tables[1] @ tables[1].T,
    )


def divided_too_early(width, base):
    # Meant: -log(base) / (width // 2). The floor of a small negative number is -1.
    return jnp.exp(jnp.arange(0.0, width, 2.0) * (-jnp.log(base) / width // 2))


def waves_divided_too_early(positions, width, *, base=10000.0):
    frequencies = divided_too_early(width, base)
    angles = positions[:, None].astype(frequencies.dtype) * frequencies[None, :]
    return jnp.stack((jnp.sin(angles), jnp.cos(angles)), axis=2).reshape(-1, width)


def _encoded_too_early(x, positions, *, base):
    return waves_divided_too_early(positions, x.shape[1], base=base)


def turned_too_early(x, positions, *, base=10000.0):
    waves = waves_divided_too_early(positions, x.shape[1], base=base).astype(x.dtype)
    sin, cos, even, odd = waves[:, 0::2], waves[:, 1::2], x[:, 0::2], x[:, 1::2]
    return jnp.stack((even * cos - odd * sin, even * sin + odd * cos), axis=2).reshape(x.shape)


PRECEDENCE = Bug(
    name="frequencies-by-precedence",
    story="-log(base) / d // 2 is -1, not what was meant: frequencies fall far too fast, and most coordinates "
    "never move. Scores still depend on distances alone, and the published model worked.",
    where="https://github.com/zju3dv/LoFTR/issues/41",
    code=(divided_too_early,),
    checks=(
        rotation.moved_waves("sinusoidal", waves_divided_too_early),
        rotation.sinusoidal_slope(_encoded_too_early),
        rotation.rotary_slope(turned_too_early),
        rotation.matrix_form("interleaved", turned_too_early),
        rotation.relative_waves("sinusoidal", waves_divided_too_early),
    ),
    exhibit=lambda: _waves(waves_divided_too_early),
)

BUGS = (LAYOUTS, SIGN, BFLOAT16, WAVES, PRECEDENCE)
