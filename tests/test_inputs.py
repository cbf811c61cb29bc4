"""Files of others are read whole or refused in one line, whatever they are."""

import io
import json
import os
import pickle
import re
import threading
import zipfile

import ml_dtypes
import numpy as np
import pytest

from attnlab_theory import inputs
from attnlab_theory.cli.arrays import read_matrix
from attnlab_theory.report import record
from tests.report.test_record import FINDING


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(inputs, "UNWRITTEN", 0.2)
    monkeypatch.setattr(inputs, "SILENT", 0.2)


@pytest.mark.parametrize("size", [0, 1, 2**20, 2**20 + 1])
def test_a_file_is_read_whole(tmp_path, size):
    (tmp_path / "x").write_bytes(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
    assert inputs.content(tmp_path / "x") == (tmp_path / "x").read_bytes()


def test_a_pipe_is_read_to_its_end_and_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[b"line\n" * 100_000])
    writer.start()
    assert inputs.content(tmp_path / "pipe") == b"line\n" * 100_000
    writer.join()


@pytest.mark.slow("a pipe that is waited for stays inside")
def test_a_pipe_that_nobody_writes_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is a pipe that nobody writes; name a file"):
        inputs.content(tmp_path / "pipe")


@pytest.mark.slow("a pipe that is waited for, or gives too much, stays inside")
def test_a_pipe_whose_writer_is_silent_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    held = os.open(tmp_path / "pipe", os.O_RDWR)
    with pytest.raises(ValueError, match=r"pipe is a pipe into which nothing came for 0\.2 s"):
        inputs.content(tmp_path / "pipe")
    os.close(held)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_end_is_refused(device):
    with pytest.raises(ValueError, match=f"{device} is a device, which has no end; name a file"):
        inputs.content(device)


def test_nothing_at_all_is_an_empty_file():
    assert inputs.content("/dev/null") == b""


def test_a_file_that_is_too_large_is_refused_unread(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10 * 2**30)
    with pytest.raises(ValueError, match=r"sparse has 10,737,418,240 bytes or more, and at most 2,147,483,648 are"):
        inputs.content(tmp_path / "sparse")


def test_a_pipe_that_gives_too_much_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    held = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    os.write(held, b"x" * 50)
    with pytest.raises(ValueError, match=r"pipe has 50 bytes or more, and at most 10 are read"):
        inputs.content(tmp_path / "pipe", most=10)
    os.close(held)


@pytest.mark.parametrize(
    ("name", "said"),
    [("absent", "there is no file"), (".", "is a folder"), ("x" * 300, "cannot be read: File name")],
)
def test_what_is_no_file_is_refused(tmp_path, name, said):
    with pytest.raises(ValueError, match=said):
        inputs.content(tmp_path / name)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\ufeff", "NaN", "[Infinity]", "9" * 5000, "\0"])
def test_what_is_no_json_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=r"x\.json is not JSON: "):
        inputs.json_of(tmp_path / "x.json")
    with pytest.raises(ValueError, match=r"x\.json is damaged: .*; run it again"):
        inputs.parsed(tmp_path / "x.json", list, remedy="run it again")


def test_bytes_that_are_no_text_are_no_json(tmp_path):
    (tmp_path / "x.json").write_bytes(b'"\xff"')
    with pytest.raises(ValueError, match=r"x\.json is not JSON: .*0xff"):
        inputs.json_of(tmp_path / "x.json")


@pytest.mark.parametrize("value", [None, 1, "x", {}, [], [None], {"n": []}])
def test_json_of_another_form_is_damaged(tmp_path, value):
    (tmp_path / "x.json").write_text(json.dumps(value))
    with pytest.raises(ValueError, match=r"x\.json is damaged: .*; run it again"):
        inputs.parsed(tmp_path / "x.json", lambda value: value["n"][0].real, remedy="run it again")


@pytest.mark.parametrize(
    "change",
    [
        {"draws": "many"},
        {"draws": True},
        {"statement": None},
        {"setting": []},
        {"predicted": ["a", "b"]},
        {"predicted": 5},
        {"measured": [None]},
        {"measured": [True, True]},
        {"error_rate": None},
        {"resolution": "0.1"},
        {"verdict": "MAYBE"},
        {"verdict": []},
        {"variance": 5},
        {"rival": {}},
        {"more": 1},
    ],
    ids=str,
)
def test_findings_of_another_form_are_refused(tmp_path, change):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([record.as_json(FINDING) | change]))
    with pytest.raises(ValueError, match=r"x\.json does not hold findings: "):
        record.read_findings(path)


def of_numpy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


