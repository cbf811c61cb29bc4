"""No command writes over what it reads, or over a file that attnlab has not written, however it is named."""

import contextlib
import json
import os
import signal
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from attnlab_theory import files, inputs
from attnlab_theory.cli import main
from attnlab_theory.conform import badge, plugin, report
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.suite import Row
from attnlab_theory.conform.vectors import export
from attnlab_theory.files import Form
from attnlab_theory.grader.classroom import gradebook
from attnlab_theory.grader.classroom.rubric import rubric_of
from attnlab_theory.labs import folders, page
from attnlab_theory.report import style, webpage

OWN = "somebody's own\n"
OWN_QUESTION = """homework = "own"
[[question]]
id = "1"
question = "Halve x."
points = 1
signature = "half(x: np.ndarray) -> np.ndarray"
draw = "draw"
reference = "half"
answer = "x / 2"
"""
OWN_CODE = """import numpy as np
import helper
def draw(rng, size): return {"x": rng.normal(size=size)}
def half(x): return x / 2
"""
RUBRIC = 'homework = "uw"\n[points]\n"1.2.1" = 1\n'
TARGET = "def f(q, k, v): return q\n"
AUTOGRADER = '{"output_format": "text", "stdout_visibility": "hidden"}'
CLAIM = "from attnlab_theory.claims import Claim\n"


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A folder in which somebody works."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "mine.py").write_text("x = 1\n")
    (tmp_path / "points.toml").write_text(RUBRIC)
    (tmp_path / "own.toml").write_text(OWN_QUESTION)
    (tmp_path / "own.py").write_text(OWN_CODE)
    (tmp_path / "helper.py").write_text("x = 1\n")
    (tmp_path / "target.py").write_text(TARGET)
    np.save("keys.npy", np.eye(2))
    np.savez("mine.npz", keys=np.eye(2))
    for name in ("index.html", "copying.json", "copying.svg", "kill_matrix.svg", "map.svg", "notes.txt", "a.xml"):
        (tmp_path / name).write_text(OWN)
    (tmp_path / "link.xml").symlink_to("target.py")
    (tmp_path / "link.svg").symlink_to("target.py")
    os.link("target.py", "hard.xml")
    (tmp_path / "link.csv").symlink_to("points.toml")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "estimates.json").write_text(OWN)
    return tmp_path


def written(desk):
    return {str(path): path.read_bytes() for path in sorted(desk.rglob("*")) if path.is_file()}


GRADE = ["grade", "class", "--rubric", "points.toml"]
CONFORM = ["conform", "target.py::f", "--as", "softmax"]

READ = [
    [*GRADE, "--csv", "points.toml"],
    [*GRADE, "--csv", "link.csv"],
    [*GRADE, "--csv", "class/../points.toml"],
    ["grade", "class", "--homework", "own.toml", "--csv", "own.py"],
    ["answers", "--homework", "own.toml", "--html", "own.py"],
    ["grade", "class", "--homework", "own.toml", "--csv", "helper.py"],
    ["answers", "--homework", "own.toml", "--html", "helper.py"],
    ["answers", "--homework", "own.toml", "--html", "own.toml"],
    [*GRADE, "--csv", "one.jsonl", "--journal", "one.jsonl"],
    [*GRADE, "--journal", "points.toml"],
    [*GRADE, "--csv", "pages/index.html", "--html", "pages"],
    [*GRADE, "--html", "pages", "--gradescope", "pages/index.html"],
    ["reviews", "train", "--writing_params_path", "one.model", "--out", "one.model"],
    [*CONFORM, "--junit", "target.py"],
    [*CONFORM, "--junit", "link.xml"],
    [*CONFORM, "--junit", "hard.xml"],
    [*CONFORM, "--badge", "link.svg"],
    [*CONFORM, "--against", "target.py::f", "--badge", "one.svg", "--junit", "one.svg"],
]
"""What is read, or written besides, by its name, through links, or through a folder. --force changes nothing."""

FOREIGN = [
    [*GRADE, "--csv", "notes.txt"],
    [*GRADE, "--html", "."],
    [*CONFORM, "--junit", "a.xml"],
    [*CONFORM, "--badge", "map.svg"],
    ["run", "copying", "--out", "."],
    ["museum", "--out", "."],
    ["answers", "uw/1.2.1", "--html", "notes.txt"],
    ["conform", "--export", "npz", "mine.npz"],
    ["estimators", "--queries", "keys.npy", "--keys", "keys.npy", "--out", "map.svg"],
    ["captions", "generate", "absent", "--out", "notes.txt"],
    ["reviews", "predict", "absent", "notes.txt", "--out", "index.html"],
]
"""Files that somebody else has written. --force allows them, where a command has it."""


