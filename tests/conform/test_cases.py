"""`--cases N`: at most N cases of each identity, for kinds that have cases."""

import json

import pytest

from attnlab_theory.cli import main
from tests.conform.judging import law_of

TARGET = """
import numpy as np


def right(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    (file := tmp_path_factory.mktemp("cases") / "cases.py").write_text(TARGET)
    return f"{file}::right"


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("most", [1, 2])
def test_at_most_so_many_cases_of_each_identity_are_tried(capsys, target, most):
    assert main(["conform", target, "--as", "softmax", "--cases", str(most), "--json"]) == 0
    tried = {row["identity"]: row["tried"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert {tried[name] for name in tried if law_of("softmax", name)} == {most}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cases", "3"], "--cases needs --as KIND"),
        (["--as", "softmax", "--cases", "0"], "--cases is at least 1, not 0"),
        (["--as", "mixer", "--cases", "3"], "--cases says nothing of --as mixer"),
        (["--as", "recurrent", "--cases", "3"], "--cases says nothing of --as recurrent"),
    ],
)
def test_cases_that_mean_nothing_are_refused_in_one_line(capsys, target, options, said):
    assert main(["conform", target, *options]) == 2
    assert said in capsys.readouterr().err
