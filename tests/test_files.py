"""Files are whole or absent, whatever stops the writing."""

import contextlib
import errno
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attnlab_theory import files


def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")

    def fail_halfway(failure):
        with files.replacing(path) as temporary:
            temporary.write_text("half")
            raise failure

    for failure in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(failure):
            fail_halfway(failure)
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]
    assert path.read_text() == "old"


def test_a_replacement_appears_only_at_the_end_and_can_be_read_by_others(tmp_path):
    path = tmp_path / "result.json"
    with files.replacing(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.parent == tmp_path
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o644


WRITER = """
import sys
from pathlib import Path
from attnlab_theory import files
with files.replacing(Path(sys.argv[1])) as temporary:
    print(temporary.name, flush=True)
    input()
"""


@contextlib.contextmanager
def another_writer(path):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with writer:
        try:
            yield writer.stdout.readline().strip()
        finally:
            writer.kill()


INTERRUPTED = """
import sys
from pathlib import Path
from attnlab_theory import files
folder, passed = Path(sys.argv[1]), 0
while True:
    left = passed
    def interrupt(frame, event, argument):
        global left
        if frame.f_code.co_filename.endswith(("files.py", "contextlib.py", "pathlib.py")):
            if event == "line":
                left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
            return interrupt
    path = folder / str(passed) / "x.json"
    path.parent.mkdir()
    try:
        sys.settrace(interrupt)
        files.write_text(path, "whole")
        sys.settrace(None)
        break
    except KeyboardInterrupt:
        passed += 1
print(passed)
"""


@pytest.mark.slow("what a failed replacement or a killed process leaves stays inside")
def test_an_interrupt_at_any_line_leaves_no_temporary_file_after_the_process(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert int(run.stdout) > 50
    assert {path.name for path in tmp_path.glob("*/*")} == {"x.json"}
    assert (tmp_path / run.stdout.strip() / "x.json").read_text() == "whole"


@pytest.mark.parametrize("clear", ["write the file again", "use the folder again"])
def test_what_a_killed_process_was_writing_is_removed_and_nothing_else(tmp_path, clear):
    path, others = tmp_path / "v[1].params", {".v[1].settings.params", "v[1].params", ".writing"}
    for name in others:
        (tmp_path / name).touch()

    def use_again():
        if clear == "use the folder again":
            files.make_folder(tmp_path)
        else:
            files.write_text(path, "")

    with another_writer(path) as written:
        use_again()
        assert {p.name for p in tmp_path.iterdir()} == others | {written}, "a living writer keeps its file"
    assert (tmp_path / written).exists()
    use_again()
    assert {p.name for p in tmp_path.iterdir()} == others


def test_a_file_that_was_taken_for_abandoned_before_it_was_locked_is_made_anew(tmp_path, monkeypatch):
    made, locked = [], files._locked

    def take(handle):
        if not made:
            [name] = tmp_path.iterdir()
            name.unlink()
        made.append(handle)
        return locked(handle)

    monkeypatch.setattr(files, "_locked", take)
    files.write_text(tmp_path / "x", "whole")
    assert len(made) == 2
    assert (tmp_path / "x").read_text() == "whole"


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    target, link = tmp_path / "elsewhere" / "target.json", tmp_path / "link.json"
    target.parent.mkdir()
    link.symlink_to(target)
    for text in ("first", "second"):
        files.write_text(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert [p.name for p in target.parent.iterdir()] == ["target.json"]


def test_a_file_keeps_who_may_read_it(tmp_path):
    path = tmp_path / "grades.csv"
    path.touch(0o600)
    files.write_text(path, "1")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        read = threads.submit(pipe.read_text)
        files.refuse_unwritable(pipe, form=files.Form.TABLE)
        files.write_text(pipe, "whole")
        assert read.result(60) == "whole"
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("device", ["/dev/null", "/dev/full"])
def test_a_device_is_written_to_and_remains(tmp_path, device):
    before, link = os.stat(device), tmp_path / "link"
    link.symlink_to(device)
    for path in (Path(device), link):
        files.refuse_unwritable(path, form=files.Form.TABLE)
        full = pytest.raises(OSError, match="No space left on device: ") if device == "/dev/full" else None
        with full or contextlib.nullcontext(), files.held(path):
            files.write_text(path, "whole")
    assert os.stat(device).st_rdev == before.st_rdev
    assert link.is_symlink()


def test_a_disk_that_is_full_says_for_which_file(tmp_path):
    with pytest.raises(OSError, match="No space left") as full, files.replacing(tmp_path / "x.npy"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert full.value.filename == str(tmp_path / "x.npy")
    assert list(tmp_path.iterdir()) == []


def test_files_of_one_result_appear_together_or_not_at_all(tmp_path):
    suffixes = (".json", ".run.json", ".svg")

    def stop_after_the_first():
        with files.replacing_all(tmp_path / "result", suffixes) as written:
            written[".json"].write_text("whole")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_after_the_first()
    assert list(tmp_path.iterdir()) == []
    with files.replacing_all(tmp_path / "result", suffixes) as written:
        for suffix in suffixes:
            written[suffix].write_text(suffix)
        assert not (tmp_path / "result.json").exists()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {f"result{s}": s for s in suffixes}


@pytest.mark.parametrize("taken", [".json", ".run.json", ".svg"])
def test_where_a_folder_has_one_name_no_file_of_a_result_takes_its_own(tmp_path, taken):
    (tmp_path / f"result{taken}").mkdir()
    with (
        pytest.raises(IsADirectoryError, match=f"result{taken} is a folder"),
        files.replacing_all(tmp_path / "result", (".json", ".run.json", ".svg")),
    ):
        pass
    assert [p.name for p in tmp_path.iterdir()] == [f"result{taken}"]


def test_a_folder_that_cannot_be_written_is_an_os_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        files.write_text(tmp_path / "file" / "x.json", "")


def test_a_folder_is_held_by_one_process_until_it_ends(tmp_path):
    hold = (
        f"from pathlib import Path; from attnlab_theory import files; held = files.held(Path({str(tmp_path)!r}));"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", f"{hold} held.__enter__(); print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with other:
        other.stdout.readline()
        with pytest.raises(ValueError, match="another run is writing into "), files.held(tmp_path):
            pass
        other.kill()
    with files.held(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_a_name_is_held_by_one_and_leaves_nothing(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    with files.held(one), files.held(other):
        with pytest.raises(ValueError, match="wait for it, or name another file"):
            files.held(one).__enter__()
        with pytest.raises(RuntimeError), files.held(tmp_path / "third"):
            raise RuntimeError
    with files.held(one):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_removed_however_deep_closed_or_linked_it_is(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    folder = tmp_path / "folder"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.symlink(elsewhere, "link", dir_fd=here)
    os.close(here)
    (folder / "link").symlink_to(elsewhere)
    (folder / "file").write_text("")
    os.mkfifo(folder / "pipe")
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed").chmod(0)
    files.remove_folder(folder)
    files.remove_folder(tmp_path / "absent")
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]
    assert (elsewhere / "kept").read_text() == "kept"


def test_a_folder_that_nobody_holds_is_removed_and_no_other(tmp_path):
    for name in ("left", "held", "target"):
        (tmp_path / name / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with files.held(tmp_path / "held"):
        for name in ("left", "held", "link", "absent"):
            files.remove_abandoned_folder(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held", "link", "target"]
    assert (tmp_path / "target" / "inner").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_file_that_has_no_room_keeps_what_was_there_and_names_itself(tmp_path, capsys):
    """A limit on the size of files stands for a full disk: one file, two that belong together, and a journal."""
    import resource

    from attnlab_theory import exits
    from attnlab_theory.grader.classroom import journal, marks, rubric

    terms = marks.Terms(rubric=rubric.rubric_of("uw"), time_limit=20.0)
    files.write_text(tmp_path / "one.json", "[]")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def both():
        with files.replacing_all(tmp_path / "two", (".a", ".b")) as paths:
            paths[".a"].write_text("a")
            paths[".b"].write_text("b" * 10**6)
        return 0

    def noted():
        with journal.Journal(tmp_path / "marks.jsonl", terms).open() as known:
            known.add("a", {"1.2.1": marks.by_hand("not judged", "x" * 10**6)})
        return 0

    calls = {
        "one.json": lambda: files.write_text(tmp_path / "one.json", "x" * 10**6),
        "two": both,
        "marks.jsonl": noted,
    }
    journal.key()
    resource.setrlimit(resource.RLIMIT_FSIZE, (10**5, before[1]))
    try:
        for name, call in calls.items():
            assert exits.exit_code(call) == 2, name
            line = capsys.readouterr().err
            assert line == f"attnlab: {tmp_path / name}: File too large\n"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {path.name for path in tmp_path.iterdir()} == {"one.json", "marks.jsonl"}
    assert (tmp_path / "one.json").read_text() == "[]"


def book(folder, names=("a.html",)):
    """Writes a folder by `replacing_folder`."""
    with files.replacing_folder(folder, names="files.json") as made:
        for name in names:
            (made / name).write_text("a page")
        told = {"schema": 1, "attnlab": "0", "files": [*names, "files.json"]}
        (made / "files.json").write_text(json.dumps(told))


def test_a_folder_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path):
    book(tmp_path / "book", ["a.html", "b.html"])
    book(tmp_path / "book", ["c.html"])
    assert {path.name for path in (tmp_path / "book").iterdir()} == {"c.html", "files.json"}
    assert [path.name for path in tmp_path.iterdir()] == ["book"]


@pytest.mark.parametrize("foreign", ["notes.txt", "deep/notes.txt", ""])
def test_a_folder_with_files_of_others_is_not_replaced(tmp_path, foreign):
    folder = tmp_path / "book"
    book(folder)
    if foreign:
        (folder / foreign).parent.mkdir(exist_ok=True)
        (folder / foreign).write_text("mine")
    else:
        (folder / "files.json").write_text('{"files": ["a.html", "files.json"]}')
    with pytest.raises(ValueError, match="is not a file of an earlier book: choose another folder with --out"):
        book(folder, ["c.html"])
    assert (folder / "a.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["book"]


def test_a_folder_stays_as_it_was_if_the_block_fails_or_a_file_has_its_name(tmp_path):
    book(tmp_path / "book")
    with contextlib.suppress(RuntimeError), files.replacing_folder(tmp_path / "book", names="files.json") as made:
        (made / "b.html").write_text("half a book")
        raise RuntimeError
    assert {path.name for path in (tmp_path / "book").iterdir()} == {"a.html", "files.json"}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="file is not a file of an earlier book"):
        book(tmp_path / "file")
    with pytest.raises(ValueError, match="would be read and written over"):
        files.replacing_folder(tmp_path / "book", names="files.json", read=[tmp_path / "book"]).__enter__()
    assert {path.name for path in tmp_path.iterdir()} == {"book", "file"}
