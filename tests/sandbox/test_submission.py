"""A submission may do anything; the lab gets an array or one clear line."""

import json
import signal

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.sandbox import child
from attnlab_theory.sandbox.reasons import BrokenAnswer
from attnlab_theory.sandbox.submission import Submission, patience


@pytest.fixture
def file(tmp_path):
    def write(source: str):
        path = tmp_path / "mine.py"
        path.write_text(source)
        return f"{path}::f"

    return write


def answer(where, *arguments, **options):
    with Submission(where, **options) as submission:
        return submission(*arguments)


def refused(where, *arguments, **options):
    with pytest.raises(BrokenAnswer) as caught:
        answer(where, *arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_array_comes_back_bit_for_bit(file):
    x = np.asarray([[0.1, -1e-300, 3.0], [np.pi, 1e300, -0.0]])
    assert answer(file("def f(x): return x"), x).tobytes() == x.tobytes()


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(
    "source", ["return [1, 2.5]", "return (1, 2.5)", "import numpy; return numpy.float32([1, 2.5])"]
)
def test_lists_tuples_and_low_precision_arrays_are_numbers(file, source):
    assert answer(file(f"def f(): {source}")).tolist() == [1.0, 2.5]


def test_integers_arrive_as_integers(file):
    assert answer(file("def f(x, i): return x[i]"), np.arange(3.0), 2) == 2.0


@pytest.mark.slow("answers that are arrays of torch stay inside")
def test_jax_answers_are_accepted(file):
    assert answer(file("import jax.numpy as jnp\ndef f(x): return jnp.sin(x) * 0 + 1"), np.zeros(2)).tolist() == [
        1,
        1,
    ]


@pytest.mark.torch
def test_a_torch_function_is_asked_with_torch_arrays(file):
    pytest.importorskip("torch")
    where = file("import torch\ndef f(x): return torch.cumsum(x, 0).bfloat16().requires_grad_()")
    assert answer(where, np.ones(3), any_framework=True).tolist() == [1, 2, 3]


@pytest.mark.torch
def test_a_torch_model_in_double_precision_is_asked_in_double_precision(file):
    pytest.importorskip("torch")
    where = file("import torch\nw = torch.ones(2, 2, dtype=torch.float64)\ndef f(x): return x @ w")
    assert answer(where, np.ones((1, 2), np.float32), any_framework=True).tolist() == [[2, 2]]


def test_what_is_sent_may_be_a_jax_array(file):
    assert answer(file("def f(x): return x + 1"), jnp.zeros(2)).tolist() == [1, 1]


@pytest.mark.slow("a torch function, asked with its arrays, stays inside")
def test_a_jax_function_is_asked_with_jax_arrays(file):
    where = file("import jax\ndef f(x): return x.at[0].set(7)")
    assert answer(where, np.ones(2, np.float32), any_framework=True).tolist() == [7, 1]


def test_what_a_submission_prints_does_not_reach_the_pipe(file):
    where = file("import os\nprint('loading')\ndef f():\n print('{}')\n os.write(1, b'noise')\n return 1")
    assert answer(where) == 1


def test_a_name_in_capitals_is_a_name(file, tmp_path):
    file("def f(): return 1")
    (tmp_path / "mine.py").rename(tmp_path / "MINE.PY")
    assert answer(f"{tmp_path}/MINE.PY::f") == 1


def test_a_submission_may_import_a_file_beside_it(file, tmp_path):
    (tmp_path / "sheet.py").write_text("ANSWER = 42")
    assert answer(file("import sheet\ndef f(): return sheet.ANSWER")) == 42


def test_a_submission_does_not_find_the_labs_own_files(file):
    assert "No module named 'grading'" in refused(file("import grading\ndef f(): return 1"))


def test_a_submission_may_write_into_what_it_is_given(file):
    assert answer(file("def f(x):\n x += 1\n return x"), np.zeros(2)).tolist() == [1, 1]


@pytest.mark.slow("two of 24 members stay inside", but=2)
@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def f(:", "SyntaxError: invalid syntax (line 1)"),
        ("\tx\n  y", "IndentationError"),
        (
            "import nonsense_package\ndef f(): pass",
            "raised ModuleNotFoundError: No module named 'nonsense_package' (line 1)",
        ),
        ("def ff(): pass", "has no function 'f'; did you mean 'ff'?"),
        ("f = 3", "has a 'f', a value of type int, not a function"),
        ("\ndef f(): return 1 / 0", "raised ZeroDivisionError: division by zero (line 2)"),
        ("def f(): raise ValueError('two\\nlines')", "raised ValueError: two lines (line 1)"),
        (
            "def f(): raise ValueError('\\x1b[2J\\x07')",
            "raised ValueError: \ufffd[2J\ufffd",
        ),
        ("def f(): exit('\\x1b')", "called exit(\ufffd) (line 1)"),
        ("class E(Exception):\n def __str__(self): raise self\ndef f(): raise E", "raised E (line 3)"),
        ("def f(x): return x", "raised TypeError: f() missing 1 required positional argument: 'x'"),
        ("def f(): raise NotImplementedError", "is not filled in yet"),
        ("import sys\ndef f(): sys.exit(3)", "called exit(3) (line 2) instead of answering"),
        ("import os\ndef f(): os._exit(0)", "ended the process (exit status 0) instead of answering"),
        ("import os\nos._exit(4)", "ended the process (exit status 4) instead of answering"),
        ("def f(): raise KeyboardInterrupt", "raised KeyboardInterrupt (line 1)"),
        ("def f(): return f()", "raised RecursionError: maximum recursion depth exceeded"),
        ("def f(): pass", "must return real numbers, but returned a value that is None"),
        ("def f(): return '1'", "must return real numbers"),
        (
            "def f(): return 1j",
            "must return real numbers, but returned an array of complex128; return its real part",
        ),
        ("def f(): return [[1], [1, 2]]", "returned something that is not an array of numbers"),
        ("def f(): return {1: 2}", "must return real numbers, but returned a value of type dict"),
        (
            "class A:\n def detach(self): raise OSError('gone')\ndef f(): return A()",
            "returned something that is not an array of numbers: 'A' object has no attribute 'dtype'",
        ),
        ("async def f(): return 1", "must return real numbers, but returned a value of type coroutine"),
    ],
)
def test_every_broken_file_gets_one_clear_line(file, source, line):
    where = file(source)
    said = refused(where)
    assert said.startswith(where)
    assert line in said


