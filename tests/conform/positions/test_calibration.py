"""Every planted bug of positions is found, and right code is never accused, however it is written."""

import subprocess
import sys

import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import suite_class
from tests.conform.positions import right, wrong

SEEDS = 20

RIGHT = {"rotary": right.ROTARY, "sinusoidal": right.SINUSOIDAL, "alibi": right.ALIBI}


def failures(suite):
    return [row.line for row in suite.rows() if row.verdict == "fails"]


@pytest.mark.slow("frequencies in bfloat16, which fail, stay inside")
def test_a_planted_bug_fails(subtests):
    """Some seconds: every bug goes through every identity."""
    for bug in wrong.BUGS:
        with subtests.test(bug):
            kind, make = wrong.BUGS[bug]
            wrong.kept.clear()
            suite = suite_class(kind)(Direct(make(bug)), kind)
            assert any(row.verdict == "fails" for row in suite.rows())


@pytest.mark.slow("a right table that is short stays inside")
def test_the_same_code_without_a_bug_fails_nothing(subtests):
    for make in dict.fromkeys(make for _, make in wrong.BUGS.values() if make is not wrong.bloom):
        with subtests.test(make.__name__):
            kind = next(kind for kind, each in wrong.BUGS.values() if each is make)
            assert failures(suite_class(kind)(Direct(make("")), kind)) == []


@pytest.mark.slow("right code of one width of its own stays inside")
def test_right_code_fails_nothing_however_it_is_written(subtests):
    """Judges every right way of writing positions whole."""
    for kind, target in [(kind, each) for kind, targets in RIGHT.items() for each in targets]:
        with subtests.test(f"{kind}: {target}"):
            assert failures(suite_class(kind)(Direct(target), kind)) == []


@pytest.mark.slow("right rotations of one width, drawn once, stay inside")
def test_right_rotations_of_20_seeds_are_within_their_tolerance(subtests):
    """Judges every rotation with 20 seeds in three dtypes."""
    for target in right.ROTARY:
        with subtests.test(str(target)):
            judge = suite_class("rotary")(Direct(target), "rotary").judge
            for kind in ("float32", "float64", "float16"):
                cases = judge.cases({"queries": 9, "seed": seed, "type": kind} for seed in range(SEEDS))
                found = judge.values(cases)
                assert (found.verdict, found.tried) == ("holds", SEEDS), found
                assert kind != "float32" or found.ratio > 0


@pytest.mark.slow("frequencies in bfloat16, which fail, stay inside")
def test_a_bug_is_found_at_the_identity_that_is_named_for_it():
    found = {}
    for bug, identity in (
        ("positions in bfloat16", "large positions"),
        ("clipped at 2048", "large positions"),
        ("contiguous only", "non-contiguous"),
        ("writes into x", "inputs unchanged"),
        ("heads mixed", "elements apart"),
        ("longer by a thousandth", "rotation"),
        ("blocks of 16 forget", "lengths"),
        ("positions in float16", "float16"),
        ("table in bfloat16", "rotation"),
    ):
        wrong.kept.clear()
        kind, make = wrong.BUGS[bug]
        found[bug] = suite_class(kind)(Direct(make(bug)), kind).row(identity).verdict
    assert set(found.values()) == {"fails"}, found


def test_frequencies_in_bfloat16_turn_rightly_and_fail_all_the_same():
    """They are a rotation, by which scores depend on distances alone, and not that of the base."""
    suite = suite_class("rotary")(Direct(wrong.rotary("frequencies in bfloat16")), "rotary")
    assert suite.row("turning").verdict == "holds"
    assert suite.row("large positions").verdict == "fails"


@pytest.mark.slow("a pytest plugin that imports no jax stays inside")
def test_a_numpy_target_is_judged_without_jax():
    code = (
        "import sys; from attnlab_theory.conform.suite import suite_class;"
        "from attnlab_theory.conform.callers import Direct; from tests.conform.positions import right;"
        "[list(suite_class(k)(Direct(f), k).rows()) for k, f in"
        " (('rotary', right.interleaved), ('sinusoidal', right.in_float32), ('alibi', right.bloom))];"
        "assert not {'jax', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow("our own operators, which jax compiles, stay inside")
def test_one_of_jax_holds_in_its_own_framework():
    import jax
    import jax.numpy as jnp

    @jax.jit
    def target(x, positions):
        half = x.shape[-1] // 2
        angles = positions[:, None].astype(jnp.float32) * 10000.0 ** (-jnp.arange(half) / half)[None]
        a, b = jnp.split(x.astype(jnp.float32), 2, -1)
        cos, sin = (f(angles).reshape(*[1] * (x.ndim - 2), *angles.shape) for f in (jnp.cos, jnp.sin))
        return jnp.concatenate((a * cos - b * sin, a * sin + b * cos), -1).astype(x.dtype)

    suite = suite_class("rotary")(Direct(target), "rotary", {"framework": "jax"})
    assert [suite.row(name).verdict for name in ("rotation", "bfloat16")] == ["holds", "holds"]
