"""Our vectors: none is vacuous, their files need nothing of ours, and the same version is the same bytes."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.vectors.export import sayable
from attnlab_theory.conform.vectors.ours import LEAST, OURS, VERSION
from tests.conform.wrong import whole

DOCUMENT = Path(__file__).parents[3] / "docs" / "conform.md"


@pytest.mark.slow("that all kinds, types and features are there stays inside")
def test_every_feature_changes_the_answer_or_is_a_no_op_by_name(subtests):
    for own in OURS:
        with subtests.test(own.name):
            assert set(own.no_ops) <= set(own.features())
            for feature in own.features():
                change = own.change(feature)
                assert change <= 1 if feature in own.no_ops else change >= LEAST, (feature, change)
            assert all(own.change(name) == 0 for name in own.invariances())


def test_all_kinds_types_and_features_are_there():
    assert {own.kind for own in OURS} == {
        *("softmax", "causal", "multi-head", "grouped-query", "sliding-window", "softcap", "bias")
    }
    assert {own.case.type for own in OURS} == {"float16", "bfloat16", "float32", "float64"}
    useful = {feature for own in OURS for feature in own.features() if feature not in own.no_ops}
    assert useful >= {"scale", "mask", "mask of each head", "causal", "window", "alignment", "softcap", "bias"}
    assert {name for own in OURS for name in own.invariances()} == {
        "numbers in hidden keys",
        "numbers in hidden values",
    }
    assert len({own.name for own in OURS}) == len(OURS)


@pytest.mark.parametrize(
    ("name", "array", "first", "last"),
    [
        ("bias_mask_float64", "bias", 0.61832022188395, 0.37092401457888),
        ("causal_large_scores_float64", "q", 90.91452127202385, 38.51881474409918),
        ("huge_hidden_values_float32", "v", -0.77790582, 7e4),
    ],
)
def test_version_1_has_the_numbers_that_it_always_had(name, array, first, last):
    (own,) = (each for each in OURS if each.name == name)
    numbers = own.given()[array].ravel()
    assert (VERSION, numbers[0], numbers[-1]) == (1, pytest.approx(first), pytest.approx(last))


@pytest.fixture(scope="module")
def reader():
    """The ten lines of the document, as they stand there."""
    code = next(
        block for block in re.findall(r"```\n(.*?)```", DOCUMENT.read_text(), re.S) if "def vectors" in block
    )
    assert code.count("\n") <= 12
    names = {}
    exec(code, names)
    return names["vectors"]


def right(case, x):
    """By the flags of the case, in its own type."""
    q, k, v = x["q"], x["k"], x["v"]
    if case["groups"] == "h % groups":
        times = q.shape[1] // k.shape[1]
        k, v = (np.concatenate([y] * times, 1) for y in (k, v))
    mask = x.get("mask")
    start = case["alignment"] == "start"
    if start:
        mask = np.tri(q.shape[2], k.shape[2], dtype=bool)
    options = {name: case[name] for name in ("window", "scale", "softcap")}
    return whole(q, k, v, mask, causal=case["causal"] and not start, bias=x.get("bias"), **options)


def test_the_reader_of_the_document_and_right_code_agree(tmp_path, reader, capsys):
    """Computes every vector, writes all of them to a file and computes them once more."""
    assert main(["conform", "--export", "npz", str(tmp_path)]) == 0
    path = tmp_path / f"attention-{VERSION}.npz"
    assert capsys.readouterr().out.strip() == f"Wrote {path}"
    names = []
    for case, x in reader(path):
        names.append(case["name"])
        if case["type"] == "bfloat16":
            continue
        off = np.abs(right(case, x) - x["output"]) / x["tolerance"]
        assert off.max() < 1, case["name"]
        assert x["q"].dtype == case["type"]
    assert names == [own.name for own in OURS]


@pytest.mark.slow("one export, which its reader and right code share, stays inside")
def test_the_same_version_is_the_same_bytes(tmp_path):
    for name in ("one.npz", "two.npz"):
        assert main(["conform", "--export", "npz", str(tmp_path / name)]) == 0
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--export stands alone"),
        (["mine.py::f"], "--export stands alone"),
        (["/proc/none/x.npz"], "name another place"),
    ],
)
def test_a_place_that_is_none_is_refused(words, said, capsys):
    assert main(["conform", "--export", "npz", *words]) == 2
    assert said in capsys.readouterr().err


def test_without_onnx_its_layout_is_refused(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["conform", "--export", "onnx", str(tmp_path)]) == 2
    assert "pip install 'attnlab[conformance]'" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_onnx_gives_the_answers_of_its_layout(tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: our vectors in its layout were not tried")
    from onnx import numpy_helper  # pyright: ignore[reportMissingImports]
    from onnx.reference import ReferenceEvaluator  # pyright: ignore[reportMissingImports]

    assert main(["conform", "--export", "onnx", str(tmp_path)]) == 0
    folders = sorted(tmp_path.iterdir())
    assert len(folders) > 60
    for folder in folders[::2]:
        model, data = onnx.load(folder / "model.onnx"), folder / "test_data_set_0"
        onnx.checker.check_model(model)
        given = [onnx.load_tensor(path) for path in sorted(data.glob("input_*.pb"))]
        wanted, tolerance = (
            numpy_helper.to_array(onnx.load_tensor(data / f"{x}_0.pb")) for x in ("output", "tolerance")
        )
        (found,) = ReferenceEvaluator(model).run(None, {x.name: numpy_helper.to_array(x) for x in given})
        off = np.abs(found.astype(float) - wanted.astype(float)) / tolerance
        assert found.dtype == wanted.dtype
        assert off.max() < 1, folder.name


def test_tensors_of_others_are_not_written_over(tmp_path, capsys):
    pytest.importorskip("onnx", reason="onnx is not installed: its layout was not tried beside tensors of others")
    own = next(filter(sayable, OURS))
    tensor = tmp_path / f"test_conform_{VERSION}_{own.name}" / "test_data_set_0" / "output_0.pb"
    tensor.parent.mkdir(parents=True)
    tensor.write_bytes(b"somebody's own")
    assert main(["conform", "--export", "onnx", str(tmp_path)]) == 2
    assert "output_0.pb is not a file that attnlab has written" in capsys.readouterr().err
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tensor]
