"""What positions may mean is told, and nobody fails for it; what contradicts what was declared does."""

import re

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.kinds.alibi import published
from attnlab_theory.conform.suite import suite_class
from tests.conform.positions import right, wrong


def told(suite):
    return dict(suite.profile)


def rotated(target, **declared):
    return suite_class("rotary")(Direct(target), "rotary", declared)


def waves(target, **declared):
    return suite_class("sinusoidal")(Direct(target), "sinusoidal", declared)


def of_base(base, divided=1.0):
    def target(x, positions):
        half = x.shape[-1] // 2
        angles = np.asarray(positions)[:, None] / divided * base ** (-np.arange(half) / half)
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        a, b = np.split(x, 2, -1)
        return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)

    return target


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (right.interleaved, {"pairs": "interleaved", "layout": "b h t d"}),
        (right.halves, {"pairs": "halves", "positions": "[t]"}),
        (right.half_table, {"cos": "each pair", "pairs": "halves"}),
        (right.apply_rotary_pos_emb, {"cos": "each channel, in halves"}),
        (right.complex_numbers, {"row 0 stands at": "0", "layout": "b t h d"}),
        (right.in_float64, {"layout": "t d"}),
        (right.partial, {"channels that turn": "4", "width": "8"}),
        (right.backwards, {"direction": "the other way"}),
        (right.from_a_table, {"width": "64"}),
        (right.llama, {"base": "500000", "positions are divided by": "4"}),
        (
            right.yarn,
            {
                "base": "of its own",
                "frequencies": "1, 0.0708, 0.00417, 0.000125",
                "vectors are multiplied by": "1.20794",
            },
        ),
        (of_base(1e6), {"base": "1e+06"}),
        (of_base(63496.0), {"base": "of its own", "frequencies are powers of about": "6349"}),
    ],
)
def test_the_profile_of_a_rotation_says_what_was_found(target, said):
    profile = told(rotated(target))
    assert all(words in profile[name] for name, words in said.items()), profile


def test_frequencies_that_fall_with_long_texts_are_told():
    row = rotated(right.dynamic).row("prefix")
    assert row.verdict == "convention"
    assert row.line.startswith("frequencies fall when position 5000 is in the same call")


def test_frequencies_that_change_with_short_texts_fail():
    assert rotated(wrong.rotary("base grows with every token")).row("prefix").verdict == "fails"


@pytest.mark.parametrize(
    ("target", "declared", "verdict"),
    [
        (of_base(63496.0), {"base": 63496.0}, "holds"),
        (of_base(63496.0), {"base": 63500.0}, "fails"),
        (of_base(1e4, 4.0), {"base": 1e4}, "holds"),
        (of_base(100.0), {"base": 1e4}, "fails"),
        (right.interleaved, {"base": 5e5}, "fails"),
    ],
)
def test_a_base_that_is_declared_is_judged_by(target, declared, verdict):
    assert rotated(target, **declared).row("large positions").verdict == verdict


def test_pairs_that_are_declared_and_are_others_fail():
    assert rotated(right.interleaved, pairs="interleaved").row("turning").verdict == "holds"
    row = rotated(right.interleaved, pairs="halves").row("turning")
    assert (row.verdict, row.line.partition(":")[0]) == (
        "fails",
        "channels do not turn in the pairs that are declared",
    )


def test_a_base_and_an_offset_that_can_be_given_are_given():
    assert rotated(right.halves).row("base").verdict == "holds"
    assert rotated(right.complex_numbers).row("offset").verdict == "holds"
    assert rotated(lambda x, positions, base=1e4: right.interleaved(x, positions)).row("base").verdict == "fails"
    assert (
        rotated(lambda x, offset=0: right.interleaved(x, np.arange(x.shape[-2]))).row("offset").verdict == "fails"
    )