@pytest.mark.parametrize("name", ["mine.py", "./mine.py", "here/../mine.py"])
@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("\ndef f(): return {}[1]", "raised KeyError: 1 (line 2)"),
        ("def f(:", "SyntaxError: invalid syntax (line 1)"),
        ("\ndef f(): exit(3)", "called exit(3) (line 2)"),
    ],
)
def test_lines_are_named_for_a_relative_path_too(file, monkeypatch, tmp_path, name, source, line):
    file(source)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    assert f"{name}::f " in (said := refused(f"{name}::f"))
    assert line in said


def test_a_nul_byte_is_refused_without_a_line(file):
    assert refused(file("def f(): return 1\n\0")).endswith("null bytes")


@pytest.mark.parametrize(("number", "name"), [(11, "SIGSEGV"), (40, "signal 40")])
def test_a_crash_names_its_signal(file, number, name):
    assert refused(file(f"import os\ndef f(): os.kill(os.getpid(), {number})")).endswith(f"died of {name}")


@pytest.mark.torch
def test_a_torch_tensor_that_is_no_array_is_refused(file):
    pytest.importorskip("torch")
    said = refused(file("import torch\ndef f(): return torch.eye(2).to_sparse()"))
    assert "returned something that is not an array of numbers" in said


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("source", ["os.fork()\ndef f(x): return x", "def f(x):\n os.fork()\n return x"])
def test_a_submission_that_forks_answers_every_call_once(file, source):
    with Submission(file(f"import os\n{source}")) as submission:
        assert [submission(np.float64(i)) for i in range(20)] == list(range(20))


