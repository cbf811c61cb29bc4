"""Files are whole or absent, whatever stops the writing."""

import subprocess
import sys

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


def test_what_a_killed_process_was_writing_is_removed_and_nothing_else(tmp_path):
    path, others = tmp_path / "v[1].params", {".writing-v1.abcdefgh.params", ".v[1].settings.params", "v[1].params"}
    for name in others:
        (tmp_path / name).touch()
    killed = [files.replacing(path), files.replacing(path)]
    for writing in killed:
        writing.__enter__()
    assert len(list(tmp_path.iterdir())) == len(others) + 2
    files.remove_abandoned(path)
    assert {p.name for p in tmp_path.iterdir()} == others


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
