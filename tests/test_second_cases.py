"""The public cases of ../shared/cases/second, each with the answer that is right; skipped where there are none.

The row that decides is asked of each target of `conform`, in this process. Classes of submissions and screens of
other encodings have tests of their own.
"""

import importlib
import shutil
import sys
from pathlib import Path

import pytest

from attnlab_theory.cli import main
from attnlab_theory.cli.arrays import read_matrix
from attnlab_theory.conform.callers import Direct
from tests.conform.judging import suite
from tests.test_cases import CASES

SECOND = CASES / "second" if CASES else Path("second")
pytestmark = pytest.mark.skipif(not SECOND.is_dir(), reason="no ../shared/cases/second: none of the cases was run")

ROWS = [
    ("53_rope_one_token/rope.py", "rotary", "one token", "rotate", "rope rope_positions"),
    ("53_rope_one_token/rope.py", "rotary", "offset", "rotate", "rope_heads"),
    ("55_rolling_cache/cache.py", "decode", "token by token", "right", "one_less warming last_dropped"),
    ("58_bias_and_cache/bias.py", "decode", "token by token", "right", "dropped from_zero"),
    ("63_kv_index/heads.py", "grouped-query", "groupings", "along_tokens", "attention"),
    ("66_rolled_groups/groups.py", "causal", "causality", "causal", "quarter of_32"),
    ("67_token_shift/shift.py", "decode", "token by token", "right", "shift"),
    ("79_llama3_rope/rope.py", "rotary", "turning", "right yarn_right", ""),
    ("79_llama3_rope/rope.py right", "rotary", "against", "right", "unread other_factor wave"),
    ("79_llama3_rope/rope.py yarn_right", "rotary", "against", "yarn_right", "yarn_exponent"),
]
"""A file, perhaps with another target, a kind, the row that decides, what is right there, and what is wrong."""

WITH_TORCH = [
    ("52_cross_causal/attention.py", "softmax", "visibility", "mended", "attention"),
    ("54_rope_positions/rope.py", "rotary", "turning", "right", "ignores"),
    ("56_prefill/prefill.py", "decode", "chunks", "", "functional"),
    ("56_prefill/adapter.py", "decode", "chunks", "", "mine two"),
    ("59_packed_by_count/packed.py", "softmax", "padding by element", "mended", "attention"),
    ("61_sinks/sinks.py", "causal", "sinks", "eager", "never_read fused"),
    ("62_segments/segments.py", "causal", "packed documents", "right varlen", "ignored neighbours"),
]

LINES = [
    (
        "captions score {S}/75_flickr/hypotheses.txt {S}/75_flickr/Flickr8k.token.txt",
        2,
        "cut -f2 Flickr8k.token.txt",
    ),
    ("captions score {S}/75_flickr/hypotheses.txt {S}/75_flickr/captions.csv", 2, "the heading 'image,caption'"),
    ("captions score {S}/75_flickr/hypotheses.txt {S}/75_flickr/captions_val.json", 2, "JSON of captions, as COCO"),
    ("captions score {S}/75_flickr/hypotheses.txt {S}/75_flickr/references.txt", 0, "2 hypotheses, 4 references"),
    ("leaks {S}/66_rolled_groups/groups.py::mixer", 1, "Leak"),
    ("leaks {S}/66_rolled_groups/groups.py::mixer_32", 1, "Leak"),
]
"""Command lines, their exit codes, and what they say."""

LINES_WITH_TORCH = [
    ("conform {S}/62_segments/segments.py::model --as model", 0, "never passed: position_ids"),
    ("conform {S}/77_dropout_in_eval/layer.py::evaluated", 2, "draws random numbers in evaluation mode"),
    ("conform {S}/77_dropout_in_eval/layer.py::Core --as softmax", 2, "draws random numbers"),
    ("leaks {S}/77_dropout_in_eval/layer.py::evaluated --width 16", 2, "draws random numbers in evaluation mode"),
    ("leaks {S}/65_groupnorm/norm.py::tokens", 1, "Leak"),
    ("leaks {S}/65_groupnorm/norm.py::time_last", 1, "[batch width time]"),
    ("leaks {S}/65_groupnorm/norm.py::layer_norm", 0, "No leak"),
    ("leaks {S}/65_groupnorm/norm.py::conv --length 8", 0, "[batch width time]"),
    ("leaks {S}/83_time_first/layers.py::block", 1, "[time batch width]"),
    ("leaks {S}/83_time_first/layers.py::backwards", 1, "[time batch width]"),
    ("leaks {S}/83_time_first/layers.py::causal", 0, "[time batch width]"),
    ("leaks {S}/83_time_first/tutorial.py::model", 1, "[time batch width]"),
]