@pytest.mark.parametrize("words", READ, ids=" ".join)
def test_what_is_read_is_never_written_over(desk, words, capsys):
    before = written(desk)
    assert main([*words, "--force"]) == 2
    err = capsys.readouterr().err
    assert "read and written over" in err or "is not a journal" in err
    assert written(desk) == before


@pytest.mark.parametrize("words", FOREIGN, ids=" ".join)
def test_what_others_have_written_is_not_written_over(desk, words, capsys):
    before = written(desk)
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "is not a file that attnlab has written: name another one, or say --force" in err
    assert err.count("\n") == 1
    assert written(desk) == before


@pytest.mark.parametrize(
    ("lab", "name"),
    [("knowledge", "estimates.json"), ("mixers", "samples.txt"), ("reviews", "minilm.0.predictions")],
)
def test_a_lab_leaves_a_folder_with_results_of_others_alone(desk, lab, name, capsys):
    (desk / "lab" / "estimates.json").rename(desk / "lab" / name)
    before = written(desk)
    assert main([lab, "run", "--out", "lab"]) == 2
    assert f"lab holds {name}, which attnlab has not written" in capsys.readouterr().err
    assert written(desk) == before


def test_whoever_says_so_writes_over_files_of_others_and_only_then(desk):
    files.force(True)
    files.refuse_unwritable(desk / "notes.txt", form=Form.TABLE)
    for forced in (False, None):
        files.force(forced)
        with pytest.raises(ValueError, match=r"attnlab has written: name another one(, or say --force)?$"):
            files.refuse_unwritable(desk / "notes.txt", form=Form.TABLE)
    assert main(["grade", "--rubric", "uw", "--template", "--force"]) == 0
    assert files._forced is True
    main(["list"])
    assert files._forced is None, "each command says it for itself"


ROWS = [Row(name="plain", verdict=verdict, line=line, tried=1, ratio=0.0) for verdict, line in
        ((Verdict.HOLDS, "a"), (Verdict.FAILS, "b < c"))]  # fmt: skip


def drawn():
    return Figure(figsize=(1, 1))


OURS = {
    "page.html": lambda path: path.write_text(webpage.document("t", "b", Form.GRADES)),
    "answers.html": lambda path: path.write_text(webpage.document("t", "b", Form.ANSWERS)),
    "grades.csv": lambda path: path.write_text(gradebook.csv_text([], rubric_of("uw"))),
    "rows.xml": lambda path: path.write_text(report.as_junit(ROWS, "a.py::f", "softmax")),
    "badge.svg": lambda path: path.write_text(badge.svg("softmax", ROWS, 1)),
    "map.svg": lambda path: style.write(drawn, path),
    "map.png": lambda path: style.write(drawn, path),
    "README.md": lambda path: path.write_text(f"{page.MARK}\n"),
    "empty.txt": lambda path: path.write_text(""),
    "absent.txt": lambda path: None,
    "journal.jsonl": lambda path: path.write_text('{"graded": "uw"}\n'),
    "results.json": lambda path: path.write_text(AUTOGRADER),
    "vectors.npz": export.export_npz,
}
FORM = {
    "page.html": Form.GRADES,
    "answers.html": Form.ANSWERS,
    "grades.csv": Form.TABLE,
    "rows.xml": Form.ROWS,
    "badge.svg": Form.BADGE,
    "map.svg": Form.FIGURE,
    "map.png": Form.FIGURE,
    "README.md": Form.DOCUMENT,
    "journal.jsonl": Form.JOURNAL,
    "results.json": Form.AUTOGRADER,
    "vectors.npz": Form.VECTORS,
}
"""What each of them is. All others are empty, which loses nothing."""


@pytest.mark.parametrize("name", OURS)
def test_an_output_of_ours_may_be_written_over(tmp_path, name):
    path = tmp_path / f"one.{name}"
    OURS[name](path)
    assert files.is_ours(path)
    if path.exists() and path.stat().st_size:
        path.write_bytes(b"\n# mine\n" + path.read_bytes())
        assert not files.is_ours(path)


