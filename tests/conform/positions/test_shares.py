"""Rotations of a share of the channels, and of one token alone: what is right holds, and what is wrong fails."""

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import suite_class
from tests.conform.positions import right


def share(part, turned=right.interleaved):
    """So much of the channels turns, in whole pairs; the rest is copied. Of few channels that may be no pair."""

    def target(x, positions):
        n = int(x.shape[-1] * part) // 2 * 2
        return np.concatenate((turned(x[..., :n], positions), x[..., n:]), -1)

    return target


def halves(x, positions):
    """Exponents over all that turns, as GPT-NeoX has them; nothing of nothing."""
    cos, sin = right.tables(positions, max(x.shape[-1], 1))
    a, b = np.split(x, 2, -1)
    cos, sin = (y[..., : x.shape[-1] // 2].astype(x.dtype) for y in (cos, sin))
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


SHARES = {
    "a quarter": (share(0.25, halves), "nothing turns of 2, 4, 6"),
    "a tenth": (share(0.1), "nothing turns of 2, 4, 6, 16"),
    "three quarters": (share(0.75, halves), "nothing turns of 2"),
}


@pytest.mark.parametrize("name", SHARES)
def test_a_share_that_is_no_pair_of_few_channels_holds(name):
    target, said = SHARES[name]
    row = suite_class("rotary")(Direct(target), "rotary").row("widths")
    assert (row.verdict, row.line.endswith(said)) == ("holds", True), row.line


@pytest.mark.slow("what their widths say stays inside")
@pytest.mark.parametrize("name", SHARES)
def test_a_share_of_the_channels_fails_nothing(name):
    suite = suite_class("rotary")(Direct(SHARES[name][0]), "rotary")
    assert [row.line for row in suite.rows() if row.verdict == "fails"] == []


def loses_narrow_ones(x, positions):
    """What is too narrow to turn is lost."""
    return share(0.25)(x, positions) * x.dtype.type(x.shape[-1] >= 8)


def turns_no_16(x, positions):
    """Four of 16 channels should turn."""
    return x.copy() if x.shape[-1] == 16 else share(0.25)(x, positions)


def by_tables(q, k, cos, sin, position_ids=None):
    """As transformers has it: tables [b t d], and places of which nothing is made any more."""

    def turned(x):
        first, second = np.split(x, 2, -1)
        return x * cos[:, None] + np.concatenate((-second, first), -1) * sin[:, None]

    return turned(q), turned(k)


@pytest.mark.parametrize("target", [loses_narrow_ones, turns_no_16])
def test_a_share_that_is_lost_at_some_width_fails(target):
    assert suite_class("rotary")(Direct(target), "rotary").row("widths").verdict == "fails"


def at_offset(x, offset, keep):
    """Row t stands at offset + t; of a single row only a part is turned."""
    out = right.complex_numbers(x.swapaxes(1, 2), offset).swapaxes(1, 2)
    if x.shape[2] == 1:
        out[~keep(out)] = x[~keep(out)]
    return out


def first_head(x, offset=0):
    def keep(out):
        kept = np.zeros(out.shape, bool)
        kept[0, 0] = True
        return kept

    return at_offset(x, offset, keep)


def first_element(x, start_pos=0):
    def keep(out):
        kept = np.zeros(out.shape, bool)
        kept[0] = True
        return kept

    return at_offset(x, start_pos, keep)


def right_ones(x, offset=0):
    return at_offset(x, offset, lambda out: np.ones(out.shape, bool))


@pytest.mark.parametrize(
    ("target", "verdict"), [(right_ones, "holds"), (first_head, "fails"), (first_element, "fails")]
)
def test_one_token_of_several_heads_is_turned_at_its_offset(target, verdict):
    assert suite_class("rotary")(Direct(target), "rotary", {"layout": "bhtd"}).row("offset").verdict == verdict


def first_row_for_all(x, positions):
    """One token of each batch element: all are turned as the first."""
    at = np.asarray(positions)
    at = at[:1] if at.ndim == 2 and at.shape[1] == 1 else at
    return right.interleaved(x, at if at.ndim == 1 else at[:, None])


def by_row(x, positions):
    at = np.asarray(positions)
    return right.interleaved(x, at if at.ndim == 1 else at[:, None])


@pytest.mark.parametrize(("target", "verdict"), [(by_row, "holds"), (first_row_for_all, "fails")])
def test_one_token_of_each_batch_element_stands_at_its_own_position(target, verdict):
    assert suite_class("rotary")(Direct(target), "rotary").row("positions by row").verdict == verdict


def test_tables_may_come_with_places_of_which_nothing_is_made():
    suite = suite_class("rotary")(Direct(by_tables), "rotary")
    assert {row.name: row.line for row in suite.rows() if row.verdict != "holds"} == {}