@pytest.mark.parametrize(
    "written",
    [
        b'{"arrays": 3}\n',
        b'{"arrays": []}\n',
        b'{"number": 1, "arrays": []}\n',
        b'{"number": 1, "arrays": [{"shape": [2], "kind": "float64", "data": ""}]}\n',
        b"3\n",
        b"noise\n",
        b"\xff\n",
        b"[" * 9999 + b"\n",
        *(
            b'{"number": 1, "seconds": 0, "broken": "so", "reason": "%s"}\n' % reason.encode()
            for reason in ("", "right", "wrong", "not finite", "timed out", "inconclusive")
        ),
    ],
)
def test_what_a_submission_writes_into_the_pipe_is_no_reply(file, written):
    where = file(
        "import contextlib, os\n"
        "def f():\n"
        " for descriptor in range(3, 20):\n"
        f"  with contextlib.suppress(OSError): os.write(descriptor, {written!r})\n"
        " return 1"
    )
    assert refused(where) == (
        f"{where} writes into the pipe to the lab; it must leave alone files that it has not opened"
    )


@pytest.mark.slow("what is said of a process killed at its limit stays inside")
@pytest.mark.parametrize("source", ["while True: pass\ndef f(): pass", "def f():\n while True: pass"])
def test_an_endless_loop_meets_the_time_limit(file, source):
    """Waits until a process has used up a second of the processor."""
    # Processor time, which others on the machine cannot take away: the loop gets it sooner or later.
    said = refused(file(source), time_limit=1.0, wall_limit=120.0)
    assert "longer than the time limit of 1 s of processor time" in said


@pytest.mark.slow("which of both clocks counts stays inside")
def test_who_sleeps_ends_too(file):
    said = refused(file("import time\ndef f(): time.sleep(600)"), time_limit=50.0, wall_limit=0.5)
    assert "it takes longer than 0.5 s, which is four times the time limit" in said
    assert patience(50.0) == 210.0


def test_two_arrays_are_asked_for_and_counted(file):
    with Submission(file("def f(): return [1, 2], (3, 4)")) as submission:
        assert [part.array.tolist() for part in submission.call(parts=2)] == [[1, 2], [3, 4]]
        with pytest.raises(
            BrokenAnswer, match="must return 3 arrays, but returned a value of type tuple of length 2"
        ):
            submission.call(parts=3)


def test_parts_that_cannot_be_told_apart_are_refused(file):
    where = file("class A(list):\n def __iter__(self): return 1 / 0\ndef f(): return A()")
    with Submission(where) as submission, pytest.raises(BrokenAnswer, match=r"raised ZeroDivisionError.* \(line 2"):
        submission.call(parts=2)


@pytest.mark.parametrize("where", ["mine.py", "::f", "mine.py::", "mine.py::f()", "mine.py:f"])
def test_a_name_that_is_not_file_and_function_is_refused(where):
    assert "expected FILE.py::FUNCTION" in refused(where)


def test_missing_files_and_folders_are_refused(tmp_path):
    assert refused(f"{tmp_path}/absent.py::f").startswith("there is no file")
    assert "is a folder" in refused(f"{tmp_path}::f")
    (tmp_path / "answer.txt").write_text("def f(): return 1")
    assert "its name must end in .py" in refused(f"{tmp_path}/answer.txt::f")


def test_what_an_exception_says_is_shown_up_to_two_hundred_characters():
    assert child._shown(200 * "x") == 200 * "x"
    assert child._shown(201 * "x") == 197 * "x" + "..."


def test_of_both_clocks_the_one_counts_on_which_less_is_left(file):
    submission = Submission(file(""), time_limit=10.0, wall_limit=100.0)
    assert submission.left == 1
    submission._used, submission._waited = 5.0, 25.0
    assert submission.left == 0.5
    submission._waited = 75.0
    assert submission.left == 0.25


def test_time_that_has_been_used_is_not_given_back(file):
    submission = Submission(file(""), time_limit=10.0)
    for seconds in (4.0, 1.0):
        submission._read(json.dumps({"number": 0, "seconds": seconds, "arrays": []}).encode(), 0, 0)
    assert submission.left == 0.6


@pytest.mark.parametrize(
    ("seconds", "said"), [(6.7, "died of SIGKILL"), (7.0, "longer than the time limit of 6.5 s")]
)
def test_the_kernels_second_word_comes_after_whole_seconds(file, monkeypatch, seconds, said):
    submission = Submission(file(""), time_limit=6.5)
    monkeypatch.setattr(submission._enclosure, "exceeds_memory", lambda: False)
    monkeypatch.setattr(submission._enclosure, "ending", lambda: {"code": -signal.SIGKILL, "seconds": seconds})
    monkeypatch.setattr(Submission, "output", "")
    assert said in str(submission._death("it takes"))
