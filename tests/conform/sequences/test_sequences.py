"""Mixers, caches and models: right code of several styles holds, and each planted bug is found where it must be."""

from typing import Any

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.decoding import case_of
from attnlab_theory.conform.identities import future, prefixes
from attnlab_theory.conform.judge import Pair
from attnlab_theory.conform.kinds.mixer import LOUD
from attnlab_theory.conform.suite import suite_class
from tests.conform.sequences import decoding, mixing, modelling


def suite_of(kind, target, declared=None) -> Any:
    return suite_class(kind)(Direct(target), kind, declared)


def mixer(target, declared=None):
    return suite_of("mixer", target, declared)


def failures(suite):
    return {row.name: row.line for row in suite.rows() if row.verdict == "fails"}


def verdict(suite, name):
    row = suite.row(name)
    return row and row.verdict


@pytest.fixture(autouse=True)
def forgotten():
    for left in (mixing.calls, decoding.LEFT_OVER, modelling.LEFT, modelling.SEEN):
        left.clear()


@pytest.mark.slow("one of 15 members stays inside", but=1)
@pytest.mark.parametrize("name", mixing.RIGHT)
def test_a_right_mixer_holds_however_it_is_written(name):
    target, future = mixing.RIGHT[name]
    suite = mixer(target)
    assert future in dict(suite.profile)["what comes after a token"]
    assert failures(suite) == {}


@pytest.mark.parametrize("name", mixing.BUGS)
def test_a_planted_bug_of_a_mixer_is_found_by_its_identity(name):
    target, identity, declared = mixing.BUGS[name]
    assert verdict(mixer(target, declared), identity) == "fails"


@pytest.mark.slow("two of 16 members stay inside", but=2)
@pytest.mark.parametrize("name", decoding.RIGHT)
def test_a_right_cache_holds_however_it_is_written(name):
    assert failures(suite_of("decode", decoding.RIGHT[name])) == {}


@pytest.mark.parametrize("name", decoding.BUGS)
def test_a_planted_bug_of_a_cache_is_found_by_its_identity(name):
    assert verdict(suite_of("decode", decoding.decode(name)), decoding.BUGS[name]) == "fails"


@pytest.mark.parametrize("name", decoding.OTHERS)
def test_a_bug_of_another_kind_of_cache_is_found_by_its_identity(name):
    target, identity = decoding.OTHERS[name]
    assert verdict(suite_of("decode", target), identity) == "fails"


@pytest.mark.slow("three of seven members stay inside", but=3)
@pytest.mark.parametrize("name", modelling.RIGHT)
def test_a_right_model_holds_however_it_is_written(name):
    suite = suite_of("model", modelling.RIGHT[name])
    assert dict(suite.profile)["vocabulary"] == str(modelling.VOCABULARY)
    assert failures(suite) == {}


@pytest.mark.parametrize("name", modelling.BUGS)
def test_a_planted_bug_of_a_model_is_found_by_its_identity(name):
    suite = suite_of("model", modelling.library(name))
    assert verdict(suite, modelling.BUGS[name]) == "fails"


@pytest.mark.parametrize(
    ("suite", "name", "said"),
    [
        (lambda: suite_of("decode", decoding.RIGHT["limited"]), "many tokens", "full after 20 tokens"),
        (lambda: suite_of("decode", decoding.in_place), "old cache", "updated in place"),
        (lambda: suite_of("decode", decoding.decode()), "old cache", "can be used once more"),
        (lambda: suite_of("decode", decoding.in_place), "refused step", "of no use after"),
        (lambda: suite_of("decode", decoding.Recurrent), "chunks", "one token at a time"),
        (lambda: suite_of("model", modelling.learned), "lengths", "63, 64, 65 tokens: refused"),
        (lambda: mixer(mixing.running_mean), "empty batch", "is given back"),
        (
            lambda: suite_of("model", modelling.no_mask_in_steps),
            "padding in a cache",
            "a step takes no mask",
        ),
    ],
)
def test_a_convention_is_told(suite, name, said):
    row = suite().row(name)
    assert (row.verdict, said in row.line) == ("convention", True)


def test_of_old_caches_nothing_is_told_where_new_ones_are_wrong():
    assert suite_of("model", modelling.library("shifted token is lost")).row("old cache") is None
    row = suite_of("model", modelling.in_place).row("old cache")
    assert row is not None
    assert row.line.startswith("a cache is updated in place")


def test_a_padded_transform_is_causal_to_rounding_and_one_that_wraps_around_is_not():
    held = mixer(mixing.fourier, {"hides_future": True}).row("causality")
    assert (held.verdict, 0 < held.ratio < 1) == ("holds", True)
    leaks = mixer(mixing.barely_padded, {"hides_future": True}).row("causality")
    assert leaks.verdict == "fails"


def test_float64_that_is_computed_in_float32_is_no_leak():
    assert verdict(mixer(in_single, {"hides_future": True}), "causality") == "holds"


