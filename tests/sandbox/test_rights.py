"""Another user inside the fences has no right of root's. If it cannot read enough, no submission is blamed."""

import os
import subprocess
import sys

import pytest

from attnlab_theory.grader.classroom.hand_ins import stage
from attnlab_theory.sandbox import fences
from attnlab_theory.sandbox.reasons import BrokenAnswer
from attnlab_theory.sandbox.submission import Submission

PROGRAM = """
import ctypes, importlib.util, pathlib, sys

fences, scratch, lacking = sys.argv[1:]
spec = importlib.util.spec_from_file_location("kernel", pathlib.Path(fences).with_name("kernel.py"))
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)
header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
kernel.LIBC.capget(header, rights)
for capability in eval(lacking):
    for i in range(3):
        rights[i] &= ~(1 << capability)
assert kernel.LIBC.capset(header, rights) == 0
print(*kernel.unprivileged(kernel.spare_uid()[0], {"scratch": scratch, "processes": 100}, []))
with open("/proc/self/status") as status:
    print(*[line.split()[1] for line in status if line[:6] in ("CapInh", "CapPrm", "CapEff", "CapAmb")])
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("lacking", [(), (2,), (2, 21)], ids=str)
def test_another_user_may_read_and_do_nothing_else_whatever_root_may(tmp_path, lacking):
    command = [sys.executable, "-c", PROGRAM, fences.__file__, str(tmp_path), repr(lacking)]
    done = subprocess.run(command, capture_output=True, text=True)
    right = "0000000000000000" if lacking else "0000000000000004"
    assert done.stdout.split() == ["uid", *[right] * 4], done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody becomes another user")
def test_what_another_user_cannot_read_is_no_word_on_the_submission(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("def f(): return 1")
    monkeypatch.setattr(fences, "_needed", lambda: ["/absent/numpy"])
    with (
        pytest.raises(ValueError, match="who cannot read /absent/numpy: No such file") as caught,
        Submission(f"{tmp_path}/mine.py::f"),
    ):
        pass
    assert not isinstance(caught.value, BrokenAnswer)


def test_everybody_may_read_what_is_staged(tmp_path):
    before = os.umask(0o077)
    try:
        stage({"a/b/mine.py": b"", "a/other.py": b""}, tmp_path)
    finally:
        os.umask(before)
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"a": 0o755, "a/b": 0o755, "a/b/mine.py": 0o644, "a/other.py": 0o644}
