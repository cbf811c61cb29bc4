"""The page of durations adds up what pytest tells of each test."""

import pytest

from tests import slowest

LOG = """
peak memory: gw0 1.00 GB
0.50s call     tests/a/test_x.py::test_one[1: 2]
0.25s setup    tests/a/test_x.py::test_one[1: 2]
2.00s call     tests/test_y.py::test_two
7 passed, 1 skipped in 2.75s
1.00s call     tests/test_y.py::test_two
"""


def test_a_test_takes_its_setup_too_and_all_its_runs():
    assert slowest.durations(LOG) == {("a/test_x.py", "test_one[1: 2]"): 0.75, ("test_y.py", "test_two"): 3.0}


def test_the_slowest_files_and_tests_come_first():
    rows = [line for line in slowest.page(LOG).splitlines() if line.startswith("| `")]
    assert rows == [
        "| `test_y.py` | 1 | 3.0 |",
        "| `a/test_x.py` | 1 | 0.8 |",
        "| `test_y.py::test_two` | 3.0 |",
        "| `a/test_x.py::test_one[1: 2]` | 0.8 |",
    ]
    assert "    peak memory: gw0 1.00 GB\n    7 passed, 1 skipped in 2.75s\n" in slowest.page(LOG)


def test_a_log_without_durations_is_refused_in_one_line(tmp_path, capsys):
    with pytest.raises(ValueError, match="run pytest with --durations=0"):
        slowest.page("7 passed in 2.75s")
    (tmp_path / "log").write_text("7 passed in 2.75s")
    assert [slowest.main([str(path)]) for path in (tmp_path / "log", tmp_path / "none")] == [2, 2]
    assert capsys.readouterr().err.count("\n") == 2