def in_single(x):
    """The sum of everything minus the sum of what is to come, in float32."""
    y = x.astype(np.float32)
    after = np.cumsum(y[:, ::-1], 1, dtype=np.float32)[:, ::-1] - y
    return (y.sum(1, keepdims=True, dtype=np.float32) - after).astype(x.dtype)


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize(
    "suite",
    [
        lambda: mixer(mixing.fourier_in_part, {"hides_future": True}),
        lambda: mixer(in_single, {"hides_future": True}),
        lambda: mixer(in_a_buffer, {"hides_future": True}),
        lambda: suite_of("decode", decoding.cache_in_single_precision),
    ],
    ids=["float32 filter", "float32 sums", "float32 buffer", "float32 cache"],
)
def test_float64_that_is_float32_inside_is_told_by_its_row_alone(suite):
    """Also where no other row is tried."""
    for row in (suite().row("float64"), *(each for each in suite().rows() if each.name == "float64")):
        assert (row.verdict, row.line.startswith("computed in float32: ")) == ("convention", True)


def in_a_buffer(x):
    """Numbers that are written into an array of float32: no operation shows that."""
    y = np.empty(x.shape, np.float32)
    y[:] = x
    return in_single(y).astype(x.dtype)


def test_a_cache_in_float32_is_within_the_tolerance_over_20_draws():
    judge = suite_of("decode", decoding.cache_in_single_precision).judge
    for seed in range(20):
        whole = case_of(judge, 9, seed, type="float64")
        assert not judge.alike(Pair(whole.replaced(parts=(1,) * 9), whole)).fails
    assert judge.excess > 1e3
    assert judge.largest < 0.5


@pytest.mark.torch
@pytest.mark.parametrize("made", [True, False], ids=["a parameter", "made in the call"])
def test_a_module_of_torch_with_numbers_in_float32_is_told_and_does_not_fail(made):
    torch = pytest.importorskip("torch")

    class Long(torch.nn.Module):
        """A filter by a Fourier transform, which is float32 whatever comes in."""

        def __init__(self):
            super().__init__()
            self.f = torch.nn.Parameter(torch.from_numpy(mixing.FILTER)) if made else None

        def forward(self, x):
            t = x.shape[1]
            f = self.f[:t] if made else 0.9 ** torch.arange(t)
            spectrum = torch.fft.rfft(x, n=2 * t, dim=1) * torch.fft.rfft(f, n=2 * t)[:, None]
            return torch.fft.irfft(spectrum, n=2 * t, dim=1)[:, :t]

    suite = mixer(Long, {"hides_future": True, "framework": "torch"})
    rows = {row.name: row.verdict for row in suite.rows(("causality", "float64"))}
    assert rows == {"causality": "holds", "float64": "convention"}


@pytest.mark.slow("a cache over 20 draws and mixers at one draw stay inside")
def test_right_code_of_20_seeds_is_within_its_tolerance():
    """Judges five mixers for each of 20 seeds, in float32 and in float64."""
    worst = 0.0
    for target in (mixing.block, mixing.fourier, mixing.fourier_in_part, mixing.linear, in_single):
        suite = mixer(target)
        for seed in range(1000, 21000, 1000):
            for kind in ("float32", "float64"):
                assert future((17,), (), LOUD, type=kind, seed=seed)(suite.judge).verdict == "holds"
            assert prefixes((17, 33), (), seed=seed)(suite.judge).verdict == "holds"
        worst = max(worst, suite.judge.largest)
    assert 1e-4 < worst < 0.5


class Chance:
    """As a module of torch that drops numbers by chance while it is in training mode."""

    training = True

    def __call__(self, x):
        return x * mixing.CHANCE.random(x.shape)


def test_a_layer_that_an_earlier_row_has_changed_for_good_fails():
    suite = mixer(mixing.ShortOnce)
    assert verdict(suite, "lengths") == "holds"
    assert verdict(suite, "same result") == "fails"


def test_a_module_in_training_mode_gets_the_remedy():
    with pytest.raises(ValueError, match=r"in training mode: two equal calls differ; hand over module.eval"):
        mixer(Chance)


def hardly_looks_back(ids):
    """As a model with weights of .01: what attention adds is lost in the tolerance."""
    x = modelling.EMBEDDING[ids]
    before = np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], 1)
    return (x + np.float32(1e-5) * before) @ modelling.OUT


def test_a_model_that_hardly_looks_back_is_not_said_to_hold():
    suite = suite_of("model", hardly_looks_back)
    assert {row.name: row.verdict for row in suite.rows()} == {
        "lengths": "holds",
        "causality": "not judged",
        "prefixes": "not judged",
        "elements apart": "not judged",
        "same result": "holds",
        "inputs unchanged": "holds",
    }


def test_the_tolerance_of_logits_goes_with_their_size():
    def small(ids):
        return modelling.run(ids, bug="leaks when long")[0] * np.float32(1e-4)

    suite = suite_of("model", small)
    assert verdict(suite, "causality") == "fails"


def test_a_mask_that_changes_nothing_is_said_to():
    row = suite_of("model", modelling.library("mask is ignored")).row("padding left")
    assert row is not None
    assert "; attention_mask changes nothing" in row.line


def test_steps_alone_have_no_whole_to_be_compared_with():
    suite = suite_of("decode", decoding.StepsAlone)
    assert verdict(suite, "token by token") == verdict(suite, "many tokens") == "not judged"
    assert verdict(suite, "elements apart") == "holds"


def test_a_cache_with_which_no_step_can_be_taken_fails():
    row = suite_of("model", modelling.mixes_the_batch_in_a_step).row("token by token")
    assert row is not None
    assert (row.verdict, "gave [2, 2, 31] where [2, 1, 'o']" in row.line) == ("fails", True)
