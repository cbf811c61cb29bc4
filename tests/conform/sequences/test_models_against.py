"""Two models that promise the same: what differs at a real token fails, and what differs at padding does not."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.kinds.model import LENGTHS
from attnlab_theory.conform.suite import suite_class
from tests.conform.sequences import modelling


def compared(target, other):
    suite = suite_class("model")(Direct(target), "model", {"against": other})
    return suite.row("against")


def in_other_numbers(
    input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, use_cache=None, **kwargs
):
    """Right at real tokens, to rounding; anything at padding."""
    logits, kept = modelling.run(input_ids, attention_mask, position_ids, past_key_values)
    logits = (logits.astype("f8") * (1 + 1e-6)).astype("f4")
    if attention_mask is not None and attention_mask.shape == input_ids.shape:
        logits = np.where(attention_mask[..., None] == 1, logits, np.nan)
    return SimpleNamespace(logits=logits, past_key_values=kept if use_cache else None)


def refuses_seventeen(ids):
    if ids.shape[1] == 17:
        raise ValueError("too odd")
    return modelling.plain(ids)


def test_another_path_to_the_same_logits_holds_whatever_stands_at_padding():
    row = compared(modelling.library(), in_other_numbers)
    assert (row.verdict, row.tried) == ("holds", len(LENGTHS) + 3)
    assert 0 < row.ratio < 1


@pytest.mark.parametrize(
    ("bug", "said"),
    [
        ("half precision when long", "33 tokens: "),
        ("mask is ignored", "10 tokens, padded at the left: "),
        ("cache off by one position", "12 tokens, one after the other: "),
    ],
)
def test_a_bug_of_one_path_is_found_where_it_is(bug, said):
    row = compared(modelling.library(), modelling.library(bug))
    assert (row.verdict, row.line.startswith(said)) == ("fails", True)
    assert row.ratio > 1
    assert "padded" not in said or "[b t o] = [0, " in row.line


def test_a_length_that_one_path_refuses_is_told():
    row = compared(modelling.plain, refuses_seventeen)
    assert (row.verdict, row.line.partition(" (")[0]) == ("fails", "17 tokens: only there: ValueError: too odd")
    assert compared(refuses_seventeen, refuses_seventeen).verdict == "holds"


def test_models_of_two_vocabularies_are_not_compared():
    with pytest.raises(ValueError, match=r"has 31 token ids, and .* 30: --against compares those of one"):
        compared(modelling.plain, lambda ids: modelling.plain(ids % 30)[..., :30])


def test_without_another_model_there_is_no_such_row():
    assert suite_class("model")(Direct(modelling.plain), "model").row("against") is None