def verdicts(monkeypatch, file, kind, row, right, wrong):
    """What becomes of a row for each target of a file, by the target's name."""
    path, *other = file.split()
    path = SECOND / path
    monkeypatch.syspath_prepend(str(path.parent))
    # Several cases have files of one name.
    for name in [each for each in sys.modules if (path.parent / f"{each}.py").is_file()]:
        monkeypatch.delitem(sys.modules, name)
    module = importlib.import_module(path.stem)
    found = {}
    for name in f"{right} {wrong}".split():
        asked = suite(Direct(getattr(module, name)), kind)
        for each in other:
            asked.against(Direct(getattr(module, each)))
        found[name] = str(getattr(asked.row(row), "verdict", "not tried"))
    return found


@pytest.mark.slow("rows of other right and wrong code stay inside")
@pytest.mark.parametrize(("file", "kind", "row", "right", "wrong"), ROWS, ids=[each[0] for each in ROWS])
def test_the_row_that_decides_tells_right_from_wrong(monkeypatch, file, kind, row, right, wrong):
    """Judges up to four targets."""
    found = verdicts(monkeypatch, file, kind, row, right, wrong)
    assert found == {**dict.fromkeys(right.split(), "holds"), **dict.fromkeys(wrong.split(), "fails")}


@pytest.mark.torch
@pytest.mark.slow("rows of other right and wrong code stay inside")
@pytest.mark.parametrize(
    ("file", "kind", "row", "right", "wrong"), WITH_TORCH, ids=[each[0] for each in WITH_TORCH]
)
def test_so_it_does_of_code_that_needs_torch(monkeypatch, file, kind, row, right, wrong):
    """Judges up to three targets."""
    pytest.importorskip("torch")
    found = verdicts(monkeypatch, file, kind, row, right, wrong)
    assert found == {**dict.fromkeys(right.split(), "holds"), **dict.fromkeys(wrong.split(), "fails")}


def said(capsys, line, wanted, words):
    code = main(line.format(S=SECOND).split())
    found = " ".join("".join(capsys.readouterr()).split())
    assert (code, words in found) == (wanted, True), found


@pytest.mark.slow("files of captions and code that leaks stay inside")
@pytest.mark.parametrize(("line", "wanted", "words"), LINES, ids=[each[0] for each in LINES])
def test_a_command_says_what_a_user_expects(capsys, line, wanted, words):
    """Asks code that leaks at four lengths."""
    said(capsys, line, wanted, words)


@pytest.mark.torch
@pytest.mark.slow("commands about code of numpy stay inside")
@pytest.mark.parametrize(("line", "wanted", "words"), LINES_WITH_TORCH, ids=[each[0] for each in LINES_WITH_TORCH])
def test_a_command_about_modules_says_what_a_user_expects(capsys, line, wanted, words):
    """Some modules take ten seconds, as they are asked at four lengths."""
    pytest.importorskip("torch")
    said(capsys, line, wanted, words)


@pytest.mark.torch
@pytest.mark.slow("arrays of other types stay inside, one by one")
def test_arrays_are_read_or_named_with_the_remedy(tmp_path, monkeypatch):
    """Makes the files by torch."""
    pytest.importorskip("torch")
    monkeypatch.setattr(sys, "argv", ["make_arrays.py", str(tmp_path)])
    exec(compile((SECOND / "71_arrays" / "make_arrays.py").read_text(), "make_arrays.py", "exec"), {})
    plain = read_matrix(tmp_path / "q_plain.npy")
    for name in ("fortran", "big_endian", "half", "bf16", "integers"):
        assert read_matrix(tmp_path / f"q_{name}.npy").shape == plain.shape
    for name, remedy in {
        "q_object.npy": "holds Python objects and no numbers",
        "q_ragged.npy": "with rows of one length",
        "q_record.npy": "a table with the columns a, b, c",
        "q_truncated.npy": "is not a whole .npy file",
        "q.csv": "numpy.loadtxt",
        "both.npz": "an archive of q, k",
        "both.pt": "torch.load",
        "both.safetensors": "safetensors.numpy.load_file",
    }.items():
        with pytest.raises(ValueError, match=remedy):
            read_matrix(tmp_path / name)


@pytest.mark.slow("suites and methods in a class stay inside")
def test_pytest_collects_suites_and_methods_of_classes(tmp_path, capfd):
    """Starts pytest in this process on files of its own."""
    shutil.copytree(SECOND / "73_pytest", tmp_path / "project")
    files = [str(tmp_path / "project" / f"test_{name}.py") for name in ("class", "static", "unittest", "mine")]
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:randomly", f"--rootdir={tmp_path}", *files])
    assert (code, "1 failed, 5 passed" in capfd.readouterr().out) == (1, True)