WHOLE = of_numpy(np.eye(3))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        WHOLE[:5],
        WHOLE[:50],
        WHOLE[:-1],
        WHOLE.replace(b"{'descr'", b"(((((((("),
        WHOLE.replace(b"(3, 3)", b"(3, -)"),
        WHOLE.replace(b"(3, 3)", b"(3, x)"),
        WHOLE.replace(b"(3, 3)", b"'3, 3'"),
        WHOLE.replace(b"(3, 3)", b"(9, 9)"),
        WHOLE.replace(b"(3, 3), }" + b" " * 11, b"(600000000000, 3), }"),
        WHOLE.replace(b"'<f8'", b"'<q9'"),
        WHOLE.replace(b"'<f8'", b"[[[]]"),
        WHOLE.replace(b"{'descr'", b"'''     "),
        b"PK\x03\x04" + WHOLE,
        b"PK\x05\x06" + bytes(18),
        bytes(1000),
    ],
    ids=range(16),
)
def test_a_damaged_matrix_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.npy (is not a whole|must hold one array)") as error:
        read_matrix(tmp_path / "x.npy")
    assert "\n" not in str(error.value)


def saved(array, *, pickled=False):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=pickled)
    return stream.getvalue()


def archive(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def zipped(*names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        for name in names:
            opened.writestr(name, b"")
    return stream.getvalue()


MATRIX = np.arange(6.0).reshape(2, 3)
RECORDS = np.array([(1.0, 2.0)], dtype=[("left", "f8"), ("right", "f8")])
RAGGED = np.array([np.zeros(2), np.zeros(3)], dtype=object)


@pytest.mark.parametrize("kind", ["float64", ">f8", "float16", "int8", ml_dtypes.bfloat16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_of_each_type_is_read(tmp_path, kind, order):
    (tmp_path / "x.npy").write_bytes(saved(np.asarray(MATRIX, dtype=kind, order=order)))
    np.testing.assert_array_equal(read_matrix(tmp_path / "x.npy"), MATRIX)


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("x.npy", saved(RAGGED, pickled=True), "holds Python objects and no numbers: save numpy.array(rows, dtype"),
        ("x.npy", saved(np.array([[1.5, None]]), pickled=True), "holds Python objects and no numbers"),
        ("x.npy", saved(MATRIX.astype(complex)), "must hold one array of real numbers, not complex128"),
        ("x.npy", saved(RECORDS), "not a table with the columns left, right: save numpy.lib.recfunctions."),
        (
            "x.npy",
            saved(MATRIX.astype(ml_dtypes.float8_e4m3fn)),
            "not raw bytes, 1 for each number: save x.astype(",
        ),
        ("x.npy", saved(MATRIX[None]), "must hold a matrix with one vector per row, not shape (1, 2, 3)"),
        ("x.npz", archive(q=MATRIX, k=MATRIX), "is an archive of q, k: numpy.save('x.npy', numpy.load(FILE)['q'])"),
        ("x.pt", zipped("x/data.pkl", "x/data/0"), "is a file of torch.save: numpy.save('x.npy', torch.load("),
        ("x.safetensors", bytes(40), "is a file of safetensors: numpy.save('x.npy', safetensors.numpy.load_file("),
        ("x.csv", b"1,2\n3,4\n", "is text: numpy.save('x.npy', numpy.loadtxt('x.csv', delimiter=','))"),
        ("x.txt", b"1 2\n3 4\n", "is text: numpy.save('x.npy', numpy.loadtxt('x.txt'))"),
        ("x.csv", b"a,b\n1,2\n", "numpy.loadtxt('x.csv', delimiter=',', skiprows=1))"),
        ("x.csv", b"1,5;2e3\n", "delimiter=';', converters=lambda x: float(x.replace(',', '.'))))"),
        ("x.json", b"[[1.5]]", "is text: numpy.save('x.npy', numpy.array(json.load(open('x.json'))))"),
        ("x.npy", pickle.dumps(MATRIX), "is a pickle of Python: numpy.save('x.npy', numpy.asarray(pickle.load("),
        ("x.npy", saved(MATRIX.astype(ml_dtypes.float8_e5m2)), "holds numbers of one byte each: save x.a"),
        ("x.npy.gz", b"\x1f\x8b\x08", "is compressed by gzip: unpack it with gunzip"),
        ("x.npy", b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
        ("x.bin", bytes(40), "is not a whole .npy file of numbers; write it with numpy.save"),
    ],
)
def test_what_is_no_matrix_is_named_for_what_it_is(tmp_path, name, content, what):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(what)) as error:
        read_matrix(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)
    assert "\n" not in str(error.value)
