"""Do tokens become alike by depth: layers taken apart, and verdicts on states that collapse and that do not."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.heads import collapse, encoder, families, gpt
from attnlab_theory.labs.heads.traces import Kept, Layered, Tokens
from attnlab_theory.language.models.encoder import Encoder, seen_by_all
from attnlab_theory.language.models.encoder_config import EncoderConfig
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.models.tape import tape
from attnlab_theory.language.models.weighing import place
from attnlab_theory.language.text.words import Words
from tests.labs.heads.synthetic import beyond_controls
from tests.language.models import gap, rounding

TEXT = Words(("a", "cat", "runs"))
SENTENCES = ("a cat runs", "cat", "a a cat cat runs a")


def shaken(model):
    return jax.tree.map(lambda x: x + 0.3 * jax.random.normal(jax.random.key(x.size), x.shape), model)


@pytest.fixture(scope="module")
def of_encoder():
    config = EncoderConfig(vocabulary=len(TEXT), block=16, layers=2, heads=2, width=8)
    return encoder.reading(shaken(Encoder(config, key=jax.random.key(0))), TEXT, SENTENCES)


@pytest.fixture(scope="module")
def of_gpt():
    config = GPTConfig(vocabulary=len(TEXT), block=16, layers=2, heads=2, width=8)
    return gpt.reading(shaken(GPT(config, key=jax.random.key(0))), TEXT, SENTENCES)


def states(reading, kept, number=2):
    (found,) = reading.states([number], kept)
    return found


def changed(reading, where):
    """The reading of a model some of whose weights are zero."""
    return dataclasses.replace(reading, model=eqx.tree_at(where, reading.model, replace_fn=jnp.zeros_like))


def mlps(model):
    return [part for block in model.blocks for part in (block.back.weight, block.back.bias)]


@pytest.mark.slow("one layer of an encoder, put together by hand, stays inside")
def test_with_all_kept_the_states_are_the_models_own(of_encoder):
    """Runs the encoder three times, and takes it apart twice."""
    ids = jnp.asarray(of_encoder.tokens[2].ids, jnp.int32)[None]

    def own(model):
        found = tape(model.walk(ids, jnp.ones(ids.shape, bool)), keep=["layers.*.out"])
        return jnp.stack([each[0] for each in found.layers("out")])

    model = of_encoder.model
    assert gap(states(of_encoder, Kept.ALL)[1:], own(model)) <= rounding(own, model)
    assert states(of_encoder, Kept.ALL).dtype == np.float64


@pytest.mark.slow("one kind of model without skip connections stays inside")
def test_both_kinds_of_models_can_be_taken_apart(of_encoder, of_gpt):
    assert isinstance(of_encoder, Layered)
    assert isinstance(of_gpt, Layered)


@pytest.mark.slow("one layer of an encoder, put together by hand, stays inside")
def test_with_all_kept_a_gpts_last_state_gives_its_logits(of_gpt):
    """Runs the model three times, and takes it apart."""
    last = jnp.asarray(states(of_gpt, Kept.ALL)[-1], jnp.float32)
    ids = jnp.asarray(of_gpt.tokens[2].ids, jnp.int32)
    assert gap(of_gpt.model._logits(last[None])[0], of_gpt.model(ids)) <= rounding(lambda m: m(ids), of_gpt.model)


@pytest.mark.slow("one layer of an encoder, put together by hand, stays inside")
@pytest.mark.parametrize("which", ["of_encoder", "of_gpt"])
def test_an_mlp_that_is_left_out_is_one_that_adds_nothing(which, request):
    reading = request.getfixturevalue(which)
    silent = changed(reading, mlps)

    def whole(model):
        return states(dataclasses.replace(silent, model=model), Kept.ALL)

    assert gap(states(reading, Kept.NO_MLPS), whole(silent.model)) <= rounding(whole, silent.model, np.float64)
    assert np.max(np.abs(states(reading, Kept.NO_MLPS)[-1] - states(reading, Kept.ALL)[-1])) > 0.1


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("which", ["of_encoder", "of_gpt"])
def test_without_skip_connections_nothing_of_a_token_passes_by_attention(which, request):
    """If attention hands on the same for all tokens, only a skip connection can tell them apart."""
    same = changed(request.getfixturevalue(which), lambda model: [b.mixing.out.weight for b in model.blocks])
    for kept in Kept:
        assert (collapse.distances(states(same, kept))[1] < 1e-12) == (not kept.skips)


@pytest.mark.slow("one of eight members stays inside", but=1)
@pytest.mark.parametrize("kept", Kept)
@pytest.mark.parametrize("which", ["of_encoder", "of_gpt"])
def test_a_layer_hands_on_what_is_kept_of_it(which, kept, request):
    """The first layer put together by hand: an encoder normalises sums, a GPT what is read."""
    reading, normalised = request.getfixturevalue(which), which == "of_encoder"
    before, after = states(reading, kept)[:2]
    x = jnp.asarray(before, jnp.float32)[None]
    ones = jnp.ones(x.shape[:2], bool)
    where = seen_by_all(ones) if normalised else place(*ones.shape, None, None)

    def first(model):
        block = model.blocks[0]
        mixed, _ = block.mixing.whole(x if normalised else block.ln_1(x), where, None)
        between = x + mixed if kept.skips else mixed
        between = block.ln_1(between) if normalised else between
        more = block.transformed(between) if kept.mlps else between
        out = between + more if kept.skips and kept.mlps else more
        return (block.ln_2(out) if normalised else out)[0]

    assert gap(after, first(reading.model)) <= rounding(first, reading.model)


def test_the_distance_is_that_to_the_nearest_equal_rows():
    x = np.array([[[1.0, 0.0], [0.0, 1.0]], [[2.0, 2.0], [2.0, 2.0]], [[1.0, 0.0], [-1.0, 0.0]]])
    np.testing.assert_allclose(collapse.distances(x), [np.sqrt(0.5), 0.0, 1.0], atol=1e-15)


class Given:
    """Sentences whose tokens differ by a share of their size that is given by depth."""

    def __init__(self, shares):
        self.shares = shares
        self.tokens = [Tokens(ids=np.arange(4), special=np.zeros(4, bool)) for _ in range(60)]

    def states(self, numbers, kept):
        for number in numbers:
            rng = np.random.default_rng(number)
            away, power = rng.normal(size=(4, 6)), rng.uniform(0.95, 1.05)
            away -= away.mean(axis=0)
            away /= np.linalg.norm(away)
            yield np.stack([np.full((4, 6), 24**-0.5) + share**power * away for share in self.shares[kept]])


def numbers(shares):
    return families.estimated(collapse.numbers_of(collapse.measured(Given(shares), sentences=60)))


def verdicts(shares):
    return {f.claim: f.verdict for f in families.verdicts(beyond_controls(numbers(shares))).findings}


STAYING = (0.5, 0.4, 0.35, 0.3)
FALLING = (0.5, 0.5**3, 0.5**9, 0.5**27)
"""The exponent triples with every layer."""


@pytest.mark.slow("states that do the contrary, which refute the law, stay inside")
def test_states_that_collapse_without_skip_connections_get_the_verdicts_of_the_law():
    apart = {Kept.ALL: STAYING, Kept.NO_MLPS: STAYING, Kept.NO_SKIPS: FALLING, Kept.ATTENTION: FALLING}
    assert set(verdicts(apart).values()) == {Verdict.SUPPORTED}
    assert len(verdicts(apart)) == 5


def test_states_that_do_the_contrary_get_the_contrary():
    slow = (0.5, 0.3, 0.29, 0.28)
    contrary = {Kept.ALL: FALLING, Kept.NO_MLPS: FALLING, Kept.NO_SKIPS: STAYING, Kept.ATTENTION: slow}
    assert set(verdicts(contrary).values()) == {Verdict.REFUTED}


def test_steps_of_a_collapse_triple():
    found = numbers(dict.fromkeys(Kept, FALLING))
    (growth,) = found.of("last step over the one before")
    # ln (1 + share^2) / 2, by which the tokens' size grows, is left of the law.
    assert growth.value == pytest.approx(3, abs=0.1)
    assert found.of("distance to rank one", kept="all", depth=1)[0].value == pytest.approx(0.5**3, rel=0.03)


def test_a_text_of_single_tokens_is_refused():
    lone = Given(dict.fromkeys(Kept, STAYING))
    lone.tokens = [Tokens(ids=np.arange(1), special=np.zeros(1, bool))]
    with pytest.raises(ValueError, match="no sentence has two tokens"):
        collapse.measured(lone, sentences=5)


@pytest.mark.slow("a text of single tokens, which is refused, stays inside")
def test_states_that_are_no_numbers_are_refused(of_gpt):
    many = dataclasses.replace(of_gpt, tokens=of_gpt.tokens[:1] * 20)
    broken = jax.tree.map(lambda x: x * jnp.nan, many.model)
    with pytest.raises(ValueError, match="a state of a sentence of 4 tokens is not finite: the model is broken"):
        collapse.measured(dataclasses.replace(many, model=broken), sentences=20)