@pytest.mark.parametrize("name", FORM)
def test_an_output_of_ours_is_written_over_by_its_own_command_alone(tmp_path, name):
    path = tmp_path / f"one.{name}"
    OURS[name](path)
    files.force(False)
    assert [form for form in Form if files.is_ours(path, form)] == [FORM[name]]
    for form in Form:
        refused = pytest.raises(ValueError, match=r"is of another command: name another one, or say --force$")
        with contextlib.nullcontext() if form == FORM[name] else refused:
            files.refuse_unwritable(path, form=form)


def test_what_the_committed_runs_wrote_may_be_written_over(subtests):
    place = files.Path(__file__).parents[2] / "figures"
    for path in sorted([*place.glob("*.run.json"), *place.glob("*/*.run.json")]):
        with subtests.test(path.name):
            stem = path.with_name(path.name.removesuffix(".run.json"))
            assert files.is_ours(path)
            for end in (".json", ".svg", ".png"):
                assert files.is_ours(stem.with_name(stem.name + end))
            if path.parent != place and path.parent.name not in ("heads", "reviews"):
                folders.refuse_others(path.parent, [stem.name])


@pytest.mark.parametrize(
    "text",
    [
        "[0]",
        "{}",
        '{"name": "package"}',
        '[{"id": 1}]',
        "[1, 2]",
        "\ufeff",
        "0\n1\n",
        '[{"name": "a", "mail": 1}]',
        '{"question": "a", "b": 1}',
    ],
)
def test_what_looks_alike_is_somebodys(tmp_path, text):
    (tmp_path / "one.json").write_text(text)
    assert not files.is_ours(tmp_path / "one.json")
    (tmp_path / "one.svg").write_text("<svg/>")
    assert not files.is_ours(tmp_path / "one.svg")


@pytest.mark.parametrize("option", ["--journal", "--csv"])
@pytest.mark.parametrize(("name", "said"), [("lab", "lab is a folder"), ("loop", "loop")])
def test_a_folder_or_a_link_to_itself_is_named_in_the_place_of_a_file(desk, option, name, said, capsys):
    assert main([*GRADE, option, name]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err


def test_a_pipe_that_nobody_reads_is_told_of_in_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "UNREAD", 0.1)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="nobody reads this pipe"):
        files.write_text(pipe, json.dumps("whole"))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="nobody reads on in this pipe"):
        files.write_text(pipe, "x" * 2**20)
    os.close(reader)
    assert pipe.is_fifo()


def held(path):
    with files.held(path.with_name("held")):
        pass


WAITING = {
    "fifo.jsonl": (lambda path: main([*GRADE, "--journal", str(path)]), "is a pipe, which keeps no marks"),
    "fifo.json": (
        lambda path: main(["check", "target.py::f", "--question", "uw/1.2.1", "--replay", str(path)]),
        "--replay takes what a counterexample prints",
    ),
    "README.md": (lambda path: page.write(path.parent), "is not attnlab's and stays as it is"),
    "estimates.json": (lambda path: folders.refuse_others(path.parent, ["knowledge"]), "has not written"),
    ".held.lock": (held, "is a pipe or a device where a lock of attnlab would be: remove it"),
    ".writing-one.12345678.json": (lambda path: files.remove_abandoned(path.with_name("one.json")), ""),
    "xfails": (plugin._known, "cannot be read"),
}
"""A pipe of this name, what meets it, and what is said."""


@pytest.mark.parametrize("name", WAITING)
def test_no_pipe_in_the_place_of_a_file_is_waited_for(desk, name, capsys, monkeypatch):
    monkeypatch.setattr(inputs, "UNWRITTEN", 0.05)
    (desk / "pipes").mkdir()
    pipe = desk / "pipes" / name
    os.mkfifo(pipe)
    call, said = WAITING[name]

    def ring(number, frame):
        pytest.fail("waits for ever")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(20)
    try:
        assert call(pipe) in (2, None)
    except (ValueError, pytest.UsageError) as error:
        print(error, file=sys.stderr)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert said in capsys.readouterr().err
    assert pipe.is_fifo() or name.startswith(".writing")


@pytest.mark.parametrize("make", [lambda lock: lock.write_text(OWN), lambda lock: lock.symlink_to("target.py")])
def test_what_has_the_name_of_a_lock_and_is_none_stays(desk, make):
    make(desk / ".held.lock")
    before = written(desk)
    with pytest.raises(ValueError, match="is somebody's where a lock of attnlab would be: move it"):
        held(desk / "lock")
    assert written(desk) == before
