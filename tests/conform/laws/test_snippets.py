"""A law that is broken is shown by a snippet that needs the target and numpy alone."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory.conform.callers import Direct, Place
from attnlab_theory.conform.laws import snippets
from attnlab_theory.conform.laws.attending import approximation_of
from attnlab_theory.conform.laws.drawing import drawing_of
from attnlab_theory.conform.laws.mapping import mapping_of
from tests.conform.laws import dropout_code, feature_code

FOLDER = Path(dropout_code.__file__).parent


def shown(lines, tmp_path):
    """The numbers that a snippet prints."""
    assert len(lines) <= 15
    script = "\n".join([*lines, "assert 'attnlab_theory' not in sys.modules"])
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    return [[float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", line)] for line in done.stdout.splitlines()]


def place(file, name):
    return Place(str(FOLDER), "", file, name, FOLDER)


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize("name", ["by_seed", "by_generator", "by_what_is_shared"])
def test_what_right_dropout_drops_is_shown(name, tmp_path):
    drawing = drawing_of(Direct(getattr(dropout_code, name)), {})
    numbers = shown(snippets.of_dropout(place("dropout_code", name), drawing), tmp_path)
    assert all(abs(line[-2] - line[-1]) < 0.05 for line in numbers)


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize("name", ["positive", "pairs", "phases", "projected"])
def test_the_mean_of_right_features_is_shown_beside_the_kernel(name, tmp_path):
    drawing = mapping_of(Direct(getattr(feature_code, name)), {})
    means, kernel = shown(snippets.of_features(place("feature_code", name), drawing), tmp_path)
    assert all(abs(a - b) < 0.1 for a, b in zip(means[:4], kernel, strict=True))


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("name", ["attention", "stabilised"])
def test_the_mean_of_attention_by_features_is_shown_beside_the_right_one(name, tmp_path):
    target = approximation_of(Direct(getattr(feature_code, name)), {})
    (off, error), *_ = shown(snippets.of_attention(place("feature_code", name), target), tmp_path)
    assert off < error
    assert error < 0.2