def test_a_target_that_turns_nothing_fails_with_a_line():
    suite = rotated(lambda x, positions: x)
    rows = list(suite.rows())
    assert [(row.name, row.verdict) for row in rows] == [("turning", "fails")]
    assert rows[0].line.startswith("no channel turns: the answer is the same at all positions; the call: ")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (right.paper, {"pairs": "interleaved", "first of each pair": "sine", "base": "10000"}),
        (right.in_float32, {"pairs": "halves", "first of each pair": "sine", "positions": "positions"}),
        (right.tensor2tensor, {"exponents": "the last pair reaches 1 / base"}),
        (right.timesteps, {"pairs": "halves", "first of each pair": "cosine"}),
        (right.Added, {"embeddings": "[b t d]", "gives": "[b t d]"}),
        (right.from_one, {"row 0 stands at": "1", "gives": "[1 t d]", "length": "a number of tokens"}),
        (right.other_base, {"base": "of its own", "frequencies are powers of about": "777"}),
        (right.half_precision, {"gives": "[t d], float16"}),
    ],
)
def test_the_profile_of_sinusoids_says_what_was_found(target, said):
    profile = told(waves(target))
    assert all(words in profile[name] for name, words in said.items()), profile


@pytest.mark.parametrize(
    ("target", "line"),
    [
        (right.paper, "an odd width gives a table whose last column is left out"),
        (right.tensor2tensor, "an odd width gives a column of zeros after those of an even width"),
        (right.in_float32, "refused: "),
    ],
)
def test_what_is_made_of_an_odd_width_is_told(target, line):
    row = waves(target).row("odd widths")
    assert (row.verdict, row.line[: len(line)]) == ("convention", line)


def test_sinusoids_of_another_base_fail_where_one_is_declared():
    assert waves(right.other_base, base=1e4).row("table").verdict == "fails"
    assert waves(right.other_base, base=777.0).row("table").ratio < 1


@pytest.mark.parametrize(
    ("target", "future", "alignment"),
    [
        (right.symmetric, "lower with the distance, as past ones", None),
        (right.bloom, "higher still: a causal mask has to hide them", None),
        (right.causal_end, "hidden (-inf)", "end"),
        (right.from_the_start, "lower with the distance, as past ones", "start"),
        (right.relative_in_half, "no bias", "end"),
    ],
)
def test_the_profile_of_a_bias_says_what_was_found(target, future, alignment):
    profile = told(suite_class("alibi")(Direct(target), "alibi"))
    assert profile["keys after the query"] == future
    assert profile.get("more keys than queries", "").partition(":")[0] == (alignment or "")


def test_slopes_that_are_not_the_published_ones_are_told():
    suite = suite_class("alibi")(Direct(right.plain_progression), "alibi")
    assert suite.row("slopes").verdict == "holds"
    row = suite.row("other heads")
    assert row.verdict == "convention"
    assert row.line.startswith("3 heads: slopes of its own, 0.1575")
    backwards = suite_class("alibi")(Direct(lambda heads, length: right.symmetric(heads, length)[::-1]), "alibi")
    assert "in another order" in backwards.row("slopes").line


def test_published_slopes_are_those_of_the_published_code():
    for heads in (*range(1, 33), 71):
        assert published(heads) == pytest.approx(right.slopes(heads), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [
        ("rotary", lambda x, positions, mystery: x, "nobody knows what to give for mystery"),
        ("rotary", lambda x, positions: 1 / 0, "answered no trial call"),
        ("sinusoidal", lambda length, width: 1 / 0, "answered no trial call"),
        ("alibi", lambda heads, length: 1 / 0, "answered no trial call"),
        ("alibi", lambda heads, length: np.zeros((length, heads)), "gave [6, 4] where [4, 6, 6] was expected"),
    ],
)
def test_what_cannot_be_called_is_refused_with_the_remedy(kind, target, said):
    with pytest.raises(ValueError, match=re.escape(said) + ".*adapter"):
        suite_class(kind)(Direct(target), kind)


@pytest.mark.parametrize("rows", [12, 64, 100])
def test_a_short_table_is_no_failure(rows):
    def target(x, positions):
        cos, sin = (y[positions].astype(x.dtype) for y in right.tables(np.arange(rows), x.shape[-1]))
        a, b = np.split(x, 2, -1)
        return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)

    suite = rotated(target)
    assert [(row.name, row.line) for row in suite.rows() if row.verdict == "fails"] == []


@pytest.mark.parametrize("rows", [7, 20, 100])
def test_a_short_table_of_sinusoids_is_no_failure_and_one_that_is_given_short_is(rows):
    def refusing(length, width):
        if length > rows:
            raise ValueError("too long")
        return right.paper(rows, width)[:length]

    suite = waves(refusing)
    assert [(row.name, row.line) for row in suite.rows() if row.verdict == "fails"] == []
    suite = waves(lambda length, width: right.paper(rows, width)[:length])
    assert suite.row("large positions").verdict == "fails"


ONE_TABLE = "one table, of 8 channels: vectors of {} turn by its frequencies, again and again"

EIGHT = right.OfOneWidth()


def tiled(x, positions):
    """The frequencies of eight channels, for the pairs of all widths."""
    n = x.shape[-1] // 2
    more = right.OfOneWidth()
    more.frequencies = EIGHT.frequencies[np.arange(n) % 4]
    return more(x, positions)


def by_blocks(x, positions):
    """Heads of eight channels, that stand in one axis."""
    blocks = x.reshape(*x.shape[:-1], -1, 8)
    return np.moveaxis(EIGHT(np.moveaxis(blocks, -2, 0), positions), 0, -2).reshape(x.shape)


def first_eight(x, positions):
    return np.concatenate((EIGHT(x[..., :8], positions), x[..., 8:]), -1)


def test_vectors_that_are_narrower_than_what_turns_may_be_refused():
    row = rotated(first_eight).row("widths")
    assert row.verdict == "holds"
    assert row.line.startswith("widths 16, 24, 64, 128: ")
    assert row.line.endswith("; refused: 4, 6")


@pytest.mark.parametrize(
    ("target", "line"),
    [
        (right.OfOneWidth, "one width: 8; refused: 4, 6, 16, 24, 64, 128"),
        (right.from_a_table, "one width: 64; refused: 2, 4, 6, 16, 24, 128"),
        (tiled, ONE_TABLE.format("2, 4, 6, 16, 24, 64, 128")),
        (by_blocks, ONE_TABLE.format("16, 24, 64, 128")),
    ],
)
def test_one_width_of_its_own_is_told(target, line):
    row = rotated(target).row("widths")
    assert (row.verdict, row.line) == ("convention", line)


@pytest.mark.parametrize("width", [2, 16])
def test_a_width_that_is_mixed_up_fails_where_others_are_taken(width):
    def mixed_up(x, positions):
        return np.resize(x, (*x.shape[:-1], 8)) if x.shape[-1] == width else right.interleaved(x, positions)

    row = rotated(mixed_up).row("widths")
    assert row.verdict == "fails"
    assert f"gave [1, 1, 1, 8] where [1, 1, 1, {width}]" in row.line


def test_a_function_that_gives_one_width_whatever_comes_in_fails():
    own = right.OfOneWidth()

    def always_eight(x, positions):
        return own(np.resize(x, (*x.shape[:-1], 8)), positions)

    assert rotated(always_eight).row("widths").verdict == "fails"


def test_a_width_at_which_nothing_turns_fails():
    row = rotated(lambda x, positions: right.interleaved(x, positions) if x.shape[-1] < 64 else x).row("widths")
    assert (row.verdict, row.line[:17]) == ("fails", "no channel turns:")
    assert "x [2, 3, 5, 64]" in row.line


def test_a_base_near_a_known_one_is_one_of_its_own():
    suite = rotated(of_base(10001.0))
    assert told(suite)["base"] == "of its own"
    assert [row.name for row in suite.rows() if row.verdict == "fails"] == []


def test_what_is_cut_short_is_no_refusal():
    row = rotated(lambda x, positions: right.interleaved(x, positions)[..., :130, :]).row("lengths")
    assert row.verdict == "holds"
    cut = rotated(lambda x, positions: right.interleaved(x, positions)[..., :64, :]).row("lengths")
    assert "gave [1, 1, 64, 2] where [1, 1, 65, 2] was expected" in cut.line


def test_two_tables_of_frequencies_are_compared():
    def by(factor):
        def rotate(x, positions):
            angles = np.asarray(positions)[:, None] * 1e4 ** (-np.arange(x.shape[-1] // 2) / (x.shape[-1] // 2))
            angles[:, 1:] /= factor
            c, s = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
            a, b = np.split(x, 2, -1)
            return np.concatenate([a * c - b * s, b * c + a * s], -1)

        return rotate

    found = {}
    for factor in (3.0, 3.1, 1.0):
        asked = rotated(by(3.0))
        asked.against(Direct(by(factor)))
        found[factor] = [row.verdict for row in asked.rows(["turning", "against"])]
    assert found == {3.0: ["holds", "holds"], 3.1: ["holds", "fails"], 1.0: ["holds", "fails"]}
